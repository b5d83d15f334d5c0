// SPDX-License-Identifier: Apache-2.0
/*
 * How much of what suspects retain is resident. Each vertex gets the number of
 * its suspect, which is that of its dominator, in the order of the nearest paths:
 * a dominator comes first. Then the objects pass by in the order of addresses,
 * with the resident pages beside them. Both take linear time.
 */
#include "retention/suspects_internal.h"

/* A number of a suspect is a byte; each has a tenth of the heap. */
enum { MAX_LABELS = UINT8_MAX };

struct adder {
	const struct gr_graph *g;
	const struct gr_resident_vector *ranges;
	size_t at;	 /* the first range that ends behind the last object */
	uint64_t *bytes; /* by suspect */
};

static struct gr_error *label_members(const struct gr_suspect_pages *p,
				      size_t i, uint8_t *labels)
{
	const struct gr_suspect *suspect = &p->found->suspects[i];
	const struct gr_graph *g = p->graph;

	if (!suspect->is_group) {
		labels[suspect->holder] = i + 1;
		return NULL;
	}
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

/* Give each vertex the number of its suspect; 0: none. */
static struct gr_error *label_all(const struct gr_suspect_pages *p,
				  uint8_t *labels)
{
	const struct gr_graph *g = p->graph;
	struct gr_ticker ticker = { .poll = p->poll };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < p->found->count && i < MAX_LABELS; i++)
		err = label_members(p, i, labels);
	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i];

		// A suspect below another one is no part of that.
		if (!labels[v])
			labels[v] = labels[g->idom[v]];
		err = gr_tick(&ticker);
	}
	return err;
}

/* The resident bytes of [start, end), which begins behind the last one. */
static uint64_t resident_bytes(struct adder *a, uint64_t start, uint64_t end)
{
	const struct gr_resident *ranges = a->ranges->data;
	uint64_t bytes = 0;

	while (a->at < a->ranges->size && ranges[a->at].end <= start)
		a->at++;
	for (size_t i = a->at; i < a->ranges->size && ranges[i].start < end;
	     i++) {
		uint64_t first = ranges[i].start > start ? ranges[i].start :
							   start;
		uint64_t last = ranges[i].end < end ? ranges[i].end : end;

		// Those of a damaged core may overlap.
		bytes += first < last ? last - first : 0;
		start = first < last ? last : start;
	}
	return bytes;
}

static struct gr_error *add_all(struct adder *a, const uint8_t *labels,
				const struct gr_poll *poll)
{
	struct gr_object_iterator c = gr_objects_begin(a->g->objects);
	struct gr_ticker ticker = { .poll = poll };
	struct gr_error *err = NULL;

	while (!err && gr_objects_next(&c)) {
		uint64_t end = c.addr + c.bytes;
		err = gr_tick(&ticker);
		if (labels[c.vertex])
			a->bytes[labels[c.vertex] - 1] +=
				resident_bytes(a, end - c.run->elem_bytes, end);
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
	struct adder a = { .g = g, .ranges = &residency->ranges, .bytes = ret };
	struct gr_error *err;

	if (!labels)
		return gr_budget_error(g->budget);
	for (size_t i = 0; i < p->found->count; i++)
		ret[i] = i < MAX_LABELS ? 0 : UINT64_MAX;
	err = label_all(p, labels);
	return err ? err : add_all(&a, labels, p->poll);
}
