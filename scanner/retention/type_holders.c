// SPDX-License-Identifier: Apache-2.0
/*
 * Each object gets the number of a holder: of a name and a kind of roots. Then
 * the pairs of a type and a holder are counted: there are few of them, because
 * goroutines that run one function have variables of one name.
 *
 * A walk bills no blocks of C. A block has the holder of what is before it on
 * the nearest path; one that nothing holds is not counted.
 */
#include "retention/type_holders.h"

#include "base/sort.h"
#include "base/vector.h"
#include "goruntime/roots/root_kinds.h"
#include "naming/vertex.h"
#include "retention/asked_types.h"
#include "retention/billed.h"
#include "scan/enter.h"

enum { MAX_PAIRS = 1 << 20 };

struct holder {
	const char *name; /* interned */
	const char *kind;
};
GR_VECTOR(holder_vector, struct holder);

/* The objects of a type that a holder holds. */
struct pair {
	uint32_t type, holder;
	uint64_t objects, bytes;
};
GR_VECTOR(pair_vector, struct pair);

struct finder {
	struct gr_answers *answers;
	const struct gr_graph *g;
	struct gr_poll poll;
	struct gr_asked_types types;
	/* Numbers of holders, by their roots. */
	struct gr_keys by_root;
	struct gr_keys by_name;
	struct holder_vector holders;
	struct gr_keys by_pair;
	struct pair_vector pairs;
	uint32_t *holder_of; /* by object */
};

static void finder_deinit(struct finder *f)
{
	gr_asked_types_deinit(&f->types);
	gr_keys_deinit(&f->by_root);
	gr_keys_deinit(&f->by_name);
	gr_keys_deinit(&f->by_pair);
	holder_vector_deinit(&f->holders);
	pair_vector_deinit(&f->pairs);
	gr_array_free(f->holder_of);
}

void gr_type_holders_destroy(struct gr_type_holders *holders)
{
	if (!holders)
		return;
	for (size_t i = 0; holders->types && i < holders->ntypes; i++)
		free(holders->types[i].holders);
	free(holders->types);
	free(holders);
}
GR_DEFINE_CLEANUP(type_holders, struct gr_type_holders, gr_type_holders_destroy)

/* The number of a root's name and kind. A kind is one of a few texts of this
 * program: a half of its address tells it. */
