// SPDX-License-Identifier: Apache-2.0
/* A scan of a saved file. */
#include "scan/scan.h"

#include "inferior/source.h"
#include "savedfile/saved.h"

static struct gr_error *want(void *ctx, uint64_t bytes)
{
	struct gr_scan *scan = ctx;

	return gr_source_want(&scan->stop.target, bytes);
}

struct gr_error *gr_scan_open_saved(struct gr_scan *scan)
{
	struct gr_target *target = &scan->stop.target;

	if (!target->saved_path)
		return gr_error_format(GR_ERROR_ARGUMENT, "no saved file");
	scan->stop.stored = calloc(1, sizeof(*scan->stop.stored));
	if (!scan->stop.stored)
		return &gr_enomem;
	struct gr_error *err = gr_saved_read(target->saved_path, want,
					     gr_scan_poll, scan,
					     scan->stop.stored);
	if (err)
		return err;
	if (scan->stop.stored->tables_version != GR_DWARF_TABLES_VERSION)
		return gr_saved_other_version(target->saved_path,
					      "tables of format",
					      scan->stop.stored->tables_version,
					      GR_DWARF_TABLES_VERSION,
					      scan->stop.stored->goref);
	target->stored = scan->stop.stored;
	target->modules = scan->stop.stored->modules;
	target->nmodules = scan->stop.stored->nmodules;
	target->pid = scan->stop.stored->pid;
	target->use_cache = false;
	return NULL;
}

void gr_scan_close_saved(struct gr_scan *scan)
{
	if (scan->stop.stored)
		gr_stored_deinit(scan->stop.stored);
	free(scan->stop.stored);
	scan->stop.stored = NULL;
}

bool gr_scan_may_have_values(const struct gr_scan *scan)
{
	return !scan->stop.stored || scan->stop.stored->has_values;
}

void gr_scan_fill_saved(struct gr_scan *scan)
{
	struct gr_scan_info *info = &scan->stop.info;

	if (!scan->stop.stored)
		return;
	info->saved_path = scan->stop.target.saved_path;
	info->origin = scan->stop.stored->origin;
	info->stop = scan->stop.stored->stop;
	info->identity = scan->stop.stored->identity;
	info->saved_s = scan->stop.stored->time_s;
	info->has_values = scan->stop.stored->has_values;
}

enum gr_target_kind gr_scan_origin_kind(const struct gr_scan *scan)
{
	return scan->stop.stored ? scan->stop.stored->origin_kind :
				   scan->stop.target.kind;
}
