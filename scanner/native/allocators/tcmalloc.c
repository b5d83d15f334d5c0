// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/tcmalloc.h"

#include "native/allocators/module_search.h"

#include "base/bitmap.h"
#include "base/cleanup.h"

#include <ctype.h>

enum {
	MOST_INSTANCES = 16, /* that are read */
	MOST_VERSION_BYTES = 16,
	/* Blocks that tell the debug library. */
	DEBUG_BLOCKS = 256,
	DEBUG_LEAST_BYTES = 32,
	DEBUG_MAGIC = 16, /* MallocBlock::magic1_ */
};
#define GR_TCMALLOC_MAGIC UINT64_C(0xdeadbeef)
#define GR_TCMALLOC_MARK "gperftools "

/* The layouts of versions. Versions in between, with other fields or none of
 * them, are not known; 2.8 drops its lock while it changes spans. */
static const struct gr_tcmalloc_layout layouts[] = {
	// An own build, with pages of 8 KiB.
	{ "2.7", 96, false, 3120 },
	// Debian 11's 2.8.1-1 at work; offsets of 2.9.1 by a compiler; Debian
	// 12's 2.10-1 at work, both libraries, and own builds of 2.10 with
	// pages of 4 and 64 KiB, with classes of 8 bytes, and small but slow.
	// The headers of all of these are alike.
	{ "2.8.1", 128, false, 4144 },
	{ "2.9", 128, false, 4144 },
	{ "2.9.1", 128, false, 4144 },
	{ "2.10", 128, false, 4144 },
	// Offsets of 2.11 by a compiler; an own build of 2.15 at work. The
	// headers of all of these are alike.
	{ "2.11", 128, true, 4144 },
	{ "2.12", 128, true, 4144 },
	{ "2.13", 128, true, 4144 },
	{ "2.14", 128, true, 4144 },
	{ "2.15", 128, true, 4144 },
	// Debian 13's 2.16-1 by its structures, an own build of it at work;
	// offsets of 2.17.2 by a compiler; an own build of 2.18.1 at work.
	{ "2.16", 128, true, 4128 },
	{ "2.17", 128, true, 4128 },
	{ "2.17.1", 128, true, 4128 },
	{ "2.17.2", 128, true, 4128 },
	{ "2.18", 128, true, 4128 },
	{ "2.18.1", 128, true, 4128 },
};
static const char not_known[] =
	"is not supported (goref reads 2.7, and 2.8.1 to 2.18.1)";
static const char no_version[] =
	"cannot be read without its library, which tells the version";

static void tcmalloc_deinit(struct gr_tcmalloc *t)
{
	gr_addr_vector_deinit(&t->caches);
	gr_native_range_vector_deinit(&t->tables);
	gr_tcmalloc_span_vector_deinit(&t->spans);
	gr_blocks_deinit(&t->blocks);
	free(t->is_free);
}

// ------------------------------------------------------------------- version

/* The text that tc_version() returns: `gperftools 2.10`, and nothing else. */
static size_t match_version(const char *text, size_t bytes, bool is_first)
{
	size_t mark = strlen(GR_TCMALLOC_MARK), n = mark;

	if (bytes < mark || memcmp(text, GR_TCMALLOC_MARK, mark) ||
	    (!is_first && text[-1]))
		return 0;
	while (n < bytes && n < mark + MOST_VERSION_BYTES &&
	       (isdigit((unsigned char)text[n]) || text[n] == '.'))
		n++;
	return n > mark && n < bytes && !text[n] ? n : 0;
}

/* Find the version, and the layout that it has. */
static struct gr_error *find_version(struct gr_tcmalloc *t)
{
	const char *text;
	struct gr_error *err = gr_module_find_text(t->r, t->path, t->central,
						   GR_TCMALLOC_MARK, 0,
						   match_version, &text);

	if (err || !text)
		return err;
	t->version = text + strlen(GR_TCMALLOC_MARK);
	for (size_t i = 0; i < GR_ARRAY_SIZE(layouts); i++)
		if (!strcmp(layouts[i].version, t->version))
			t->layout = &layouts[i];
	return NULL;
}

// -------------------------------------------------------------------- blocks

/* The bytes that a program may use of a block of a span of its own. A sampled
 * block says how many were asked for, and counts as if it had a slot. */
