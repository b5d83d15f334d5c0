// SPDX-License-Identifier: Apache-2.0
#include "scan/goroutine_index.h"

#include "scan/stop.h"

#include <inttypes.h>

void gr_goroutine_index_deinit(struct gr_goroutine_index *index)
{
	gr_keys_deinit(&index->by_id);
	memset(index, 0, sizeof(*index));
}

static struct gr_error *fill_ids(struct gr_sched *sched, struct gr_keys *by_id)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		if (!g->is_g0 &&
		    gr_keys_find(by_id, g->goid, 0) == UINT32_MAX &&
		    !gr_keys_add(by_id, g->goid, 0, i))
			return &gr_enomem;
		err = gr_runtime_step(sched->rt, 1);
	}
	return err;
}

/* *ret is NULL if there is none. */
static struct gr_error *find(struct gr_stop *stop, uint64_t id,
			     const struct gr_goroutine **ret)
{
	struct gr_goroutine_index *index = &stop->goroutine_index;

	*ret = NULL;
	if (!index->has_ids) {
		struct gr_error *err = fill_ids(&stop->sched, &index->by_id);
		if (err) {
			gr_goroutine_index_deinit(index);
			return err;
		}
		index->has_ids = true;
	}
	uint32_t i = gr_keys_find(&index->by_id, id, 0);
	if (i != UINT32_MAX)
		*ret = &stop->sched.goroutines[i];
	return NULL;
}

struct gr_error *gr_stop_need_goroutine(struct gr_stop *stop, uint64_t id,
					const struct gr_goroutine **ret)
{
	struct gr_error *err = find(stop, id, ret);

	return err || *ret ? err :
			     gr_error_format(GR_ERROR_NOT_FOUND,
					     "there is no goroutine %" PRIu64
					     "; `goref goroutines' lists them",
					     id);
}
