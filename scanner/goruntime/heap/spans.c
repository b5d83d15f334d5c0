// SPDX-License-Identifier: Apache-2.0
/*
 * The runtime's list of spans (runtime/mheap.go: mheap.allspans, mspan). This
 * file checks each span, sorts the spans and numbers their objects.
 */
#include "goruntime/heap/spans.h"

#include "base/cleanup.h"
#include "base/sort.h"

#define MAX_SPANS (UINT64_C(1) << 28)
/* Addresses of user space end here on amd64 and arm64. */
#define MAX_ADDR (UINT64_C(1) << 48)
#define MAX_MSPAN_BYTES 4096
#define SPARE_BYTES (UINT64_C(1) << 30)

/*
 * Does offset * magic >> 32 give the right element for all offsets of the
 * span? For Go's own size classes it does (runtime/mksizeclasses.go).
 */
static bool magic_is_exact(const struct gr_span *span)
{
	uint64_t magic = UINT32_MAX / span->elem_bytes + 1;
	uint64_t excess = magic * span->elem_bytes - (UINT64_C(1) << 32);
	uint64_t bytes = span->nelems * span->elem_bytes;

	return !excess || bytes <= (UINT64_C(1) << 32) / excess;
}

/* True if the members of the descriptor are consistent. */
static bool span_is_valid(const struct gr_raw_span *raw, uint64_t page_bytes)
{
	const struct gr_span *span = &raw->span;

	if (!span->base_addr || span->base_addr % page_bytes ||
	    span->base_addr >= MAX_ADDR || !raw->npages ||
	    raw->npages > MAX_ADDR / page_bytes ||
	    span->base_addr + raw->npages * page_bytes > MAX_ADDR)
		return false;
	if (!span->nelems || span->elem_bytes < GR_WORD_BYTES ||
	    span->elem_bytes % GR_WORD_BYTES ||
	    span->elem_bytes > raw->npages * page_bytes ||
	    span->nelems > raw->npages * page_bytes / span->elem_bytes)
		return false;
	// A span is no larger than its elements need. The exception is a user
	// arena's chunk (runtime/arena.go): a map of 1/64 follows its elements.
	uint64_t bytes = raw->npages * page_bytes;
	if (bytes - span->nelems * span->elem_bytes > page_bytes + bytes / 32)
		return false;
	// Offsets in spans of more than one element must fit in 32 bits.
	return span->nelems == 1 ||
	       (raw->npages * page_bytes <= UINT32_MAX && magic_is_exact(span));
}

/* Fill in a span from an mspan record; false if the span is not in use. */
static bool span_parse(const struct gr_layout *layout, const uint8_t *record,
		       struct gr_raw_span *ret)
{
	const typeof(layout->mspan) *f = &layout->mspan;
	struct gr_span *span = &ret->span;

	memset(ret, 0, sizeof(*ret));
	if ((uint8_t)gr_field_uint(record, f->state) !=
	    layout->consts.span_in_use)
		return false;
	span->base_addr = gr_field_uint(record, f->start_addr);
	ret->npages = gr_field_uint(record, f->npages);
	span->elem_bytes = gr_field_uint(record, f->elemsize);
	uint64_t nelems = gr_field_uint(record, f->nelems);
	span->nelems = nelems <= UINT32_MAX ? nelems : 0;
	span->spanclass = gr_field_uint(record, f->spanclass);
	span->is_noscan = span->spanclass & 1;
	span->specials = gr_field_uint(record, f->specials);
	ret->freeindex = gr_field_uint(record, f->freeindex);
	span->fresh = UINT32_MAX;
	if (gr_field_is_present(f->freeindex_for_scan) && ret->freeindex &&
	    gr_field_uint(record, f->freeindex_for_scan) < ret->freeindex)
		span->fresh = ret->freeindex - 1;
	ret->alloc_bits_addr = gr_field_word(record, f->alloc_bits);
	if (!span->is_noscan && span->spanclass >> 1 == 0)
		span->large_type = gr_field_word(record, f->large_type);
	int64_t min_header = layout->consts.min_size_for_header;
	if (layout->has.min_size_for_header && !span->is_noscan &&
	    span->spanclass >> 1 && (int64_t)span->elem_bytes > min_header)
		span->header_bytes = layout->consts.header_bytes;
	return true;
}

static void span_finish(struct gr_raw_span *raw)
{
	struct gr_span *span = &raw->span;

	span->freeindex = raw->freeindex < span->nelems ? raw->freeindex :
							  span->nelems;
	span->limit_addr = span->base_addr + span->nelems * span->elem_bytes;
	span->magic = span->nelems > 1 ? UINT32_MAX / span->elem_bytes + 1 : 0;
}

/*
 * Note the sweep state of a span (runtime/mheap.go: sweepgen). A span whose
 * sweepgen is two behind the heap's or one ahead is unswept. One behind means
 * that it is being swept.
 */
