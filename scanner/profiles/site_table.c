// SPDX-License-Identifier: Apache-2.0
#include "profiles/site_table.h"

#include "profiles/holder_paths.h"
#include "scan/enter.h"

#include <inttypes.h>

GR_DEFINE_CLEANUP(site_table, struct gr_site_table, gr_site_table_destroy)

void gr_site_table_destroy(struct gr_site_table *table)
{
	if (!table)
		return;
	gr_sites_deinit(&table->sites);
	gr_site_row_vector_deinit(&table->rows);
	free(table);
}

/** Sampled objects of one site that are in one row. */
struct cell {
	uint32_t site, row;
	uint64_t objects, bytes;
};
GR_VECTOR(cell_vector, struct cell);

struct counter {
	struct gr_answers *answers;
	const struct gr_site_options *options;
	struct gr_site_table *table;
	struct gr_holder_paths paths; /* their nodes are the roots */
	struct gr_keys row_of;	      /* (stack, root or 0) -> row */
	struct gr_keys cell_of;	      /* (site, row) -> cell */
	struct cell_vector cells;
};

static void counter_deinit(struct counter *c)
{
	gr_holder_paths_deinit(&c->paths);
	gr_keys_deinit(&c->row_of);
	gr_keys_deinit(&c->cell_of);
	cell_vector_deinit(&c->cells);
}

// ----------------------------------------------------------------------- rows

/* The innermost call of a stack as text. */
static const char *key_of(struct gr_runtime *rt, const struct gr_stacks *stacks,
			  uint32_t stack)
{
	if (stack == GR_NO_STACK)
		return "(stack not known)";
	const struct gr_stack_call *call =
		&stacks->calls.data[stacks->stacks.data[stack].call];
	const struct gr_stack_line *line = &stacks->lines.data[call->first];
	return gr_arena_internf(rt->arena, "%s %s:%" PRIu32, line->function,
				*line->file ? line->file : "?", line->line);
}

/* Add a row; @p root is a node of the paths, if roots are asked for. */
static struct gr_error *add_row(struct counter *c, uint32_t stack,
				uint32_t root, uint32_t *ret)
{
	struct gr_site_row row = {
		.key = key_of(&c->answers->stop->program->rt,
			      &c->table->sites.stacks, stack),
		.stack = stack,
	};

	if (c->options->with_root) {
		const struct gr_root_total *of =
			&c->paths.roots.data[c->paths.nodes.data[root].root];
		row.root = of->name;
		row.root_kind = gr_root_kind_name(of->kind);
	}
	*ret = (uint32_t)c->table->rows.size;
	return row.key && gr_site_row_vector_append(&c->table->rows, row) &&
			       gr_keys_add(&c->row_of, stack, root, *ret) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *add_cell(struct counter *c, uint32_t site, uint32_t row,
				 uint32_t *ret)
{
	const struct cell cell = { .site = site, .row = row };

	*ret = (uint32_t)c->cells.size;
	return cell_vector_append(&c->cells, cell) &&
			       gr_keys_add(&c->cell_of, site, row, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* Count a sampled object. */
static struct gr_error *visit(void *ctx, gr_obj obj, uint32_t site)
{
	struct counter *c = ctx;
	uint32_t stack = c->table->sites.list.data[site].stack;
	uint32_t root = 0, row, cell;
	struct gr_error *err = NULL;

	if (gr_holder_paths_has(&c->paths, obj) == c->options->is_garbage)
		return NULL;
	if (c->options->with_root)
		err = gr_holder_paths_find(&c->paths, obj, &root);
	if (err)
		return err;
	row = gr_keys_find(&c->row_of, stack, root);
	if (row == UINT32_MAX)
		err = add_row(c, stack, root, &row);
	if (err)
		return err;
	cell = gr_keys_find(&c->cell_of, site, row);
	if (cell == UINT32_MAX)
		err = add_cell(c, site, row, &cell);
	if (err)
		return err;
	c->cells.data[cell].objects++;
	c->cells.data[cell].bytes +=
		gr_heap_span_of(c->answers->stop->heap, obj)->elem_bytes;
	return NULL;
}

// --------------------------------------------------------------------- totals

static void add_total(struct gr_total *to, struct gr_total more)
{
	to->objects += more.objects;
	to->bytes += more.bytes;
}

/* Objects of one size and one stack are scaled together, as runtime/pprof does
 * it. */
static void sum_cells(struct counter *c)
{
	for (size_t i = 0; i < c->cells.size; i++) {
		const struct cell *cell = &c->cells.data[i];
		struct gr_site_row *row = &c->table->rows.data[cell->row];
		struct gr_total sampled = { cell->objects, cell->bytes };
		struct gr_total total = gr_site_scale(
			&c->table->sites, cell->site, cell->objects);

		add_total(&row->sampled, sampled);
		add_total(&row->total, total);
		add_total(&c->table->sampled, sampled);
		add_total(&c->table->total, total);
	}
}

/* Count all objects that samples stand for. */
static struct gr_error *sum_heap(struct counter *c)
{
	const struct gr_heap *heap = c->answers->stop->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		err = gr_runtime_step(heap->rt, span->nelems);
		for (uint32_t k = 0; !err && k < span->nelems; k++) {
			gr_obj obj = span->first_obj + k;

			if (gr_heap_is_allocated(heap, obj) &&
			    gr_holder_paths_has(&c->paths, obj) !=
				    c->options->is_garbage)
				add_total(&c->table->heap,
					  (struct gr_total){
						  1, span->elem_bytes });
		}
	}
	return err;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gr_site_row *x = a, *y = b;

	if (x->total.bytes != y->total.bytes)
		return x->total.bytes < y->total.bytes ? 1 : -1;
	int order = strcmp(x->key, y->key);
	if (!order && x->root)
		order = strcmp(x->root, y->root);
	// The runtime's list has buckets in a fixed order.
	return order ?: x->stack < y->stack ? -1 : x->stack > y->stack;
}

// --------------------------------------------------------------------- answer

static struct gr_error *fill(struct counter *c)
{
	struct gr_site_table *table = c->table;
	struct gr_error *err = gr_sites_read(c->answers->stop, &table->sites);

	if (!err)
		err = gr_holder_paths_init(&c->paths, c->answers, 1,
					   UINT32_MAX);
	if (!err)
		err = gr_sites_visit(c->answers->stop, &table->sites, visit, c);
	if (!err)
		err = sum_heap(c);
	if (err)
		return err;
	sum_cells(c);
	if (table->rows.size)
		qsort(table->rows.data, table->rows.size,
		      sizeof(*table->rows.data), compare_rows);
	table->gaps = c->answers->kept_walk->gaps;
	return NULL;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct gr_site_options *options,
			       struct gr_site_table **ret)
{
	_cleanup_(gr_cleanup_site_table) struct gr_site_table *table =
		calloc(1, sizeof(*table));
	_cleanup_(counter_deinit) struct counter c = {
		.answers = answers,
		.options = options,
		.table = table,
	};
	struct gr_error *err = NULL;

	if (options->with_root && options->is_garbage)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "garbage has no roots");
	err = table ? fill(&c) : &gr_enomem;
	if (!err)
		*ret = steal_ptr(table);
	return err;
}

struct gr_error *gr_scan_site_table(struct gr_scan *scan,
				    const struct gr_site_options *options,
				    struct gr_site_table **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_site_table) struct gr_site_table *table = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers, options, &table);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(table);
	return err;
}
