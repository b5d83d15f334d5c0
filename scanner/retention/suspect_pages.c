// SPDX-License-Identifier: Apache-2.0
/*
 * How much of what suspects retain is resident. Each vertex gets the number of
 * its suspect, which is that of its dominator, in the order of the nearest paths:
 * a dominator comes first. Then the objects pass by in the order of addresses,
 * with the resident pages beside them. Both take linear time.
 */
#include "retention/suspects_internal.h"

/* The label of the vertices between a suspect's holder and its point. */
enum { BETWEEN = UINT8_MAX };

static struct gr_error *label_members(const struct gr_suspect_pages *p,
				      size_t i, uint8_t *labels)
{
	const struct gr_suspect *suspect = &p->found->suspects[i];
	const struct gr_graph *g = p->graph;
	_cleanup_free_ uint64_t *bits = gr_bitmap_alloc(g->nvertices);

	if (!bits)
		return &gr_enomem;
	struct gr_error *err = gr_graph_suspect_members(g, p->question, suspect,
							p->poll, bits);
	if (err)
		return err;
	for (size_t v = gr_bitmap_next(bits, 0, g->nvertices); v < g->nvertices;
	     v = gr_bitmap_next(bits, v + 1, g->nvertices))
		labels[v] = i + 1;
	return NULL;
}

/* Label where each suspect begins. */
static struct gr_error *label_first(const struct gr_suspect_pages *p,
				    const gr_vertex *points, uint8_t *labels)
{
	const struct gr_suspect *suspects = p->found->suspects;
	size_t n = p->found->count < GR_SUSPECT_MAX_LABELS ?
			   p->found->count :
			   GR_SUSPECT_MAX_LABELS;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		if (suspects[i].is_group)
			err = label_members(p, i, labels);
		else
			labels[suspects[i].holder] = points ? BETWEEN : i + 1;
	for (size_t i = 0; points && i < n; i++)
		if (!suspects[i].is_group)
			labels[points[i]] = i + 1;
	return err;
}

struct gr_error *gr_suspect_label(const struct gr_suspect_pages *p,
				  const gr_vertex *points, uint8_t *labels)
{
	const struct gr_graph *g = p->graph;
	struct gr_ticker ticker = { .poll = p->poll };
	struct gr_error *err = label_first(p, points, labels);

	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i];

		// A suspect below another one is no part of that.
		if (!labels[v])
			labels[v] = labels[g->idom[v]];
		err = gr_tick(&ticker);
	}
	return err;
}

uint64_t gr_resident_bytes(const struct gr_resident_vector *vector, size_t *at,
			   uint64_t start, uint64_t end)
{
	const struct gr_resident *ranges = vector->data;
	uint64_t bytes = 0;

	while (*at < vector->size && ranges[*at].end <= start)
		++*at;
	for (size_t i = *at; i < vector->size && ranges[i].start < end; i++) {
		uint64_t first = ranges[i].start > start ? ranges[i].start :
							   start;
		uint64_t last = ranges[i].end < end ? ranges[i].end : end;

		// Those of a damaged core may overlap.
		bytes += first < last ? last - first : 0;
		start = first < last ? last : start;
	}
	return bytes;
}

/* Add the resident bytes of all objects to those of their suspects. */
static struct gr_error *add_all(const struct gr_suspect_pages *p,
				const struct gr_resident_vector *ranges,
				const uint8_t *labels, uint64_t *bytes)
{
	struct gr_object_iterator c = gr_objects_begin(p->graph->objects);
	struct gr_ticker ticker = { .poll = p->poll };
	struct gr_error *err = NULL;
	size_t at = 0;

	while (!err && gr_objects_next(&c)) {
		uint64_t end = c.addr + c.bytes;
		err = gr_tick(&ticker);
		// Blocks of C begin at the lowest address again.
		if (c.vertex == gr_objects_second(p->graph->objects))
			at = 0;

		if (labels[c.vertex])
			bytes[labels[c.vertex] - 1] += gr_resident_bytes(
				ranges, &at, end - c.run->elem_bytes, end);
	}
	return err;
}

struct gr_error *gr_suspect_pages(const struct gr_suspect_pages *p,
				  const struct gr_residency *residency,
				  uint64_t *ret)
{
	const struct gr_graph *g = p->graph;
	_cleanup_array_ uint8_t *labels =
		gr_array_calloc(g->budget, g->nvertices, sizeof(*labels));

	if (!labels)
		return gr_budget_error(g->budget);
	for (size_t i = 0; i < p->found->count; i++)
		ret[i] = i < GR_SUSPECT_MAX_LABELS ? 0 : UINT64_MAX;
	struct gr_error *err = gr_suspect_label(p, NULL, labels);
	return err ? err : add_all(p, &residency->ranges, labels, ret);
}
