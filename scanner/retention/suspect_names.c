// SPDX-License-Identifier: Apache-2.0
/* Names of suspects. Which vertices of a path does a programmer know by name,
 * and which are only in between? */
#include "retention/suspects_internal.h"

#include "base/text.h"
#include "goruntime/types/types.h"
#include "naming/link.h"
#include "naming/memory_name.h"
#include "naming/vertex.h"

#include <inttypes.h>

/* Keys of different kinds of vertices. Those of objects are labels and 1, so
 * that GR_TYPE_NONE has none. */
enum { KEY_GOROUTINE = 1, KEY_ROOT, KEY_VERTEX, KEY_SHIFT = 60 };

static const struct gr_root_vertex *
root_vertex(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_heap_graph *hg = answers->graph;

	return &hg->roots.data[v - gr_graph_first_root(hg->graph)];
}

/* The variable behind a vertex for all of its static memory, or NULL. */
static const struct gr_root *static_variable(const struct gr_answers *answers,
					     gr_vertex v)
{
	const struct gr_heap_graph *hg = answers->graph;
	gr_vertex first = gr_graph_first_group(hg->graph) + hg->ngoroutines;

	return v >= first && v - first < hg->statics.size ?
		       &answers->stop->roots.list
				.data[hg->statics.data[v - first]] :
		       NULL;
}

/* The root of the list behind a vertex, or NULL. */
static const struct gr_root *listed_root(const struct gr_answers *answers,
					 gr_vertex v)
{
	const struct gr_graph *g = answers->graph->graph;

	if (gr_graph_kind(g, v) == GR_VERTEX_GROUP)
		return static_variable(answers, v);
	if (gr_graph_kind(g, v) != GR_VERTEX_ROOT)
		return NULL;
	const struct gr_root_vertex *root = root_vertex(answers, v);
	return root->source == GR_FROM_LIST ?
		       &answers->stop->roots.list.data[root->index] :
		       NULL;
}

/* The goroutine of a vertex, or NULL. */
static const struct gr_goroutine *goroutine_of(const struct gr_answers *answers,
					       gr_vertex v)
{
	const struct gr_graph *g = answers->graph->graph;
	uint32_t index = v - gr_graph_first_group(g);

	return gr_graph_kind(g, v) == GR_VERTEX_GROUP &&
			       index < answers->graph->ngoroutines ?
		       &answers->stop->sched.goroutines[index] :
		       NULL;
}

uint64_t gr_suspect_key(void *ctx, gr_vertex v)
{
	const struct gr_answers *answers = ctx;
	const struct gr_graph *g = answers->graph->graph;
	const struct gr_goroutine *goroutine = goroutine_of(answers, v);
	const struct gr_root *root = listed_root(answers, v);

	if (v < g->nobjects)
		return (uint32_t)(g->objects->type[v] + 1);
	if (goroutine)
		return (UINT64_C(1) * KEY_GOROUTINE << KEY_SHIFT) |
		       (goroutine->startpc & ((UINT64_C(1) << KEY_SHIFT) - 1));
	if (root)
		return (UINT64_C(1) * KEY_ROOT << KEY_SHIFT) |
		       (uintptr_t)root->name;
	return (UINT64_C(1) * KEY_VERTEX << KEY_SHIFT) | v;
}

// -------------------------------------------------------------------- meaning

/* The label of an object; GR_TYPE_NONE of anything else. */
static uint32_t label_of(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_graph *g = answers->graph->graph;

	return v < g->nobjects ? g->objects->type[v] : GR_TYPE_NONE;
}

const struct gr_type *gr_suspect_type(const struct gr_answers *answers,
				      gr_vertex v)
{
	uint32_t label = label_of(answers, v);

	return label == GR_TYPE_NONE ?
		       NULL :
		       gr_types_get(answers->stop->program->types,
				    label & ~GR_LABEL_FLAGS);
}

bool gr_suspect_is_container(const struct gr_answers *answers, gr_vertex v)
{
	uint32_t label = label_of(answers, v);

	return label != GR_TYPE_NONE && (label & GR_LABEL_DATA);
}

/* Types that only stand between two others: of the runtime, of time, of
 * sync. */
static bool is_between(const char *name)
{
	static const char *const prefixes[] = { "runtime.",	"internal/",
						"time.",	"sync.",
						"sync/atomic.", "struct {" };

	for (size_t i = 0; i < GR_ARRAY_SIZE(prefixes); i++)
		if (gr_has_prefix(name, prefixes[i]))
			return true;
	return false;
}

