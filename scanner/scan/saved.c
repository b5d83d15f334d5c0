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
	stop->saved = calloc(1, sizeof(*stop->saved));
	if (!stop->saved)
		return &gr_enomem;
	// The poll of the runtime has the stop as its context, too.
	struct gr_error *err =
		gr_saved_read(target->saved_path, want, stop->program->rt.poll,
			      stop->program->rt.poll_ctx, stop->saved);
	if (err)
		return err;
	if (stop->saved->tables_version != GR_DWARF_TABLES_VERSION)
		return gr_saved_other_version(target->saved_path,
					      "tables of format",
					      stop->saved->tables_version,
					      GR_DWARF_TABLES_VERSION,
					      stop->saved->goref);
	target->saved = stop->saved;
	target->modules = stop->saved->modules;
	target->nmodules = stop->saved->nmodules;
	target->pid = stop->saved->pid;
	target->use_cache = false;
	return NULL;
}

void gr_stop_close_saved(struct gr_stop *stop)
{
	if (stop->saved)
		gr_saved_deinit(stop->saved);
	free(stop->saved);
	stop->saved = NULL;
}

bool gr_stop_may_have_values(const struct gr_stop *stop)
{
	return !stop->saved || stop->saved->has_values;
}

void gr_stop_fill_saved(struct gr_stop *stop)
{
	struct gr_scan_info *info = &stop->info;

	if (!stop->saved)
		return;
	info->saved_path = stop->target.saved_path;
	info->origin = stop->saved->origin;
	info->stop = stop->saved->stop;
	info->identity = stop->saved->identity;
	info->saved_s = stop->saved->time_s;
	info->has_values = stop->saved->has_values;
}

enum gr_target_kind gr_stop_origin_kind(const struct gr_stop *stop)
{
	return stop->saved ? stop->saved->origin_kind : stop->target.kind;
}
