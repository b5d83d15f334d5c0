// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/views.h"

#include "base/cleanup.h"
#include "goruntime/heap/ptrmap.h"
#include "mark/edges.h"
#include "scan/answers.h"

static struct gr_error *take_error(struct gr_views *v)
{
	return steal_ptr(v->err);
}

/* Read the maps that are known and not read, and those in them. */
static struct gr_error *read_maps(struct gr_views *v)
{
	struct gr_error *err = NULL;

	// Each map is noted once.
	while (!err && !v->err && v->headers.size) {
		struct gr_map_header header =
			v->headers.data[--v->headers.size];

		gr_views_read_map(v, header);
		err = gr_runtime_step(v->run->heap->rt, 1);
	}
	return err ? err : take_error(v);
}

// ------------------------------------------------------------------- objects

/* The words of an object with what its type says of them. */
struct words {
	const struct gr_waste_kind *kind;
	const uint8_t *host;
	uint64_t bytes;
	uint64_t unit_words; /* of an array; 0: the object is one value */
};

static struct words words_of(const struct gr_waste_kind *kind,
			     const uint8_t *host, uint64_t bytes)
{
	struct words words = { kind, host, bytes, 0 };

	if (kind->form == GR_FORM_ARRAY && kind->unit_bytes &&
	    kind->unit_bytes % GR_WORD_BYTES == 0)
		words.unit_words = kind->unit_bytes / GR_WORD_BYTES;
	return words;
}

/* The slot of word @p word of an object, or NULL. */
static const struct gr_slot *slot_of(struct gr_views *v,
				     const struct words *words, uint64_t word)
{
	const struct gr_type_plan *plan = words->kind->plan;
	uint64_t first = 0;

	if (words->unit_words)
		first = word / words->unit_words * words->unit_words;
	// A value that the object has no room for is none.
	if (first * GR_WORD_BYTES + plan->size_bytes > words->bytes)
		return NULL;
	word -= first;
	if (GR_LIKELY(word < plan->nwords && plan->slot_of_word[word]))
		return plan->slot_of_word[word];
	return plan->narrays ? gr_views_slot(v, plan, word) : NULL;
}

/* Follow the words of an object: bits [first, end) of @p map. */
static void follow_words(struct gr_views *v, const struct words *words,
			 const uint64_t *map, uint64_t first, uint64_t end)
{
	bool is_value = words->kind->form == GR_FORM_RECORD ||
			words->kind->form == GR_FORM_ARRAY;

	// Bounded by the words of the object.
	for (uint64_t at = first; at < end && !v->err; at += 64) {
		unsigned int n = end - at < 64 ? end - at : 64;
		uint64_t bits = gr_bitmap_extract(map, at, n);

		if (at != first && !((at - first) % GR_POLL_STEPS))
			v->err = gr_runtime_step(v->run->heap->rt,
						 GR_POLL_STEPS);
		for (; bits; bits &= bits - 1) {
			uint64_t word = at - first + __builtin_ctzll(bits);

			const struct gr_slot *slot = slot_of(v, words, word);
			const uint8_t *host =
				words->host + word * GR_WORD_BYTES;

			if (is_value)
				gr_views_follow(v, slot, host);
			else
				gr_views_follow_fixed(v, slot, host);
		}
	}
}

/* Follow the words of the objects of a span that are reached, by the types of
 * their labels; maps only if @p are_maps. */
static struct gr_error *sweep_slots(struct gr_views *v,
				    const struct gr_span *span,
				    const uint64_t *map, bool are_maps)
{
	const struct gr_parents *parents = v->run->parents;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; i < span->nelems && !err && !v->err; i++) {
		struct gr_object_words at = gr_object_words(span, i);
		uint32_t way = gr_parents_index(parents, span->first_obj + i);
		const struct gr_waste_kind *kind = v->run->kinds.of_way[way];

		if (!way || (kind->form == GR_FORM_MAP) != are_maps ||
		    (are_maps &&
		     gr_bitmap_test(v->walked, span->first_obj + i)))
			continue;
		uint64_t bytes = (at.end - at.first) * GR_WORD_BYTES;
		struct words words = words_of(kind, at.host, bytes);
		follow_words(v, &words, map, at.first - span->first_word,
			     at.end - span->first_word);
		if (v->headers.size)
			err = read_maps(v);
	}
	return err ? err : take_error(v);
}

