/* SPDX-License-Identifier: Apache-2.0 */
/**
 * map_entries: the entries of a map of either design, one by one, in the order
 * of their buckets or groups. Source: runtime/map.go (hmap, evacuated),
 * internal/runtime/maps (Map, table).
 */
#ifndef GR_MAP_ENTRIES_H
#define GR_MAP_ENTRIES_H

#include "goruntime/types/map_shape.h"

/** Where the key and the element of an entry lie. */
struct gr_map_entry {
	uint64_t key_addr, elem_addr;
};

/**
 * A place in a map. It keeps no list, so that a map of any size is walked in
 * constant memory. Other members than @ref shape, @ref pieces_left and
 * @ref missing_addr are for map_entries.c.
 */
struct gr_map_cursor {
	struct gr_runtime *rt;
	struct gr_map_shape shape;
	bool is_swiss;
	uint64_t pieces_left;  /**< Buckets or groups that may still come. */
	uint64_t piece;	       /**< The one at hand; 0: none. */
	uint64_t full;	       /**< Its slots that are still to come. */
	uint8_t *copy;	       /**< Its bytes, during a search; else NULL. */
	uint64_t missing_addr; /**< After GR_ERROR_FAULT: what is not there. */
	/** Buckets, or groups of one table: [next, count) of an array. */
	uint64_t array, next, count;
	uint64_t old, old_count; /**< Old buckets of a map that grows. */
	/** Tables of a directory: [next_table, tables). */
	uint64_t dir, next_table, tables, last_table;
};

/** The number of entries, as the header at @p header tells; 0 of nil. */
struct gr_error *gr_map_count(struct gr_runtime *rt, uint64_t header,
			      uint64_t *ret) GR_MUST_CHECK;

/**
 * Begin in front of the first entry.
 *
 * @param map The map type, whose kind is GR_KIND_MAP.
 * @param header Address of the map's header; 0 is the map nil.
 * @param max_bytes As many bytes of buckets or groups as there can be. The walk
 *	of a map that has more ends with GR_ERROR_FORMAT.
 * @return GR_ERROR_FORMAT if the types make no sense.
 */
struct gr_error *gr_map_cursor_begin(struct gr_types *types, gr_type_id map,
				     uint64_t header, uint64_t max_bytes,
				     struct gr_map_cursor *ret) GR_MUST_CHECK;

/**
 * Go to the next entry.
 *
 * @param[out] is_end There is none; @p ret is not set.
 * @return GR_ERROR_FAULT if memory is not there.
 */
struct gr_error *gr_map_cursor_next(struct gr_map_cursor *cursor,
				    struct gr_map_entry *ret,
				    bool *is_end) GR_MUST_CHECK;

/**
 * Go to the next entry, without following pointers to large keys or elements
 * (gr_map_part.is_indirect): @p ret has the addresses of the pointers.
 */
struct gr_error *gr_map_cursor_next_slot(struct gr_map_cursor *cursor,
					 struct gr_map_entry *ret,
					 bool *is_end) GR_MUST_CHECK;

/** The keys of a bucket or group, each with as many bytes as its type has. */
struct gr_map_keys {
	const uint8_t *first; /**< The key of slot 0. */
	uint64_t stride;
	uint64_t full; /**< The slots in use: see gr_map_full_slots(). */
};

/**
 * Find the slot in use with the key that is looked for.
 *
 * @param[out] slot GR_MAP_SLOTS: none of them has it.
 */
typedef struct gr_error *
gr_map_keys_fn(void *ctx, const struct gr_map_keys *keys, unsigned int *slot);

/**
 * Find the entry with a key, by a cursor in front of the first entry. Each
 * bucket or group is read at once, which is faster than a look at one key after
 * the other.
 *
 * @param[out] elem_addr Where the element lies; 0: there is no such key.
 * @return GR_ERROR_FORMAT if keys are so large that there are pointers to them.
 */
struct gr_error *gr_map_cursor_find(struct gr_map_cursor *cursor,
				    gr_map_keys_fn *find, void *ctx,
				    uint64_t *elem_addr) GR_MUST_CHECK;

#endif /* GR_MAP_ENTRIES_H */
