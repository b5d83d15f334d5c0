/* SPDX-License-Identifier: Apache-2.0 */
/**
 * map_shape: where keys and elements lie in the pieces of maps of both designs,
 * buckets and groups. Source: runtime/map.go (bmap), internal/runtime/maps
 * (Map, table, groupReference), cmd/compile's reflectdata (layout of buckets
 * and groups).
 */
#ifndef GR_MAP_SHAPE_H
#define GR_MAP_SHAPE_H

#include "goruntime/types/types.h"

/** The location of the keys, or of the elements, in a map's bucket or group. */
struct gr_map_part {
	uint64_t off_bytes, stride;
	bool is_indirect; /**< There are pointers to them. */
};

struct gr_map_shape {
	struct gr_map_part key, elem;
	uint64_t bytes; /**< Size of a bucket or group. */
};

enum {
	GR_MAP_SLOTS = 8, /**< Slots of a bucket or group, in both designs. */
	/** Smallest tophash of an entry (runtime/map.go: minTopHash). */
	GR_MAP_MIN_TOP_HASH = 5,
	/** In hmap.flags: the map grows into as many buckets (sameSizeGrow). */
	GR_MAP_SAME_SIZE_GROW = 8,
};

/** The slots in use of a bucket, as gr_map_full_slots() tells them. */
static inline uint64_t gr_map_full_in_bucket(const uint8_t *host)
{
	uint64_t full = 0;

	for (unsigned int i = 0; i < GR_MAP_SLOTS; i++)
		if (host[i] >= GR_MAP_MIN_TOP_HASH)
			full |= UINT64_C(0x80) << i * 8;
	return full;
}

/** The same of a group. Its control word has one byte for each slot, in which
 * the highest bit is set if the slot is empty or deleted. */
static inline uint64_t gr_map_full_in_group(const uint8_t *host)
{
	return ~gr_load_u64(host) & UINT64_C(0x8080808080808080);
}

/**
 * The slots in use of a bucket or group that begins at @p host: byte i of the
 * result is 0x80 if slot i has an entry, else 0.
 */
static inline uint64_t gr_map_full_slots(const struct gr_layout *layout,
					 const uint8_t *host)
{
	return layout->swiss_map.size_bytes ? gr_map_full_in_group(host) :
					      gr_map_full_in_bucket(host);
}

/**
 * Find the layout of the buckets or groups of map type @p map, whose kind is
 * GR_KIND_MAP. This creates no type. It fails only if poll refuses.
 */
struct gr_error *gr_map_find_shape(const struct gr_layout *layout,
				   struct gr_types *types,
				   const struct gr_type *map,
				   struct gr_map_shape *ret) GR_MUST_CHECK;

/** The alignment of a type, as the compiler lays out fields: a power of two.
 * It fails only if poll refuses. */
struct gr_error *gr_types_align(struct gr_types *types, gr_type_id id,
				uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_MAP_SHAPE_H */
