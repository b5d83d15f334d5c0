// SPDX-License-Identifier: Apache-2.0
/* Which words of the target's own memory are kept because they are pointers. */
#include "save_internal.h"

#include "goruntime/heap/ptrmap.h"
#include "inferior/recorder.h"

/* Record the pointers of a span. @p bits are the collector's, for all slots; those
 * of free slots are cleared. */
static struct gr_error *note_span(struct gr_scan *scan,
				  const struct gr_span *span, uint64_t *bits)
{
	struct gr_recorder *recorder = gr_image_recorder(scan->image);
	uint64_t words = span->elem_bytes / GR_WORD_BYTES;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; i < span->nelems; i++) {
		uint64_t first = gr_span_slot_word(span, i);

		if (!gr_heap_is_allocated(scan->heap, span->first_obj + i))
			gr_bitmap_clear_range(bits, first, first + words);
	}
	GR_ASSERT(!(span->first_word % 64));
	bits += span->first_word / 64;
	for (uint64_t at = 0; !err && at < span->nelems * words;
	     at += GR_SET_PAGE_WORDS) {
		gr_recorder_add_bits(recorder,
				     span->base_addr + at * GR_WORD_BYTES,
				     bits + at / 64, span->nelems * words - at);
		err = gr_runtime_step(&scan->rt, 1);
	}
	return err;
}

static struct gr_error *note_heap(struct gr_scan *scan)
{
	_cleanup_free_ uint64_t *bits = NULL;
	struct gr_gaps before = scan->gaps;
	struct gr_error *err = gr_ptrmap_build(scan->heap, 0, &bits);

	// The gaps were counted before.
	scan->gaps = before;
	for (uint32_t i = 0; !err && i < scan->heap->nspans; i++) {
		const struct gr_span *span = &scan->heap->spans[i];

		if (!span->is_noscan && span->host)
			err = note_span(scan, span, bits);
	}
	return err;
}

/* Does an address lead to memory that pointers come from? */
static bool is_place(const struct gr_scan *scan, uint64_t addr)
{
	const struct gr_area_list *list = &scan->roots.areas;
	size_t i =
		gr_count_before(list->count, j, list->areas[j].start <= addr);

	return gr_heap_span_at(scan->heap, addr) ||
	       (i && addr < list->areas[i - 1].end);
}

/* A word that may be a pointer is kept only if it leads somewhere. */
static bool is_kept(const struct gr_scan *scan, const struct gr_area *area,
		    uint64_t word)
{
	return !area->conservative ||
	       !gr_bitmap_test(area->conservative, word) ||
	       is_place(scan, gr_load_u64(area->host + word * GR_WORD_BYTES));
}

static struct gr_error *note_area(struct gr_scan *scan,
				  const struct gr_area *area)
{
	struct gr_recorder *recorder = gr_image_recorder(scan->image);
	uint64_t end = (area->end - area->start) / GR_WORD_BYTES;
	struct gr_error *err = NULL;

	if (!area->host || !area->live)
		return NULL;
	for (uint64_t at = 0;
	     !err && (at = gr_bitmap_next(area->live, at, end)) < end; at++) {
		if (is_kept(scan, area, at))
			gr_recorder_add(recorder,
					area->start + at * GR_WORD_BYTES,
					GR_WORD_BYTES);
		err = gr_runtime_step(&scan->rt, 1);
	}
	return err;
}

struct gr_error *gr_save_note_pointers(struct gr_scan *scan)
{
	const struct gr_area_list *areas = &scan->roots.areas;
	struct gr_error *err = note_heap(scan);

	for (size_t i = 0; !err && i < areas->count; i++)
		err = note_area(scan, &areas->areas[i]);
	return err;
}

void gr_save_scrub_registers(const struct gr_scan *scan, struct gr_regs *regs)
{
	const struct gr_arch *arch = scan->rt.arch;
	struct gr_mapping_info mapping;

	for (unsigned int i = 0; i < arch->nregs; i++)
		if (!gr_image_mapping(scan->image, regs->value[i], &mapping))
			regs->value[i] = 0;
}
