// SPDX-License-Identifier: Apache-2.0
/*
 * Forward edges in compressed sparse rows: one array of targets, and for each
 * source where its targets begin.
 */
#include "graph/edges.h"

enum { MIN_CAPACITY = 1 << 10 };

/** Numbers that fit into the arrays; the last one is left as "none". */
static const uint64_t max_edges = GR_VERTEX_NONE - 1;

struct gr_error *gr_edges_init(struct gr_edges *edges, struct gr_budget *budget,
			       gr_vertex start, gr_vertex end,
			       gr_vertex ntargets, uint64_t expected)
{
	assert(start <= end);
	uint64_t capacity = expected < max_edges ? expected : max_edges;

	if (capacity < MIN_CAPACITY)
		capacity = MIN_CAPACITY;
	*edges = (struct gr_edges){
		.budget = budget,
		.start = start,
		.end = end,
		.next = start,
		.ntargets = ntargets,
		.capacity = capacity,
	};
	edges->first = gr_array_alloc(budget, (uint64_t)end - start + 1,
				      sizeof(*edges->first));
	edges->to = gr_array_alloc(budget, capacity, sizeof(*edges->to));
	if (edges->first && edges->to)
		return NULL;
	gr_edges_deinit(edges);
	return gr_budget_error(budget);
}

void gr_edges_deinit(struct gr_edges *edges)
{
	gr_array_free(edges->first);
	gr_array_free(edges->to);
	memset(edges, 0, sizeof(*edges));
}

bool gr_edges_grow(struct gr_edges *edges)
{
	// By a quarter: the kernel moves large arrays without copying them.
	uint64_t capacity = edges->capacity + edges->capacity / 4;

	if (capacity > max_edges)
		capacity = max_edges;
	if (edges->is_failed || edges->is_too_many)
		return false;
	edges->is_too_many = edges->size >= max_edges;
	if (edges->is_too_many)
		return false;
	gr_vertex *to =
		gr_array_resize(edges->to, capacity, sizeof(*edges->to));
	edges->is_failed = !to;
	if (!to)
		return false;
	edges->to = to;
	edges->capacity = capacity;
	return true;
}

/* The sources that were left out at the end have no edges. */
static void finish(struct gr_edges *edges)
{
	if (edges->next < edges->end)
		gr_edges_begin(edges, edges->end - 1);
	edges->first[edges->end - edges->start] = edges->size;
}

static struct gr_error *check(const struct gr_edges *parts, size_t nparts,
			      uint64_t *total)
{
	bool is_too_many = false;

	for (size_t i = 0; i < nparts; i++) {
		assert(parts[i].start == (i ? parts[i - 1].end : 0));
		if (parts[i].is_failed)
			return gr_budget_error(parts[i].budget);
		is_too_many |= parts[i].is_too_many;
		*total += parts[i].size;
	}
	if (is_too_many || *total > max_edges)
		return gr_error_format(GR_ERROR_LIMIT,
				       "the heap has too many pointers for an "
				       "object graph: the limit is %llu",
				       (unsigned long long)max_edges);
	return NULL;
}

/* Append a part to the arrays that its predecessors were joined to. */
static void append(uint32_t *first, gr_vertex *to, uint32_t base,
		   const struct gr_edges *part)
{
	for (gr_vertex i = part->start; i < part->end; i++)
		first[i] = base + part->first[i - part->start];
	memcpy(to + base, part->to, part->size * sizeof(*to));
}

static struct gr_error *join(struct gr_edges *parts, size_t nparts,
			     gr_vertex nvertices, uint64_t total,
			     uint64_t extra_edges)
{
	struct gr_edges *head = &parts[0];
	gr_vertex *to =
		gr_array_resize(head->to, total + extra_edges, sizeof(*to));
	if (!to)
		return gr_budget_error(head->budget);
	head->to = to;
	uint32_t *first = gr_array_resize(head->first, (uint64_t)nvertices + 1,
					  sizeof(*first));
	if (!first)
		return gr_budget_error(head->budget);
	head->first = first;

	uint32_t base = head->size;
	for (size_t i = 1; i < nparts; i++) {
		append(first, to, base, &parts[i]);
		base += parts[i].size;
		gr_edges_deinit(&parts[i]);
	}
	return NULL;
}

struct gr_error *gr_edges_join(struct gr_edges *parts, size_t nparts,
			       gr_vertex nvertices, uint64_t extra_edges,
			       uint32_t **first, gr_vertex **to)
{
	uint64_t total = 0;
	gr_vertex end = parts[nparts - 1].end;
	struct gr_error *err = check(parts, nparts, &total);

	if (!err && total + extra_edges > max_edges)
		err = gr_error_format(GR_ERROR_LIMIT,
				      "the heap has too many roots for an "
				      "object graph");
	for (size_t i = 0; !err && i < nparts; i++)
		finish(&parts[i]);
	if (!err)
		err = join(parts, nparts, nvertices, total, extra_edges);
	if (!err) {
		*first = steal_ptr(parts[0].first);
		*to = steal_ptr(parts[0].to);
		for (uint64_t i = end; i <= nvertices; i++)
			(*first)[i] = total;
	}
	for (size_t i = 0; i < nparts; i++)
		gr_edges_deinit(&parts[i]);
	return err;
}
