// SPDX-License-Identifier: Apache-2.0
/* From a walk to what the user sees: the ledger, sorted roots and types. */
#include "scan.h"

const char *gr_root_kind_name(enum gr_root_kind kind)
{
	static const char *const names[] = {
#define X(id, name) name,
		GR_ROOT_KINDS(X)
#undef X
	};

	return names[kind];
}

void gr_result_destroy(struct gr_result *result)
{
	if (!result)
		return;
	gr_tree_deinit(&result->tree);
	free(result->roots);
	free(result->root_rank);
	free(result->types);
	free(result);
}
GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)

/* Falling by bytes, then objects, then by name. */
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

	// The node's number tells apart what is alike in all that is shown.
	return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

/* Add every node to its root; a root's nodes all carry its number. */
static struct gr_error *sum_roots(struct gr_result *result)
{
	struct gr_tree *tree = &result->tree;
	size_t n = tree->roots.size;

	result->roots = calloc(n + 1, sizeof(*result->roots));
	result->root_rank = calloc(n + 1, sizeof(*result->root_rank));
	if (!result->roots || !result->root_rank)
		return &gr_enomem;
	for (size_t i = 0; i < tree->nodes.size; i++) {
		const struct gr_node *node = &tree->nodes.data[i];
		struct gr_root_total *root = &tree->roots.data[node->root];
		root->total.objects += node->objects;
		root->total.bytes += node->bytes;
	}
	if (n)
		memcpy(result->roots, tree->roots.data,
		       n * sizeof(*result->roots));
	qsort(result->roots, n, sizeof(*result->roots), compare_roots);
	for (size_t i = 0; i < n; i++) {
		uint32_t node = result->roots[i].node;
		result->root_rank[tree->nodes.data[node].root] = i;
	}
	return NULL;
}

/* One row a name: several ids may share it. */
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

static struct gr_error *sum_types(struct gr_result *result,
				  const struct gr_walk *w)
{
	size_t n = 0;

	result->types = calloc(w->type_totals.size + 1, sizeof(*result->types));
	if (!result->types)
		return &gr_enomem;
	for (size_t i = 0; i < w->type_totals.size; i++)
		if (w->type_totals.data[i].objects)
			result->types[n++] = (struct gr_type_total){
				gr_types_get(w->rt->types, i)->name,
				w->type_totals.data[i],
			};
	if (w->untyped_total.objects)
		result->types[n++] = (struct gr_type_total){ "(type not known)",
							     w->untyped_total };
	n = merge_types(result->types, n);
	qsort(result->types, n, sizeof(*result->types), compare_types);
	result->ntypes = n;
	return NULL;
}

static void finish_ledger(struct gr_scan *scan, struct gr_ledger *ledger)
{
	const struct gr_heap *heap = scan->rt.heap;

	ledger->allocated.objects = heap->allocated_objects;
	ledger->allocated.bytes = heap->allocated_bytes;
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
		ledger->phases_us[i] = scan->phases_us[i];
	ledger->gaps = scan->gaps;
	ledger->peak_private_bytes = scan->peak_private_bytes;
}

struct gr_error *gr_scan_run_walk(struct gr_scan *scan,
				  const struct gr_walk_options *options,
				  gr_obj wanted, struct gr_ledger *ledger,
				  struct gr_walk **ret)
{
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = NULL;
	uint64_t start_us = gr_scan_now_us();
	struct gr_error *err;

	err = gr_walk_create(&scan->rt, &scan->roots, options, ledger, &w);
	// Which words are pointers is part of the walk.
	ledger->phases_us[GR_PHASE_typed] += gr_scan_now_us() - start_us;
	if (!err && wanted != GR_OBJ_NONE)
		err = gr_walk_keep_parents(w, wanted);
	scan->walking = ledger;
	if (!err)
		err = gr_walk_strata(w, options);
	scan->walking = NULL;
	if (w && options->keep_partial)
		ledger->is_partial = gr_error_catch(&err, GR_ERROR_INTERRUPTED);
	gr_scan_note_memory(scan);
	// The last names were asked for.
	if (!err)
		gr_scan_save_symbols(scan);
	if (!err)
		*ret = steal_ptr(w);
	return err;
}