static void note_sweep(struct gr_runtime *rt, const uint8_t *record,
		       uint64_t sweepgen, struct gr_span *span)
{
	uint32_t gen = gr_field_uint(record, rt->layout.mspan.sweepgen);
	uint32_t behind = (uint32_t)sweepgen - gen;

	span->is_unswept = behind == 1 || behind == 2 ||
			   gen == (uint32_t)sweepgen + 1;
	if (behind == 1)
		gr_gap_add(rt->gaps, GR_GAP_SPANS_MID_SWEEP, 1);
}

/*
 * Count the allocations from a span since a P cached it. The sweepgen of a
 * cached span is one or three ahead of the heap's (runtime/mheap.go:
 * mspan.sweepgen).
 */
static void add_cached(struct gr_heap *heap, const struct gr_layout *layout,
		       const uint8_t *record, const struct gr_span *span,
		       uint64_t sweepgen)
{
	uint32_t ahead =
		(uint32_t)gr_field_uint(record, layout->mspan.sweepgen) -
		(uint32_t)sweepgen;
	uint64_t count = gr_field_uint(record, layout->mspan.alloc_count);
	uint64_t before =
		gr_field_uint(record, layout->mspan.alloc_count_before_cache);

	if ((ahead != 1 && ahead != 3) || span->spanclass >> 1 == 0)
		return;
	heap->cached_objects += count - before;
	heap->cached_bytes += (count - before) * span->elem_bytes;
}

/*
 * Read whether the collector is marking. During marking, allocation does not
 * advance freeIndexForScan (mallocgc), so that freeIndexForScan does not show
 * which slot is being initialised. In an unswept span it does not show that
 * either: nothing is allocated there.
 */
static struct gr_error *read_phase(struct gr_runtime *rt, uint64_t *marking)
{
	uint64_t phase = rt->layout.vars.gcphase;
	uint64_t addr = phase ? phase : rt->layout.vars.write_barrier;

	*marking = 0;
	return addr ? gr_image_read_uint(rt->image, addr, 4, marking) : NULL;
}

/*
 * The most bytes that all spans together may cover. Spans do not overlap, and
 * they lie in mapped memory. The limit has room to spare because a dump may
 * leave out pages that were never touched.
 */
static uint64_t room_for_spans(const struct gr_runtime *rt)
{
	uint64_t mapped = gr_image_mapped_bytes(rt->image);

	return mapped > UINT64_MAX / 8 ? UINT64_MAX : mapped * 4 + SPARE_BYTES;
}

/*
 * Note a span that is neither dead nor the allocator's. Only those of stacks
 * have a size of elements (runtime/stack.go: stackpoolalloc, stackalloc).
 */
static bool note_manual(struct gr_heap *heap, const uint8_t *record)
{
	const struct gr_layout *layout = &heap->rt->layout;
	uint64_t base = gr_field_uint(record, layout->mspan.start_addr);
	uint64_t npages = gr_field_uint(record, layout->mspan.npages);

	if (!(uint8_t)gr_field_uint(record, layout->mspan.state) ||
	    base % layout->consts.page_bytes || base >= MAX_ADDR ||
	    npages > (MAX_ADDR - base) / layout->consts.page_bytes)
		return true;
	return gr_manual_span_vector_append(
		&heap->manual_spans,
		(struct gr_manual_span){
			base, base + npages * layout->consts.page_bytes,
			gr_field_uint(record, layout->mspan.elemsize) });
}

/* Append the span of a record if it is in use. *@p room is the number of bytes
 * that spans may still cover. */
static struct gr_error *add_span(struct gr_heap *heap, uint64_t addr,
				 const uint8_t *record, uint64_t sweepgen,
				 bool is_marking, uint64_t *room,
				 struct gr_raw_spans *ret)
{
	struct gr_runtime *rt = heap->rt;
	const struct gr_layout *layout = &rt->layout;
	struct gr_raw_span raw;

	if (!span_parse(layout, record, &raw))
		return note_manual(heap, record) ? NULL : &gr_enomem;
	if (!span_is_valid(&raw, layout->consts.page_bytes) ||
	    raw.npages * layout->consts.page_bytes > *room) {
		gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
		return NULL;
	}
	*room -= raw.npages * layout->consts.page_bytes;
	note_sweep(rt, record, sweepgen, &raw.span);
	span_finish(&raw);
	if (is_marking || raw.span.is_unswept)
		raw.span.fresh = UINT32_MAX;
	add_cached(heap, layout, record, &raw.span, sweepgen);
	raw.span.mspan_addr = addr;
	return gr_raw_spans_append(ret, raw) ? NULL : &gr_enomem;
}

/* Read the place of the list and the state of the collector. */
static struct gr_error *read_list_header(struct gr_runtime *rt,
					 struct gr_go_slice *all,
					 uint64_t *sweepgen, uint64_t *marking)
{
	const struct gr_layout *layout = &rt->layout;
	uint64_t mheap = layout->vars.mheap;
	struct gr_error *err;

	err = gr_runtime_read_slice(rt, mheap + layout->mheap.allspans.off,
				    MAX_SPANS, all);
	if (!err)
		err = gr_image_read_uint(rt->image,
					 mheap + layout->mheap.sweepgen.off,
					 layout->mheap.sweepgen.bytes,
					 sweepgen);
	if (!err)
		err = read_phase(rt, marking);
	return err ? gr_error_prefix(err, "mheap_.allspans: ") : NULL;
}