static struct gr_error *sweep_span(struct gr_views *v,
				   const struct gr_span *span, bool are_maps)
{
	_cleanup_free_ uint64_t *map = NULL;
	struct gr_error *err = gr_runtime_step(v->run->heap->rt, span->nelems);

	if (err || !gr_span_has_edges(span))
		return err;
	err = gr_ptrmap_build_span(v->run->heap, span, &map);
	return err ? err : sweep_slots(v, span, map, are_maps);
}

/* Has a span a piece of a map that no header has led to? */
static bool has_lost_pieces(struct gr_views *v, const struct gr_span *span)
{
	const struct gr_waste_kinds *kinds = &v->run->kinds;

	if (!gr_span_has_edges(span))
		return false;
	for (uint32_t i = 0; i < span->nelems; i++) {
		gr_obj obj = span->first_obj + i;
		uint32_t way = gr_parents_index(v->run->parents, obj);

		if (way && kinds->of_way[way]->form == GR_FORM_MAP &&
		    !gr_bitmap_test(v->walked, obj))
			return true;
	}
	return false;
}

static struct gr_error *sweep_heap(struct gr_views *v)
{
	const struct gr_heap *heap = v->run->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++)
		err = sweep_span(v, &heap->spans[i], false);
	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		err = gr_runtime_step(heap->rt, heap->spans[i].nelems / 8 + 1);
		if (!err && has_lost_pieces(v, &heap->spans[i]))
			err = sweep_span(v, &heap->spans[i], true);
	}
	return err;
}

// --------------------------------------------------------------------- roots

/* The bytes of an area from @p addr on. */
static const uint8_t *area_at(const struct gr_area_list *areas, uint64_t addr)
{
	size_t n =
		gr_count_before(areas->count, i, areas->areas[i].start <= addr);
	const struct gr_area *area = &areas->areas[n - 1];

	return n && area->host && addr < area->end ?
		       area->host + (addr - area->start) :
		       NULL;
}

/* Follow a word of a variable, by the variable's type. */
static void follow_variable(struct gr_views *v, const struct gr_root *root,
			    uint64_t off, const uint8_t *host)
{
	const struct gr_type_plan *plan = gr_views_plan(v, root->type);
	const struct gr_slot *slot = NULL;

	if (off % GR_WORD_BYTES == 0 && plan->size_bytes <= root->bytes)
		slot = gr_views_slot(v, plan, off / GR_WORD_BYTES);
	gr_views_follow_fixed(v, slot, host);
}

/* A root that is a pointer itself. */
static void follow_value(struct gr_views *v, const struct gr_root *root,
			 uint64_t addr)
{
	uint64_t bytes = GR_VIEW_WHOLE;

	if (root->type != GR_TYPE_NONE && !root->is_func)
		bytes = gr_types_get(v->run->types, root->type)->size_bytes;
	gr_views_add(v, addr, bytes, bytes);
}

static void follow_edge(struct gr_views *v, const struct gr_root *root,
			const struct gr_edge *edge)
{
	const struct gr_area_list *areas = &v->run->answers->stop->roots.areas;
	const uint8_t *host;

	if (edge->is_area || edge->is_doubtful || root->type == GR_TYPE_NONE ||
	    root->form != GR_ROOT_REGION || root->bytes_at) {
		if (!edge->is_area && !edge->is_doubtful &&
		    root->form == GR_ROOT_VALUE)
			follow_value(v, root, edge->value);
		else
			gr_views_add(v, edge->value, GR_VIEW_WHOLE,
				     GR_VIEW_WHOLE);
		return;
	}
	host = area_at(areas, edge->addr);
	if (host && edge->addr >= root->addr)
		follow_variable(v, root, edge->addr - root->addr, host);
	else
		gr_views_add(v, edge->value, GR_VIEW_WHOLE, GR_VIEW_WHOLE);
}

