// SPDX-License-Identifier: Apache-2.0
/*
 * The words that lead to blocks of C: those of Go's spans, of the roots of C and
 * of the blocks themselves. They are the edges of C memory in the object graph.
 * All other words of this memory are values and are not recorded. The structures
 * of the allocator are recorded as they are read (native/view.h).
 */
#include "save/save_internal.h"

#include "base/cleanup.h"
#include "goruntime/layout/c_variable.h"
#include "inferior/elf.h"
#include "inferior/recorder.h"
#include "native/block_class.h"
#include "native/c_roots.h"
#include "scan/native.h"

struct words {
	struct gr_stop *stop;
	struct gr_runtime *rt;
	struct gr_blocks *blocks;
	const struct gr_native *native;
	struct gr_view view;
	bool with_free; /* words that lead to free memory, too */
	bool has_names; /* words of data have names of variables */
	size_t module;	/* with data that was noted last */
};

/* Note the word at @p addr. If names are wanted, @p named is the address of a
 * variable. */
static struct gr_error *note_word(struct words *w, uint64_t addr,
				  uint64_t named)
{
	struct gr_c_variable unused;

	gr_recorder_add(w->rt->recorder, addr, GR_WORD_BYTES);
	// The symbols of variables that are named are saved, too.
	return w->has_names ? gr_c_variable_find(w->rt, named, &unused) : NULL;
}

/* The types of variables are saved of files whose data leads to blocks, as they
 * are read for the graph. */
static struct gr_error *need_types(struct words *w, uint64_t addr,
				   uint64_t word)
{
	const struct gr_dwarf *unused;
	uint32_t block = gr_blocks_find(w->blocks, word);

	if (!w->has_names || w->blocks->list.data[block].addr != word)
		return NULL;
	size_t module = gr_image_module_at(w->rt->image, addr);
	if (module == w->module || module == SIZE_MAX)
		return NULL;
	w->module = module;
	return gr_stop_c_types(w->stop, module, &unused);
}

/* Note the words of [start, end) that lead to blocks. */
static struct gr_error *note_range(struct words *w, uint64_t start,
				   uint64_t end)
{
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && start < end &&
	       gr_view_piece(&w->view, start, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);

			uint64_t at = piece.start + i * GR_WORD_BYTES;

			if (gr_blocks_find(w->blocks, word) != GR_BLOCK_NONE) {
				err = note_word(w, at, at);
				if (!err)
					err = need_types(w, at, word);
			} else if (w->with_free &&
				   gr_native_is_free(w->native, word)) {
				err = note_word(w, at, at);
			}
			if (!err && i % 64 == 0)
				err = gr_runtime_step(w->rt, 1);
		}
		start = piece.end;
	}
	return err;
}

static struct gr_error *note_heap(struct words *w, const struct gr_heap *heap)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++)
		err = note_range(w, heap->spans[i].base_addr,
				 heap->spans[i].limit_addr);
	return err;
}

/* Note the words at the start of a block that lead into files of the program: they
 * tell what the block is. */
static struct gr_error *note_content(struct words *w,
				     const struct gr_block *block)
{
	uint64_t n = gr_block_usable_bytes(block) / GR_WORD_BYTES, word;
	struct gr_error *err = NULL;

	if (n > GR_BLOCK_CONTENT_WORDS)
		n = GR_BLOCK_CONTENT_WORDS;
	w->has_names = true;
	for (uint64_t i = 0; !err && i < n; i++) {
		uint64_t at = block->addr + i * GR_WORD_BYTES;

		if (!gr_view_word(&w->view, at, &word) || word < GR_PAGE_BYTES)
			continue;
		err = gr_runtime_step(w->rt, 1);
		if (!err && gr_image_module_at(w->rt->image, word) != SIZE_MAX)
			err = note_word(w, at, word);
	}
	w->has_names = false;
	return err;
}

/* Note the number of the objects of an array, and what shows that they are some:
 * the first word of each. */
static struct gr_error *note_array(struct words *w, struct gr_classes *classes,
				   const struct gr_block *block)
{
	struct gr_block_class class;
	struct gr_error *err = gr_block_class_find(classes, block, &class);
	uint64_t at = block->addr + GR_WORD_BYTES;

	if (err || !class.count)
		return err;
	gr_recorder_add(w->rt->recorder, block->addr, GR_WORD_BYTES);
	for (uint64_t i = 0; !err && i < class.count; i++) {
		gr_recorder_add(w->rt->recorder, at + i * class.stride,
				GR_WORD_BYTES);
		err = gr_runtime_step(w->rt, 1);
	}
	return err;
}

static struct gr_error *note_blocks(struct words *w)
{
	const struct gr_block_vector *list = &w->blocks->list;
	_cleanup_free_ struct gr_classes *classes = malloc(sizeof(*classes));
	struct gr_error *err = classes ? NULL : &gr_enomem;

	if (!err)
		gr_classes_init(classes, w->rt, w->blocks);
	for (size_t i = 0; !err && i < list->size; i++) {
		err = note_content(w, &list->data[i]);
		if (!err)
			err = note_array(w, classes, &list->data[i]);
		if (!err)
			err = note_range(
				w, list->data[i].addr,
				list->data[i].addr +
					gr_block_usable_bytes(&list->data[i]));
	}
	return err;
}

/* Live words of stacks are in the heap's spans of stacks, and of data in the
 * roots of C. */
static struct gr_error *note_stacks(struct words *w,
				    const struct gr_area_list *areas)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < areas->count; i++)
		err = note_range(w, areas->areas[i].start, areas->areas[i].end);
	return err;
}

static struct gr_error *note_roots(struct words *w, struct gr_stop *stop)
{
	_cleanup_(gr_c_threads_deinit) struct gr_c_threads threads = { 0 };
	_cleanup_(
		gr_c_root_vector_deinit) struct gr_c_root_vector roots = { 0 };
	struct gr_c_roots_spec spec;
	struct gr_error *err = gr_stop_c_roots_spec(stop, &threads, &spec);

	if (!err)
		err = gr_c_roots_find(&spec, &roots);
	for (size_t i = 0; !err && i < roots.size; i++) {
		w->has_names = roots.data[i].kind == GR_C_ROOT_DATA;
		w->with_free = w->has_names;
		err = note_range(w, roots.data[i].start, roots.data[i].end);
	}
	w->with_free = w->has_names = false;
	return err;
}

struct gr_error *gr_save_note_c_words(struct gr_stop *stop)
{
	struct gr_native *native;
	struct gr_error *err = gr_stop_native(stop, &native);

	if (!err && native && native->allocators.size)
		err = gr_stop_note_motion(stop);
	if (err || !native || !native->blocks.list.size)
		return err;
	struct words w = {
		.stop = stop,
		.module = SIZE_MAX,
		.rt = &stop->program->rt,
		.blocks = &native->blocks,
		.native = native,
		.view = gr_view_of(&stop->program->rt),
	};
	err = note_heap(&w, stop->heap);
	if (!err)
		err = note_stacks(&w, &stop->roots.areas);
	if (!err)
		err = note_blocks(&w);
	return err ? err : note_roots(&w, stop);
}
