// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_samples.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"
#include "growth/label_names.h"
#include "growth/page_holders.h"
#include "naming/memory_name.h"
#include "scan/enter.h"
#include "scan/graph.h"

/** A sampled object of the heap. */
struct survivor {
	uint64_t addr;
	gr_obj obj;
};
GR_VECTOR(survivor_vector, struct survivor);

struct finder {
	struct gr_answers *answers;
	struct gr_runtime *rt;
	struct survivor_vector all; /* by address */
	uint64_t *seen;		    /* a bit each: it has a row */
	struct gr_page_holders holders;
	struct gr_label_names types;
	struct gr_growth_sample_vector rows;
};

GR_DEFINE_CLEANUP(growth_samples, struct gr_growth_samples,
		  gr_growth_samples_destroy)

void gr_growth_samples_destroy(struct gr_growth_samples *samples)
{
	if (samples)
		free(samples->rows);
	free(samples);
}

static void finder_deinit(struct finder *f)
{
	survivor_vector_deinit(&f->all);
	free(f->seen);
	gr_page_holders_deinit(&f->holders);
	gr_label_names_deinit(&f->types);
	gr_growth_sample_vector_deinit(&f->rows);
}

// ----------------------------------------------------------------- survivors

static int by_addr(const void *a, const void *b)
{
	const struct survivor *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* List the sampled objects. Where memory is damaged, a slot that is free may
 * have a special. */
static struct gr_error *list_survivors(struct finder *f)
{
	const struct gr_stop *stop = f->answers->stop;
	struct survivor_vector *all = &f->all;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->sampled.size; i++) {
		const struct gr_sampled *sampled = &stop->sampled.data[i];

		err = gr_runtime_step(f->rt, 1);
		if (err || !gr_heap_is_allocated(stop->heap, sampled->obj))
			continue;
		const struct gr_span *span =
			gr_heap_span_of(stop->heap, sampled->obj);
		uint64_t slot =
			gr_span_slot_addr(span, sampled->obj - span->first_obj);
		err = gr_runtime_append(
			f->rt, survivor_vector, all,
			(struct survivor){ slot + sampled->offset,
					   sampled->obj });
	}
	// The runtime keeps the specials of a span in this order.
	if (!err)
		err = gr_sort(all->data, all->size, sizeof(*all->data), by_addr,
			      f->rt->poll, f->rt->poll_ctx);
	if (err)
		return err;
	f->seen = gr_bitmap_alloc(all->size);
	return f->seen ? NULL : &gr_enomem;
}

// ---------------------------------------------------------------------- rows

/* The label and the holder of an object; one that is not reached may have a
 * malloc header. */
static struct gr_error *look_at(struct finder *f, const struct survivor *s,
				const struct gr_span *span, uint32_t *label,
				struct gr_growth_sample *row)
{
	const struct gr_graph *g = f->answers->graph->graph;
	gr_vertex v = gr_objects_find(g->objects, s->addr);
	uint32_t holder;

	row->is_reached = v != GR_VERTEX_NONE && gr_graph_is_reached(g, v);
	if (!row->is_reached)
		return gr_memory_header_label(f->answers->stop->program, span,
					      s->obj - span->first_obj, label);
	*label = g->objects->type[v];
	struct gr_error *err = gr_page_holder_of(&f->holders, v, &holder);
	if (!err && holder != UINT32_MAX)
		row->holder = f->holders.names.data[holder];
	return err;
}

static struct gr_error *add_row(struct finder *f, const struct survivor *s)
{
	const struct gr_span *span =
		gr_heap_span_of(f->answers->stop->heap, s->obj);
	struct gr_growth_sample row = {
		.address = s->addr,
		.bytes = span->elem_bytes,
	};
	uint32_t label = GR_TYPE_NONE;
	struct gr_error *err = look_at(f, s, span, &label, &row);

	if (!err)
		err = gr_label_name(&f->types, f->answers->stop->program, label,
				    &row.type);
	return err ? err :
		     gr_runtime_append(f->rt, gr_growth_sample_vector, &f->rows,
				       row);
}

static struct gr_error *find(struct finder *f, uint64_t addr)
{
	const struct survivor_vector *all = &f->all;
	size_t n = gr_count_before(all->size, i, all->data[i].addr < addr);

	if (n == all->size || all->data[n].addr != addr ||
	    !gr_bitmap_set_new(f->seen, n))
		return NULL;
	return add_row(f, &all->data[n]);
}

// -------------------------------------------------------------------- answer

static struct gr_error *find_all(struct finder *f, const uint64_t *addrs,
				 size_t naddrs)
{
	struct gr_error *err =
		gr_answers_need_graph(f->answers, GR_PART_NEAREST);

	if (!err)
		err = gr_page_holders_init(&f->holders, f->answers);
	if (!err)
		err = list_survivors(f);
	for (size_t i = 0; !err && i < naddrs; i++) {
		err = find(f, addrs[i]);
		if (!err)
			err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

static struct gr_error *answer(struct finder *f, const uint64_t *addrs,
			       size_t naddrs, struct gr_growth_samples *samples)
{
	struct gr_stop *stop = f->answers->stop;
	const struct gr_layout *layout = &stop->program->rt.layout;
	struct gr_error *err = NULL;

	f->rt = &stop->program->rt;
	samples->is_known = layout->has.kind_profile &&
			    layout->special_profile.size_bytes;
	if (samples->is_known)
		err = find_all(f, addrs, naddrs);
	if (err)
		return err;
	samples->nrows = f->rows.size;
	samples->rows = steal_ptr(f->rows.data);
	f->rows.size = f->rows.capacity = 0;
	samples->gaps = stop->gaps;
	return NULL;
}

struct gr_error *gr_scan_growth_samples(struct gr_scan *scan,
					const uint64_t *addrs, size_t naddrs,
					struct gr_growth_samples **ret)
{
	_cleanup_(gr_cleanup_growth_samples) struct gr_growth_samples *found =
		calloc(1, sizeof(*found));
	_cleanup_(finder_deinit) struct finder f = { 0 };
	struct gr_sigbus_guard guard;

	if (!found)
		return &gr_enomem;
	struct gr_error *err = gr_scan_enter(scan, &guard, &f.answers);
	if (!err)
		err = answer(&f, addrs, naddrs, found);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(found);
	return err;
}
