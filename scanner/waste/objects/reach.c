// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/reach.h"

#include "base/huge.h"

enum {
	WIDE_SHARE = 16, /* one object in so many may have several intervals */
	WIDE_FREE = 1 << 16, /* beyond these */
};

struct gr_error *gr_reach_init(struct gr_reach_table *reach,
			       const struct gr_heap *heap)
{
	*reach = (struct gr_reach_table){
		.heap = heap,
		.max_wide = heap->nobjs / WIDE_SHARE + WIDE_FREE,
	};
	reach->slots =
		gr_huge_calloc((size_t)heap->nobjs + 1, sizeof(*reach->slots));
	reach->merged = gr_bitmap_alloc(heap->nobjs);
	if (!reach->slots || !reach->merged)
		return &gr_enomem;
	return NULL;
}

void gr_reach_deinit(struct gr_reach_table *reach)
{
	for (size_t i = 0; i < reach->wide.size; i++)
		free(reach->wide.data[i].list);
	gr_wide_vector_deinit(&reach->wide);
	free(reach->slots);
	free(reach->merged);
	memset(reach, 0, sizeof(*reach));
}

static struct gr_interval from_slot(const struct gr_reach_slot *slot)
{
	return (struct gr_interval){ slot->start - 1, slot->hi,
				     slot->hi - slot->spare };
}

static struct gr_wide_reach *wide_of(struct gr_reach_table *reach,
				     const struct gr_reach_slot *slot)
{
	return &reach->wide.data[slot->hi | (uint32_t)slot->spare << 16];
}

/* Do two intervals overlap, touch, or is one of them empty and beside the
 * other? */
static bool meet(const struct gr_interval *a, const struct gr_interval *b)
{
	return a->lo <= b->hi && b->lo <= a->hi;
}

static struct gr_interval join(const struct gr_interval *a,
			       const struct gr_interval *b)
{
	return (struct gr_interval){
		.lo = a->lo < b->lo ? a->lo : b->lo,
		.hi = a->hi > b->hi ? a->hi : b->hi,
		.used = a->used > b->used ? a->used : b->used,
	};
}

static bool is_equal(const struct gr_interval *a, const struct gr_interval *b)
{
	return a->lo == b->lo && a->hi == b->hi && a->used == b->used;
}

/* Count an object as used whole. */
static void set_whole(struct gr_wide_reach *wide, uint64_t bytes)
{
	wide->count = 1;
	wide->list[0] = (struct gr_interval){ 0, bytes, bytes };
}

/* Enter an interval at @p i, in place of the @p n that it has swallowed. */
static bool put(struct gr_wide_reach *wide, uint32_t i, uint32_t n,
		struct gr_interval view)
{
	size_t capacity = wide->capacity;

	if (!n && wide->count == wide->capacity) {
		if (!gr_vector_grow((void **)&wide->list, &capacity,
				    wide->count + 1, sizeof(*wide->list)))
			return false;
		wide->capacity = capacity;
	}
	memmove(&wide->list[i + 1], &wide->list[i + n],
		(wide->count - i - n) * sizeof(*wide->list));
	wide->list[i] = view;
	wide->count += 1 - n;
	return true;
}

/* Add a view to an object with a list. */
static bool add_wide(struct gr_reach_table *reach, struct gr_wide_reach *wide,
		     gr_obj obj, uint64_t bytes, struct gr_interval view)
{
	uint32_t first =
		gr_count_before(wide->count, k, wide->list[k].hi < view.lo);
	uint32_t n = 0;

	if (wide->count == 1 && is_equal(&wide->list[0], &view))
		return true;
	if (wide->count)
		gr_bitmap_set(reach->merged, obj);
	// Each interval is swallowed once.
	while (first + n < wide->count && meet(&wide->list[first + n], &view))
		view = join(&view, &wide->list[first + n++]);
	if (n || wide->count < GR_REACH_MAX_INTERVALS)
		return put(wide, first, n, view);
	set_whole(wide, bytes);
	reach->crowded++;
	return true;
}

/* Give an object a list, which has what its slot has. */
static bool widen(struct gr_reach_table *reach, struct gr_reach_slot *slot)
{
	struct gr_wide_reach wide = { 0 };
	uint32_t index = reach->wide.size;
	size_t capacity = 0;

	if (!gr_vector_grow((void **)&wide.list, &capacity, 1,
			    sizeof(*wide.list)))
		return false;
	wide.capacity = capacity;
	if (slot->start)
		wide.list[wide.count++] = from_slot(slot);
	if (!gr_wide_vector_append(&reach->wide, wide)) {
		free(wide.list);
		return false;
	}
	*slot = (struct gr_reach_slot){ GR_REACH_WIDE, index & 0xffff,
					index >> 16 };
	return true;
}

static struct gr_reach_slot to_slot(const struct gr_interval *view)
{
	return (struct gr_reach_slot){ view->lo + 1, view->hi,
				       view->hi - view->used };
}

bool gr_reach_add(struct gr_reach_table *reach, gr_obj obj, uint64_t bytes,
		  struct gr_interval view)
{
	struct gr_reach_slot *slot = &reach->slots[obj];
	bool is_small = bytes <= GR_SMALL_OBJECT_BYTES;

	GR_ASSERT(view.lo <= view.used && view.used <= view.hi &&
		  view.hi <= bytes);
	if (GR_UNLIKELY(slot->start == GR_REACH_WIDE))
		return add_wide(reach, wide_of(reach, slot), obj, bytes, view);
	if (GR_LIKELY(is_small && !slot->start)) {
		*slot = to_slot(&view);
		return true;
	}
	struct gr_interval own = from_slot(slot);
	if (is_small && is_equal(&own, &view))
		return true;
	if (is_small && meet(&own, &view)) {
		own = join(&own, &view);
		*slot = to_slot(&own);
		gr_bitmap_set(reach->merged, obj);
		return true;
	}
	if (is_small && reach->wide.size >= reach->max_wide) {
		*slot = (struct gr_reach_slot){ 1, bytes, 0 };
		gr_bitmap_set(reach->merged, obj);
		reach->crowded++;
		return true;
	}
	return widen(reach, slot) &&
	       add_wide(reach, wide_of(reach, slot), obj, bytes, view);
}

uint32_t gr_reach_get(const struct gr_reach_table *reach, gr_obj obj,
		      struct gr_interval *one, const struct gr_interval **ret)
{
	const struct gr_reach_slot *slot = &reach->slots[obj];

	*ret = one;
	if (!slot->start)
		return 0;
	if (GR_LIKELY(slot->start != GR_REACH_WIDE)) {
		*one = from_slot(slot);
		return 1;
	}
	const struct gr_wide_reach *wide =
		&reach->wide.data[slot->hi | (uint32_t)slot->spare << 16];
	*ret = wide->list;
	return wide->count;
}
