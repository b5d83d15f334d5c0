// SPDX-License-Identifier: Apache-2.0
#include "goroutines/thread_goroutine.h"

#include "scan/enter.h"

/* A field of a record; 0 if the release has none, or if it is not there. */
static struct gr_error *read_field(struct gr_runtime *rt, uint64_t record,
				   struct gr_field field, uint64_t *ret)
{
	struct gr_error *err = NULL;

	*ret = 0;
	if (record && field.bytes && field.bytes <= GR_WORD_BYTES)
		err = gr_image_read_uint(rt->image, record + field.off,
					 field.bytes, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

static struct gr_error *find(struct gr_sched *sched, int32_t thread_id,
			     uint64_t *goid)
{
	const struct gr_layout *layout = &sched->rt->layout;
	struct gr_error *err = NULL;
	uint64_t id = 0, curg = 0;

	for (size_t i = 0; !err && i < sched->nms; i++) {
		uint64_t m = sched->ms[i];

		err = gr_runtime_step(sched->rt, 1);
		if (!err)
			err = read_field(sched->rt, m, layout->m.procid, &id);
		if (err || id != (uint32_t)thread_id)
			continue;
		err = read_field(sched->rt, m, layout->m.curg, &curg);
		return err ? err :
			     read_field(sched->rt, curg, layout->g.goid, goid);
	}
	return err;
}

struct gr_error *gr_scan_goroutine_of_thread(struct gr_scan *scan,
					     int32_t thread_id, uint64_t *goid)
{
	struct gr_stop *stop;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter_goroutines(scan, &guard, &stop);

	*goid = 0;
	if (!err && thread_id > 0)
		err = find(&stop->sched, thread_id, goid);
	return gr_sigbus_guard_end(&guard, err);
}
