// SPDX-License-Identifier: Apache-2.0
/*
 * Scans of a process that is stopped as briefly as possible. Steps that do not
 * need a stopped process run before the stop; steps that do not need the
 * process at all run after it.
 */
#include "scan/scan.h"

#include "goruntime/search/search.h"
#include "inferior/elf.h"
#include "inferior/recorder.h"
#include "inferior/sigbus.h"
#include "native/native.h"
#include "scan/residency.h"

enum {
	/* Copies in which the runtime is searched: each has what the search
	 * missed in the one before. */
	MAX_COPIES = 4,
	/* Memory that every scan still needs: variables of frames, types; and
	 * half the size of the symbols, when these are kept in a file. */
	FIXED_BYTES = 4 << 20,
	/* Memory for a goroutine, besides itself and its frames: its area, its
	 * values, the rounding of its bits, the overhead of malloc(). */
	GOROUTINE_BYTES = 512,
	/* A stack needs three bits for each word. */
	STACK_BYTES_A_BYTE = 64 / 3,
	/* Memory for an object: its node, its bits, its share of the queue. */
	OBJECT_BYTES = 12,
	/* Memory for each slot of the walk that the object graph is made of
	 * (mark/parents.h), and for each object of the graph, at the peak. */
	PARENT_BYTES = 12,
	GRAPH_BYTES = 60,
	/* Memory for a node: itself, its place in its parent's table. */
	NODE_BYTES = 96,
	/* The speed of a copy, at least on recent machines. */
	BYTES_PER_US = 4000,
	/* Roots, goroutines and stacks that appear during the preparation. */
	SPARE_BYTES = 4 << 20,
};

/* Resident memory of a process; 0 if it cannot be read. */
static uint64_t resident_bytes(int32_t pid)
{
	unsigned long long size, pages = 0;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/statm", pid);
	_cleanup_fclose_ FILE *file = fopen(name, "re");
	if (!file || fscanf(file, "%llu %llu", &size, &pages) != 2)
		return 0;
	return pages * GR_PAGE_BYTES;
}

/* Memory for all goroutines, their frames and the variables of these. The
 * number of frames for each byte of stack comes from a sample; two frames have
 * three roots. */
static uint64_t goroutine_bytes(struct gr_scan *scan)
{
	const struct gr_sched *sched = &scan->stop.sched;
	struct gr_stack_sample *sample = &scan->opening.stack_sample;
	uint64_t frame_bytes =
		sizeof(struct gr_frame) + sizeof(struct gr_root) * 3 / 2;
	uint64_t stack_bytes = 0, frames_bytes = 0;

	for (size_t i = 0; i < sched->ngoroutines; i++)
		stack_bytes += sched->goroutines[i].stack.end -
			       sched->goroutines[i].stack.start;
	// The sample is taken once: it costs time, and the process may be
	// stopped.
	// It reads whole stacks, which have values.
	gr_recorder_pause(scan->program.rt.recorder);
	if (!sample->bytes)
		gr_error_destroy(gr_goroutines_sample(sched, sample));
	gr_recorder_resume(scan->program.rt.recorder);
	if (sample->bytes)
		frames_bytes = (double)stack_bytes / sample->bytes *
			       sample->frames * frame_bytes;
	return sched->ngoroutines *
		       (sizeof(struct gr_goroutine) + GOROUTINE_BYTES) +
	       stack_bytes / STACK_BYTES_A_BYTE + frames_bytes;
}

/* The tables of symbols can have any size, so they are measured. */
static uint64_t fixed_bytes(const struct gr_costs *costs)
{
	uint64_t bytes = FIXED_BYTES + costs->symbols_bytes * 3 / 2;

	return (bytes | ((1 << 20) - 1)) + 1;
}

void gr_answers_note_graph_estimate(struct gr_answers *answers)
{
	const struct gr_heap *heap = answers->stop->heap;
	// Until bitmaps are read, all slots may have objects.
	uint64_t nobjects = heap->allocated_objects ? heap->allocated_objects :
						      heap->nobjs;

	answers->costs->estimate.graph_bytes =
		(uint64_t)heap->nobjs * PARENT_BYTES + nobjects * GRAPH_BYTES;
}

void gr_scan_note_estimate(struct gr_scan *scan)
{
	const struct gr_heap *heap = scan->stop.heap;
	struct gr_estimate *e = &scan->costs.estimate;

	e->copy_bytes = gr_image_plan_bytes(scan->stop.image);
	e->table_bytes = fixed_bytes(&scan->costs) + goroutine_bytes(scan);
	e->copy_us = e->copy_bytes / BYTES_PER_US;
	if (!heap)
		return; // no walk either
	e->table_bytes +=
		(uint64_t)heap->nobjs * OBJECT_BYTES + heap->nwords / 8;
	e->node_bytes = NODE_BYTES;
	e->max_nodes = heap->nobjs;
	gr_answers_note_graph_estimate(&scan->answers);
}

