// SPDX-License-Identifier: Apache-2.0
/*
 * Parents have no order by address. So each object asks upwards until an answer
 * is known, and leaves it at all objects on the way: each is passed twice.
 */
#include "waste/checks/forest.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"

enum { AHEAD = 16 /* objects from fetching to use */ };

struct forest {
	struct gr_runtime *rt;
	const struct gr_parents *parents;
	const struct gr_forest_spec *spec;
	uint8_t *of_node; /* class + 1 if a root is above the node, else 0 */
	uint8_t *known;	  /* by object: class + 1, or 0 */
	uint64_t *bytes;
};

static void forest_deinit(struct forest *f)
{
	free(f->of_node);
	free(f->known);
}

static struct gr_error *class_nodes(struct forest *f,
				    const struct gr_tree *tree)
{
	size_t n = tree->nodes.size;
	struct gr_error *err = NULL;

	f->of_node = calloc(n + 1, 1);
	if (!f->of_node)
		return &gr_enomem;
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t root = tree->nodes.data[i].root;

		if (root != UINT32_MAX)
			f->of_node[i] =
				1 +
				(f->spec->of_root ? f->spec->of_root[root] : 0);
		err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

/* The class of an object + 1, if it can be told without its parent; else 0. */
static inline uint8_t class_of(const struct forest *f, gr_obj obj)
{
	uint32_t label = gr_parents_label(f->parents, obj);

	if (f->known[obj])
		return f->known[obj];
	if (f->spec->of_type && label < f->spec->ntypes &&
	    f->spec->of_type[label])
		return f->spec->of_type[label] + 1;
	return f->of_node[gr_parents_node(f->parents, obj)];
}

static struct gr_error *resolve(struct forest *f, gr_obj obj, uint8_t *ret)
{
	struct gr_error *err = NULL;
	uint64_t steps = 0;
	gr_obj at = obj;
	uint8_t class;

	while (!(class = class_of(f, at)) && !err) {
		at = gr_parents_from(f->parents, at);
		if (GR_UNLIKELY(!(++steps % GR_POLL_STEPS)))
			err = gr_runtime_step(f->rt, GR_POLL_STEPS);
	}
	if (err)
		return err;
	f->known[at] = class;
	for (at = obj; !f->known[at]; at = gr_parents_from(f->parents, at))
		f->known[at] = class;
	*ret = class;
	return NULL;
}

static inline void look_ahead(const struct forest *f, gr_obj obj)
{
	gr_obj next = gr_parents_has(f->parents, obj + AHEAD) ?
			      gr_parents_from(f->parents, obj + AHEAD) :
			      GR_OBJ_NONE;

	if (next != GR_OBJ_NONE) {
		gr_prefetch(gr_parents_entry(f->parents, next));
		gr_prefetch(&f->known[next]);
	}
}

static struct gr_error *sum_span(struct forest *f, const struct gr_span *span,
				 gr_obj nobjs)
{
	gr_obj end = span->first_obj + span->nelems;
	struct gr_error *err = NULL;
	uint8_t class = 1;

	for (gr_obj obj = span->first_obj; !err && obj < end; obj++) {
		if (obj + AHEAD < nobjs)
			look_ahead(f, obj);
		if (!gr_parents_has(f->parents, obj))
			continue;
		err = resolve(f, obj, &class);
		f->bytes[class - 1] += span->elem_bytes;
	}
	return err ? err : gr_runtime_step(f->rt, span->nelems / 8 + 1);
}

struct gr_error *gr_forest_sum(struct gr_waste_run *run,
			       const struct gr_forest_spec *spec,
			       uint64_t *bytes)
{
	const struct gr_heap *heap = run->heap;
	_cleanup_(forest_deinit) struct forest f = {
		.rt = heap->rt,
		.parents = run->parents,
		.spec = spec,
		.known = gr_huge_calloc((size_t)heap->nobjs + 1, 1),
		.bytes = bytes,
	};

	memset(bytes, 0, GR_FOREST_CLASSES * sizeof(*bytes));
	if (!f.known)
		return &gr_enomem;
	assert(run->answers->kept_walk);
	struct gr_error *err =
		class_nodes(&f, &run->answers->kept_walk->m.tree);
	for (uint32_t i = 0; !err && i < heap->nspans; i++)
		err = sum_span(&f, &heap->spans[i], heap->nobjs);
	return err;
}