static struct gr_error *read_spans(struct gr_heap *heap,
				   struct gr_raw_spans *ret)
{
	struct gr_runtime *rt = heap->rt;
	uint64_t sweepgen, marking, addr, unreadable = 0;
	uint64_t room = room_for_spans(rt);
	uint8_t record[MAX_MSPAN_BYTES];
	struct gr_go_slice all;
	struct gr_error *err;

	if (rt->layout.mspan.size_bytes > sizeof(record))
		return gr_error_format(GR_ERROR_LAYOUT,
				       "runtime.mspan is absurdly large");
	err = read_list_header(rt, &all, &sweepgen, &marking);
	for (uint64_t i = 0; !err && i < all.len; i++) {
		err = gr_runtime_step(rt, 1);
		if (err)
			return err;
		err = gr_image_read_u64(rt->image, all.addr + i * 8, &addr);
		if (!err)
			err = gr_image_read(rt->image, addr, record,
					    rt->layout.mspan.size_bytes);
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
			// Give up on a list with too many unreadable entries.
			if (++unreadable > 1 << 20)
				break;
		} else if (!err) {
			err = add_span(heap, addr, record, sweepgen, marking,
				       &room, ret);
		}
	}
	return err;
}

/* The start address of a span and its index in the list. */
struct span_key {
	uint64_t base_addr;
	size_t i;
};

static int compare_keys(const void *a, const void *b)
{
	const struct span_key *x = a, *y = b;

	if (x->base_addr != y->base_addr)
		return x->base_addr < y->base_addr ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Sort by address. The list is long and its elements are large, so that only
 * their keys are sorted. */
static struct gr_error *sort_spans(struct gr_runtime *rt,
				   struct gr_raw_spans *raws)
{
	_cleanup_free_ struct span_key *keys = NULL;
	struct gr_raw_spans sorted = { 0 };
	struct gr_error *err = gr_image_want(
		rt->image, raws->size * (sizeof(*keys) + sizeof(*sorted.data)));

	if (err)
		return err;
	keys = malloc(raws->size * sizeof(*keys));
	if (!keys)
		return &gr_enomem;
	for (size_t i = 0; !err && i < raws->size; i++) {
		keys[i] = (struct span_key){ raws->data[i].span.base_addr, i };
		err = gr_runtime_step(rt, 1);
	}
	if (err)
		return err;
	err = gr_sort(keys, raws->size, sizeof(*keys), compare_keys, rt->poll,
		      rt->poll_ctx);
	if (err)
		return err;
	if (!gr_raw_spans_reserve(&sorted, raws->size))
		return &gr_enomem;
	for (size_t i = 0; !err && i < raws->size; i++) {
		sorted.data[i] = raws->data[keys[i].i];
		err = gr_runtime_step(rt, 1);
	}
	sorted.size = raws->size;
	gr_raw_spans_deinit(raws);
	*raws = sorted;
	return err;
}

/* Sort the spans; drop those that overlap an earlier one; number objects. */
static struct gr_error *number_objects(struct gr_heap *heap,
				       struct gr_raw_spans *raws)
{
	struct gr_runtime *rt = heap->rt;
	uint64_t nobjs = 0, nwords = 0, end = 0;
	size_t kept = 0;

	if (!raws->size)
		return NULL;
	struct gr_error *err = sort_spans(rt, raws);
	if (err)
		return err;
	for (size_t i = 0; i < raws->size; i++) {
		struct gr_raw_span raw = raws->data[i];

		err = gr_runtime_step(rt, 1);
		if (err)
			return err;
		if (raw.span.base_addr < end) {
			gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
			continue;
		}
		end = gr_raw_span_end(&raw);
		raw.span.first_obj = nobjs;
		nobjs += raw.span.nelems;
		if (nobjs >= GR_OBJ_NONE)
			return gr_error_format(
				GR_ERROR_LIMIT,
				"the heap has more than 4294967294 objects");
		if (!raw.span.is_noscan) {
			raw.span.first_word = nwords;
			// Only whole pages are numbered, so that no two spans
			// share a word of a bitmap.
			nwords += raw.npages * GR_PAGE_WORDS;
		}
		raws->data[kept++] = raw;
	}
	raws->size = kept;
	heap->nobjs = nobjs;
	heap->nwords = nwords;
	return NULL;
}

static int compare_manual(const void *a, const void *b)
{
	const struct gr_manual_span *x = a, *y = b;

	return x->base_addr < y->base_addr ? -1 : x->base_addr > y->base_addr;
}

struct gr_error *gr_spans_read(struct gr_heap *heap, struct gr_raw_spans *ret)
{
	struct gr_manual_span_vector *manual = &heap->manual_spans;
	struct gr_error *err = read_spans(heap, ret);

	if (!err)
		err = number_objects(heap, ret);
	if (err || !manual->size)
		return err;
	return gr_sort(manual->data, manual->size, sizeof(*manual->data),
		       compare_manual, heap->rt->poll, heap->rt->poll_ctx);
}
