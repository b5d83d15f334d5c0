// SPDX-License-Identifier: Apache-2.0
/* Blocks of C in a histogram. */
#include "base/cleanup.h"
#include "graph/poll.h"
#include "histogram/internal.h"
#include "naming/memory_name.h"
#include "retention/field_words.h"
#include "retention/type_text.h"

/* Count a block of C. */
void gr_counter_count_block(struct gr_counter *c, uint32_t row, gr_vertex v)
{
	uint64_t bytes = gr_graph_own_bytes(c->g, v);

	gr_counter_count(c, row, bytes);
	c->rows.data[row].c_objects++;
	c->rows.data[row].c_bytes += bytes;
	if (c->row_of)
		c->row_of[v] = row;
}

/* The row of a block of C. */
static struct gr_error *row_of_block(struct gr_counter *c, gr_vertex v,
				     uint32_t *ret)
{
	uint32_t label = c->g->objects->type[v];
	uint64_t key = gr_counter_key(KEY_BLOCK, label);
	bool is_typed = label != GR_TYPE_NONE &&
			c->options->by != GR_BY_SPAN_CLASS;

	*ret = gr_keys_find(&c->keys, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	return is_typed ? gr_counter_add_type(
				  c, key,
				  gr_type_label_text(c->answers->stop->program,
						     label),
				  ret) :
			  gr_counter_add_key(c, key, GR_BLOCK_NAME, ret);
}

/* Count the blocks of C by type. */
struct gr_error *gr_counter_count_blocks(struct gr_counter *c)
{
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = NULL;

	if (c->options->is_garbage)
		return NULL;
	for (gr_vertex v = gr_objects_second(c->g->objects);
	     !err && v < c->g->nobjects; v++) {
		uint32_t row;

		if (!gr_graph_is_reached(c->g, v))
			continue;
		err = row_of_block(c, v, &row);
		if (!err)
			gr_counter_count_block(c, row, v);
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

/*
 * Count each block of C with the block, object or root before it on the nearest
 * path: the graph has them in this order. @p rows has the row of each vertex;
 * @p row_of tells that of a block behind a vertex that is none.
 */
static struct gr_error *count_held_blocks(
	struct gr_counter *c, uint32_t *rows,
	struct gr_error *(*row_of)(struct gr_counter *c, gr_vertex parent,
				   gr_vertex v, uint32_t *ret))
{
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = NULL;

	for (gr_vertex i = 0; !err && i < c->g->nreached; i++) {
		gr_vertex v = c->g->order[i], parent = c->g->parent[v];

		if (!gr_vertex_is_block(c->g, v))
			continue;
		if (gr_vertex_is_block(c->g, parent))
			rows[v] = rows[parent];
		else
			err = row_of(c, parent, v, &rows[v]);
		if (!err)
			gr_counter_count_block(c, rows[v], v);
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

/* The row of a block that an object or a root leads to. */
static struct gr_error *row_of_parent(struct gr_counter *c, gr_vertex parent,
				      gr_vertex v, uint32_t *ret)
{
	(void)v;
	if (parent >= c->g->nobjects)
		return gr_counter_root_row(c, parent, ret);
	*ret = c->row_of[parent];
	return NULL;
}

struct gr_error *gr_counter_count_held_blocks(struct gr_counter *c)
{
	return count_held_blocks(c, c->row_of, row_of_parent);
}

/* The row of a block by the field or the variable that leads to it. */
static struct gr_error *row_of_link(struct gr_counter *c, gr_vertex parent,
				    gr_vertex v, uint32_t *ret)
{
	return parent < c->g->nobjects ?
		       gr_counter_field_row(c, parent, c->words[v], ret) :
		       gr_counter_root_row(c, parent, ret);
}

/* Count the blocks that nothing holds, under a name of their own. */
static struct gr_error *count_leaked(struct gr_counter *c)
{
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = NULL;

	for (gr_vertex v = gr_objects_second(c->g->objects);
	     !err && v < c->g->nobjects; v++) {
		uint64_t key = gr_counter_key(KEY_BLOCK, GR_TYPE_NONE);
		uint32_t row;

		if (gr_graph_is_reached(c->g, v))
			continue;
		row = gr_keys_find(&c->keys, key, 0);
		if (row == UINT32_MAX)
			err = gr_counter_add_key(
				c, key, "C blocks without a known holder",
				&row);
		if (!err)
			gr_counter_count_block(c, row, v);
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

/* Count blocks of C by what holds them. */
struct gr_error *gr_counter_count_holders(struct gr_counter *c)
{
	struct gr_budget *budget = c->g->budget;
	_cleanup_array_ uint32_t *rows = gr_array_alloc(
		budget, (uint64_t)c->g->nobjects + 1, sizeof(*rows));

	c->words = gr_array_alloc(budget, (uint64_t)c->g->nobjects + 1,
				  sizeof(*c->words));
	if (!c->words || !rows)
		return gr_budget_error(budget);
	struct gr_error *err = gr_field_words_find(c->answers, c->words);
	if (!err)
		err = count_held_blocks(c, rows, row_of_link);
	return err ? err : count_leaked(c);
}
