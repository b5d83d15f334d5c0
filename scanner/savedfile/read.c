// SPDX-License-Identifier: Apache-2.0
#include "savedfile/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "inferior/sigbus.h"
#include "savedfile/description.h"
#include "savedfile/pages.h"

enum {
	PAGE = GR_SET_PAGE_BYTES,
	POLL_ROWS = 1 << 12,
	/* Memory for pages is asked for in such pieces. */
	PIECE_BYTES = 1 << 20,
};

/* More memory than this is not in one process. */
#define MAX_MEMORY_BYTES (UINT64_C(1) << 46)

/** Where the frames of one kind go: into the modules, one after another. */
struct filler {
	size_t module;
	uint64_t off; /* of the module's bytes */
};

/** A file being read. */
struct reader {
	const char *path;
	struct gr_bytes file; /* mapped */
	struct gr_sigbus_area *area;
	struct gr_frame_reader *frames;
	struct gr_saved *saved;
	struct gr_page_words *page;
	struct filler images, tables;
	uint64_t piece_left; /* bytes that were asked for */
	size_t range;	     /* of the memory, that the last page lies in */
	uint64_t last_end;   /* of the last page */
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
	free(r->page);
}

void gr_saved_deinit(struct gr_saved *saved)
{
	for (size_t i = 0; saved->tables && i < saved->nmodules; i++)
		free(saved->tables[i].block);
	gr_mappings_deinit(&saved->segments);
	gr_mappings_deinit(&saved->files);
	gr_thread_vector_deinit(&saved->threads);
	gr_residency_deinit(&saved->residency);
	gr_range_vector_deinit(&saved->memory);
	gr_word_set_deinit(&saved->words);
	if (saved->mapped)
		munmap(saved->mapped, saved->mapped_size);
	gr_arena_deinit(&saved->arena);
	memset(saved, 0, sizeof(*saved));
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

/* Count the pages that hold all memory. A range keeps its place in a page, and
 * its words their alignment. */
static struct gr_error *count_memory(const struct reader *r, uint64_t *ret)
{
	const struct gr_range_vector *memory = &r->saved->memory;
	struct gr_error *err = NULL;
	uint64_t bytes = 0;

	for (size_t i = 0; !err && i < memory->size; i++) {
		const struct gr_range *range = &memory->data[i];
		uint64_t first = range->start & -(uint64_t)PAGE;

		bytes += range->end - first;
		bytes = (bytes + PAGE - 1) & -(uint64_t)PAGE;
		if (range->end - first > MAX_MEMORY_BYTES ||
		    bytes > MAX_MEMORY_BYTES)
			return gr_frame_damage(r->frames, "too much memory");
		if (i % POLL_ROWS == 0)
			err = r->poll(r->ctx);
	}
	*ret = bytes;
	return err || bytes ? err : gr_frame_damage(r->frames, "no memory");
}

/* Reserve the address space of all memory; pages come when they are used. */
static struct gr_error *reserve_memory(struct reader *r)
{
	struct gr_range_vector *memory = &r->saved->memory;
	uint64_t bytes;
	struct gr_error *err = count_memory(r, &bytes);

	if (err)
		return err;
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED)
		return gr_error_format(GR_ERROR_IO,
				       "%s: no room for %llu bytes of address "
				       "space",
				       r->path, (unsigned long long)bytes);
	r->saved->mapped = mapped;
	r->saved->mapped_size = bytes;
	uint8_t *host = mapped;
	for (size_t i = 0; !err && i < memory->size; i++) {
		struct gr_range *range = &memory->data[i];

		host += range->start % PAGE;
		range->host = host;
		host += range->end - range->start;
		host += -(uintptr_t)host % PAGE;
		if (i % POLL_ROWS == 0)
			err = r->poll(r->ctx);
	}
	return err;
}

/* The sizes that the modules are said to have; the file pays for them. */
static struct gr_error *check_modules(const struct reader *r)
{
	const struct gr_saved *saved = r->saved;
	uint64_t left = gr_frame_reader_most(r->frames);

	for (size_t i = 0; i < saved->nmodules; i++) {
		uint64_t image = saved->modules[i].image.size;
		uint64_t tables = saved->tables[i].bytes;

		if (image > left || tables > left - image)
			return gr_frame_damage(r->frames,
					       "a module is too large");
		left -= image + tables;
	}
	return NULL;
}

