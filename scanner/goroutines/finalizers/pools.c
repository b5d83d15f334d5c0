// SPDX-License-Identifier: Apache-2.0
/*
 * A pool has two tables with a row for each P: `local', and `victim', which was
 * `local' at the last collection. sync.allPools has the pools that have a local
 * one, sync.oldPools those that had one.
 */
#include "goroutines/finalizers/pools.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "goroutines/primitive.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/symbols.h"
#include "graph/keys.h"
#include "graph/sets.h"
#include "scan/answers.h"

enum { MAX_POOLS = 1 << 20, MAX_ROWS = 20 };

void gr_pools_deinit(struct gr_pools *pools)
{
	free(pools->rows);
}

// ------------------------------------------------------------------- the lists

struct reader {
	struct gr_stop *stop;
	const struct gr_type_field *tables[2];
	struct gr_pool_vector *ret;
	struct gr_keys known; /* by address */
};

static void reader_deinit(struct reader *r)
{
	gr_keys_deinit(&r->known);
}

static struct gr_error *read_pool(struct reader *r, uint64_t addr)
{
	struct gr_image *image = r->stop->program->rt.image;
	struct gr_pool pool = { .addr = addr, .path = "" };
	struct gr_error *err = NULL;

	if (!addr || gr_keys_find(&r->known, addr, 0) != UINT32_MAX)
		return NULL;
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(pool.tables); i++)
		err = gr_image_read_u64(image, addr + r->tables[i]->off_bytes,
					&pool.tables[i]);
	if (err)
		return err;
	return gr_pool_vector_append(r->ret, pool) &&
			       gr_keys_add(&r->known, addr, 0, 0) ?
		       NULL :
		       &gr_enomem;
}

/* Read the pools of a list; what cannot be read is left out. */
static struct gr_error *read_list(struct reader *r, uint64_t list)
{
	struct gr_runtime *rt = &r->stop->program->rt;
	struct gr_go_slice pools;
	uint64_t addr;
	struct gr_error *err =
		gr_runtime_read_slice(rt, list, MAX_POOLS, &pools);

	for (uint64_t i = 0; !err && i < pools.len; i++) {
		err = gr_runtime_step(rt, 4);
		if (!err)
			err = gr_image_read_u64(rt->image,
						pools.addr + i * GR_WORD_BYTES,
						&addr);
		if (!err)
			err = read_pool(r, addr);
	}
	gr_error_catch(&err, GR_ERROR_FAULT);
	gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	gr_error_catch(&err, GR_ERROR_FORMAT);
	return err;
}

static bool is_list(const char *name)
{
	return gr_name_has(name, GR_NAME_ALL_POOLS) ||
	       gr_name_has(name, GR_NAME_OLD_POOLS);
}

static struct gr_error *read_variables(struct reader *r)
{
	const struct gr_root_list *roots = &r->stop->roots.list;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < roots->size; i++) {
		const struct gr_root *root = &roots->data[i];
		err = gr_runtime_step(&r->stop->program->rt, 1);
		if (!err && root->form == GR_ROOT_REGION &&
		    root->kind == GR_ROOT_GLOBAL && is_list(root->name))
			err = read_list(r, root->addr);
	}
	return err;
}

/* Without debug information, the variables are symbols. */
static struct gr_error *read_symbols(struct reader *r)
{
	struct gr_runtime *rt = &r->stop->program->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < rt->nsymbols; i++) {
		err = gr_runtime_step(rt, 1);
		if (!err && is_list(rt->symbols[i].name))
			err = read_list(r, rt->symbols[i].addr);
	}
	return err;
}

struct gr_error *gr_pools_read(struct gr_stop *stop, struct gr_pool_vector *ret,
			       bool *is_known)
{
	struct gr_types *types = stop->program->types;
	gr_type_id type = gr_types_known(types, GR_NAME_POOL);
	_cleanup_(reader_deinit) struct reader r = {
		.stop = stop,
		.tables = { gr_types_field_named(types, type, "local"),
			    gr_types_field_named(types, type, "victim") },
		.ret = ret,
	};
	struct gr_error *err = gr_types_take_error(types);

	*is_known = r.tables[0] && r.tables[1];
	if (!err && *is_known)
		err = read_variables(&r);
	return err || !*is_known ? err : read_symbols(&r);
}

// ------------------------------------------------------------------- the bytes

GR_VECTOR(table_vector, gr_vertex);

/* Add the tables of a pool, and what each of them retains. */
static struct gr_error *weigh_pool(const struct gr_graph *g,
				   struct gr_pool *pool,
				   struct table_vector *tables)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(pool->tables); i++) {
		gr_vertex v = gr_objects_find(g->objects, pool->tables[i]);
		if (v == GR_VERTEX_NONE)
			continue;
		pool->retained_bytes += g->retained[v];
		pool->retained_c_bytes += gr_graph_retained_second(g, v);
		if (!table_vector_append(tables, v))
			return &gr_enomem;
	}
	return NULL;
}

static int compare_pools(const void *a, const void *b)
{
	const struct gr_pool *x = a, *y = b;

	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes > y->retained_bytes ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static struct gr_error *name_rows(struct gr_answers *answers,
				  struct gr_pools *ret)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < ret->nrows; i++) {
		struct gr_primitive_name name;
		err = gr_primitive_find_name(answers, ret->rows[i].addr,
					     "sync.Pool", false, false, &name);
		if (!err)
			ret->rows[i].path = name.path;
	}
	return err;
}

static struct gr_error *weigh(struct gr_answers *answers,
			      struct gr_pool_vector *pools,
			      struct gr_pools *ret)
{
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	_cleanup_(table_vector_deinit) struct table_vector tables = { 0 };
	struct gr_graph *g = answers->graph->graph;
	struct gr_kept kept = { 0 };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < pools->size; i++)
		err = weigh_pool(g, &pools->data[i], &tables);
	if (!err && tables.size)
		err = gr_graph_keeps(g, tables.data, tables.size, &poll, NULL,
				     &kept);
	if (!err)
		err = gr_sort(pools->data, pools->size, sizeof(*pools->data),
			      compare_pools, poll.poll, poll.ctx);
	ret->pools = pools->size;
	ret->retained_bytes = kept.bytes;
	ret->retained_c_bytes = kept.second_bytes;
	return err;
}

struct gr_error *gr_pools_find(struct gr_answers *answers, struct gr_pools *ret)
{
	_cleanup_(gr_pool_vector_deinit) struct gr_pool_vector pools = { 0 };
	struct gr_error *err =
		gr_answers_need_graph(answers, GR_PART_DOMINATORS);

	*ret = (struct gr_pools){ .is_known = false };
	if (!err)
		err = gr_pools_read(answers->stop, &pools, &ret->is_known);
	if (!err)
		err = weigh(answers, &pools, ret);
	if (err)
		return err;
	ret->nrows = pools.size < MAX_ROWS ? pools.size : MAX_ROWS;
	ret->rows = steal_ptr(pools.data);
	return name_rows(answers, ret);
}
