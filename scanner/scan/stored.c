// SPDX-License-Identifier: Apache-2.0
/* A scan of a saved file. */
#include "scan/scan.h"

#include "inferior/source.h"
#include "savedfile/saved.h"

static struct gr_error *want(void *ctx, uint64_t bytes)
{
	struct gr_stop *stop = ctx;

	return gr_source_want(&stop->target, bytes);
}

struct gr_error *gr_stop_open_saved(struct gr_stop *stop)
{
	struct gr_target *target = &stop->target;

	if (!target->saved_path)
		return gr_error_format(GR_ERROR_ARGUMENT, "no saved file");
	stop->stored = calloc(1, sizeof(*stop->stored));
	if (!stop->stored)
		return &gr_enomem;
	// The poll of the runtime has the stop as its context, too.
	struct gr_error *err =
		gr_saved_read(target->saved_path, want, stop->program->rt.poll,
			      stop->program->rt.poll_ctx, stop->stored);
	if (err)
		return err;
	if (stop->stored->tables_version != GR_DWARF_TABLES_VERSION)
		return gr_saved_other_version(target->saved_path,
					      "tables of format",
					      stop->stored->tables_version,
					      GR_DWARF_TABLES_VERSION,
					      stop->stored->goref);
	target->stored = stop->stored;
	target->modules = stop->stored->modules;
	target->nmodules = stop->stored->nmodules;
	target->pid = stop->stored->pid;
	target->use_cache = false;
	return NULL;
}

void gr_stop_close_saved(struct gr_stop *stop)
{
	if (stop->stored)
		gr_stored_deinit(stop->stored);
	free(stop->stored);
	stop->stored = NULL;
}

bool gr_stop_may_have_values(const struct gr_stop *stop)
{
	return !stop->stored || stop->stored->has_values;
}

void gr_stop_fill_saved(struct gr_stop *stop)
{
	struct gr_scan_info *info = &stop->info;

	if (!stop->stored)
		return;
	info->saved_path = stop->target.saved_path;
	info->origin = stop->stored->origin;
	info->stop = stop->stored->stop;
	info->identity = stop->stored->identity;
	info->saved_s = stop->stored->time_s;
	info->has_values = stop->stored->has_values;
}

enum gr_target_kind gr_stop_origin_kind(const struct gr_stop *stop)
{
	return stop->stored ? stop->stored->origin_kind : stop->target.kind;
}
