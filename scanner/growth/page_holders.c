// SPDX-License-Identifier: Apache-2.0
#include "growth/page_holders.h"

#include "base/sort.h"
#include "goruntime/layout/c_variable.h"
#include "graph/poll.h"
#include "inferior/elf.h"
#include "naming/locate.h"
#include "naming/vertex.h"
#include "native/class_name.h"

/** The kinds of keys of names. */
enum { KEY_VERTEX = 1, KEY_START, KEY_ROOT, KEY_WORD, KEY_VARIABLE, KEY_DATA };

void gr_page_holders_deinit(struct gr_page_holders *holders)
{
	free(holders->root_of);
	gr_stack_owners_deinit(&holders->stacks);
	gr_holder_names_deinit(&holders->names);
	gr_keys_deinit(&holders->by_key);
}

/* Find the root of each vertex: the order has a parent before its children. */
static struct gr_error *find_roots(struct gr_page_holders *holders)
{
	const struct gr_graph *g = holders->answers->graph->graph;
	struct gr_runtime *rt = &holders->answers->stop->program->rt;
	uint64_t bytes = (uint64_t)g->nvertices * sizeof(*holders->root_of);
	struct gr_error *err = gr_image_want(rt->image, bytes);

	if (err)
		return err;
	holders->root_of = malloc(bytes);
	if (!holders->root_of)
		return &gr_enomem;
	memset(holders->root_of, 0xff, bytes);
	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i];

		holders->root_of[v] = v >= gr_graph_first_root(g) ?
					      v :
					      holders->root_of[g->parent[v]];
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct gr_stack_owner *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct gr_error *find_stacks(struct gr_page_holders *holders)
{
	const struct gr_sched *sched = &holders->answers->stop->sched;
	struct gr_stack_owners *list = &holders->stacks;

	for (size_t i = 0; i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		struct gr_stack_owner owner = { g->stack_lo, g->stack_hi,
						(uint32_t)i };

		if (owner.start < owner.end &&
		    !gr_stack_owners_append(list, owner))
			return &gr_enomem;
	}
	return gr_sort(list->data, list->size, sizeof(*list->data), by_start,
		       sched->rt->poll, sched->rt->poll_ctx);
}

struct gr_error *gr_page_holders_init(struct gr_page_holders *holders,
				      struct gr_answers *answers)
{
	holders->answers = answers;
	struct gr_error *err = find_roots(holders);

	return err ? err : find_stacks(holders);
}

/* Find a name that was entered, or enter NULL for one. */
static struct gr_error *enter(struct gr_page_holders *holders, uint64_t key,
			      uint32_t kind, uint32_t *ret)
{
	*ret = gr_keys_find(&holders->by_key, key, kind);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = (uint32_t)holders->names.size;
	return gr_keys_add(&holders->by_key, key, kind, *ret) &&
			       gr_holder_names_append(&holders->names, NULL) ?
		       NULL :
		       &gr_enomem;
}

/* The name of all goroutines that begin where one does. */
static struct gr_error *name_goroutine(struct gr_page_holders *holders,
				       uint32_t index, uint32_t *ret)
{
	struct gr_sched *sched = &holders->answers->stop->sched;
	const struct gr_goroutine *g = &sched->goroutines[index];
	struct gr_error *err =
		enter(holders, g->is_g0 ? 0 : g->startpc, KEY_START, ret);

	if (err || holders->names.data[*ret])
		return err;
	holders->names.data[*ret] = gr_goroutines_name(sched, index);
	return holders->names.data[*ret] ? NULL : &gr_enomem;
}

struct gr_error *gr_page_holder_of(struct gr_page_holders *holders, gr_vertex v,
				   uint32_t *ret)
{
	const struct gr_heap_graph *hg = holders->answers->graph;
	const struct gr_graph *g = hg->graph;
	gr_vertex root = holders->root_of[v];
	struct gr_vertex_info info;

	*ret = UINT32_MAX;
	if (root == GR_VERTEX_NONE || root == gr_graph_top(g))
		return NULL;
	gr_vertex group = root < gr_graph_first_group(g) ? g->parent[root] :
							   root;
	gr_vertex first_static = gr_goroutine_vertex(hg, hg->ngoroutines);
	if (group >= gr_graph_first_group(g) && group < first_static)
		return name_goroutine(holders, group - gr_graph_first_group(g),
				      ret);
	// A variable with static memory is a group.
	if (group < gr_group_vertex(hg, 0))
		root = group;
	struct gr_error *err = enter(holders, root, KEY_VERTEX, ret);
	if (err || holders->names.data[*ret])
		return err;
	err = gr_vertex_describe(holders->answers, root, &info);
	if (!err)
		holders->names.data[*ret] = info.name;
	return err;
}

struct gr_error *gr_page_holder_of_stack(struct gr_page_holders *holders,
					 uint64_t addr, uint64_t end,
					 uint64_t *stop, uint32_t *ret)
{
	const struct gr_stack_owners *list = &holders->stacks;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	*stop = end;
	*ret = UINT32_MAX;
	if (n == list->size)
		return NULL;
	const struct gr_stack_owner *owner = &list->data[n];
	bool is_inside = owner->start <= addr;
	uint64_t edge = is_inside ? owner->end : owner->start;

	if (edge < end)
		*stop = edge;
	return is_inside ? name_goroutine(holders, owner->goroutine, ret) :
			   NULL;
}

