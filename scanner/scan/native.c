// SPDX-License-Identifier: Apache-2.0
#include "scan/native.h"

#include "native/allocators/read.h"
#include "native/motion.h"
#include "scan/residency.h"
#include "scan/stop.h"

void gr_stop_drop_native(struct gr_stop *stop)
{
	gr_native_deinit(&stop->native);
	stop->has_native = false;
}

/* May the C memory of the target be read? */
static struct gr_error *is_there(struct gr_stop *stop, bool *ret)
{
	const struct gr_residency *residency;
	struct gr_error *err = NULL;

	*ret = stop->pages.has_residency && stop->is_native_copied;
	if (!*ret && gr_target_is_file(&stop->target)) {
		err = gr_stop_residency(stop, &residency);
		*ret = !err;
		// A file that was saved without its mappings.
		gr_error_catch(&err, GR_ERROR_ARGUMENT);
	}
	return err;
}

struct gr_error *gr_stop_native(struct gr_stop *stop, struct gr_native **ret)
{
	bool may_read = stop->has_native;
	struct gr_error *err = may_read ? NULL : is_there(stop, &may_read);

	*ret = NULL;
	if (err || !may_read)
		return err;
	if (!stop->has_native) {
		const struct gr_native_spec spec = {
			.rt = &stop->program->rt,
			.residency = &stop->pages.residency,
			.go_arenas = &stop->pages.arenas,
			.target = &stop->target,
		};

		err = gr_native_read(&spec, &stop->native);
		stop->has_native = !err;
		if (err)
			gr_native_deinit(&stop->native);
	}
	*ret = &stop->native;
	return err;
}

struct gr_error *gr_stop_c_roots_spec(struct gr_stop *stop,
				      struct gr_c_threads *threads,
				      struct gr_c_roots_spec *ret)
{
	*ret = (struct gr_c_roots_spec){
		.rt = &stop->program->rt,
		.residency = &stop->pages.residency,
		.go_arenas = &stop->pages.arenas,
		.sys_memory = &stop->pages.sys_memory,
		.native = &stop->native,
		.threads = threads,
	};
	struct gr_error *err = gr_c_threads_read(&stop->sched, threads);
	return err ? err :
		     gr_sys_memory_sort(stop->heap, &stop->pages.arenas,
					&stop->pages.sys_memory);
}

struct gr_error *gr_stop_note_motion(struct gr_stop *stop)
{
	_cleanup_(gr_c_threads_deinit) struct gr_c_threads threads = { 0 };
	struct gr_error *err = gr_c_threads_read(&stop->sched, &threads);

	return err ? err :
		     gr_native_note_motion(&stop->program->rt, &threads,
					   &stop->native);
}
