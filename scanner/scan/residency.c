// SPDX-License-Identifier: Apache-2.0
/* The residency of a scan's target, which is read before all else. */
#include "scan/residency.h"

#include "scan/scan.h"

void gr_scan_drop_residency(struct gr_scan *scan)
{
	gr_residency_deinit(&scan->stop.pages.residency);
	gr_heap_arenas_deinit(&scan->stop.pages.arenas);
	gr_page_bits_deinit(&scan->stop.pages.page_bits);
	gr_c_blocks_deinit(&scan->stop.pages.c_blocks);
	gr_sys_memory_deinit(&scan->stop.pages.sys_memory);
	scan->stop.pages.has_residency = scan->stop.pages.has_pages = false;
}

/* Read which resident pages are the heap's, and which of those are free. */
static struct gr_error *read_heap_pages(struct gr_scan *scan)
{
	const struct gr_resident_vector *ranges =
		&scan->stop.pages.residency.ranges;

	struct gr_error *err = gr_page_bits_find(scan->program.types,
						 &scan->stop.pages.page_bits);
	for (size_t i = 0; !err && i < ranges->size; i++) {
		uint64_t start = ranges->data[i].start;
		uint64_t end = ranges->data[i].end;

		err = gr_heap_arenas_read(&scan->program.rt, start, end,
					  &scan->stop.pages.arenas);
		if (!err)
			err = gr_page_bits_read(scan->program.types,
						&scan->stop.pages.page_bits,
						start, end);
	}
	return err;
}

struct gr_error *gr_scan_read_residency(struct gr_scan *scan)
{
	gr_scan_drop_residency(scan);
	struct gr_error *err = gr_residency_read(scan->stop.image,
						 &scan->stop.pages.residency);
	scan->stop.pages.has_pages = !err;
	if (!err)
		err = gr_residency_plan_heads(&scan->stop.pages.residency,
					      scan->stop.image);
	if (!err)
		err = gr_collector_read(scan->program.types,
					&scan->stop.pages.collector);
	if (!err)
		err = read_heap_pages(scan);
	if (!err &&
	    gr_mappings_have_libraries(&scan->stop.pages.residency.mappings))
		err = gr_c_blocks_read(&scan->program.rt,
				       &scan->stop.pages.residency,
				       &scan->stop.pages.arenas,
				       &scan->stop.pages.c_blocks);
	if (!err)
		err = gr_sys_memory_read(scan->program.types,
					 &scan->stop.pages.sys_memory);
	scan->stop.pages.has_residency = !err;
	return err;
}

struct gr_error *gr_scan_read_pages(struct gr_scan *scan)
{
	gr_scan_drop_residency(scan);
	struct gr_error *err = gr_residency_read_known(
		scan->stop.image, &scan->stop.pages.residency);
	scan->stop.pages.has_pages = !err;
	return err;
}

struct gr_error *gr_scan_known_pages(struct gr_scan *scan,
				     const struct gr_residency **ret)
{
	struct gr_error *err = NULL;

	if (!scan->stop.pages.has_pages &&
	    gr_target_is_file(&scan->stop.target))
		err = gr_scan_read_pages(scan);
	// A file that was saved without them.
	gr_error_catch(&err, GR_ERROR_ARGUMENT);
	*ret = scan->stop.pages.has_pages && scan->stop.pages.residency.kind !=
						     GR_RESIDENCY_UNKNOWN ?
		       &scan->stop.pages.residency :
		       NULL;
	return err;
}

struct gr_error *gr_scan_residency(struct gr_scan *scan,
				   const struct gr_residency **ret)
{
	struct gr_error *err = NULL;

	if (!scan->stop.pages.has_residency &&
	    gr_target_is_file(&scan->stop.target))
		err = gr_scan_read_residency(scan);
	else if (!scan->stop.pages.has_residency)
		err = gr_error_format(
			GR_ERROR_ARGUMENT,
			"this target does not tell which pages are "
			"resident; that needs a core, or a process on "
			"this machine");
	*ret = &scan->stop.pages.residency;
	return err;
}