/* Estimate from the process's size, because its heap could not be read while it
 * ran. The copy cannot be larger than the process. */
static void note_rough_estimate(struct gr_answers *answers)
{
	uint64_t bytes =
		resident_bytes(gr_target_memory_pid(&answers->stop->target));

	answers->costs->estimate = (struct gr_estimate){
		.copy_bytes = bytes,
		.table_bytes =
			fixed_bytes(answers->costs) + bytes / 32 * OBJECT_BYTES,
		.node_bytes = NODE_BYTES,
		.max_nodes = GR_UNLIMITED,
		.graph_bytes = bytes / 32 * (PARENT_BYTES + GRAPH_BYTES),
		.read_us = bytes / BYTES_PER_US / 4,
		.copy_us = bytes / BYTES_PER_US,
		.is_rough = true,
	};
}

/* Plan the memory of C, when the pages are known. */
static struct gr_error *plan_native(struct gr_stop *stop)
{
	stop->is_native_copied = true;
	return gr_native_plan(&stop->program->rt, &stop->pages.residency,
			      &stop->pages.arenas);
}

/* A target that does not tell matters only to those who ask for it. */
static struct gr_error *read_residency(struct gr_scan *scan)
{
	enum gr_scan_extent extent = scan->opening.extent;
	bool has_native = gr_extent_has_native(extent);
	struct gr_error *err = NULL;

	scan->stop.is_native_copied = false;
	if (has_native)
		err = gr_stop_read_residency(&scan->stop);
	// If the process has ended, the next steps fail.
	if (extent != GR_EXTENT_RESIDENCY &&
	    (gr_error_catch(&err, GR_ERROR_ARGUMENT) ||
	     gr_error_catch(&err, GR_ERROR_IO)))
		return NULL;
	return err || !has_native ? err : plan_native(&scan->stop);
}

/* Read the runtime's structures as if the process were stopped, for the
 * estimate only. */
static struct gr_error *try_reading(struct gr_scan *scan)
{
	uint64_t begin = gr_costs_now_us();
	struct gr_error *err = gr_extent_has_native(scan->opening.extent) ?
				       read_residency(scan) :
				       NULL;

	if (!err)
		err = gr_scan_read(scan,
				   gr_extent_stages(scan->opening.extent));

	scan->costs.phases_us[GR_PHASE_heap] = 0;
	scan->costs.estimate.read_us = gr_costs_now_us() - begin;
	if (!err)
		gr_scan_note_estimate(scan);
	gr_scan_drop(scan);
	scan->costs.phase_start_us = begin;
	gr_costs_end_phase(&scan->costs, GR_PHASE_estimate);
	return err;
}

/* Estimate what it costs to copy what the search for the runtime has read. */
static void note_searched_estimate(struct gr_answers *answers)
{
	uint64_t bytes =
		gr_image_noted_pages(answers->stop->image) * GR_PAGE_BYTES;

	answers->costs->estimate = (struct gr_estimate){
		.copy_bytes = bytes,
		.table_bytes = fixed_bytes(answers->costs),
		.copy_us = bytes / BYTES_PER_US,
		.is_rough = true,
	};
}

/*
 * Open the program. Without debug information, the runtime is found by
 * conditions that its heap and its scheduler must meet. If these change too
 * fast for that, the scan is unsettled, which is no error: a copy can be
 * searched.
 */
static struct gr_error *open_program(struct gr_scan *scan)
{
	struct gr_error *err = gr_scan_open_program(scan);

	scan->opening.is_unsettled = gr_error_catch(&err, GR_ERROR_UNSETTLED);
	if (scan->opening.is_unsettled)
		note_searched_estimate(&scan->answers);
	return err;
}

/* Estimate what a scan of the opened program costs. */
static struct gr_error *estimate(struct gr_scan *scan)
{
	struct gr_error *err = scan->opening.is_unsettled ? NULL :
							    try_reading(scan);

	if (err && err->code != GR_ERROR_INTERRUPTED &&
	    err->code != GR_ERROR_MEMORY_LIMIT &&
	    err->code != GR_ERROR_NO_MEMORY) {
		gr_error_destroy(err);
		err = NULL;
		note_rough_estimate(&scan->answers);
	}
	return err;
}