/* An object of a struct type that a programmer has named. */
static bool is_named_object(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_type *type = gr_suspect_type(answers, v);

	return type && !gr_suspect_is_container(answers, v) &&
	       type->kind == GR_KIND_STRUCT && type->role == GR_ROLE_PLAIN &&
	       !is_between(type->name);
}

/* A package variable that is no function. */
static bool is_named_variable(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_root *root = listed_root(answers, v);

	if (!root || root->kind != GR_ROOT_GLOBAL)
		return false;
	return root->type == GR_TYPE_NONE ||
	       gr_types_get(answers->stop->program->types, root->type)->kind !=
		       GR_KIND_FUNC;
}

static bool has_name(const struct gr_answers *answers, gr_vertex v)
{
	return is_named_object(answers, v) || is_named_variable(answers, v);
}

static bool is_place(const struct gr_answers *answers, gr_vertex v)
{
	return has_name(answers, v) || listed_root(answers, v) ||
	       goroutine_of(answers, v);
}

/* Who captured it holds it only by chance. */
static bool is_closure(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_type *type = gr_suspect_type(answers, v);

	return type && (type->role == GR_ROLE_CLOSURE ||
			(type->kind == GR_KIND_FUNC &&
			 !gr_suspect_is_container(answers, v)));
}

/* The nearest dominator of @p v, itself included, that has a name; else the
 * nearest root or goroutine. */
static gr_vertex namer_above(const struct gr_answers *answers, gr_vertex start)
{
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex outside = GR_VERTEX_NONE;

	for (gr_vertex v = start; v != gr_graph_top(g); v = g->idom[v]) {
		if (has_name(answers, v))
			return v;
		if (outside == GR_VERTEX_NONE && is_place(answers, v))
			outside = v;
	}
	return outside == GR_VERTEX_NONE ? start : outside;
}

gr_vertex gr_suspect_namer(struct gr_answers *answers, gr_vertex holder,
			   gr_vertex at)
{
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex found = GR_VERTEX_NONE;

	// From the bottom up: the last that is found is the first on the way.
	for (gr_vertex v = at; v != gr_graph_top(g); v = g->idom[v]) {
		if (is_closure(answers, v) && found != GR_VERTEX_NONE)
			break;
		if (has_name(answers, v))
			found = v;
		if (v == holder)
			break;
	}
	return found != GR_VERTEX_NONE ? found : namer_above(answers, holder);
}

// ----------------------------------------------------------------- goroutines

/* A function without a name of its own (cmd/compile/internal/ir: closureName):
 * `main.f.func1`, `main.f.gowrap1`. */
static bool is_literal(const char *name)
{
	return strstr(name, ".func") || strstr(name, ".gowrap");
}

/* The function that the first one of @p g calls now, if a programmer wrote it;
 * else NULL. */
static const struct gr_func *called_function(const struct gr_goroutine *g,
					     uint64_t entry)
{
	// Below the first function there is at most runtime.goexit.
	for (size_t i = g->nframes; i-- > 1 && i + 2 >= g->nframes;) {
		const struct gr_func *called = g->frames[i - 1].func;
		if (g->frames[i].func->entry == entry)
			return is_between(called->name) ? NULL : called;
	}
	return NULL;
}

/*
 * A go statement with arguments starts a function that the compiler has made,
 * and many others start a function literal. If all of these goroutines are in a
 * call of one function, that one says more.
 */
const char *gr_suspect_start(const struct gr_sched *sched, uint64_t startpc)
{
	const struct gr_func *called = NULL;
	struct gr_func start;
	size_t nfound = 0;

	if (!gr_func_find(sched->rt, startpc, &start))
		return "a function without a name";
	for (size_t i = 0; i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		if (g->startpc != startpc)
			continue;
		const struct gr_func *func = called_function(g, start.entry);
		if (!func || (nfound++ && func->entry != called->entry))
			return start.name;
		called = func;
	}
	return called && is_literal(start.name) ? called->name : start.name;
}

// ----------------------------------------------------------------------- text

struct gr_error *gr_suspect_step(struct gr_answers *answers, gr_vertex holder,
				 gr_vertex from, gr_vertex to, const char **ret)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	struct gr_word_name name;
	struct gr_link link;
	struct gr_error *err =
		gr_link_find(&reader, holder, from, to, &link, &name);

	if (err)
		return err;
	*ret = gr_arena_intern(&answers->stop->program->arena, name.text,
			       strlen(name.text));
	return *ret ? NULL : &gr_enomem;
}

