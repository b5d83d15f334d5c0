// SPDX-License-Identifier: Apache-2.0
/*
 * Each vertex has an owner: nobody yet, one set, several sets, or the rest of
 * the roots. First the rest marks all that it leads to. Then each set marks what
 * has no owner. What it finds to belong to another set is noted, and from there
 * a last mark leads on. So each vertex is expanded twice at most. No mark enters
 * a barred vertex.
 */
#include "graph/exclusive.h"

#include "graph/internal.h"

/* Owners that are not the number of a set. */
#define NOBODY UINT32_MAX
#define THE_REST (UINT32_MAX - 1)
#define SEVERAL (UINT32_MAX - 2)

struct division {
	const struct gr_graph *g;
	const struct gr_root_sets *sets;
	uint32_t *owner;     /* of each vertex */
	uint64_t *is_barred; /* a bit a vertex: no mark enters it */
	gr_vertex *queue;
	uint32_t head, tail;
	struct gr_ticker ticker;
	struct gr_kept *kept;
	struct gr_kept several;
};

static void division_deinit(struct division *d)
{
	gr_array_free(d->owner);
	gr_array_free(d->is_barred);
	gr_array_free(d->queue);
}

static void clear_owners(void *ctx, uint32_t start, uint32_t end)
{
	struct division *d = ctx;

	for (uint32_t v = start; v < end; v++)
		d->owner[v] = NOBODY;
}

/* Bar the marks from the holders of the sets, or from the members themselves. */
static void bar(struct division *d)
{
	const struct gr_root_sets *sets = d->sets;

	for (uint32_t i = 0; i < sets->count; i++) {
		assert(sets->vertices[i] < d->g->nvertices);
		assert(sets->set[i] < sets->nsets);
		if (!sets->holders)
			gr_bitmap_set(d->is_barred, sets->vertices[i]);
	}
	for (uint32_t i = 0; i < sets->nholders; i++)
		gr_bitmap_set(d->is_barred, sets->holders[i]);
}

static struct gr_error *division_init(struct division *d,
				      const struct gr_poll *poll)
{
	struct gr_budget *budget = d->g->budget;
	gr_vertex n = d->g->nvertices;

	d->owner = gr_array_alloc(budget, n, sizeof(*d->owner));
	d->is_barred = gr_graph_bitmap(d->g);
	d->queue = gr_array_alloc(budget, n, sizeof(*d->queue));
	if (!d->owner || !d->is_barred || !d->queue)
		return gr_budget_error(budget);
	bar(d);
	return gr_poll_pieces(poll, n, clear_owners, d);
}

static inline void own(struct division *d, gr_vertex v, uint32_t owner)
{
	d->owner[v] = owner;
	d->queue[d->tail++] = v;
}

/* Mark what has no owner. What belongs to another set belongs to several. */
static inline void reach_first(struct division *d, gr_vertex v, uint32_t owner)
{
	if (gr_bitmap_test(d->is_barred, v))
		return;
	if (d->owner[v] == NOBODY)
		own(d, v, owner);
	else if (d->owner[v] < SEVERAL && d->owner[v] != owner)
		d->owner[v] = SEVERAL;
}

static inline void reach_several(struct division *d, gr_vertex v)
{
	if (d->owner[v] < SEVERAL && !gr_bitmap_test(d->is_barred, v))
		own(d, v, SEVERAL);
}

static inline void look_ahead(const struct division *d)
{
	const uint32_t *first = d->g->first;

	if (d->head + 2 * GR_AHEAD < d->tail)
		gr_prefetch(&first[d->queue[d->head + 2 * GR_AHEAD]]);
	if (d->head + GR_AHEAD < d->tail)
		gr_prefetch(&d->g->to[first[d->queue[d->head + GR_AHEAD]]]);
}

/* Expand all of the queue. */
static struct gr_error *spread(struct division *d, uint32_t owner)
{
	const struct gr_graph *g = d->g;
	struct gr_error *err = NULL;

	while (!err && d->head < d->tail) {
		look_ahead(d);
		gr_vertex v = d->queue[d->head++];
		err = gr_tick(&d->ticker);
		for (uint32_t e = g->first[v]; !err && e < g->first[v + 1];
		     e++) {
			if (owner == SEVERAL)
				reach_several(d, g->to[e]);
			else
				reach_first(d, g->to[e], owner);
			err = gr_tick(&d->ticker);
		}
	}
	return err;
}

