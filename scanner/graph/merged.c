// SPDX-License-Identifier: Apache-2.0
/*
 * Merged paths: the "merge shortest paths to GC roots" of Eclipse MAT. The tree
 * of parents is cut down to the targets and their ancestors, by one pass from
 * the far end of the queue, which adds targets to parents; then one pass from
 * its beginning makes rows, because parents come before children. A row is a
 * node of a trie over the keys.
 */
#include "graph/merged.h"

#include "base/vector.h"
#include "graph/internal.h"
#include "graph/keys.h"

GR_VECTOR(row_vector, struct gr_merged_row);

/** In merger.below: an ancestor has the row, because there was no room. */
static const uint32_t cut_bit = UINT32_C(1) << 31;

struct merger {
	const struct gr_graph *g;
	const struct gr_merge_options *options;
	const uint64_t *targets;
	const gr_vertex *parent;
	const gr_vertex *order;
	gr_vertex nreached;
	/* By vertex: targets at or below it; then its row. */
	uint32_t *below;
	struct gr_keys keys;
	struct row_vector rows;
	struct gr_error *err;
};

static void merger_deinit(struct merger *m)
{
	gr_array_free(m->below);
	gr_keys_deinit(&m->keys);
	row_vector_deinit(&m->rows);
}

void gr_merged_paths_deinit(struct gr_merged_paths *merged)
{
	free(merged->rows);
	memset(merged, 0, sizeof(*merged));
}

static void count_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct merger *m = ctx;

	for (uint32_t i = end; i-- > start;) {
		gr_vertex v = m->order[i];
		m->below[v] += gr_bitmap_test(m->targets, v);
		if (i)
			m->below[m->parent[v]] += m->below[v];
	}
}

/* A new row. @return false if no memory is left. */
static bool add_row(struct merger *m, gr_vertex v, uint64_t key,
		    uint32_t parent)
{
	uint32_t index = m->rows.size;
	const struct gr_merged_row row = {
		.key = key,
		.parent = parent,
		.depth = index ? m->rows.data[parent].depth + 1 : 0,
		.example = v,
	};

	// The top is nobody's child: its key is not one below the first row.
	return (!index || gr_keys_add(&m->keys, key, parent, index)) &&
	       row_vector_append(&m->rows, row);
}

/* The row of @p v below @p parent, as in merger.below. */
static uint32_t row_of(struct merger *m, gr_vertex v, uint32_t parent)
{
	const struct gr_merge_options *options = m->options;

	if (parent & cut_bit)
		return parent;
	uint64_t key = options->key ? options->key(options->ctx, v) : v;
	uint32_t row = gr_keys_find(&m->keys, key, parent);
	if (row != UINT32_MAX)
		return row;
	if (m->rows.size >= options->max_rows)
		return parent | cut_bit;
	if (!add_row(m, v, key, parent))
		m->err = &gr_enomem;
	return m->rows.size - 1;
}

static void row_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct merger *m = ctx;

	for (uint32_t i = start; i < end && !m->err; i++) {
		gr_vertex v = m->order[i];
		if (i && !m->below[v])
			continue;
		uint32_t row = row_of(m, v, i ? m->below[m->parent[v]] : 0);
		if (m->err)
			return;
		struct gr_merged_row *r = &m->rows.data[row & ~cut_bit];
		bool is_target = gr_bitmap_test(m->targets, v);
		m->below[v] = row;
		r->vertices += !(row & cut_bit);
		r->cut += is_target && row & cut_bit;
		r->targets += is_target;
		if (is_target)
			r->bytes += gr_graph_own_bytes(m->g, v);
	}
}

/* So far a row has its own targets only. */
static void sum_rows(struct merger *m)
{
	for (size_t i = m->rows.size; i-- > 1;) {
		const struct gr_merged_row *row = &m->rows.data[i];
		m->rows.data[row->parent].targets += row->targets;
		m->rows.data[row->parent].bytes += row->bytes;
	}
}

static struct gr_error *merge(struct merger *m, const struct gr_poll *poll)
{
	m->below = gr_array_calloc(m->g->budget, m->g->nvertices,
				   sizeof(*m->below));
	if (!m->below)
		return gr_budget_error(m->g->budget);
	struct gr_error *err =
		gr_poll_pieces_back(poll, m->nreached, count_piece, m);
	if (!err)
		err = gr_poll_pieces(poll, m->nreached, row_piece, m);
	if (!err)
		err = m->err;
	if (!err)
		sum_rows(m);
	return err;
}

/* The parents of a search of its own, which leaves edges out. */
static struct gr_error *merge_filtered(struct merger *m,
				       const struct gr_poll *poll)
{
	const struct gr_graph *g = m->g;
	const struct gr_edge_filter *filter = &m->options->filter;
	uint64_t n = g->nvertices;
	_cleanup_array_ gr_vertex *parent =
		gr_array_alloc(g->budget, n, sizeof(*parent));
	_cleanup_array_ gr_vertex *order =
		gr_array_alloc(g->budget, n, sizeof(*order));

	if (!parent || !order)
		return gr_budget_error(g->budget);
	memset(parent, 0xff, n * sizeof(*parent));
	struct gr_error *err = gr_graph_search(g, filter->is_excluded,
					       filter->ctx, parent, order,
					       &m->nreached, poll);
	m->parent = parent;
	m->order = order;
	return err ? err : merge(m, poll);
}

struct gr_error *gr_graph_merge_paths(struct gr_graph *g,
				      const uint64_t *targets,
				      const struct gr_merge_options *options,
				      const struct gr_poll *poll,
				      struct gr_merged_paths *ret)
{
	struct gr_error *err = gr_graph_need(g, GR_PART_NEAREST, poll);

	if (err)
		return err;
	assert(options->max_rows && options->max_rows < cut_bit);
	_cleanup_(merger_deinit) struct merger m = {
		.g = g,
		.options = options,
		.targets = targets,
		.parent = g->parent,
		.order = g->order,
		.nreached = g->nreached,
	};
	err = options->filter.is_excluded ? merge_filtered(&m, poll) :
					    merge(&m, poll);
	if (err)
		return err;
	ret->unreached = gr_bitmap_count(targets, 0, g->nvertices) -
			 m.rows.data[0].targets;
	ret->nrows = m.rows.size;
	ret->rows = steal_ptr(m.rows.data);
	return NULL;
}