static uint64_t usable_bytes(struct gr_tcmalloc *t,
			     const struct gr_tcmalloc_span *span)
{
	uint64_t page = t->sizes.min_span << t->heap.shift, bytes;
	struct gr_view view = t->r->view;

	view.is_recording = true;
	if (!span->is_sampled || !gr_view_word(&view, span->objects, &bytes))
		return span->bytes;
	if (bytes > span->bytes)
		return 0;
	if (bytes > GR_TCMALLOC_MOST_SMALL_BYTES)
		return (bytes + page - 1) / page * page;
	return t->sizes.bytes
		[t->sizes.class_of[bytes <= 1024 ?
					   (bytes + 7) / 8 :
					   (bytes + 127 + (120 << 7)) / 128]];
}

static struct gr_error *add_large(struct gr_tcmalloc *t,
				  const struct gr_tcmalloc_span *span)
{
	uint64_t bytes = usable_bytes(t, span);

	if (!bytes || bytes > span->bytes) {
		gr_arena_fail(gr_tcmalloc_arena(t),
			      "a sampled block is damaged");
		return NULL;
	}
	return gr_reader_add_block(t->r, &t->blocks, t->arena, span->start,
				   bytes, 0);
}

static struct gr_error *add_slots(struct gr_tcmalloc *t,
				  const struct gr_tcmalloc_span *span)
{
	// A damaged span has no slots, and any class.
	uint64_t bytes = span->slots ? t->sizes.bytes[span->size_class] : 0;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < span->slots; i++) {
		if (!gr_bitmap_test(t->is_free, span->first_slot + i))
			err = gr_reader_add_block(t->r, &t->blocks, t->arena,
						  span->start + i * bytes,
						  bytes, 0);
		if (!err)
			err = gr_runtime_step(t->r->spec->rt, 1);
	}
	return err;
}

/* Count a free span. */
static struct gr_error *add_free(struct gr_tcmalloc *t,
				 const struct gr_tcmalloc_span *span)
{
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);

	arena->free_blocks++;
	gr_reader_count_free(t->r, arena, span->start, span->bytes);
	if (span->bytes > arena->largest_free_bytes)
		arena->largest_free_bytes = span->bytes;
	return NULL;
}

static struct gr_error *add_blocks(struct gr_tcmalloc *t)
{
	struct gr_native_arena *arena = gr_tcmalloc_arena(t);
	struct gr_error *err = NULL;

	arena->blocks_counter = "refcount";
	arena->counted_blocks = 0;
	for (size_t i = 0; !err && i < t->spans.size; i++) {
		const struct gr_tcmalloc_span *span = &t->spans.data[i];

		if (span->place != GR_TCMALLOC_IN_USE) {
			err = add_free(t, span);
		} else if (span->size_class) {
			arena->counted_blocks += span->refcount;
			arena->found_blocks += span->slots;
			err = add_slots(t, span);
		} else {
			err = add_large(t, span);
		}
		if (!err)
			err = gr_runtime_step(t->r->spec->rt, 1);
	}
	for (size_t i = 0; i < GR_TCMALLOC_MOST_CLASSES; i++)
		arena->found_blocks -= t->nfree[i];
	return err;
}

/* Free spans that are mapped are returned when the program asks for it. */
static struct gr_error *add_trimmable(struct gr_tcmalloc *t)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < t->spans.size; i++) {
		const struct gr_tcmalloc_span *span = &t->spans.data[i];

		if (span->place == GR_TCMALLOC_NORMAL)
			err = gr_reader_add_trimmable(
				t->r, t->arena, span->start,
				span->start + span->bytes);
		if (!err)
			err = gr_runtime_step(t->r->spec->rt, 1);
	}
	return err;
}

// ------------------------------------------------------------------ instance

/* Do most blocks begin with the header of the debug library, which keeps freed
 * blocks, too? */
static bool is_debug(struct gr_tcmalloc *t)
{
	struct gr_recorder *recorder = t->r->spec->rt->recorder;
	const struct gr_block_vector *list = &t->blocks.list;
	unsigned int all = 0, marked = 0;

	for (size_t i = 0; i < list->size && all < DEBUG_BLOCKS; i++) {
		uint64_t at = list->data[i].addr + DEBUG_MAGIC;

		if (gr_block_bytes(&list->data[i]) < DEBUG_LEAST_BYTES)
			continue;
		all++;
		if (!gr_view_has(&t->r->view, at, GR_TCMALLOC_MAGIC))
			continue;
		marked++;
		if (recorder)
			gr_recorder_add(recorder, at, GR_WORD_BYTES);
	}
	return marked > all / 2;
}

