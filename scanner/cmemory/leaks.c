// SPDX-License-Identifier: Apache-2.0
#include "cmemory/leaks.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "cmemory/neighbours.h"
#include "goruntime/layout/c_variable.h"
#include "heapgraph/limited_keys.h"
#include "inferior/elf.h"
#include "naming/memory_name.h"
#include "naming/vertex.h"
#include "scan/answers.h"
#include "scan/enter.h"

enum { MODULE_KEY_BIT = 63 };

GR_VECTOR(leak_vector, struct gr_native_leak);

struct finder {
	struct gr_answers *answers;
	const struct gr_graph *g;
	struct gr_native *native;
	struct gr_view view;
	struct gr_native_leaks *leaks;
	struct leak_vector groups;
	struct gr_keys keys; /* of groups, by size and content */
	uint64_t *is_held;   /* a bit a block: a leaked one leads to it */
	struct gr_neighbours neighbours;
	struct gr_ticker ticker;
};

static void finder_deinit(struct finder *f)
{
	leak_vector_deinit(&f->groups);
	gr_keys_deinit(&f->keys);
	free(f->is_held);
	gr_neighbours_deinit(&f->neighbours);
}

void gr_native_leaks_destroy(struct gr_native_leaks *leaks)
{
	if (leaks)
		free(leaks->groups);
	free(leaks);
}
GR_DEFINE_CLEANUP(native_leaks, struct gr_native_leaks, gr_native_leaks_destroy)

// ------------------------------------------------------------------- content

/** The target of a word of a block. */
struct content {
	const char *name; /* interned, or NULL */
	size_t module;	  /* SIZE_MAX: none */
};

/* Find the first word of a block that leads into a file of the program, and the
 * first one that leads to a variable or a vtable with a name. */
static struct gr_error *find_content(struct finder *f,
				     const struct gr_block *block,
				     struct content *ret)
{
	struct gr_runtime *rt = f->view.rt;
	struct gr_error *err = NULL;
	uint64_t n = gr_block_usable_bytes(block) / GR_WORD_BYTES, word;
	struct gr_c_variable variable;

	*ret = (struct content){ NULL, SIZE_MAX };
	if (n > GR_BLOCK_CONTENT_WORDS)
		n = GR_BLOCK_CONTENT_WORDS;
	for (uint64_t i = 0; !err && !ret->name && i < n; i++) {
		if (!gr_view_word(&f->view, block->addr + i * GR_WORD_BYTES,
				  &word) ||
		    word < GR_PAGE_BYTES)
			continue;
		size_t module = gr_image_module_at(rt->image, word);

		err = gr_runtime_step(rt, 2);
		if (err || module == SIZE_MAX)
			continue;
		if (ret->module == SIZE_MAX)
			ret->module = module;
		err = gr_c_variable_find(rt, word, &variable);
		ret->name = variable.name;
	}
	return err;
}

