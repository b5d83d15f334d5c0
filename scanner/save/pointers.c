// SPDX-License-Identifier: Apache-2.0
/* Which words of the target's own memory are kept because they are pointers. */
#include "save/save_internal.h"

#include "base/sort.h"
#include "goruntime/heap/ptrmap.h"
#include "inferior/recorder.h"
#include "native/motion.h"

/** Where memory is mapped: ranges that are apart, by address. */
struct places {
	struct gr_stop *stop;
	struct gr_range_vector ranges;
};

static struct gr_error *add_place(struct places *p, uint64_t start,
				  uint64_t end)
{
	if (!gr_range_vector_append(&p->ranges,
				    (struct gr_range){ start, end, NULL }))
		return &gr_enomem;
	return gr_runtime_step(&p->stop->program->rt, 1);
}

static struct gr_error *add_places(struct places *p,
				   const struct gr_mapping_vector *list)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++)
		err = add_place(p, list->data[i].start, list->data[i].end);
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct gr_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Join ranges that overlap. */
static void join(struct gr_range_vector *ranges)
{
	size_t n = 0;

	for (size_t i = 0; i < ranges->size; i++) {
		const struct gr_range *range = &ranges->data[i];

		if (!n || range->start > ranges->data[n - 1].end)
			ranges->data[n++] = *range;
		else if (range->end > ranges->data[n - 1].end)
			ranges->data[n - 1].end = range->end;
	}
	ranges->size = n;
}

static struct gr_error *find_places(struct places *p)
{
	const struct gr_image *image = p->stop->image;
	const struct gr_mapping_vector *segments =
		&gr_image_segments(image)->list;
	const struct gr_mapping_vector *files =
		&gr_image_file_mappings(image)->list;
	const struct gr_ranges *memory = gr_image_ranges(image);
	struct gr_runtime *rt = &p->stop->program->rt;
	size_t count = segments->size + files->size + memory->count;
	// The sort needs as much again.
	struct gr_error *err =
		gr_image_want(image, 2 * count * sizeof(*memory->data));

	if (!err && !gr_range_vector_reserve(&p->ranges, count))
		err = &gr_enomem;
	if (!err)
		err = add_places(p, segments);
	if (!err)
		err = add_places(p, files);
	for (size_t i = 0; !err && i < memory->count; i++)
		err = add_place(p, memory->data[i].start, memory->data[i].end);
	if (!err)
		err = gr_sort(p->ranges.data, p->ranges.size,
			      sizeof(*memory->data), compare_ranges, rt->poll,
			      rt->poll_ctx);
	if (!err)
		join(&p->ranges);
	return err;
}

/* Is a word the address of something, or 0? A pointer of C or of package unsafe
 * may be any number. */
static bool is_address(const struct places *p, uint64_t word)
{
	const struct gr_range *list = p->ranges.data;

	if (GR_LIKELY(!word || gr_heap_span_at(p->stop->heap, word)))
		return true;
	size_t n = gr_count_before(p->ranges.size, i, list[i].start <= word);
	return n && word < list[n - 1].end;
}

/* Record the words of a page in @p bits that lead nowhere as 0. */
static void drop_numbers(const struct places *p, const struct gr_span *span,
			 uint64_t first, uint64_t end, uint64_t *bits)
{
	struct gr_recorder *recorder = gr_image_recorder(p->stop->image);

	for (uint64_t at = first; (at = gr_bitmap_next(bits, at, end)) < end;
	     at++) {
		if (is_address(p, gr_load_u64(span->host + at * GR_WORD_BYTES)))
			continue;
		gr_bitmap_clear_range(bits, at, at + 1);
		gr_recorder_add_blank(recorder,
				      span->base_addr + at * GR_WORD_BYTES);
	}
}

/* Record the pointers of a span. @p bits are the collector's, for all slots; those
 * of free slots are cleared. */
