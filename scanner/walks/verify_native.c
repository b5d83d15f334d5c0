// SPDX-License-Identifier: Apache-2.0
#include "walks/verify_native.h"

#include "scan/native.h"

void gr_native_verdict_deinit(struct gr_native_verdict *verdict)
{
	for (size_t i = 0; i < verdict->nallocators; i++)
		free(verdict->allocators[i].arenas);
	free(verdict->allocators);
	memset(verdict, 0, sizeof(*verdict));
}

// --------------------------------------------------------------- explanations

/* Is memory missing that may hold the structures of an arena? */
static bool is_torn(const struct gr_stop *stop)
{
	return stop->gaps.count[GR_GAP_UNREADABLE_PAGES] ||
	       stop->pages.residency.swapped_bytes;
}

/* The reason why an arena may disagree with its counters, or NULL. */
static const char *explain(const struct gr_stop *stop,
			   const struct gr_native_arena *arena)
{
	switch (arena->doubt) {
	case GR_DOUBT_NONE:
		return NULL;
	case GR_DOUBT_UNCOUNTED:
		return "there is nothing to compare it with";
	case GR_DOUBT_MISSING:
		if (is_torn(stop))
			return "memory could not be read";
		break;
	case GR_DOUBT_DAMAGE:
		break;
	}
	if (arena->is_locked)
		return "a thread has its lock";
	return stop->native.is_in_motion ? "a thread is in the allocator" :
					   NULL;
}

// -------------------------------------------------------------------- arenas

static struct gr_error *fill_allocator(const struct gr_stop *stop,
				       const struct gr_native_allocator *of,
				       struct gr_native_verdict *verdict)
{
	const struct gr_native_arena *arenas =
		stop->native.arenas.data + of->first_arena;
	struct gr_allocator_verdict *ret =
		&verdict->allocators[verdict->nallocators++];

	*ret = (struct gr_allocator_verdict){
		.name = of->name,
		.version = of->version,
		.is_checked = of->is_checked,
		.refusal = of->refusal,
		.arenas = calloc((size_t)of->narenas + 1, sizeof(*ret->arenas)),
	};
	if (!ret->arenas)
		return &gr_enomem;
	ret->narenas = of->narenas;
	for (size_t i = 0; i < ret->narenas; i++) {
		ret->arenas[i].arena = arenas[i];
		ret->arenas[i].explanation = explain(stop, &arenas[i]);
		verdict->unexplained += !arenas[i].is_checked &&
					!ret->arenas[i].explanation;
	}
	return NULL;
}

static struct gr_error *fill_allocators(const struct gr_stop *stop,
					struct gr_native_verdict *verdict)
{
	const struct gr_native_allocator_vector *list =
		&stop->native.allocators;
	struct gr_error *err = NULL;

	verdict->allocators =
		calloc(list->size + 1, sizeof(*verdict->allocators));
	if (!verdict->allocators)
		return &gr_enomem;
	for (size_t i = 0; !err && i < list->size; i++)
		err = fill_allocator(stop, &list->data[i], verdict);
	return err;
}

/* The verdict on the arena of that index among those of all allocators. */
static struct gr_arena_verdict *arena_of(const struct gr_native *native,
					 struct gr_native_verdict *verdict,
					 uint32_t arena)
{
	for (size_t i = 0; i < verdict->nallocators; i++) {
		uint32_t index = arena - native->allocators.data[i].first_arena;

		if (index < verdict->allocators[i].narenas)
			return &verdict->allocators[i].arenas[index];
	}
	return NULL;
}

// -------------------------------------------------------------------- blocks

/* Count the blocks that are reached. */
static struct gr_error *count_reached(struct gr_answers *answers,
				      struct gr_native_verdict *verdict)
{
	const struct gr_native *native = &answers->stop->native;
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex first = gr_objects_second(g->objects);
	struct gr_runtime *rt = &answers->stop->program->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < native->blocks.list.size; i++) {
		const struct gr_block *block = &native->blocks.list.data[i];
		struct gr_arena_verdict *of =
			arena_of(native, verdict, block->arena);

		err = gr_runtime_step(rt, 1);
		if (err || !of || !gr_graph_is_reached(g, first + i))
			continue;
		of->reached_blocks++;
		of->reached_bytes += gr_block_bytes(block);
	}
	return err;
}

/* Is the word one of the roots of Go? These are counted as pointers. */
static bool is_live_word(const struct gr_area_list *areas, uint64_t addr)
{
	size_t n =
		gr_count_before(areas->count, i, areas->areas[i].start <= addr);
	const struct gr_area *area = n ? &areas->areas[n - 1] : NULL;

	return area && addr < area->end && area->live &&
	       gr_bitmap_test(area->live, (addr - area->start) / GR_WORD_BYTES);
}

/* Count the words of [at, end) that lead to free memory. */
static struct gr_error *count_words(const struct gr_stop *stop,
				    struct gr_view *view, uint64_t at,
				    uint64_t end, uint64_t *count)
{
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && gr_view_part(view, at, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; i < n; i++)
			*count +=
				gr_native_is_free(
					&stop->native,
					gr_load_u64(piece.host +
						    i * GR_WORD_BYTES)) &&
				!is_live_word(&stop->roots.areas,
					      piece.start + i * GR_WORD_BYTES);
		at = piece.end;
		err = gr_runtime_step(view->rt, n / 16 + 1);
	}
	return err;
}

/* Count the words of C's variables. Stacks and blocks have words of what was
 * there before. */
static struct gr_error *count_data(struct gr_answers *answers,
				   struct gr_native_verdict *verdict)
{
	const struct gr_c_root_vector *roots = &answers->graph->c_roots;
	struct gr_view view = gr_view_of(&answers->stop->program->rt);
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < roots->size; i++)
		if (roots->data[i].kind == GR_C_ROOT_DATA)
			err = count_words(answers->stop, &view,
					  roots->data[i].start,
					  roots->data[i].end,
					  &verdict->free_words);
	return err;
}

struct gr_error *gr_verify_native(struct gr_answers *answers,
				  struct gr_native **native,
				  struct gr_native_verdict *ret)
{
	struct gr_error *err = gr_stop_native(answers->stop, native);

	*ret = (struct gr_native_verdict){ .nallocators = 0 };
	if (err || !*native || !(*native)->allocators.size) {
		*native = NULL;
		return err;
	}
	err = gr_stop_note_motion(answers->stop);
	if (!err)
		err = fill_allocators(answers->stop, ret);
	if (!err && (*native)->blocks.list.size)
		err = gr_answers_need_graph(answers, GR_PART_NEAREST);
	if (err || !answers->graph || !answers->graph->native)
		return err;
	err = count_reached(answers, ret);
	return err ? err : count_data(answers, ret);
}
