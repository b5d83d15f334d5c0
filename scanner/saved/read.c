// SPDX-License-Identifier: Apache-2.0
#include "saved/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "inferior/sigbus.h"
#include "saved/description.h"
#include "saved/pages.h"

enum { PAGE = GR_SET_PAGE_BYTES };

/* More memory than this is not in one process. */
#define MAX_MEMORY_BYTES (UINT64_C(1) << 46)

/** A file being read. */
struct reader {
	const char *path;
	struct gr_bytes file; /* mapped */
	struct gr_sigbus_area *area;
	struct gr_frame_reader *frames;
	struct gr_saved *stored;
	struct gr_page_words *page;
	struct gr_byte_vector modules, tables; /* of all, one after another */
	size_t range;	   /* of the memory, that the last page lies in */
	uint64_t last_end; /* of the last page */
	struct gr_error *(*want)(void *ctx, uint64_t bytes);
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

static void reader_deinit(struct reader *r)
{
	gr_frame_reader_destroy(r->frames);
	gr_sigbus_forget(r->area);
	if (r->file.data)
		munmap((void *)r->file.data, r->file.size);
	gr_byte_vector_deinit(&r->modules);
	gr_byte_vector_deinit(&r->tables);
	free(r->page);
}

void gr_stored_deinit(struct gr_saved *stored)
{
	for (size_t i = 0; stored->tables && i < stored->nmodules; i++)
		free(stored->tables[i].block);
	gr_mappings_deinit(&stored->segments);
	gr_mappings_deinit(&stored->files);
	gr_thread_vector_deinit(&stored->threads);
	gr_residency_deinit(&stored->residency);
	gr_range_vector_deinit(&stored->memory);
	gr_word_set_deinit(&stored->words);
	if (stored->mapped)
		munmap(stored->mapped, stored->mapped_size);
	gr_arena_deinit(&stored->arena);
	memset(stored, 0, sizeof(*stored));
}

static struct gr_error *map_file(struct reader *r)
{
	_cleanup_close_ int fd =
		open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return gr_error_format(GR_ERROR_IO, "cannot open %s: %s",
				       r->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s is not a regular file", r->path);
	if (!st.st_size)
		return gr_error_format(GR_ERROR_FORMAT, "%s is empty", r->path);
	void *data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return gr_error_format(GR_ERROR_IO, "cannot map %s: %s",
				       r->path, strerror(errno));
	r->file = (struct gr_bytes){ data, st.st_size };
	r->area = gr_sigbus_watch(r->file, r->path);
	return r->area ? NULL : &gr_enomem;
}

// ------------------------------------------------------------------ the rest

/* Reserve the address space of all memory; pages come when they are used. */
static struct gr_error *reserve_memory(struct reader *r)
{
	struct gr_range_vector *memory = &r->stored->memory;
	uint64_t bytes = 0;

	// A range keeps its place in a page, and its words their alignment.
	for (size_t i = 0; i < memory->size; i++) {
		const struct gr_range *range = &memory->data[i];
		uint64_t first = range->start & -(uint64_t)PAGE;

		bytes += range->end - first;
		bytes = (bytes + PAGE - 1) & -(uint64_t)PAGE;
		if (range->end - first > MAX_MEMORY_BYTES ||
		    bytes > MAX_MEMORY_BYTES)
			return gr_frame_damage(r->frames, "too much memory");
	}
	if (!bytes)
		return gr_frame_damage(r->frames, "no memory");
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED)
		return gr_error_format(GR_ERROR_IO,
				       "%s: no room for %llu bytes of address "
				       "space",
				       r->path, (unsigned long long)bytes);
	r->stored->mapped = mapped;
	r->stored->mapped_size = bytes;
	uint8_t *host = mapped;
	for (size_t i = 0; i < memory->size; i++) {
		struct gr_range *range = &memory->data[i];

		host += range->start % PAGE;
		range->host = host;
		host += range->end - range->start;
		host += -(uintptr_t)host % PAGE;
	}
	return NULL;
}

static struct gr_error *read_description(struct reader *r,
					 const struct gr_saved_frame *frame)
{
	struct gr_coder coder = {
		.is_reading = true,
		.in = { frame->data, frame->bytes },
		.arena = &r->stored->arena,
	};

	if (r->stored->origin)
		return gr_frame_damage(r->frames, "two descriptions");
	gr_code_description(&coder, r->stored);
	if (coder.is_out_of_memory)
		return &gr_enomem;
	if (!gr_coder_is_done(&coder))
		return gr_frame_damage(r->frames,
				       "its description makes no sense");
	return reserve_memory(r);
}

static struct gr_error *append(struct reader *r, struct gr_byte_vector *to,
			       const struct gr_saved_frame *frame)
{
	struct gr_error *err = r->want(r->ctx, frame->bytes);

	if (err)
		return err;
	if (!gr_byte_vector_reserve(to, to->size + frame->bytes))
		return &gr_enomem;
	memcpy(to->data + to->size, frame->data, frame->bytes);
	to->size += frame->bytes;
	return NULL;
}

/* Give each module its image and its tables. */
static struct gr_error *share_out(struct reader *r)
{
	struct gr_bytes images = { r->modules.data, r->modules.size };
	struct gr_bytes tables = { r->tables.data, r->tables.size };
	uint64_t image_off = 0, table_off = 0;