/* Sort the members by set: those of set k become members[first[k] .. first[k +
 * 1]). @p first has nsets + 2 elements, which are zero. */
static void sort_members(const struct gr_root_sets *sets, uint32_t *first,
			 gr_vertex *members)
{
	for (uint32_t i = 0; i < sets->count; i++)
		first[sets->set[i] + 2]++;
	for (uint32_t k = 2; k < sets->nsets + 2; k++)
		first[k] += first[k - 1];
	for (uint32_t i = 0; i < sets->count; i++)
		members[first[sets->set[i] + 1]++] = sets->vertices[i];
}

/* Begin the mark of a set at one of its members. */
static void begin(struct division *d, gr_vertex v, uint32_t set)
{
	if (d->sets->holders)
		reach_first(d, v, set);
	else if (d->owner[v] == NOBODY)
		own(d, v, set);
}

static struct gr_error *spread_sets(struct division *d)
{
	const struct gr_root_sets *sets = d->sets;
	_cleanup_array_ uint32_t *first = gr_array_calloc(
		d->g->budget, (uint64_t)sets->nsets + 2, sizeof(*first));
	_cleanup_array_ gr_vertex *members = gr_array_alloc(
		d->g->budget, (uint64_t)sets->count + 1, sizeof(*members));
	struct gr_error *err = NULL;

	if (!first || !members)
		return gr_budget_error(d->g->budget);
	sort_members(sets, first, members);
	for (uint32_t k = 0; !err && k < sets->nsets; k++) {
		for (uint32_t i = first[k]; i < first[k + 1]; i++)
			begin(d, members[i], k);
		err = spread(d, k);
	}
	return err;
}

static void queue_several(void *ctx, uint32_t start, uint32_t end)
{
	struct division *d = ctx;

	for (uint32_t v = start; v < end; v++)
		if (d->owner[v] == SEVERAL)
			d->queue[d->tail++] = v;
}

static struct gr_error *divide(struct division *d, const struct gr_poll *poll)
{
	own(d, gr_graph_top(d->g), THE_REST);
	struct gr_error *err = spread(d, THE_REST);

	if (!err)
		err = spread_sets(d);
	d->head = d->tail = 0;
	if (!err)
		err = gr_poll_pieces(poll, d->g->nvertices, queue_several, d);
	return err ? err : spread(d, SEVERAL);
}

static void sum_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct division *d = ctx;
	const struct gr_slot_run *run = gr_objects_run(d->g->objects, start);
	const uint32_t *weights = d->g->weights;
	gr_vertex second = gr_objects_second(d->g->objects);

	for (gr_vertex v = start; v < end; v++) {
		uint32_t owner = d->owner[v];
		while (run[1].first <= v)
			run++;
		if (owner == NOBODY || owner == THE_REST)
			continue;
		struct gr_kept *kept = owner == SEVERAL ? &d->several :
							  &d->kept[owner];
		kept->objects++;
		uint64_t own = weights ? weights[v] : run->elem_bytes;
		kept->bytes += own;
		if (v >= second)
			kept->second_bytes += own;
	}
}

static void add_up(const struct division *d, struct gr_kept *together)
{
	*together = d->several;
	for (uint32_t k = 0; k < d->sets->nsets; k++) {
		together->objects += d->kept[k].objects;
		together->bytes += d->kept[k].bytes;
		together->second_bytes += d->kept[k].second_bytes;
	}
}

struct gr_error *gr_graph_exclusive(const struct gr_graph *g,
				    const struct gr_root_sets *sets,
				    const struct gr_poll *poll,
				    struct gr_kept *kept,
				    struct gr_kept *together)
{
	_cleanup_(division_deinit) struct division d = {
		.g = g,
		.sets = sets,
		.kept = kept,
		.ticker = { .poll = poll },
	};
	struct gr_error *err = division_init(&d, poll);

	assert(sets->nsets < SEVERAL);
	for (uint32_t k = 0; k < sets->nsets; k++)
		kept[k] = (struct gr_kept){ 0 };
	if (!err)
		err = divide(&d, poll);
	if (!err)
		err = gr_poll_pieces(poll, g->nobjects, sum_piece, &d);
	if (!err)
		add_up(&d, together);
	return err;
}
