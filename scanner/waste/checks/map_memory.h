/* SPDX-License-Identifier: Apache-2.0 */
/**
 * map_memory: the header of a map, and the slots of all pieces behind it.
 * Source: runtime/map.go (hmap, mapextra), internal/runtime/maps (Map, table).
 */
#ifndef GR_MAP_MEMORY_H
#define GR_MAP_MEMORY_H

#include "goruntime/types/map_shape.h"
#include "waste/checks/map_size.h"

/** The maps of one type. */
struct gr_map_kind {
	const struct gr_heap *heap;
	struct gr_map_shape shape;
	struct gr_map_pieces pieces;
	gr_type_id key, elem;
	uint64_t header_slot_bytes;
};

/** A header that was read. */
struct gr_map_facts {
	const struct gr_map_kind *kind;
	const uint8_t *host; /**< The header. */
	uint64_t entries;
	uint64_t array; /**< Buckets, directory or only group; 0: none yet. */
	uint64_t slots; /**< That it has at least. */
};

/** Describe the maps of a type. @return NULL in *@p ret if its types are not
 * known or make no sense. The caller frees it with free(). */
struct gr_error *gr_map_kind_create(const struct gr_heap *heap,
				    const struct gr_size_classes *classes,
				    gr_type_id map,
				    struct gr_map_kind **ret) GR_MUST_CHECK;

/**
 * Read the header of a map from an object with pointers, which has @p bytes at
 * @p host, if it is a header: no other piece of a map has a slot of this size
 * and such words. Inner loop: a cache miss or two.
 */
bool gr_map_facts_read(const struct gr_map_kind *kind, uint64_t slot_bytes,
		       const uint8_t *host, struct gr_map_facts *ret);

/** May a map be larger than a fresh one, if the object is a header? This reads
 * nothing else. */
bool gr_map_may_be_sparse(const struct gr_map_kind *kind, uint64_t slot_bytes,
			  const uint8_t *host);

/**
 * Add up the slots of a map. Both sums are 0 if a piece is not there.
 *
 * @param[in,out] steps Pieces that may be looked at, of all maps together.
 * @param[out] fresh The slots of a fresh map with as many entries.
 */
struct gr_error *gr_map_sum(const struct gr_map_facts *map, uint64_t *steps,
			    uint64_t *now, uint64_t *fresh) GR_MUST_CHECK;

/** The bytes that a key or element takes in a slot. */
static inline uint64_t gr_map_part_bytes(const struct gr_types *types,
					 const struct gr_map_part *part,
					 gr_type_id type)
{
	return part->is_indirect ? GR_WORD_BYTES :
				   gr_types_get(types, type)->size_bytes;
}

#endif /* GR_MAP_MEMORY_H */
