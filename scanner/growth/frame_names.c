// SPDX-License-Identifier: Apache-2.0
#include "growth/frame_names.h"

#include "scan/enter.h"
#include "scan/stop.h"

void gr_frame_names_deinit(struct gr_frame_names *names)
{
	gr_logical_frame_vector_deinit(&names->frames);
	gr_frame_end_vector_deinit(&names->ends);
}

static struct gr_error *add_pc(struct gr_runtime *rt, uint64_t pc,
			       struct gr_frame_names *names)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	struct gr_func func;
	size_t n = 0;
	struct gr_error *err = gr_runtime_step(rt, 1);

	if (!err && gr_func_find(rt, pc, &func))
		err = gr_inline_frames(rt, &func, pc, frames, &n);
	for (size_t i = 0; !err && i < n; i++)
		if (!gr_logical_frame_vector_append(&names->frames, frames[i]))
			return &gr_enomem;
	if (!err &&
	    !gr_frame_end_vector_append(&names->ends, names->frames.size))
		return &gr_enomem;
	return err;
}

struct gr_error *gr_scan_name_frames(struct gr_scan *scan, const uint64_t *pcs,
				     size_t npcs, struct gr_frame_names *ret)
{
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;
	struct gr_error *err = gr_scan_enter_running(scan, &guard, &stop);

	for (size_t i = 0; !err && i < npcs; i++)
		err = add_pc(&stop->program->rt, pcs[i], ret);
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_labels_at(struct gr_scan *scan, uint64_t addr,
				   struct gr_arena *arena,
				   const struct gr_label_set **ret)
{
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;
	struct gr_error *err = gr_scan_enter_running(scan, &guard, &stop);

	*ret = NULL;
	if (!err && addr) {
		struct gr_types *types = stop->program->types;
		gr_type_id type = gr_types_known(types, GR_NAME_LABELS);

		err = gr_types_take_error(types);
		if (!err)
			err = gr_labels_read_at(types, type, addr, arena, ret);
	}
	gr_error_catch(&err, GR_ERROR_FAULT);
	return gr_sigbus_guard_end(&guard, err);
}