static struct gr_error *note_span(const struct places *p,
				  const struct gr_span *span, uint64_t *bits)
{
	struct gr_heap *heap = p->stop->heap;
	struct gr_recorder *recorder = gr_image_recorder(heap->rt->image);
	uint64_t words = span->elem_bytes / GR_WORD_BYTES;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; i < span->nelems; i++) {
		uint64_t first = gr_span_slot_word(span, i);

		if (!gr_heap_is_allocated(heap, span->first_obj + i))
			gr_bitmap_clear_range(bits, first, first + words);
	}
	GR_ASSERT(!(span->first_word % 64));
	bits += span->first_word / 64;
	for (uint64_t at = 0; !err && at < span->nelems * words;
	     at += GR_SET_PAGE_WORDS) {
		uint64_t end = at + GR_SET_PAGE_WORDS;

		if (end > span->nelems * words)
			end = span->nelems * words;
		drop_numbers(p, span, at, end, bits);
		gr_recorder_add_bits(recorder,
				     span->base_addr + at * GR_WORD_BYTES,
				     bits + at / 64, span->nelems * words - at);
		err = gr_runtime_step(heap->rt, 1);
	}
	return err;
}

static struct gr_error *note_heap(const struct places *p)
{
	struct gr_stop *stop = p->stop;
	_cleanup_free_ uint64_t *bits = NULL;
	struct gr_gaps before = stop->gaps;
	struct gr_error *err = gr_ptrmap_build(stop->heap, 0, &bits);

	// The gaps were counted before.
	stop->gaps = before;
	for (uint32_t i = 0; !err && i < stop->heap->nspans; i++) {
		const struct gr_span *span = &stop->heap->spans[i];

		if (!span->is_noscan && span->host)
			err = note_span(p, span, bits);
	}
	return err;
}

/* Does an address lead to memory that pointers come from? */
static bool is_place(const struct gr_stop *stop, uint64_t addr)
{
	const struct gr_area_list *list = &stop->roots.areas;
	size_t i =
		gr_count_before(list->count, j, list->areas[j].start <= addr);

	return gr_heap_span_at(stop->heap, addr) ||
	       (i && addr < list->areas[i - 1].end);
}

/* A word is kept only if it leads somewhere; one that may be a pointer, only if
 * it leads to memory of Go. */
static bool is_kept(const struct places *p, const struct gr_area *area,
		    uint64_t word)
{
	uint64_t value = gr_load_u64(area->host + word * GR_WORD_BYTES);

	return area->conservative && gr_bitmap_test(area->conservative, word) ?
		       is_place(p->stop, value) :
		       is_address(p, value);
}

static struct gr_error *note_area(const struct places *p,
				  const struct gr_area *area)
{
	struct gr_runtime *rt = &p->stop->program->rt;
	struct gr_recorder *recorder = gr_image_recorder(rt->image);
	uint64_t end = (area->end - area->start) / GR_WORD_BYTES;
	struct gr_error *err = NULL;

	if (!area->host || !area->live)
		return NULL;
	for (uint64_t at = 0;
	     !err && (at = gr_bitmap_next(area->live, at, end)) < end; at++) {
		uint64_t addr = area->start + at * GR_WORD_BYTES;

		if (is_kept(p, area, at))
			gr_recorder_add(recorder, addr, GR_WORD_BYTES);
		else if (!area->conservative ||
			 !gr_bitmap_test(area->conservative, at))
			gr_recorder_add_blank(recorder, addr);
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_save_note_pointers(struct gr_stop *stop)
{
	const struct gr_area_list *areas = &stop->roots.areas;
	struct places places = { .stop = stop };
	struct gr_error *err = find_places(&places);

	if (!err)
		err = note_heap(&places);
	for (size_t i = 0; !err && i < areas->count; i++)
		err = note_area(&places, &areas->areas[i]);
	gr_range_vector_deinit(&places.ranges);
	return err;
}

void gr_save_scrub_registers(const struct gr_runtime *rt, struct gr_regs *regs)
{
	const struct gr_arch *arch = rt->arch;

	for (unsigned int i = 0; i < arch->nregs; i++)
		if (!gr_image_is_mapped(rt->image, regs->value[i]))
			regs->value[i] &= gr_native_call_bits(arch, regs, i);
}