static const char *library_name(const struct finder *f, size_t module)
{
	const char *path =
		module == SIZE_MAX ?
			"" :
			gr_image_module_name(f->view.rt->image, module);
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// -------------------------------------------------------------------- groups

/* The group of a block, which is made if it is new. */
static struct gr_error *find_group(struct finder *f, gr_vertex v,
				   const struct gr_block *block, uint32_t *ret)
{
	struct content content;
	struct gr_error *err = find_content(f, block, &content);
	const char *type = gr_memory_row_name(f->answers->stop->program,
					      f->g->objects->type[v]);
	uint64_t key = *type ? (uintptr_t)type :
		       content.name ?
			       (uintptr_t)content.name :
			       (UINT64_C(1) << MODULE_KEY_BIT) + content.module;

	if (err)
		return err;
	*ret = gr_keys_find(&f->keys, key, block->units);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = f->groups.size;
	struct gr_native_leak group = {
		.size = gr_block_bytes(block),
		.type = type,
		.content = content.name ? content.name : "",
		.library = library_name(f, content.module),
		.example = block->addr,
		.vertex = v,
		.beside = "",
	};
	err = gr_runtime_append(f->view.rt, leak_vector, &f->groups, group);
	return err ? err :
		     gr_limited_keys_add(f->view.rt, &f->keys, key,
					 block->units, *ret);
}

static struct gr_error *add_leak(struct finder *f, uint32_t i)
{
	const struct gr_block *block = &f->native->blocks.list.data[i];
	gr_vertex v = gr_block_vertex(f->g->objects, i);
	uint32_t group;
	struct gr_error *err = find_group(f, v, block, &group);

	if (err)
		return err;
	struct gr_native_leak *leak = &f->groups.data[group];
	leak->blocks++;
	leak->bytes += gr_block_bytes(block);
	f->leaks->leaked_blocks++;
	f->leaks->leaked_bytes += gr_block_bytes(block);
	if (!gr_bitmap_test(f->is_held, i) && !leak->heads++) {
		leak->example = block->addr;
		leak->vertex = v;
	}
	return gr_neighbours_count(&f->neighbours, i, group);
}

/* Mark the blocks that other leaked ones lead to. */
static struct gr_error *mark_held(struct finder *f)
{
	gr_vertex first = gr_objects_second(f->g->objects);
	struct gr_error *err = NULL;

	for (gr_vertex v = first; !err && v < f->g->nobjects; v++) {
		err = gr_tick(&f->ticker);
		if (gr_graph_is_reached(f->g, v))
			continue;
		for (uint32_t k = f->g->first[v]; k < f->g->first[v + 1]; k++)
			if (f->g->to[k] != v)
				gr_bitmap_set(f->is_held, f->g->to[k] - first);
	}
	return err;
}

/* Name the holder that lies beside at least half of the blocks of a group; of
 * several, the first one that has most. */
static struct gr_error *name_neighbours(struct finder *f)
{
	const struct gr_neighbour_counts *counts = &f->neighbours.counts;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < counts->size; i++) {
		const struct gr_neighbour_count *count = &counts->data[i];
		struct gr_native_leak *leak = &f->groups.data[count->group];
		struct gr_vertex_info info;

		err = gr_tick(&f->ticker);
		if (err || count->blocks <= leak->beside_blocks ||
		    count->blocks < leak->blocks - leak->blocks / 2)
			continue;
		err = gr_vertex_describe(f->answers, count->holder, &info);
		if (err)
			return err;
		leak->beside = info.name;
		leak->beside_blocks = count->blocks;
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct gr_native_leak *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->example < y->example ? -1 : x->example > y->example;
}

static struct gr_error *find_all(struct finder *f)
{
	const struct gr_block_vector *list = &f->native->blocks.list;
	gr_vertex first = gr_objects_second(f->g->objects);
	struct gr_error *err = mark_held(f);

	if (!err)
		err = gr_neighbours_init(&f->neighbours, f->answers);
	for (size_t i = 0; !err && i < list->size; i++) {
		f->leaks->in_use_bytes += gr_block_bytes(&list->data[i]);
		if (!gr_graph_is_reached(f->g, first + i))
			err = add_leak(f, i);
		if (!err)
			err = gr_tick(&f->ticker);
	}
	f->leaks->in_use_blocks = list->size;
	if (!err)
		err = name_neighbours(f);
	if (!err)
		err = gr_sort(f->groups.data, f->groups.size,
			      sizeof(*f->groups.data), compare,
			      f->view.rt->poll, f->view.rt->poll_ctx);
	if (err)
		return err;
	f->leaks->ngroups = f->groups.size;
	f->leaks->groups = steal_ptr(f->groups.data);
	return NULL;
}

/* Is there an allocator whose blocks are known? */
static bool is_read(const struct gr_native *native)
{
	const struct gr_native_allocator_vector *list = &native->allocators;

	for (size_t i = 0; i < list->size; i++)
		if (!list->data[i].refusal)
			return true;
	return false;
}

static struct gr_error *answer(struct gr_answers *answers,
			       struct gr_native_leaks *leaks)
{
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_NEAREST);
	const struct gr_native *native = &answers->stop->native;

	leaks->gaps = answers->graph_gaps;
	if (err)
		return err;
	leaks->is_known = answers->stop->has_native && is_read(native);
	for (size_t i = 0; leaks->is_known && i < native->arenas.size; i++)
		leaks->unchecked_arenas += !native->arenas.data[i].is_checked;
	if (leaks->is_known)
		leaks->missing_bytes = native->missing_bytes;
	if (!answers->graph->native)
		return NULL;
	struct gr_runtime *rt = &answers->stop->program->rt;
	const struct gr_poll poll = gr_runtime_poller(rt);
	size_t nblocks = answers->graph->native->blocks.list.size;
	err = gr_image_want(rt->image, nblocks / 8);
	if (err)
		return err;
	_cleanup_(finder_deinit) struct finder f = {
		.answers = answers,
		.g = answers->graph->graph,
		.native = answers->graph->native,
		.view = gr_view_of(rt),
		.leaks = leaks,
		.is_held = gr_bitmap_alloc(nblocks + 1),
		.ticker = { .poll = &poll },
	};
	return f.is_held ? find_all(&f) : &gr_enomem;
}

struct gr_error *gr_scan_native_leaks(struct gr_scan *scan,
				      struct gr_native_leaks **ret)
{
	_cleanup_(gr_cleanup_native_leaks) struct gr_native_leaks *leaks =
		calloc(1, sizeof(*leaks));
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = leaks ? answer(answers, leaks) : &gr_enomem;
	if (!err)
		*ret = steal_ptr(leaks);
	return gr_sigbus_guard_end(&guard, err);
}
