// SPDX-License-Identifier: Apache-2.0
/* The result of a walk for the user: the ledger, sorted roots and types. */
#include "walks/result.h"

#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "scan/mark.h"
#include "walks/result_internal.h"

void gr_result_destroy(struct gr_result *result)
{
	if (!result)
		return;
	gr_tree_deinit(&result->tree);
	free(result->roots);
	free(result->types);
	free(result->lines);
	free(result);
}
GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)

/* Compare by bytes, then objects, both descending, then by name. */
static int compare_totals(const struct gr_total *a, const char *a_name,
			  const struct gr_total *b, const char *b_name)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	return strcmp(a_name, b_name);
}

static int compare_types(const void *a, const void *b)
{
	const struct gr_type_total *x = a, *y = b;

	return compare_totals(&x->total, x->type, &y->total, y->type);
}

static int compare_type_names(const void *a, const void *b)
{
	const struct gr_type_total *x = a, *y = b;

	return strcmp(x->type, y->type);
}

static int compare_roots(const void *a, const void *b)
{
	const struct gr_root_total *x = a, *y = b;
	int order = compare_totals(&x->total, x->name, &y->total, y->name);

	// The number of the node orders roots that look alike.
	return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

struct gr_error *gr_result_sort_roots(struct gr_result *result)
{
	const struct gr_tree *tree = &result->tree;
	size_t n = tree->roots.size;

	result->roots = calloc(n + 1, sizeof(*result->roots));
	if (!result->roots)
		return &gr_enomem;
	if (n)
		memcpy(result->roots, tree->roots.data,
		       n * sizeof(*result->roots));
	qsort(result->roots, n, sizeof(*result->roots), compare_roots);
	return NULL;
}

/* Add every node to its root; a root's nodes all carry its number. */
static struct gr_error *sum_roots(struct gr_result *result)
{
	struct gr_tree *tree = &result->tree;

	for (size_t i = 0; i < tree->nodes.size; i++) {
		const struct gr_node *node = &tree->nodes.data[i];
		struct gr_root_total *root = &tree->roots.data[node->root];
		root->total.objects += node->objects;
		root->total.bytes += node->bytes;
	}
	return gr_result_sort_roots(result);
}

/* Merge types that share a name, so that each name has one row. */
static size_t merge_types(struct gr_type_total *types, size_t n)
{
	size_t kept = 0;

	qsort(types, n, sizeof(*types), compare_type_names);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(types[kept - 1].type, types[i].type)) {
			types[kept - 1].total.objects += types[i].total.objects;
			types[kept - 1].total.bytes += types[i].total.bytes;
		} else {
			types[kept++] = types[i];
		}
	}
	return kept;
}

static struct gr_error *sum_types(struct gr_program *program,
				  const struct gr_marking *m,
				  struct gr_result *result)
{
	size_t n = 0;

	result->types = calloc(m->type_totals.size + 1, sizeof(*result->types));
	if (!result->types)
		return &gr_enomem;
	for (size_t i = 0; i < m->type_totals.size; i++)
		if (m->type_totals.data[i].objects)
			result->types[n++] = (struct gr_type_total){
				gr_types_get(program->types, i)->name,
				m->type_totals.data[i],
			};
	if (m->untyped_total.objects)
		result->types[n++] = (struct gr_type_total){ "(type not known)",
							     m->untyped_total };
	n = merge_types(result->types, n);
	qsort(result->types, n, sizeof(*result->types), compare_types);
	result->ntypes = n;
	return NULL;
}

static void finish_ledger(struct gr_answers *answers, struct gr_ledger *ledger)
{
	const struct gr_heap *heap = answers->stop->heap;

	ledger->allocated.objects = heap->allocated_objects;
	ledger->reached.objects =
		ledger->typed.objects + ledger->runtime_type.objects +
		ledger->header.objects + ledger->masked.objects;
	ledger->reached.bytes = ledger->typed.bytes +
				ledger->runtime_type.bytes +
				ledger->header.bytes + ledger->masked.bytes;
	ledger->unreached.objects =
		ledger->allocated.objects - ledger->reached.objects;
	ledger->unreached.bytes =
		ledger->allocated.bytes - ledger->reached.bytes;
	for (int i = 0; i < GR_PHASE_typed; i++)
		ledger->phases_us[i] = answers->costs->phases_us[i];
	ledger->gaps = answers->stop->gaps;
	ledger->peak_private_bytes = answers->costs->peak_private_bytes;
}

