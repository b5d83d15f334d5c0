/* SPDX-License-Identifier: Apache-2.0 */
/**
 * reach: which bytes of each object the program can reach, and which of them it
 * uses.
 *
 * A *view* is a pointer with what its type says of the memory behind it: a
 * string reaches its bytes, a slice its capacity and uses its length, a pointer
 * its value. A pointer whose type is not known reaches the whole object. The
 * union of all views of an object is a list of separate intervals, almost
 * always one.
 *
 * An object takes 4 bytes and a bit. An object has an entry in a table if it is
 * large, if it has several intervals, or if its interval starts after byte 0
 * and has unused bytes at its end. The table is limited, so that everything
 * together takes about 8 bytes an object at most. If the table is full, further
 * objects count as used whole.
 */
#ifndef GR_WASTE_REACH_H
#define GR_WASTE_REACH_H

#include "base/bitmap.h"
#include "base/vector.h"
#include "goruntime/heap/heap.h"
#include "graph/budget.h"

/** Bytes [lo, hi) of an object, from its first byte behind the malloc header.
 * Those in [lo, used) are in use: lo <= used <= hi. */
struct gr_interval {
	uint64_t lo, hi, used;
};

enum {
	/** More separate intervals of an object count as the whole. */
	GR_REACH_MAX_INTERVALS = 1024,
};

/** The intervals of an object that does not fit into 4 bytes. */
struct gr_wide_reach {
	struct gr_interval *list; /**< Rising; they do not touch. */
	uint32_t count, capacity;
};
GR_VECTOR(gr_wide_vector, struct gr_wide_reach);

struct gr_reach_table {
	const struct gr_heap *heap;
	struct gr_budget memory;
	uint32_t *slots;  /**< By object, as reach.c says. */
	uint64_t *merged; /**< A bit an object: its views are not equal. */
	struct gr_wide_vector wide;
	uint64_t max_wide; /**< Small objects that may have an entry. */
	/** Intervals behind the first ones of their objects. */
	uint64_t nmore, max_more;
	uint64_t crowded; /**< Objects with too many intervals. */
};

/** Initialise: nothing is reached. Needs gr_reach_deinit() even if it fails. */
struct gr_error *gr_reach_init(struct gr_reach_table *reach,
			       const struct gr_heap *heap) GR_MUST_CHECK;
void gr_reach_deinit(struct gr_reach_table *reach);

/**
 * Add a view of an object. @p bytes is the object's size behind its header; the
 * view lies in it.
 *
 * @return false if no memory is left.
 */
bool gr_reach_add(struct gr_reach_table *reach, gr_obj obj, uint64_t bytes,
		  struct gr_interval view) GR_MUST_CHECK;

/**
 * The intervals of an object; 0: none was noted. @p one is room for the only
 * interval of an object that has one. *@p ret is valid until the next
 * gr_reach_add().
 */
uint32_t gr_reach_get(const struct gr_reach_table *reach, gr_obj obj,
		      struct gr_interval *one, const struct gr_interval **ret);

/** Are all its views equal? */
static inline bool gr_reach_is_one_view(const struct gr_reach_table *reach,
					gr_obj obj)
{
	return !gr_bitmap_test(reach->merged, obj);
}

#endif /* GR_WASTE_REACH_H */