void gr_scan_progress(const struct gr_scan *scan, uint64_t *done,
		      uint64_t *total)
{
	const struct gr_ledger *ledger = scan->walking;

	*done = *total = 0;
	if (!ledger)
		return;
	*done = ledger->typed.objects + ledger->runtime_type.objects +
		ledger->header.objects + ledger->masked.objects;
	*total = scan->rt.heap->allocated_objects;
}

struct gr_error *gr_scan_sort_free_slots(struct gr_scan *scan,
					 const struct gr_walk_options *options,
					 struct gr_ledger *ledger,
					 struct gr_walk **ret)
{
	struct gr_walk_options precise = {
		.max_depth = 1,
		.max_nodes = 1,
		.attribution = options->attribution,
		.precise_only = true,
		.places = options->places,
		.nplaces = options->nplaces,
	};
	uint64_t *count = ledger->gaps.count;
	struct gr_gaps before = scan->gaps;
	struct gr_ledger again = { 0 };
	struct gr_error *err;

	*ret = NULL;
	if (!count[GR_GAP_FREE_SLOT_POINTERS])
		return NULL;
	memset(&scan->gaps, 0, sizeof(scan->gaps));
	err = gr_scan_run_walk(scan, &precise, GR_OBJ_NONE, &again, ret);
	uint64_t sure = scan->gaps.count[GR_GAP_FREE_SLOT_POINTERS];
	scan->gaps = before;
	for (int i = 0; i < GR_NPHASES; i++)
		ledger->phases_us[i] += again.phases_us[i];
	if (err || sure >= count[GR_GAP_FREE_SLOT_POINTERS])
		return err;
	count[GR_GAP_CONSERVATIVE_FREE_SLOTS] +=
		count[GR_GAP_FREE_SLOT_POINTERS] - sure;
	count[GR_GAP_FREE_SLOT_POINTERS] = sure;
	return NULL;
}

/* A walk, and from it what the result is about. */
static struct gr_error *fill_result(struct gr_scan *scan,
				    const struct gr_walk_options *options,
				    struct gr_result *result)
{
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = NULL;
	// Gaps of the walk belong to this result, not to the next one.
	struct gr_gaps before = scan->gaps;
	struct gr_error *err = gr_scan_run_walk(scan, options, GR_OBJ_NONE,
						&result->ledger, &w);

	finish_ledger(scan, &result->ledger);
	gr_gaps_end_walk(&scan->gaps, &before);
	if (err)
		return err;
	result->tree = w->tree;
	memset(&w->tree, 0, sizeof(w->tree));
	err = sum_roots(result);
	return err ? err : sum_types(result, w);
}

static struct gr_error *sort_free_slots(struct gr_scan *scan,
					const struct gr_walk_options *options,
					struct gr_ledger *ledger)
{
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = NULL;
	struct gr_error *err;

	if (ledger->is_partial)
		return NULL;
	err = gr_scan_sort_free_slots(scan, options, ledger, &w);
	if (options->keep_partial)
		ledger->is_partial = gr_error_catch(&err, GR_ERROR_INTERRUPTED);
	return err;
}

struct gr_error *gr_scan_walk(struct gr_scan *scan,
			      const struct gr_walk_options *options,
			      struct gr_result **ret)
{
	_cleanup_(gr_cleanup_result) struct gr_result *result =
		calloc(1, sizeof(*result));
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!result)
		return &gr_enomem;
	err = gr_scan_enter(scan, &guard);
	if (!err)
		err = fill_result(scan, options, result);
	if (!err)
		err = sort_free_slots(scan, options, &result->ledger);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(result);
	return err;
}

const struct gr_ledger *gr_result_ledger(const struct gr_result *result)
{
	return &result->ledger;
}

const struct gr_node *gr_result_nodes(const struct gr_result *result,
				      size_t *count)
{
	*count = result->tree.nodes.size;
	return result->tree.nodes.data;
}

const struct gr_root_total *gr_result_roots(const struct gr_result *result,
					    size_t *count)
{
	*count = result->tree.roots.size;
	return result->roots;
}

uint32_t gr_result_root_rank(const struct gr_result *result, uint32_t root)
{
	return result->root_rank[root];
}

const struct gr_type_total *gr_result_types(const struct gr_result *result,
					    size_t *count)
{
	*count = result->ntypes;
	return result->types;
}
