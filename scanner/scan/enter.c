// SPDX-License-Identifier: Apache-2.0
#include "scan/enter.h"

#include "scan/scan.h"

/* Begin a question that needs @p stages. */
static struct gr_error *enter(struct gr_scan *scan, unsigned int stages,
			      struct gr_sigbus_guard *guard)
{
	gr_sigbus_guard_begin(guard);
	struct gr_error *err = gr_image_check(scan->stop.image);

	return err ? err : gr_scan_need(scan, stages);
}

struct gr_error *gr_scan_enter(struct gr_scan *scan,
			       struct gr_sigbus_guard *guard,
			       struct gr_answers **ret)
{
	return gr_scan_enter_weighing(scan, GR_WEIGHT_BYTES, guard, ret);
}

struct gr_error *gr_scan_enter_weighing(struct gr_scan *scan,
					enum gr_weight weight,
					struct gr_sigbus_guard *guard,
					struct gr_answers **ret)
{
	struct gr_error *err = enter(scan, GR_STAGES_ALL, guard);

	*ret = &scan->answers;
	return err ? err : gr_answers_weigh(&scan->answers, weight);
}

struct gr_error *gr_scan_enter_goroutines(struct gr_scan *scan,
					  struct gr_sigbus_guard *guard,
					  struct gr_stop **ret)
{
	*ret = &scan->stop;
	return enter(scan, GR_STAGE_GOROUTINES, guard);
}

struct gr_error *gr_scan_enter_buckets(struct gr_scan *scan,
				       struct gr_sigbus_guard *guard,
				       struct gr_stop **ret)
{
	*ret = &scan->stop;
	return enter(scan, 0, guard);
}

struct gr_error *gr_scan_enter_running(struct gr_scan *scan,
				       struct gr_sigbus_guard *guard,
				       struct gr_stop **ret)
{
	*ret = &scan->stop;
	gr_sigbus_guard_begin(guard);
	struct gr_error *err = gr_image_check(scan->stop.image);
	if (!err && scan->opening.is_unsettled)
		err = gr_error_format(GR_ERROR_UNSETTLED,
				      "the runtime of the process is not "
				      "found yet");
	gr_image_forget(scan->stop.image);
	return err;
}

struct gr_answers *gr_scan_answers(struct gr_scan *scan)
{
	return &scan->answers;
}

struct gr_error *gr_scan_extend(struct gr_scan *scan,
				enum gr_scan_extent extent)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err = enter(scan, gr_extent_stages(extent), &guard);

	return gr_sigbus_guard_end(&guard, err);
}