struct root_sweep {
	struct gr_views *v;
	struct gr_roots roots; /* without those that are contents */
};

static struct gr_error *emit_roots(void *ctx, const struct gr_edge *edges,
				   size_t count)
{
	struct root_sweep *s = ctx;
	struct gr_views *v = s->v;

	for (size_t i = 0; i < count && !v->err; i++)
		follow_edge(v,
			    edges[i].is_area ?
				    NULL :
				    &s->roots.list.data[edges[i].root],
			    &edges[i]);
	return v->err ? take_error(v) : read_maps(v);
}

/* Follow the words of an object that only its finalizer reaches, whatever their
 * types are. */
static struct gr_error *follow_contents(struct gr_views *v,
					const struct gr_root *root)
{
	_cleanup_free_ uint64_t *map = NULL;
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(v->run->heap, root->addr, &span);
	struct gr_error *err;

	if (obj == GR_OBJ_NONE || gr_parents_has(v->run->parents, obj) ||
	    !gr_span_has_edges(span))
		return NULL;
	err = gr_ptrmap_build_span(v->run->heap, span, &map);
	if (err)
		return err;
	struct gr_object_words at =
		gr_object_words(span, obj - span->first_obj);
	const struct gr_waste_kind kind = { .plan = &gr_type_plan_nothing };
	struct words words = words_of(&kind, at.host, 0);
	follow_words(v, &words, map, at.first - span->first_word,
		     at.end - span->first_word);
	return take_error(v);
}

/* Divide the roots: follow contents, and list the others. */
static struct gr_error *list_roots(struct root_sweep *s)
{
	const struct gr_roots *roots = &s->v->run->answers->stop->roots;
	struct gr_runtime *rt = s->v->run->heap->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < roots->list.size; i++) {
		const struct gr_root *root = &roots->list.data[i];

		err = gr_runtime_step(rt, 1);
		if (err)
			break;
		if (root->form == GR_ROOT_CONTENTS)
			err = follow_contents(s->v, root);
		else
			err = gr_runtime_append(rt, gr_root_list,
						&s->roots.list, *root);
	}
	return err;
}

static struct gr_error *sweep_roots(struct gr_views *v)
{
	struct root_sweep s = {
		.v = v, .roots.areas = v->run->answers->stop->roots.areas
	};
	const struct gr_edge_source source = {
		.heap = v->run->heap,
		.roots = &s.roots,
		.poll = v->run->heap->rt->poll,
		.poll_ctx = v->run->heap->rt->poll_ctx,
	};
	struct gr_error *err = list_roots(&s);

	if (!err)
		err = gr_edges_of_roots(&source, emit_roots, &s);
	gr_root_list_deinit(&s.roots.list);
	return err ? err : read_maps(v);
}

// ----------------------------------------------------------------------- all

/* Enter the views that wait. */
static struct gr_error *finish(struct gr_views *v)
{
	uint32_t n = v->nwaiting < GR_VIEWS_AHEAD ? v->nwaiting :
						    GR_VIEWS_AHEAD;

	for (uint32_t i = 0; i < n; i++)
		gr_views_enter(
			v, &v->waiting[(v->nwaiting - n + i) % GR_VIEWS_AHEAD]);
	return take_error(v);
}

struct gr_error *gr_views_collect(struct gr_waste_run *run)
{
	_cleanup_free_ struct gr_views *v = calloc(1, sizeof(*v));
	struct gr_error *err;

	if (!v)
		return &gr_enomem;
	v->run = run;
	v->recorder = run->heap->rt->recorder;
	v->walked = gr_bitmap_alloc(run->heap->nobjs);
	err = v->walked ? sweep_roots(v) : &gr_enomem;
	if (!err)
		err = sweep_heap(v);
	if (!err)
		err = finish(v);
	free(v->walked);
	gr_map_header_vector_deinit(&v->headers);
	run->waste->crowded_arrays = run->reach.crowded;
	return err;
}