static struct gr_error *add_structures(struct gr_tcmalloc *t)
{
	struct gr_error *err = gr_reader_add_structure(
		t->r, t->central,
		t->central + (uint64_t)t->central_bytes * t->sizes.count);

	return err ? err :
		     gr_reader_add_structure(t->r, t->heap.start, t->heap.end);
}

/* Walk the page heap. The blocks are not added yet. */
static struct gr_error *walk(struct gr_tcmalloc *t)
{
	struct gr_error *err = gr_tcmalloc_find_caches(t);

	if (!err)
		err = gr_tcmalloc_walk(t);
	if (!err)
		err = gr_tcmalloc_find_free(t);
	return err ? err : add_blocks(t);
}

static struct gr_error *add_all(struct gr_tcmalloc *t)
{
	struct gr_error *err = add_structures(t);

	if (!err)
		err = gr_tcmalloc_add_memory(t);
	if (!err)
		err = add_trimmable(t);
	if (!err)
		err = gr_reader_keep_blocks(t->r, &t->blocks, NULL);
	return err ? err :
		     gr_reader_add_allocator(t->r, "tcmalloc", t->version,
					     t->arena);
}

/* Read an instance whose version is known. */
static struct gr_error *read_known(struct gr_tcmalloc *t)
{
	struct gr_error *err = gr_tcmalloc_find(t);

	if (err)
		return err;
	if (!t->size_map || !t->heap.free)
		return gr_reader_refuse(t->r, "tcmalloc", t->version,
					"has structures that were not found");
	t->arena = t->r->native->arenas.size;
	err = gr_reader_add_arena(t->r, t->heap.start, "page");
	if (!err)
		err = walk(t);
	if (err)
		return err;
	if (is_debug(t)) {
		t->r->native->arenas.size = t->arena;
		return gr_reader_refuse(t->r, "tcmalloc", t->version,
					"is its debug library, which keeps "
					"blocks that were freed");
	}
	return add_all(t);
}

static struct gr_error *read_instance(struct gr_native_reader *r,
				      const struct gr_tcmalloc_instance *at)
{
	_cleanup_(tcmalloc_deinit) struct gr_tcmalloc t = {
		.r = r,
		.path = at->path,
		.version = "",
		.central = at->central,
		.central_bytes = at->list_bytes,
		.is_central_torn = at->is_torn,
	};
	struct gr_error *err = find_version(&t);

	if (err || t.layout)
		return err ? err : read_known(&t);
	return gr_reader_refuse(r, "tcmalloc", t.version,
				*t.version ? not_known : no_version);
}

// ------------------------------------------------------------------- several

bool gr_tcmalloc_meets_taken(struct gr_tcmalloc *t, uint64_t start,
			     uint64_t end)
{
	const struct gr_native_range_vector *list = &t->r->taken;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= start);

	if (n == list->size || list->data[n].start >= end)
		return false;
	gr_arena_fail(gr_tcmalloc_arena(t),
		      "another allocator has its memory, too");
	return true;
}

/* Read instance number @p i, or refuse all that are in one file. */
static struct gr_error *read_at(struct gr_native_reader *r,
				const struct gr_tcmalloc_instance *found,
				size_t count, size_t i)
{
	size_t before = 0, behind = 0, first = r->native->memory.size;

	for (size_t k = 0; k < count; k++) {
		if (k != i && !strcmp(found[k].path, found[i].path))
			*(k < i ? &before : &behind) += 1;
	}
	if (before)
		return NULL;
	if (behind)
		return gr_reader_refuse(r, "tcmalloc", "",
					"is in one file twice");
	struct gr_error *err = read_instance(r, &found[i]);
	return err ? err : gr_reader_take(r, first);
}

static struct gr_error *read_tcmalloc(struct gr_native_reader *r)
{
	struct gr_tcmalloc_instance found[MOST_INSTANCES + 1];
	size_t count = 0;
	struct gr_error *err =
		gr_tcmalloc_find_central(r, found, MOST_INSTANCES + 1, &count);

	if (err)
		return err;
	// A saved file has them all, so that it gives the same.
	for (size_t i = 0; i < count; i++)
		gr_tcmalloc_record_central(r, &found[i]);
	if (count > MOST_INSTANCES)
		return gr_reader_refuse(r, "tcmalloc", "",
					"is there more than 16 times");
	for (size_t i = 0; !err && i < count; i++)
		err = read_at(r, found, count, i);
	return err;
}

const struct gr_allocator gr_allocator_tcmalloc = { "tcmalloc", read_tcmalloc };