struct gr_error *gr_scan_prepare(const struct gr_target *target,
				 enum gr_scan_extent extent,
				 struct gr_scan **ret)
{
	_cleanup_(gr_cleanup_scan) struct gr_scan *scan = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	gr_sigbus_guard_begin(&guard);
	err = gr_scan_new(target, extent, &scan);
	if (!err) {
		// Registers are known only for a stopped process.
		scan->program.rt.is_running = !target->nthreads;
		err = open_program(scan);
	}
	if (!err)
		err = estimate(scan);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(scan);
	return err;
}

bool gr_scan_is_unsettled(const struct gr_scan *scan)
{
	return scan->opening.is_unsettled;
}

struct gr_error *gr_scan_copy_searched(struct gr_scan *scan)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	scan->costs.phase_start_us = gr_costs_now_us();
	gr_sigbus_guard_begin(&guard);
	err = gr_image_refresh(scan->stop.image);
	if (!err)
		err = gr_image_plan_noted(scan->stop.image);
	if (!err)
		err = gr_image_capture(scan->stop.image);
	if (!err)
		gr_image_enter_copy(scan->stop.image);
	return gr_sigbus_guard_end(&guard, err);
}

/* The search of a copy has failed. If the copy lacked memory that the search
 * asked for, the next one has it. */
static struct gr_error *retry_copy(struct gr_scan *scan, uint64_t noted_before,
				   struct gr_error *err)
{
	bool is_searched = err->code == GR_ERROR_NO_DWARF ||
			   gr_search_is_misfit(err);

	if (!is_searched ||
	    gr_image_noted_pages(scan->stop.image) == noted_before)
		return err;
	if (scan->opening.searched_copies == MAX_COPIES) {
		err->code = GR_ERROR_UNSETTLED;
		return gr_error_prefix(err, "the process changes too fast to "
					    "find its runtime: try again, or "
					    "take a core (gcore): ");
	}
	gr_error_destroy(err);
	scan->opening.is_unsettled = true;
	note_searched_estimate(&scan->answers);
	return gr_image_leave_copy(scan->stop.image);
}

struct gr_error *gr_scan_search_copy(struct gr_scan *scan)
{
	uint64_t noted = gr_image_noted_pages(scan->stop.image);
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	scan->costs.phase_start_us = gr_costs_now_us();
	gr_sigbus_guard_begin(&guard);
	gr_stop_drop_program(&scan->stop);
	scan->program.rt.is_running = false;
	scan->opening.is_unsettled = false;
	scan->opening.searched_copies++;
	err = gr_image_note_fetches(scan->stop.image, true);
	if (!err)
		err = gr_scan_open_program(scan);
	if (err)
		err = retry_copy(scan, noted, err);
	if (!err)
		err = estimate(scan);
	return gr_sigbus_guard_end(&guard, err);
}

void gr_scan_estimate(const struct gr_scan *scan, struct gr_estimate *ret)
{
	*ret = scan->costs.estimate;
}

struct gr_error *gr_scan_reserve(struct gr_scan *scan)
{
	uint64_t bytes = scan->costs.estimate.copy_bytes;
	struct gr_error *err;

	scan->costs.phase_start_us = gr_costs_now_us();
	err = gr_image_reserve(scan->stop.image,
			       bytes + bytes / 16 + SPARE_BYTES);
	gr_costs_end_phase(&scan->costs, GR_PHASE_capture);
	return err;
}

struct gr_error *gr_scan_capture(struct gr_scan *scan,
				 const struct gr_target_thread *threads,
				 size_t nthreads, int32_t copy_pid)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (copy_pid) {
		scan->stop.target.kind = GR_TARGET_SNAPSHOT;
		scan->stop.target.copy_pid = copy_pid;
	}
	scan->costs.phase_start_us = gr_costs_now_us();
	gr_sigbus_guard_begin(&guard);
	err = gr_stop_set_threads(&scan->stop, threads, nthreads);
	if (!err)
		err = gr_image_refresh(scan->stop.image);
	if (!err)
		err = read_residency(scan);
	if (!err)
		err = gr_scan_read(scan,
				   gr_extent_stages(scan->opening.extent));
	if (!err)
		err = gr_scan_copy(scan);
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_finish(struct gr_scan *scan)
{
	struct gr_sigbus_guard guard;

	scan->costs.phase_start_us = gr_costs_now_us();
	gr_sigbus_guard_begin(&guard);
	return gr_sigbus_guard_end(
		&guard,
		gr_scan_build(scan, gr_extent_stages(scan->opening.extent)));
}

uint64_t gr_stop_count_late(const struct gr_stop *stop)
{
	const struct gr_target_thread *threads;
	uint64_t count = 0;
	size_t n;

	threads = gr_image_threads(stop->image, &n);
	for (size_t i = 0; i < n; i++)
		count += threads[i].regs.is_partial;
	return count;
}