	for (size_t i = 0; i < r->stored->nmodules; i++) {
		struct gr_bytes *image = &r->stored->modules[i].image;
		struct gr_stored_tables *table = &r->stored->tables[i];
		uint64_t bytes = table->bytes;

		table->bytes = 0;
		if (!gr_bytes_has(images, image_off, image->size) ||
		    !gr_bytes_has(tables, table_off, bytes))
			return gr_frame_damage(r->frames, "a module is cut");
		uint8_t *copy =
			gr_arena_alloc(&r->stored->arena, image->size + 1);
		void *block = bytes ? malloc(bytes) : NULL;
		if (!copy || (bytes && !block)) {
			free(block);
			return &gr_enomem;
		}
		if (image->size)
			memcpy(copy, images.data + image_off, image->size);
		if (bytes)
			memcpy(block, tables.data + table_off, bytes);
		image->data = copy;
		image_off += image->size;
		*table = (struct gr_stored_tables){ block, bytes };
		table_off += bytes;
	}
	return image_off == images.size && table_off == tables.size ?
		       NULL :
		       gr_frame_damage(r->frames, "a module is too long");
}

// --------------------------------------------------------------------- pages

/* Put the words of a page to their places. */
static struct gr_error *take_page(void *ctx, const struct gr_page_words *page)
{
	struct reader *r = ctx;
	const struct gr_range_vector *memory = &r->stored->memory;
	uint64_t end = page->addr + PAGE;

	if (end < page->addr || page->addr < r->last_end)
		return gr_frame_damage(r->frames, "its pages are not in order");
	r->last_end = end;
	while (r->range < memory->size &&
	       memory->data[r->range].end <= page->addr)
		r->range++;
	for (size_t i = r->range;
	     i < memory->size && memory->data[i].start < end; i++) {
		const struct gr_range *range = &memory->data[i];
		uint64_t from = range->start > page->addr ? range->start :
							    page->addr;
		uint64_t to = range->end < end ? range->end : end;

		memcpy((uint8_t *)range->host + (from - range->start),
		       (const uint8_t *)page->words + (from - page->addr),
		       to - from);
	}
	if (r->stored->has_values)
		return NULL;
	uint64_t *bits = gr_word_set_make_page(&r->stored->words, page->addr);
	if (!bits)
		return &gr_enomem;
	memcpy(bits, page->present, sizeof(page->present));
	return NULL;
}

static struct gr_error *read_pages(struct reader *r,
				   const struct gr_saved_frame *frame)
{
	struct gr_bytes batch = { frame->data, frame->bytes };
	bool is_fine;
	struct gr_error *err = r->want(r->ctx, (uint64_t)GR_BATCH_PAGES * PAGE);

	if (!err)
		err = gr_batch_read(batch, r->page, take_page, r, &is_fine);
	if (!err && !is_fine)
		err = gr_frame_damage(r->frames, "a page makes no sense");
	return err;
}

/* The layout is copied: the frame's bytes are gone with the next frame. */
static struct gr_error *read_layout(struct reader *r,
				    const struct gr_saved_frame *frame)
{
	if (r->stored->layout.size)
		return gr_frame_damage(r->frames, "two layouts");
	uint8_t *copy = gr_arena_alloc(&r->stored->arena, frame->bytes);
	if (!copy)
		return &gr_enomem;
	memcpy(copy, frame->data, frame->bytes);
	r->stored->layout = (struct gr_bytes){ copy, frame->bytes };
	return NULL;
}

static struct gr_error *read_frame(struct reader *r,
				   const struct gr_saved_frame *frame)
{
	if (!r->stored->origin && frame->kind != GR_FRAME_DESCRIPTION)
		return gr_frame_damage(r->frames, "no description");
	switch ((enum gr_frame_kind)frame->kind) {
	case GR_FRAME_DESCRIPTION:
		return read_description(r, frame);
	case GR_FRAME_MODULE:
		return append(r, &r->modules, frame);
	case GR_FRAME_TABLES:
		return append(r, &r->tables, frame);
	case GR_FRAME_PAGES:
		return read_pages(r, frame);
	case GR_FRAME_LAYOUT:
		return read_layout(r, frame);
	case GR_FRAME_END:
		break;
	}
	return gr_frame_damage(r->frames, "a part of unknown kind");
}

static struct gr_error *read_frames(struct reader *r)
{
	struct gr_saved_frame frame;
	struct gr_error *err = gr_frame_read(r->frames, &frame);

	while (!err && frame.kind != GR_FRAME_END) {
		err = read_frame(r, &frame);
		if (!err)
			err = r->poll(r->ctx);
		if (!err)
			err = gr_frame_read(r->frames, &frame);
	}
	if (!err && !r->stored->origin)
		err = gr_frame_damage(r->frames, "no description");
	return err;
}

static struct gr_error *keep_text(struct reader *r, const char *text,
				  const char **ret)
{
	*ret = gr_arena_intern(&r->stored->arena, text, strlen(text));
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_saved_read(
	const char *path, struct gr_error *(*want)(void *ctx, uint64_t bytes),
	struct gr_error *(*poll)(void *ctx), void *ctx, struct gr_saved *ret)
{
	_cleanup_(reader_deinit) struct reader r = {
		.path = path,
		.stored = ret,
		.page = calloc(1, sizeof(*r.page)),
		.want = want,
		.poll = poll,
		.ctx = ctx,
	};
	struct gr_error *err = r.page ? map_file(&r) : &gr_enomem;

	if (!err)
		err = gr_frame_reader_create(path, r.file.data, r.file.size,
					     &r.frames);
	if (!err)
		err = keep_text(&r, gr_frame_reader_goref(r.frames),
				&ret->goref);
	if (!err)
		err = read_frames(&r);
	return err ? err : share_out(&r);
}