static struct gr_error *number_name(struct finder *f, const char *root_name,
				    const char *kind, uint32_t *ret)
{
	const char *name = gr_arena_intern(&f->answers->stop->program->arena,
					   root_name, strlen(root_name));
	const struct holder holder = { name, kind };
	uint32_t kind_key = (uint32_t)(uintptr_t)kind;

	if (!name)
		return &gr_enomem;
	*ret = gr_keys_find(&f->by_name, (uintptr_t)name, kind_key);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = f->holders.size;
	return holder_vector_append(&f->holders, holder) &&
			       gr_keys_add(&f->by_name, (uintptr_t)name,
					   kind_key, *ret) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *
number_root(void *ctx, const struct gr_billed_root *root, uint32_t *ret)
{
	struct finder *f = ctx;
	uintptr_t key = (uintptr_t)root->root;

	*ret = gr_keys_find(&f->by_root, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	struct gr_error *err = number_name(
		f, root->root->name, gr_root_kind_name(root->root->kind), ret);
	if (err)
		return err;
	return gr_keys_add(&f->by_root, key, 0, *ret) ? NULL : &gr_enomem;
}

/* The number of a root that leads to a block of C. */
static struct gr_error *number_vertex(struct finder *f, gr_vertex root,
				      uint32_t *ret)
{
	struct gr_vertex_info info;

	*ret = gr_keys_find(&f->by_root, root, 1);
	if (*ret != UINT32_MAX)
		return NULL;
	struct gr_error *err = gr_vertex_describe(f->answers, root, &info);
	if (!err)
		err = number_name(f, info.name, info.kind, ret);
	if (err)
		return err;
	return gr_keys_add(&f->by_root, root, 1, *ret) ? NULL : &gr_enomem;
}

/* Number the blocks of C: the graph has them behind what holds them. */
static struct gr_error *number_blocks(struct finder *f)
{
	struct gr_ticker ticker = { .poll = &f->poll };
	struct gr_error *err = NULL;

	for (gr_vertex i = 0; !err && i < f->g->nreached; i++) {
		gr_vertex v = f->g->order[i], parent = f->g->parent[v];

		if (!gr_vertex_is_block(f->g, v))
			continue;
		if (parent < f->g->nobjects)
			f->holder_of[v] = f->holder_of[parent];
		else
			err = number_vertex(f, parent, &f->holder_of[v]);
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

/* Count an object of a type for its holder. Too many holders have no rows. */
static struct gr_error *count_pair(struct finder *f, uint32_t type,
				   uint32_t holder, uint64_t bytes)
{
	const struct pair pair = { .type = type, .holder = holder };
	uint32_t index = gr_keys_find(&f->by_pair, type, holder);

	if (index == UINT32_MAX) {
		index = f->pairs.size;
		if (index == MAX_PAIRS)
			return NULL;
		if (!pair_vector_append(&f->pairs, pair) ||
		    !gr_keys_add(&f->by_pair, type, holder, index))
			return &gr_enomem;
	}
	f->pairs.data[index].objects++;
	f->pairs.data[index].bytes += bytes;
	return NULL;
}

static struct gr_error *count_all(struct finder *f, struct gr_type_holders *ret)
{
	struct gr_ticker ticker = { .poll = &f->poll };
	struct gr_error *err = NULL;
	uint32_t type;

	for (gr_vertex v = 0; !err && v < f->g->nobjects; v++) {
		err = gr_tick(&ticker);
		if (f->holder_of[v] == UINT32_MAX)
			continue; // a leaked block
		if (!err)
			err = gr_asked_type_of(&f->types, v, &type);
		if (err || type == UINT32_MAX)
			continue;
		uint64_t bytes = gr_graph_own_bytes(f->g, v);
		ret->types[type].objects++;
		ret->types[type].bytes += bytes;
		err = count_pair(f, type, f->holder_of[v], bytes);
	}
	return err;
}

/* By type, then most bytes first; holders come in the order of their first
 * objects. */
static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->holder < y->holder ? -1 : x->holder > y->holder;
}

/* Describe the first of the @p n pairs of a type; the other ones are left out,
 * and so is what was not counted. */
static struct gr_error *describe(const struct finder *f,
				 const struct pair *pairs, size_t n, size_t max,
				 struct gr_type_holding *ret)
{
	size_t nholders = n < max ? n : max;

	ret->left_out = n - nholders;
	ret->left_out_objects = ret->objects;
	ret->left_out_bytes = ret->bytes;
	ret->holders = calloc(nholders + 1, sizeof(*ret->holders));
	if (!ret->holders)
		return &gr_enomem;
	ret->nholders = nholders;
	for (size_t i = 0; i < nholders; i++) {
		const struct holder *holder = &f->holders.data[pairs[i].holder];

		ret->holders[i] = (struct gr_type_holder){
			.name = holder->name,
			.kind = holder->kind,
			.objects = pairs[i].objects,
			.bytes = pairs[i].bytes,
		};
		ret->left_out_objects -= pairs[i].objects;
		ret->left_out_bytes -= pairs[i].bytes;
	}
	return NULL;
}

static struct gr_error *describe_all(struct finder *f, uint32_t max_holders,
				     struct gr_type_holders *ret)
{
	const struct pair_vector *pairs = &f->pairs;
	struct gr_error *err = gr_sort(pairs->data, pairs->size,
				       sizeof(*pairs->data), compare_pairs,
				       f->poll.poll, f->poll.ctx);
	size_t at = 0;

	for (size_t i = 0; !err && i < ret->ntypes; i++) {
		size_t first = at;

		while (at < pairs->size && pairs->data[at].type == i)
			at++;
		/* Without any pair there is no array to point into. */
		err = describe(f, at > first ? pairs->data + first : NULL,
			       at - first, max_holders, &ret->types[i]);
	}
	return err;
}

static struct gr_error *find(struct finder *f, uint32_t max_holders,
			     struct gr_type_holders *ret)
{
	_cleanup_(gr_billed_deinit) struct gr_billed billed = { 0 };
	struct gr_budget *budget = f->g->budget;
	struct gr_error *err;

	f->holder_of = gr_array_alloc(budget, (uint64_t)f->g->nobjects + 1,
				      sizeof(*f->holder_of));
	if (!f->holder_of)
		return gr_budget_error(budget);
	err = gr_billed_init(&billed, f->answers, f->holder_of);
	if (!err)
		err = gr_billed_number(&billed, number_root, f);
	if (!err)
		err = number_blocks(f);
	if (!err)
		err = count_all(f, ret);
	return err ? err : describe_all(f, max_holders, ret);
}

static struct gr_error *answer(struct gr_answers *answers,
			       const char *const *types, uint32_t ntypes,
			       uint32_t max_holders,
			       struct gr_type_holders **ret)
{
	_cleanup_(gr_cleanup_type_holders) struct gr_type_holders *holders =
		calloc(1, sizeof(*holders));
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_NEAREST);

	if (err || !holders)
		return err ? err : &gr_enomem;
	_cleanup_(finder_deinit) struct finder f = {
		.answers = answers,
		.g = answers->graph->graph,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
	};
	holders->types = calloc((size_t)ntypes + 1, sizeof(*holders->types));
	if (!holders->types)
		return &gr_enomem;
	holders->ntypes = ntypes;
	holders->gaps = answers->graph_gaps;
	err = gr_asked_types_init(&f.types, answers, types, ntypes);
	for (uint32_t i = 0; !err && i < ntypes; i++) {
		holders->types[i].type =
			gr_arena_intern(&answers->stop->program->arena,
					types[i], strlen(types[i]));
		if (!holders->types[i].type)
			err = &gr_enomem;
	}
	if (!err)
		err = find(&f, max_holders, holders);
	if (!err)
		*ret = steal_ptr(holders);
	return err;
}

struct gr_error *gr_scan_type_holders(struct gr_scan *scan,
				      const char *const *types, uint32_t ntypes,
				      uint32_t max_holders,
				      struct gr_type_holders **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_type_holders) struct gr_type_holders *holders =
		NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers, types, ntypes, max_holders, &holders);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(holders);
	return err;
}
