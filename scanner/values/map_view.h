/* SPDX-License-Identifier: Apache-2.0 */
/** map_view: the entries of maps and the lengths of containers, for scripts. */
#ifndef GR_MAP_VIEW_H
#define GR_MAP_VIEW_H

#include "expr/literal.h"
#include "goruntime/types/map_entries.h"

struct gr_scan;

/**
 * The number of entries of a map, or of elements that wait in a channel, by the
 * address of the header. It is 0 for nil.
 *
 * @param type The id of the map or channel type.
 */
struct gr_error *gr_scan_length(struct gr_scan *scan, uint32_t type,
				uint64_t header, uint64_t *ret) GR_MUST_CHECK;

/** Set the cursor before the first entry of the map at address @p header. */
struct gr_error *gr_scan_map_begin(struct gr_scan *scan, uint32_t type,
				   uint64_t header,
				   struct gr_map_cursor *ret) GR_MUST_CHECK;

/**
 * Read the next entries.
 *
 * @param max The number of entries for which @p ret has room.
 * @param[out] count The number of entries read; fewer than @p max at the end.
 */
struct gr_error *gr_scan_map_next(struct gr_scan *scan,
				  struct gr_map_cursor *cursor,
				  struct gr_map_entry *ret, size_t max,
				  size_t *count) GR_MUST_CHECK;

/**
 * Find the entry whose key equals a literal: a string, an integer or a bool. All
 * entries are searched: the hash depends on a seed and on the processor.
 *
 * @param[out] elem_addr 0: there is no such key.
 * @return GR_ERROR_ARGUMENT if keys of the map are of another kind.
 */
struct gr_error *gr_scan_map_find(struct gr_scan *scan, uint32_t type,
				  uint64_t header, const struct gr_literal *key,
				  uint64_t *elem_addr) GR_MUST_CHECK;

#endif /* GR_MAP_VIEW_H */
