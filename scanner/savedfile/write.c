// SPDX-License-Identifier: Apache-2.0
#include "savedfile/saved.h"

#include "base/cleanup.h"
#include "savedfile/batches.h"
#include "savedfile/description.h"

enum { PAGE = GR_SET_PAGE_BYTES };

/** A file being written. */
struct writer {
	const struct gr_saved_spec *spec;
	struct gr_frame_writer *frames;
	struct gr_batches *batches;
	const struct gr_ranges *ranges;	  /* memory of the image */
	struct gr_word_set words;	  /* recorded, sorted */
	uint64_t all[GR_SET_PAGE_BITMAP]; /* a bit for each word of a page */
};

static void writer_deinit(struct writer *w)
{
	gr_batches_destroy(w->batches);
	gr_frame_writer_destroy(w->frames);
	gr_word_set_deinit(&w->words);
}

// ------------------------------------------------------------------ the rest

static bool add_range(struct gr_range_vector *out, uint64_t start, uint64_t end)
{
	struct gr_range *last = out->size ? &out->data[out->size - 1] : NULL;

	if (last && last->end == start) {
		last->end = end;
		return true;
	}
	return gr_range_vector_append(out,
				      (struct gr_range){ start, end, NULL });
}

/* Add the parts of a page that the image does not have: they were read from a
 * live target. */
static bool add_page_range(const struct gr_ranges *ranges, uint64_t page,
			   struct gr_range_vector *out)
{
	uint64_t at = page, end = page + PAGE;

	for (size_t i = gr_ranges_search(ranges, at);
	     i < ranges->count && ranges->data[i].start < end; i++) {
		if (ranges->data[i].start > at &&
		    !add_range(out, at, ranges->data[i].start))
			return false;
		at = ranges->data[i].end;
	}
	return at >= end || add_range(out, at, end);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct gr_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* All memory that the file speaks of, sorted. */
static struct gr_error *list_memory(struct writer *w)
{
	const struct gr_saved_spec *spec = w->spec;
	struct gr_range_vector *memory = &spec->saved->memory;
	struct gr_word_set_pages at = { 0 };
	const uint64_t *bits;
	uint64_t page;

	for (size_t i = 0; i < w->ranges->count; i++)
		if (!add_range(memory, w->ranges->data[i].start,
			       w->ranges->data[i].end))
			return &gr_enomem;
	while (gr_word_set_next_page(&w->words, &at, &page, &bits))
		if (gr_recorder_page(spec->recorder, page) &&
		    !add_page_range(w->ranges, page, memory))
			return &gr_enomem;
	if (memory->size)
		qsort(memory->data, memory->size, sizeof(*memory->data),
		      compare_ranges);
	return NULL;
}

static struct gr_error *write_description(struct writer *w)
{
	struct gr_saved *saved = w->spec->saved;
	struct gr_coder coder = { .poll = w->spec->poll, .ctx = w->spec->ctx };

