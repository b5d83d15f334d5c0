// SPDX-License-Identifier: Apache-2.0
/* The residency of a stop's target, which is read before all else. */
#include "scan/residency.h"

#include "scan/stop.h"

void gr_stop_drop_residency(struct gr_stop *stop)
{
	gr_residency_deinit(&stop->pages.residency);
	gr_heap_arenas_deinit(&stop->pages.arenas);
	gr_page_bits_deinit(&stop->pages.page_bits);
	gr_c_blocks_deinit(&stop->pages.c_blocks);
	gr_sys_memory_deinit(&stop->pages.sys_memory);
	stop->pages.has_residency = stop->pages.has_pages = false;
}

/* Read which resident pages are the heap's, and which of those are free. */
static struct gr_error *read_heap_pages(struct gr_stop *stop)
{
	const struct gr_resident_vector *ranges = &stop->pages.residency.ranges;

	struct gr_error *err =
		gr_page_bits_find(stop->program->types, &stop->pages.page_bits);
	for (size_t i = 0; !err && i < ranges->size; i++) {
		uint64_t start = ranges->data[i].start;
		uint64_t end = ranges->data[i].end;

		err = gr_heap_arenas_read(&stop->program->rt, start, end,
					  &stop->pages.arenas);
		if (!err)
			err = gr_page_bits_read(stop->program->types,
						&stop->pages.page_bits, start,
						end);
	}
	return err;
}

struct gr_error *gr_stop_read_residency(struct gr_stop *stop)
{
	gr_stop_drop_residency(stop);
	struct gr_error *err =
		gr_residency_read(stop->image, &stop->pages.residency);
	stop->pages.has_pages = !err;
	if (!err)
		err = gr_residency_plan_heads(&stop->pages.residency,
					      stop->image);
	if (!err)
		err = gr_collector_read(stop->program->types,
					&stop->pages.collector);
	if (!err)
		err = read_heap_pages(stop);
	if (!err && gr_mappings_may_have_c(&stop->pages.residency.mappings))
		err = gr_c_blocks_read(&stop->program->rt,
				       &stop->pages.residency,
				       &stop->pages.arenas, stop->c_memo,
				       &stop->pages.c_blocks);
	if (!err)
		err = gr_sys_memory_read(stop->program->types,
					 &stop->pages.sys_memory);
	stop->pages.has_residency = !err;
	return err;
}

struct gr_error *gr_stop_read_pages(struct gr_stop *stop)
{
	gr_stop_drop_residency(stop);
	struct gr_error *err =
		gr_residency_read_known(stop->image, &stop->pages.residency);
	stop->pages.has_pages = !err;
	return err;
}

struct gr_error *gr_stop_known_pages(struct gr_stop *stop,
				     const struct gr_residency **ret)
{
	struct gr_error *err = NULL;

	if (!stop->pages.has_pages && gr_target_is_file(&stop->target))
		err = gr_stop_read_pages(stop);
	// A file that was saved without them.
	gr_error_catch(&err, GR_ERROR_ARGUMENT);
	*ret = stop->pages.has_pages && stop->pages.residency.kind !=
						GR_RESIDENCY_UNKNOWN ?
		       &stop->pages.residency :
		       NULL;
	return err;
}

struct gr_error *gr_stop_residency(struct gr_stop *stop,
				   const struct gr_residency **ret)
{
	struct gr_error *err = NULL;

	if (!stop->pages.has_residency && gr_target_is_file(&stop->target))
		err = gr_stop_read_residency(stop);
	else if (!stop->pages.has_residency)
		err = gr_error_format(
			GR_ERROR_ARGUMENT,
			"this target does not tell which pages are "
			"resident; that needs a core, or a process on "
			"this machine");
	*ret = &stop->pages.residency;
	return err;
}
