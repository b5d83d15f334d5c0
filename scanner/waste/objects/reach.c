// SPDX-License-Identifier: Apache-2.0
/*
 * The slot of an object has its only interval, or the number of its entry in
 * the table of wide ones, or nothing.
 */
#include "waste/objects/reach.h"

/* A slot: two bits that tell what it has, and two fields of 15 bits. */
enum {
	NOTHING,  /* so that a slot of zeros has nothing */
	AT_START, /* [0, hi), and how much of it is not in use */
	USED,	  /* lo and hi; all is in use */
	WIDE,	  /* the number of an entry, in 30 bits */
	WHAT_SHIFT = 30,
	FIELD_SHIFT = 15,
	FIELD_MASK = (1 << FIELD_SHIFT) - 1,
};

enum {
	WIDE_SHARE = 32, /* one object in so many may have an entry, */
	MORE_SHARE = 16, /* one in so many one more interval */
	FREE = 1 << 16,	 /* beyond these */
	LIST_CAPACITY = 2,
};

_Static_assert((int)FIELD_MASK < (int)GR_SMALL_OBJECT_BYTES,
	       "the largest size class is no field");

struct gr_error *gr_reach_init(struct gr_reach_table *reach,
			       const struct gr_heap *heap)
{
	*reach = (struct gr_reach_table){
		.heap = heap,
		.max_wide = heap->nobjs / WIDE_SHARE + FREE,
		.max_more = heap->nobjs / MORE_SHARE + FREE,
	};
	reach->slots = gr_array_calloc(&reach->memory,
				       (uint64_t)heap->nobjs + 1,
				       sizeof(*reach->slots));
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
	gr_array_free(reach->slots);
	free(reach->merged);
	memset(reach, 0, sizeof(*reach));
}

static unsigned int what_of(uint32_t slot)
{
	return slot >> WHAT_SHIFT;
}

/* The interval of a slot that has one. */
static struct gr_interval from_slot(uint32_t slot)
{
	uint32_t first = slot & FIELD_MASK;
	uint32_t second = slot >> FIELD_SHIFT & FIELD_MASK;

	if (what_of(slot) == AT_START)
		return (struct gr_interval){ 0, first, first - second };
	return (struct gr_interval){ first, second, second };
}

/* The slot of an interval; NOTHING: it needs an entry. */
static uint32_t to_slot(const struct gr_interval *view)
{
	if (view->hi > FIELD_MASK)
		return NOTHING;
	if (!view->lo)
		return (uint32_t)AT_START << WHAT_SHIFT |
		       (uint32_t)(view->hi - view->used) << FIELD_SHIFT |
		       (uint32_t)view->hi;
	if (view->used == view->hi)
		return (uint32_t)USED << WHAT_SHIFT |
		       (uint32_t)view->hi << FIELD_SHIFT | (uint32_t)view->lo;
	return NOTHING;
}

static struct gr_wide_reach *wide_of(const struct gr_reach_table *reach,
				     uint32_t slot)
{
	return &reach->wide.data[slot & ~((uint32_t)WIDE << WHAT_SHIFT)];
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

/* May an object have one more interval? */
static bool has_room(const struct gr_reach_table *reach,
		     const struct gr_wide_reach *wide)
{
	return !wide->count || (wide->count < GR_REACH_MAX_INTERVALS &&
				reach->nmore < reach->max_more);
}

/* Add a view to an object with a list. */
static bool add_wide(struct gr_reach_table *reach, struct gr_wide_reach *wide,
		     gr_obj obj, uint64_t bytes, struct gr_interval view)
{
	uint32_t first =
		gr_count_before(wide->count, k, wide->list[k].hi < view.lo);
	uint32_t n = 0, count = wide->count;

	if (count == 1 && is_equal(&wide->list[0], &view))
		return true;
	if (count)
		gr_bitmap_set(reach->merged, obj);
	// Each interval is swallowed once.
	while (first + n < count && meet(&wide->list[first + n], &view))
		view = join(&view, &wide->list[first + n++]);
	if (!n && !has_room(reach, wide)) {
		reach->crowded++;
		reach->nmore -= count - 1;
		wide->count = 1;
		wide->list[0] = (struct gr_interval){ 0, bytes, bytes };
		return true;
	}
	if (!put(wide, first, n, view))
		return false;
	if (count)
		reach->nmore = reach->nmore + wide->count - count;
	return true;
}

/* Give an object a list, which has what its slot has. */
static bool widen(struct gr_reach_table *reach, uint32_t *slot)
{
	struct gr_wide_reach wide = {
		.list = malloc(LIST_CAPACITY * sizeof(*wide.list)),
		.capacity = LIST_CAPACITY,
	};

	if (!wide.list)
		return false;
	if (what_of(*slot) != NOTHING)
		wide.list[wide.count++] = from_slot(*slot);
	if (!gr_wide_vector_append(&reach->wide, wide)) {
		free(wide.list);
		return false;
	}
	*slot = (uint32_t)WIDE << WHAT_SHIFT | (uint32_t)(reach->wide.size - 1);
	return true;
}

/* Has the table an entry for one more object of this size? */
static bool has_entry(const struct gr_reach_table *reach, uint64_t bytes)
{
	return reach->wide.size >> WHAT_SHIFT == 0 &&
	       (bytes > FIELD_MASK || reach->wide.size < reach->max_wide);
}

/* Add a view to an object whose slot has no room for it. */
static bool add_entry(struct gr_reach_table *reach, gr_obj obj, uint64_t bytes,
		      struct gr_interval view)
{
	uint32_t *slot = &reach->slots[obj];
	const struct gr_interval whole = { 0, bytes, bytes };

	if (what_of(*slot) == WIDE || has_entry(reach, bytes))
		return (what_of(*slot) == WIDE || widen(reach, slot)) &&
		       add_wide(reach, wide_of(reach, *slot), obj, bytes, view);
	// Large objects without entry stay without views.
	*slot = to_slot(&whole);
	gr_bitmap_set(reach->merged, obj);
	reach->crowded++;
	return true;
}

bool gr_reach_add(struct gr_reach_table *reach, gr_obj obj, uint64_t bytes,
		  struct gr_interval view)
{
	uint32_t *slot = &reach->slots[obj];
	uint32_t packed;

	GR_ASSERT(view.lo <= view.used && view.used <= view.hi &&
		  view.hi <= bytes);
	if (GR_UNLIKELY(what_of(*slot) == WIDE))
		return add_entry(reach, obj, bytes, view);
	packed = to_slot(&view);
	if (GR_LIKELY(packed && (!*slot || *slot == packed))) {
		*slot = packed;
		return true;
	}
	struct gr_interval own = from_slot(*slot);
	if (*slot && is_equal(&own, &view))
		return true;
	if (*slot && meet(&own, &view)) {
		own = join(&own, &view);
		packed = to_slot(&own);
		gr_bitmap_set(reach->merged, obj);
		if (packed) {
			*slot = packed;
			return true;
		}
	}
	return add_entry(reach, obj, bytes, view);
}

uint32_t gr_reach_get(const struct gr_reach_table *reach, gr_obj obj,
		      struct gr_interval *one, const struct gr_interval **ret)
{
	uint32_t slot = reach->slots[obj];
	const struct gr_wide_reach *wide;

	*ret = one;
	if (!slot)
		return 0;
	if (GR_LIKELY(what_of(slot) != WIDE)) {
		*one = from_slot(slot);
		return 1;
	}
	wide = wide_of(reach, slot);
	*ret = wide->list;
	return wide->count;
}