/* Walk and fill in the result. */
static struct gr_error *fill_result(struct gr_answers *answers,
				    const struct gr_walk_options *options,
				    struct gr_result *result)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_marking_deinit) struct gr_marking m;
	// Gaps of the walk belong to this result, not to the next one.
	struct gr_gaps before = stop->gaps;
	struct gr_error *err = gr_allocated_size(
		stop->heap, options->weight, &result->ledger.allocated.bytes);

	memset(&m, 0, sizeof(m));
	result->weight = options->weight;
	if (!err)
		err = gr_answers_mark(answers, options, false, &result->ledger,
				      &m);
	finish_ledger(answers, &result->ledger);
	gr_gaps_end_walk(&stop->gaps, &before);
	if (err)
		return err;
	result->tree = m.tree;
	memset(&m.tree, 0, sizeof(m.tree));
	err = gr_tree_finish(&result->tree);
	result->ledger.folded = result->tree.folded;
	if (!err)
		err = sum_roots(result);
	return err ? err : sum_types(stop->program, &m, result);
}

static struct gr_error *sort_free_slots(struct gr_answers *answers,
					const struct gr_walk_options *options,
					struct gr_ledger *ledger)
{
	_cleanup_(gr_marking_deinit) struct gr_marking precise = { 0 };
	struct gr_error *err;

	if (ledger->is_partial)
		return NULL;
	err = gr_answers_sort_free_slots(answers, options, ledger, &precise);
	if (options->keep_partial)
		gr_answers_catch_end(answers, &err, ledger);
	return err;
}

/* Set the time of the result phase, for a walk that began at @p begin_us. */
static void end_result_phase(struct gr_ledger *ledger, uint64_t begin_us)
{
	ledger->phases_us[GR_PHASE_result] = gr_costs_now_us() - begin_us -
					     ledger->phases_us[GR_PHASE_typed] -
					     ledger->phases_us[GR_PHASE_mask];
}

struct gr_error *gr_scan_walk(struct gr_scan *scan,
			      const struct gr_walk_options *options,
			      struct gr_result **ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	_cleanup_(gr_cleanup_result) struct gr_result *result =
		calloc(1, sizeof(*result));
	uint64_t begin_us = gr_costs_now_us();
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!result)
		return &gr_enomem;
	gr_kept_walk_drop(answers);
	gr_answers_make_room(answers);
	err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = fill_result(answers, options, result);
	if (!err)
		err = sort_free_slots(answers, options, &result->ledger);
	end_result_phase(&result->ledger, begin_us);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(result);
	return err;
}

const struct gr_ledger *gr_result_ledger(const struct gr_result *result)
{
	return &result->ledger;
}

enum gr_weight gr_result_weight(const struct gr_result *result)
{
	return result->weight;
}

const struct gr_node *gr_result_nodes(const struct gr_result *result,
				      size_t *count)
{
	*count = result->tree.nodes.size;
	return result->tree.nodes.data;
}

const struct gr_node_line *gr_result_lines(const struct gr_result *result)
{
	return result->lines;
}

const struct gr_result_sampling *
gr_result_sampling(const struct gr_result *result)
{
	return result->is_sampled ? &result->sampling : NULL;
}

const struct gr_root_total *gr_result_roots(const struct gr_result *result,
					    size_t *count)
{
	*count = result->tree.roots.size;
	return result->roots;
}

const struct gr_type_total *gr_result_types(const struct gr_result *result,
					    size_t *count)
{
	*count = result->ntypes;
	return result->types;
}