/* The sort may need the memory of a list once more. */
static struct gr_error *sort_mappings(struct reader *r,
				      struct gr_mappings *mappings)
{
	struct gr_error *err = r->want(
		r->ctx, mappings->list.size * sizeof(*mappings->list.data));

	return err ? err : gr_mappings_sort(mappings, r->poll, r->ctx);
}

static struct gr_error *read_description(struct reader *r,
					 const struct gr_saved_frame *frame)
{
	struct gr_coder coder = {
		.is_reading = true,
		.in = { frame->data, frame->bytes },
		.arena = &r->saved->arena,
		.want = r->want,
		.poll = r->poll,
		.ctx = r->ctx,
	};

	if (r->saved->origin)
		return gr_frame_damage(r->frames, "two descriptions");
	gr_code_description(&coder, r->saved);
	if (coder.err || coder.is_out_of_memory)
		return coder.err ?: &gr_enomem;
	if (!gr_coder_is_done(&coder))
		return gr_frame_damage(r->frames,
				       "its description makes no sense");
	struct gr_error *err = sort_mappings(r, &r->saved->segments);
	if (!err)
		err = sort_mappings(r, &r->saved->files);
	if (!err)
		err = check_modules(r);
	return err ? err : reserve_memory(r);
}

// ------------------------------------------------------------------- modules

/* The bytes of a module's image or tables: how many, and where they go. */
struct module_bytes {
	uint64_t size;
	uint8_t *data;
};

static struct module_bytes bytes_of(const struct reader *r,
				    const struct filler *f)
{
	const struct gr_bytes *image = &r->saved->modules[f->module].image;
	const struct gr_saved_tables *tables = &r->saved->tables[f->module];

	if (f == &r->images)
		return (struct module_bytes){ image->size,
					      (uint8_t *)image->data };
	return (struct module_bytes){ tables->bytes, tables->block };
}

/* Take memory for a module's bytes. */
static struct gr_error *take_bytes(struct reader *r, const struct filler *f,
				   uint64_t bytes)
{
	struct gr_error *err = r->want(r->ctx, bytes);
	void *data = NULL;

	if (err)
		return err;
	if (f == &r->images)
		r->saved->modules[f->module].image.data = data =
			gr_arena_alloc(&r->saved->arena, bytes);
	else
		r->saved->tables[f->module].block = data = malloc(bytes);
	return data ? NULL : &gr_enomem;
}

/* Go to the next module that still lacks bytes. False: there is none. */
static bool find_room(const struct reader *r, struct filler *f)
{
	while (f->module < r->saved->nmodules &&
	       f->off == bytes_of(r, f).size) {
		f->module++;
		f->off = 0;
	}
	return f->module < r->saved->nmodules;
}

/* Copy the bytes of a frame into the modules that they belong to. */
static struct gr_error *fill(struct reader *r, struct filler *f,
			     const struct gr_saved_frame *frame)
{
	// Bounded by the frame's bytes: find_room() leaves some.
	for (uint64_t done = 0, n; done < frame->bytes; done += n) {
		if (!find_room(r, f))
			return gr_frame_damage(r->frames,
					       "a module is too long");
		struct module_bytes to = bytes_of(r, f);
		struct gr_error *err = to.data ? NULL :
						 take_bytes(r, f, to.size);
		if (err)
			return err;
		n = to.size - f->off;
		n = n < frame->bytes - done ? n : frame->bytes - done;
		memcpy(bytes_of(r, f).data + f->off, frame->data + done, n);
		f->off += n;
	}
	return NULL;
}

/* Does each module have the bytes that the description says? */
static struct gr_error *check_filled(struct reader *r)
{
	static const uint8_t nothing;

	if (find_room(r, &r->images) || find_room(r, &r->tables))
		return gr_frame_damage(r->frames, "a module is incomplete");
	// Without an image, the file of that name would be opened.
	for (size_t i = 0; i < r->saved->nmodules; i++)
		if (!r->saved->modules[i].image.size)
			r->saved->modules[i].image.data = &nothing;
	return NULL;
}

// --------------------------------------------------------------------- pages

/* Ask for memory before it is used, a piece at a time. */
static struct gr_error *pay(struct reader *r, uint64_t bytes)
{
	if (bytes > r->piece_left) {
		struct gr_error *err = r->want(r->ctx, PIECE_BYTES);

		if (!err)
			err = r->poll(r->ctx);
		if (err)
			return err;
		r->piece_left = PIECE_BYTES;
	}
	r->piece_left -= bytes;
	return NULL;
}