	gr_code_description(&coder, saved);
	struct gr_error *err = coder.err ?: &gr_enomem;
	if (!coder.err && !coder.is_out_of_memory)
		err = coder.is_bad || coder.out.size > GR_FRAME_MAX_BYTES ?
			      gr_error_format(GR_ERROR_LIMIT,
					      "the target has too many "
					      "mappings to be saved") :
			      gr_frame_write(w->frames, GR_FRAME_DESCRIPTION,
					     coder.out.data, coder.out.size);
	gr_byte_vector_deinit(&coder.out);
	for (size_t i = 0; !err && i < saved->nmodules; i++)
		err = gr_frame_write(w->frames, GR_FRAME_MODULE,
				     saved->modules[i].image.data,
				     saved->modules[i].image.size);
	for (size_t i = 0; !err && i < saved->nmodules; i++)
		err = gr_frame_write(w->frames, GR_FRAME_TABLES,
				     saved->tables[i].block,
				     saved->tables[i].bytes);
	return err ? err :
		     gr_frame_write(w->frames, GR_FRAME_LAYOUT,
				    saved->layout.data, saved->layout.size);
}

// --------------------------------------------------------------------- pages

/* Copy what there is of a page: what was captured wins over what was read
 * before. */
static void copy_page(const struct writer *w, uint64_t page, uint8_t *to)
{
	const struct gr_ranges *ranges = w->ranges;
	const uint8_t *read = gr_recorder_page(w->spec->recorder, page);

	if (read)
		memcpy(to, read, PAGE);
	else
		memset(to, 0, PAGE);
	for (size_t i = gr_ranges_search(ranges, page);
	     i < ranges->count && ranges->data[i].start < page + PAGE; i++) {
		const struct gr_range *range = &ranges->data[i];
		uint64_t start = range->start > page ? range->start : page;
		uint64_t end = range->end < page + PAGE ? range->end :
							  page + PAGE;

		memcpy(to + (start - page),
		       range->host + (start - range->start), end - start);
	}
}

static void clear_absent(struct gr_page_words *page)
{
	for (int i = 0; i < GR_SET_PAGE_WORDS; i++)
		if (!(page->present[i / 64] >> i % 64 & 1))
			page->words[i] = 0;
}

static bool is_zero(const uint64_t *words)
{
	uint64_t all = 0;

	for (int i = 0; i < GR_SET_PAGE_WORDS; i++)
		all |= words[i];
	return !all;
}

/* Fill in a page (gr_batches_spec.read). If all memory is kept, pages of zeros
 * are left out. */
static bool read_page(void *ctx, struct gr_page_words *page)
{
	const struct writer *w = ctx;
	const struct gr_saved_spec *spec = w->spec;

	copy_page(w, page->addr, (uint8_t *)page->words);
	if (spec->is_whole && is_zero(page->words))
		return false;
	clear_absent(page);
	if (!spec->is_whole)
		gr_recorder_clear_unread(spec->recorder, page->addr,
					 page->words);
	page->stride = 1;
	page->column = 0;
	if (spec->find_stride)
		spec->find_stride(spec->ctx, page->addr, &page->stride,
				  &page->column);
	return true;
}

static struct gr_error *write_recorded(struct writer *w)
{
	struct gr_word_set_pages at = { 0 };
	struct gr_error *err = NULL;
	const uint64_t *bits;
	uint64_t page;

	while (!err && gr_word_set_next_page(&w->words, &at, &page, &bits))
		err = gr_batches_add(w->batches, page, bits);
	return err;
}

static struct gr_error *write_all(struct writer *w)
{
	const struct gr_range_vector *memory = &w->spec->saved->memory;
	struct gr_error *err = NULL;
	uint64_t next = 0;

	memset(w->all, 0xff, sizeof(w->all));
	for (size_t i = 0; !err && i < memory->size; i++) {
		uint64_t page = memory->data[i].start & -(uint64_t)PAGE;

		// Bounded by our own list of memory.
		for (page = page < next ? next : page;
		     !err && page < memory->data[i].end; page += PAGE) {
			err = gr_batches_add(w->batches, page, w->all);
			next = page + PAGE;
		}
	}
	return err;
}

static struct gr_error *want(void *ctx, uint64_t bytes)
{
	return gr_image_want(ctx, bytes);
}

static struct gr_error *write_pages(struct writer *w)
{
	const struct gr_saved_spec *spec = w->spec;
	const struct gr_batches_spec batches = {
		.read = read_page,
		.ctx = w,
		.frames = w->frames,
		.want = want,
		.want_ctx = spec->image,
		.poll = spec->poll,
		.poll_ctx = spec->ctx,
		.nthreads = spec->nthreads ?: 1,
	};
	struct gr_error *err = gr_batches_create(&batches, &w->batches);

	if (!err)
		err = spec->is_whole ? write_all(w) : write_recorded(w);
	return err ? err : gr_batches_end(w->batches);
}

struct gr_error *gr_saved_write(const struct gr_saved_spec *spec,
				struct gr_frame_sink sink)
{
	_cleanup_(writer_deinit) struct writer w = {
		.spec = spec,
		.ranges = gr_image_ranges(spec->image),
	};

	if (!gr_recorder_list_words(spec->recorder, &w.words))
		return &gr_enomem;
	gr_word_set_sort(&w.words);
	struct gr_error *err =
		gr_frame_writer_create(sink, GR_SAVED_VERSION, &w.frames);
	if (!err)
		err = list_memory(&w);
	if (!err)
		err = write_description(&w);
	if (!err)
		err = write_pages(&w);
	return err ? err : gr_frame_writer_end(w.frames);
}
