// SPDX-License-Identifier: Apache-2.0
/* A scan of a saved file. */
#include "scan/scan.h"

#include "inferior/source.h"
#include "savedfile/saved.h"

static struct gr_error *want(void *ctx, uint64_t bytes)
{
	struct gr_scan *scan = ctx;

	return gr_source_want(&scan->target, bytes);
}

struct gr_error *gr_scan_open_saved(struct gr_scan *scan)
{
	struct gr_target *target = &scan->target;

	if (!target->saved_path)
		return gr_error_format(GR_ERROR_ARGUMENT, "no saved file");
	scan->stored = calloc(1, sizeof(*scan->stored));
	if (!scan->stored)
		return &gr_enomem;
	struct gr_error *err = gr_saved_read(target->saved_path, want,
					     gr_scan_poll, scan, scan->stored);
	if (err)
		return err;
	if (scan->stored->tables_version != GR_DWARF_TABLES_VERSION)
		return gr_saved_other_version(target->saved_path,
					      "tables of format",
					      scan->stored->tables_version,
					      GR_DWARF_TABLES_VERSION,
					      scan->stored->goref);
	target->stored = scan->stored;
	target->modules = scan->stored->modules;
	target->nmodules = scan->stored->nmodules;
	target->pid = scan->stored->pid;
	target->use_cache = false;
	return NULL;
}

void gr_scan_close_saved(struct gr_scan *scan)
{
	if (scan->stored)
		gr_stored_deinit(scan->stored);
	free(scan->stored);
	scan->stored = NULL;
}

bool gr_scan_may_have_values(const struct gr_scan *scan)
{
	return !scan->stored || scan->stored->has_values;
}

void gr_scan_fill_saved(struct gr_scan *scan)
{
	struct gr_scan_info *info = &scan->info;

	if (!scan->stored)
		return;
	info->saved_path = scan->target.saved_path;
	info->origin = scan->stored->origin;
	info->stop = scan->stored->stop;
	info->identity = scan->stored->identity;
	info->saved_s = scan->stored->time_s;
	info->has_values = scan->stored->has_values;
}

enum gr_target_kind gr_scan_origin_kind(const struct gr_scan *scan)
{
	return scan->stored ? scan->stored->origin_kind : scan->target.kind;
}