/* Note which words of a page are there. The first page of a new stretch also
 * takes a page for the bits of its neighbours. That of 64 other pages is paid for
 * once it is resident: each frame has 1,024 at most, and asks before it. */
static struct gr_error *note_words(struct reader *r,
				   const struct gr_page_words *page)
{
	struct gr_word_set *words = &r->saved->words;
	bool is_new = !gr_word_set_page(words, page->addr);
	struct gr_error *err =
		pay(r, is_new ? 2 * PAGE : sizeof(page->present));

	if (err)
		return err;
	uint64_t *bits = gr_word_set_make_page(words, page->addr);
	if (!bits)
		return &gr_enomem;
	memcpy(bits, page->present, sizeof(page->present));
	return NULL;
}

/* Put the words of a page to their places. Each range of the page has a page of
 * its own. */
static struct gr_error *take_page(void *ctx, const struct gr_page_words *page)
{
	struct reader *r = ctx;
	const struct gr_range_vector *memory = &r->saved->memory;
	uint64_t end = page->addr + PAGE;
	struct gr_error *err = NULL;

	if (end < page->addr || page->addr < r->last_end)
		return gr_frame_damage(r->frames, "its pages are not in order");
	r->last_end = end;
	while (r->range < memory->size &&
	       memory->data[r->range].end <= page->addr)
		r->range++;
	for (size_t i = r->range;
	     i < memory->size && memory->data[i].start < end; i++) {
		err = pay(r, PAGE);
		if (err)
			return err;
		const struct gr_range *range = &memory->data[i];
		uint64_t from = range->start > page->addr ? range->start :
							    page->addr;
		uint64_t to = range->end < end ? range->end : end;

		memcpy((uint8_t *)range->host + (from - range->start),
		       (const uint8_t *)page->words + (from - page->addr),
		       to - from);
	}
	return r->saved->has_values ? NULL : note_words(r, page);
}

static struct gr_error *read_pages(struct reader *r,
				   const struct gr_saved_frame *frame)
{
	struct gr_bytes batch = { frame->data, frame->bytes };
	bool is_fine;
	struct gr_error *err =
		gr_batch_read(batch, r->page, take_page, r, &is_fine);

	if (!err && !is_fine)
		err = gr_frame_damage(r->frames, "a page makes no sense");
	return err;
}

/* The layout is copied: the frame's bytes are gone with the next frame. */
static struct gr_error *read_layout(struct reader *r,
				    const struct gr_saved_frame *frame)
{
	if (r->saved->layout.size)
		return gr_frame_damage(r->frames, "two layouts");
	struct gr_error *err = r->want(r->ctx, frame->bytes);
	if (err)
		return err;
	uint8_t *copy = gr_arena_alloc(&r->saved->arena, frame->bytes);
	if (!copy)
		return &gr_enomem;
	memcpy(copy, frame->data, frame->bytes);
	r->saved->layout = (struct gr_bytes){ copy, frame->bytes };
	return NULL;
}

static struct gr_error *read_frame(struct reader *r,
				   const struct gr_saved_frame *frame)
{
	if (!r->saved->origin && frame->kind != GR_FRAME_DESCRIPTION)
		return gr_frame_damage(r->frames, "no description");
	switch ((enum gr_frame_kind)frame->kind) {
	case GR_FRAME_DESCRIPTION:
		return read_description(r, frame);
	case GR_FRAME_MODULE:
		return fill(r, &r->images, frame);
	case GR_FRAME_TABLES:
		return fill(r, &r->tables, frame);
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
	if (!err && !r->saved->origin)
		err = gr_frame_damage(r->frames, "no description");
	return err;
}

static struct gr_error *keep_text(struct reader *r, const char *text,
				  const char **ret)
{
	*ret = gr_arena_intern(&r->saved->arena, text, strlen(text));
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_saved_read(
	const char *path, struct gr_error *(*want)(void *ctx, uint64_t bytes),
	struct gr_error *(*poll)(void *ctx), void *ctx, struct gr_saved *ret)
{
	_cleanup_(reader_deinit) struct reader r = {
		.path = path,
		.saved = ret,
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
	if (!err) {
		gr_frame_reader_ask(r.frames, want, ctx);
		err = read_frames(&r);
	}
	return err ? err : check_filled(&r);
}
