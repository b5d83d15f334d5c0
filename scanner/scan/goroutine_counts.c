// SPDX-License-Identifier: Apache-2.0
/* Goroutines, counted by what they do. */
#include "scan/goroutine_counts.h"

#include "goruntime/sched/wait_kind.h"
#include "scan/stop.h"

GR_VECTOR(gr_count_vector, struct gr_goroutine_count);

struct gr_error *gr_stop_moments(struct gr_stop *stop,
				 const struct gr_moments **ret)
{
	struct gr_error *err = NULL;

	*ret = &stop->moments;
	if (stop->has_moments)
		return NULL;
	err = gr_moments_read(&stop->sched, &stop->moments);
	if (err)
		gr_moments_deinit(&stop->moments);
	stop->has_moments = !err;
	return err;
}

/* The row of goroutines like @p g, made if new; NULL without memory. There are
 * some dozen of wait reasons, each text interned. */
static struct gr_goroutine_count *row_of(struct gr_count_vector *rows,
					 const struct gr_goroutine *g,
					 const char *wait_reason)
{
	for (size_t i = 0; i < rows->size; i++) {
		struct gr_goroutine_count *row = &rows->data[i];

		if (row->state == g->state && row->wait_reason == wait_reason &&
		    row->is_system == g->is_system)
			return row;
	}
	struct gr_goroutine_count row = { g->state, wait_reason, g->is_system,
					  0 };
	return gr_count_vector_append(rows, row) ? &rows->data[rows->size - 1] :
						   NULL;
}

static int by_count(const void *a, const void *b)
{
	const struct gr_goroutine_count *x = a, *y = b;

	if (x->goroutines != y->goroutines)
		return x->goroutines < y->goroutines ? 1 : -1;
	int order = strcmp(x->state, y->state);
	return order ? order : strcmp(x->wait_reason, y->wait_reason);
}

struct gr_error *gr_stop_count_goroutines(struct gr_stop *stop)
{
	_cleanup_(gr_count_vector_deinit) struct gr_count_vector rows = { 0 };
	struct gr_scan_info *info = &stop->info;

	info->goroutines = 0;
	for (size_t i = 0; i < stop->sched.ngoroutines; i++) {
		const struct gr_goroutine *g = &stop->sched.goroutines[i];
		struct gr_goroutine_count *row =
			g->is_g0 ? NULL :
				   row_of(&rows, g,
					  gr_goroutine_wait_reason(
						  &stop->program->rt, g));

		if (row)
			row->goroutines++;
		else if (!g->is_g0)
			return &gr_enomem;
		info->goroutines += !g->is_g0;
	}
	if (!rows.size)
		return NULL;
	qsort(rows.data, rows.size, sizeof(*rows.data), by_count);
	size_t bytes = rows.size * sizeof(*rows.data);
	struct gr_goroutine_count *kept =
		gr_arena_alloc(&stop->program->arena, bytes);
	if (!kept)
		return &gr_enomem;
	memcpy(kept, rows.data, bytes);
	info->goroutine_counts = kept;
	info->ngoroutine_counts = rows.size;
	return NULL;
}