// ---------------------------------------------------------------------- edges

static struct gr_error *name_listed(struct gr_page_holders *holders,
				    uint32_t index, uint32_t *ret)
{
	const struct gr_root *root =
		&holders->answers->stop->roots.list.data[index];
	struct gr_error *err;

	if (root->goroutine != UINT32_MAX)
		return name_goroutine(holders, root->goroutine, ret);
	err = enter(holders, index, KEY_ROOT, ret);
	if (!err)
		holders->names.data[*ret] = root->name;
	return err;
}

/* Name a word of data or of a stack that no variable of Go covers. */
static struct gr_error *name_word(struct gr_page_holders *holders,
				  const struct gr_edge *edge, uint32_t *ret)
{
	const struct gr_stop *stop = holders->answers->stop;
	struct gr_root word;
	struct gr_error *err = gr_roots_name_word(
		&stop->sched, &stop->roots, edge->root, edge->addr, &word);

	if (!err && word.goroutine != UINT32_MAX)
		return name_goroutine(holders, word.goroutine, ret);
	if (!err)
		err = enter(holders, edge->addr, KEY_WORD, ret);
	if (!err)
		holders->names.data[*ret] = word.name;
	return err;
}

struct gr_error *gr_page_holder_of_edge(struct gr_page_holders *holders,
					const struct gr_edge *edge,
					uint32_t *ret)
{
	const struct gr_graph *g = holders->answers->graph->graph;

	*ret = UINT32_MAX;
	if (edge->from == GR_OBJ_NONE)
		return edge->is_area ? name_word(holders, edge, ret) :
				       name_listed(holders, edge->root, ret);
	gr_vertex v = gr_object_vertex(g->objects, edge->from);
	return v == GR_VERTEX_NONE ? NULL : gr_page_holder_of(holders, v, ret);
}

// ----------------------------------------------------------------------- data

/* The variable of a symbol, which has the address. */
static struct gr_error *name_variable(struct gr_page_holders *holders,
				      const struct gr_symbol *symbol,
				      uint32_t *ret)
{
	struct gr_runtime *rt = &holders->answers->stop->program->rt;
	struct gr_c_variable variable;
	struct gr_error *err = enter(holders, symbol->addr, KEY_VARIABLE, ret);

	if (err || holders->names.data[*ret])
		return err;
	err = gr_c_variable_find(rt, symbol->addr, &variable);
	return err ? err :
		     gr_variable_name(rt->arena, variable.name,
				      &holders->names.data[*ret]);
}

/* The path of the executable may be that of a link to it. */
static const char *file_name(const struct gr_image *image, size_t module)
{
	const char *path = gr_image_module_name(image, module);
	const char *slash = strrchr(path, '/');

	if (!module)
		return "the executable";
	return slash ? slash + 1 : path;
}

/* The section of data at @p addr and its file, in words. */
static struct gr_error *name_data(struct gr_page_holders *holders,
				  size_t module, uint64_t addr, uint32_t *ret)
{
	struct gr_runtime *rt = &holders->answers->stop->program->rt;
	const char *section = gr_data_section(rt->image, module, addr);

	*ret = UINT32_MAX;
	if (!section)
		return NULL;
	struct gr_error *err = enter(holders,
				     (uint64_t)module << 1 | (*section == 'b'),
				     KEY_DATA, ret);
	if (err || holders->names.data[*ret])
		return err;
	holders->names.data[*ret] = gr_arena_internf(
		rt->arena, "%s of %s", section, file_name(rt->image, module));
	return holders->names.data[*ret] ? NULL : &gr_enomem;
}

struct gr_error *gr_page_holder_of_word(struct gr_page_holders *holders,
					uint64_t addr, uint32_t *ret)
{
	struct gr_runtime *rt = &holders->answers->stop->program->rt;
	size_t module = gr_image_module_at(rt->image, addr);
	struct gr_symbol symbol;
	struct gr_error *err = gr_c_symbol_find(rt, module, addr, &symbol);

	if (err)
		return err;
	return symbol.name ? name_variable(holders, &symbol, ret) :
			     name_data(holders, module, addr, ret);
}

struct gr_error *gr_page_holder_of_data(struct gr_page_holders *holders,
					uint64_t addr, uint64_t end,
					uint64_t *stop, uint32_t *ret)
{
	struct gr_runtime *rt = &holders->answers->stop->program->rt;
	size_t module = gr_image_module_at(rt->image, addr);
	uint64_t page_end = (addr | (GR_PAGE_BYTES - 1)) + 1;
	struct gr_symbol symbol;
	struct gr_error *err = gr_runtime_step(rt, 1);

	if (!err)
		err = gr_c_symbol_find(rt, module, addr, &symbol);
	if (err)
		return err;
	uint64_t last = (symbol.addr + symbol.bytes) & ~(GR_PAGE_BYTES - 1);
	// The page may begin before the variable does.
	bool is_whole = symbol.name && last >= page_end &&
			symbol.addr <= (addr & ~(GR_PAGE_BYTES - 1));
	*stop = is_whole ? last : page_end;
	if (*stop > end)
		*stop = end;
	return is_whole ? name_variable(holders, &symbol, ret) :
			  name_data(holders, module, addr, ret);
}