/* All pieces of a map are the map. */
static bool is_piece(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_type *type = gr_suspect_type(answers, v);

	return type && gr_suspect_is_container(answers, v) &&
	       (type->kind == GR_KIND_MAP || type->kind == GR_KIND_CHAN ||
		type->role == GR_ROLE_HASH_TRIE);
}

/* Without a type, an object still has a size and a span. */
static bool is_unknown(const struct gr_answers *answers, gr_vertex v)
{
	return v < answers->graph->graph->nobjects &&
	       label_of(answers, v) == GR_TYPE_NONE;
}

static struct gr_error *unknown_text(struct gr_heap *heap,
				     const struct gr_vertex_info *info,
				     const char **ret)
{
	const struct gr_span *span = gr_heap_span_at(heap, info->addr);

	*ret = info->name;
	if (!span)
		return NULL;
	*ret = gr_arena_internf(
		heap->rt->arena, "%s (%" PRIu64 " bytes, size class %d, %s)",
		info->name, info->bytes, span->spanclass >> 1,
		span->spanclass & 1 ? "no pointers" : "pointers");
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_suspect_text(struct gr_answers *answers, gr_vertex v,
				 const char **ret)
{
	struct gr_vertex_info info;
	struct gr_error *err;

	if (is_piece(answers, v)) {
		*ret = gr_suspect_type(answers, v)->name;
		return NULL;
	}
	err = gr_vertex_describe(answers, v, &info);
	if (err)
		return err;
	if (is_unknown(answers, v))
		return unknown_text(answers->stop->heap, &info, ret);
	*ret = info.name;
	return NULL;
}

struct gr_error *gr_suspect_many_text(struct gr_answers *answers, gr_vertex v,
				      const char **ret)
{
	if (is_unknown(answers, v)) {
		*ret = gr_vertex_is_block(answers->graph->graph, v) ?
			       GR_BLOCK_NAME :
			       "object of unknown type"; // of any size
		return NULL;
	}
	if (!gr_suspect_is_container(answers, v) || is_piece(answers, v))
		return gr_suspect_text(answers, v, ret);
	*ret = gr_memory_name(answers->stop->program, label_of(answers, v));
	return **ret ? NULL : &gr_enomem;
}

gr_vertex gr_suspect_whole(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_graph *g = answers->graph->graph;

	while (gr_suspect_is_container(answers, v) &&
	       label_of(answers, g->idom[v]) == label_of(answers, v))
		v = g->idom[v];
	return v;
}

/* An object without a type is told by the word that refers to it. */
static struct gr_error *referred_text(struct gr_answers *answers, gr_vertex at,
				      const char *what, const char **ret)
{
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex from = g->parent[at];
	struct gr_vertex_info by;
	const char *step;
	struct gr_error *err = gr_vertex_describe(answers, from, &by);

	if (!err)
		err = gr_suspect_step(answers, g->parent[from], from, at,
				      &step);
	if (err)
		return err;
	*ret = is_unknown(answers, from) ?
		       gr_arena_internf(&answers->stop->program->arena,
					"%s, referenced at %s of %s (%" PRIu64
					" bytes)",
					what, step, by.name, by.bytes) :
		       gr_arena_internf(&answers->stop->program->arena,
					"%s, referenced by %s%s", what, by.name,
					step);
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_suspect_point_text(struct gr_answers *answers, gr_vertex at,
				       const char **ret)
{
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex owner = namer_above(answers, g->idom[at]);
	const char *what, *where, *step = "";
	struct gr_error *err = gr_suspect_text(answers, at, &what);

	*ret = what;
	if (err || at >= g->nobjects)
		return err;
	if (is_unknown(answers, at))
		return referred_text(answers, at, what, ret);
	if (!is_place(answers, owner))
		return NULL;
	err = gr_suspect_text(answers, owner, &where);
	if (!err && owner == g->parent[at])
		err = gr_suspect_step(answers, GR_VERTEX_NONE, owner, at,
				      &step);
	if (!err)
		*ret = gr_arena_internf(&answers->stop->program->arena,
					"%s in %s%s", what, where, step);
	return err ? err : *ret ? NULL : &gr_enomem;
}
