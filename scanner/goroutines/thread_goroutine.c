// SPDX-License-Identifier: Apache-2.0
#include "thread_goroutine.h"

#include "scan/scan.h"

/* A field of a record; 0 if the release has none, or if it is not there. */
static struct gr_error *read_field(struct gr_scan *scan, uint64_t record,
				   struct gr_field field, uint64_t *ret)
{
	struct gr_error *err = NULL;

	*ret = 0;
	if (record && field.bytes && field.bytes <= GR_WORD_BYTES)
		err = gr_image_read_uint(scan->stop.image, record + field.off,
					 field.bytes, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

static struct gr_error *find(struct gr_scan *scan, int32_t thread_id,
			     uint64_t *goid)
{
	const struct gr_layout *layout = &scan->program.rt.layout;
	struct gr_error *err = NULL;
	uint64_t id = 0, curg = 0;

	for (size_t i = 0; !err && i < scan->stop.sched.nms; i++) {
		uint64_t m = scan->stop.sched.ms[i];

		err = gr_runtime_step(&scan->program.rt, 1);
		if (!err)
			err = read_field(scan, m, layout->m.procid, &id);
		if (err || id != (uint32_t)thread_id)
			continue;
		err = read_field(scan, m, layout->m.curg, &curg);
		return err ? err : read_field(scan, curg, layout->g.goid, goid);
	}
	return err;
}

struct gr_error *gr_scan_goroutine_of_thread(struct gr_scan *scan,
					     int32_t thread_id, uint64_t *goid)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter_goroutines(scan, &guard);

	*goid = 0;
	if (!err && thread_id > 0)
		err = find(scan, thread_id, goid);
	return gr_sigbus_guard_end(&guard, err);
}
