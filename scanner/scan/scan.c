// SPDX-License-Identifier: Apache-2.0
/*
 * A scan, phase by phase. gr_scan_create() is the table of contents of the
 * whole scanner: read it first.
 */
#include "scan/scan.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "goruntime/heap/ptrmap.h"
#include "goruntime/sched/buckets.h"
#include "goruntime/sched/labels.h"
#include "goruntime/sched/waits.h"
#include "goruntime/types/itabs.h"
#include "inferior/source.h"
#include "scan/goroutine_counts.h"
#include "scan/kept_walk.h"
#include "scan/native.h"

#include "scan/residency.h"

#include <inttypes.h>

/* rt.poll: ask the caller whether to continue, and check the memory limit. */
static struct gr_error *poll(void *ctx)
{
	const struct gr_stop *stop = ctx;

	return gr_source_poll(&stop->target);
}

void gr_answers_catch_end(struct gr_answers *answers, struct gr_error **err,
			  struct gr_ledger *ledger)
{
	char limit[32];

	ledger->is_partial = gr_error_catch(err, GR_ERROR_INTERRUPTED);
	if (!gr_error_catch(err, GR_ERROR_MEMORY_LIMIT))
		return;
	ledger->is_partial = true;
	gr_text_bytes(answers->costs->meter.limit_bytes, limit, sizeof(limit));
	ledger->end_reason =
		gr_arena_internf(&answers->stop->program->arena,
				 "the memory limit of %s is reached", limit);
}

static const char *intern(struct gr_runtime *rt, const char *text)
{
	return text ? gr_arena_intern(rt->arena, text, strlen(text)) : NULL;
}

/* Copy a path unchanged: a printable form might name another file. */
static const char *copy_path(struct gr_runtime *rt, const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *copy = gr_arena_alloc(rt->arena, bytes);

	return copy ? memcpy(copy, path, bytes) : NULL;
}

struct gr_error *gr_stop_set_threads(struct gr_stop *stop,
				     const struct gr_target_thread *threads,
				     size_t nthreads)
{
	struct gr_target_thread *copy = gr_arena_alloc(
		&stop->program->arena, nthreads * sizeof(*copy) + 1);

	if (!copy)
		return &gr_enomem;
	if (nthreads)
		memcpy(copy, threads, nthreads * sizeof(*copy));
	stop->target.threads = copy;
	stop->target.nthreads = nthreads;
	return NULL;
}

/* Copy the caller's target, which need not outlive the call. */
static struct gr_error *copy_target(struct gr_answers *answers,
				    const struct gr_target *target)
{
	struct gr_stop *stop = answers->stop;
	struct gr_target_module *modules;

	stop->target = *target;
	stop->target.meter = &answers->costs->meter;
	modules = gr_arena_alloc(&stop->program->arena,
				 target->nmodules * sizeof(*modules) + 1);
	if (!modules)
		return &gr_enomem;
	for (size_t i = 0; i < target->nmodules; i++) {
		modules[i] = target->modules[i];
		modules[i].path =
			copy_path(&stop->program->rt, target->modules[i].path);
		if (modules[i].debug_path)
			modules[i].debug_path = copy_path(
				&stop->program->rt, modules[i].debug_path);
		if (!modules[i].path ||
		    !modules[i].debug_path != !target->modules[i].debug_path)
			return &gr_enomem;
	}
	stop->target.modules = modules;
	if (target->saved_path) {
		stop->target.saved_path =
			copy_path(&stop->program->rt, target->saved_path);
		if (!stop->target.saved_path)
			return &gr_enomem;
	}
	if (target->core_path) {
		stop->target.core_path =
			copy_path(&stop->program->rt, target->core_path);
		if (!stop->target.core_path)
			return &gr_enomem;
	}
	return gr_stop_set_threads(stop, target->threads, target->nthreads);
}

struct gr_error *gr_program_warn(struct gr_program *program, const char *text)
{
	size_t n = program->nwarnings;

	if (!text || n + 1 >= GR_ARRAY_SIZE(program->warnings))
		return NULL;
	program->warnings[n] = intern(&program->rt, text);
	if (!program->warnings[n])
		return &gr_enomem;
	program->nwarnings++;
	return NULL;
}

/* Read whether the collector was running: from its phase, or from the write
 * barrier. */
static struct gr_error *read_gc_phase(struct gr_stop *stop)
{
	static const char *const phases[] = { "off", "mark",
					      "mark termination" };
	const struct gr_layout *layout = &stop->program->rt.layout;
	uint64_t addr = layout->vars.gcphase ? layout->vars.gcphase :
					       layout->vars.write_barrier;
	struct gr_error *err;
	uint64_t phase;

	stop->info.gc_phase = "unknown";
	if (!addr)
		return NULL;
	err = gr_image_read_uint(stop->image, addr, 4, &phase);
	if (err)
		return gr_error_prefix(err, "the collector's phase "
					    "(runtime.gcphase): ");
	if (phase < GR_ARRAY_SIZE(phases))
		stop->info.gc_phase = phases[phase];
	return NULL;
}

/* Read when the collector's last cycle ended (runtime/mgc.go:
 * gcMarkTermination). */
static struct gr_error *read_last_gc(struct gr_stop *stop)
{
	const struct gr_layout *layout = &stop->program->rt.layout;
	struct gr_field field = layout->mstats.last_gc_nanotime;
	struct gr_scan_info *info = &stop->info;

	info->has_last_gc = false;
	if (!layout->vars.memstats || field.bytes != 8)
		return NULL;
	struct gr_error *err = gr_image_read_uint(
		stop->image, layout->vars.memstats + field.off, 8,
		&info->last_gc_ns);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	info->has_last_gc = !err;
	return err;
}

/* Add the warning about a damaged core to an error, as its possible reason. */
static struct gr_error *add_reason(const struct gr_runtime *rt,
				   struct gr_error *err)
{
	const char *warning = rt->image ? gr_image_warning(rt->image) : NULL;
	struct gr_error *ret;

	if (!err || !warning ||
	    (err->code != GR_ERROR_FAULT && err->code != GR_ERROR_FORMAT &&
	     err->code != GR_ERROR_NO_DWARF && err->code != GR_ERROR_LAYOUT))
		return err;
	ret = gr_error_format(err->code, "%s (%s)", err->message, warning);
	gr_error_destroy(err);
	return ret;
}

/* Read the data that does not change while the program runs. */
static struct gr_error *read_program(struct gr_stop *stop)
{
	struct gr_error *err = gr_stop_read_version(stop);

	if (!err)
		err = gr_stop_read_modules(stop);
	if (!err)
		err = gr_types_create(&stop->program->rt,
				      &stop->program->types);
	if (!err)
		err = gr_stop_read_dictionaries(stop);
	return err;
}

struct gr_error *gr_scan_open_program(struct gr_scan *scan)
{
	struct gr_error *err = NULL;

	if (!scan->stop.image)
		err = gr_image_create(&scan->stop.target, &scan->stop.gaps,
				      &scan->stop.image);
	if (err)
		return err;
	scan->program.rt.image = scan->stop.image;
	scan->program.rt.recorder = gr_image_recorder(scan->stop.image);
	scan->program.rt.arch = gr_image_arch(scan->stop.image);
	err = gr_stop_open_symbols(&scan->stop);
	if (!err)
		err = read_program(&scan->stop);
	gr_image_keep_plan(scan->stop.image);
	scan->opening.program_gaps = scan->stop.gaps;
	gr_costs_end_phase(&scan->costs, GR_PHASE_symbols);
	scan->costs.symbols_bytes = scan->costs.peak_private_bytes;
	return add_reason(&scan->program.rt, err);
}

// -------------------------------------------------------------------- stages

static struct gr_error *read_labels(struct gr_stop *stop)
{
	if (!gr_labels_are_there(&stop->sched))
		return NULL;
	gr_type_id type = gr_types_known(stop->program->types, GR_NAME_LABELS);
	struct gr_error *err = gr_types_take_error(stop->program->types);

	// Labels are values.
	if (err || !gr_stop_may_have_values(stop))
		return err;
	gr_recorder_pause(stop->program->rt.recorder);
	err = gr_labels_read(stop->program->types, type, &stop->sched);
	gr_recorder_resume(stop->program->rt.recorder);
	return err;
}

/* Read the goroutines: their records, where each is, and plan the stacks. */
static struct gr_error *read_goroutines(struct gr_stop *stop)
{
	stop->sched.readable_bytes = gr_image_readable_bytes(stop->image);
	// The runtime's clock is that of this machine, CLOCK_MONOTONIC.
	stop->sched.clock_ns = stop->target.kind == GR_TARGET_NATIVE ||
					       stop->target.kind ==
						       GR_TARGET_SNAPSHOT ?
				       gr_costs_now_us() * 1000 :
				       0;
	struct gr_error *err = gr_goroutines_read(&stop->sched);
	return err ? err : read_labels(stop);
}

/* Is C memory copied? Any memory of the Go heap may lead to it. */
static bool has_native(const struct gr_stop *stop)
{
	return stop->is_native_copied &&
	       gr_mappings_may_have_c(&stop->pages.residency.mappings);
}

/* Read the spans of the heap, and plan what holds pointers. */
static struct gr_error *read_heap(struct gr_scan *scan)
{
	struct gr_error *err = gr_heap_read(
		&scan->program.rt, scan->program.types, &scan->stop.heap);

	if (!err)
		err = gr_heap_read_stats(scan->stop.heap);
	if (!err)
		err = gr_ptrmap_prepare(scan->stop.heap);
	if (!err && (scan->opening.extent == GR_EXTENT_VALUES ||
		     scan->opening.extent == GR_EXTENT_SAVE_VALUES ||
		     has_native(&scan->stop)))
		err = gr_heap_plan_noscan(scan->stop.heap);
	return err;
}

/* Read the runtime's lists of roots, and plan what waits are read from. */
static struct gr_error *read_lists(struct gr_stop *stop)
{
	struct gr_error *err = gr_waits_plan(&stop->sched);

	if (!err)
		err = gr_roots_read_lists(stop->heap, &stop->sched,
					  &stop->lists, &stop->sampled);
	return err ? err : gr_itabs_plan(&stop->program->rt);
}

struct gr_error *gr_scan_read(struct gr_scan *scan, unsigned int stages)
{
	struct gr_error *err = read_gc_phase(&scan->stop);

	if (!err)
		err = read_last_gc(&scan->stop);
	if (!err && stages & GR_STAGE_HEAP)
		err = read_heap(scan);
	if (!err && stages & GR_STAGE_GOROUTINES)
		err = read_goroutines(&scan->stop);
	if (!err && stages & GR_STAGE_HEAP)
		err = read_lists(&scan->stop);
	if (!err && stages & GR_STAGE_BUCKETS &&
	    !gr_target_is_file(&scan->stop.target))
		err = gr_buckets_plan(&scan->program.rt);
	gr_costs_end_phase(&scan->costs, GR_PHASE_heap);
	return add_reason(&scan->program.rt, err);
}

void gr_scan_drop(struct gr_scan *scan)
{
	// The answers name objects and roots of the stop.
	gr_answers_drop_graph(&scan->answers);
	gr_kept_walk_drop(&scan->answers);
	gr_memo_destroy(steal_ptr(scan->answers.primitive_names));
	gr_stop_drop_native(&scan->stop);
	gr_roots_deinit(&scan->stop.roots);
	memset(&scan->stop.roots, 0, sizeof(scan->stop.roots));
	gr_root_list_deinit(&scan->stop.lists);
	gr_sampled_vector_deinit(&scan->stop.sampled);
	gr_goroutine_index_deinit(&scan->stop.goroutine_index);
	gr_moments_deinit(&scan->stop.moments);
	scan->stop.has_moments = false;
	gr_goroutines_deinit(&scan->stop.sched);
	gr_heap_destroy(scan->stop.heap);
	scan->stop.heap = NULL;
	scan->stop.stages = 0;
	scan->stop.gaps = scan->opening.program_gaps;
}

struct gr_error *gr_scan_copy(struct gr_scan *scan)
{
	struct gr_error *err;

	gr_scan_note_estimate(scan);
	err = gr_image_capture(scan->stop.image);
	if (!err)
		gr_image_seal(scan->stop.image);
	gr_costs_end_phase(&scan->costs, GR_PHASE_capture);
	return err;
}

/* Find the bytes of the heap in the copy, and which slots are in use. */
static struct gr_error *map_heap(struct gr_answers *answers)
{
	struct gr_stop *stop = answers->stop;
	struct gr_error *err = gr_heap_fill(stop->heap);

	if (!err) {
		gr_answers_note_graph_estimate(answers);
		err = gr_heap_map(stop->heap);
	}
	// The runtime has objects before the program starts, so a heap without
	// any is damaged.
	if (!err && !stop->heap->nobjs && !stop->gaps.count[GR_GAP_BAD_SPANS] &&
	    !stop->gaps.count[GR_GAP_BROKEN_LISTS])
		gr_gap_broken_list(&stop->gaps, "mheap_.allspans");
	return err;
}

static bool is_heap(const void *heap, uint64_t addr)
{
	return gr_heap_span_at(heap, addr);
}

/* Find the live pointers of the stacks, and what goroutines wait for. */
static struct gr_error *mark_stacks(struct gr_stop *stop)
{
	stop->sched.is_heap = is_heap;
	stop->sched.is_heap_ctx = stop->heap;
	stop->sched.heap_slots = stop->heap->nobjs;
	struct gr_error *err = gr_goroutines_mark_live(&stop->sched);
	return err ? err : gr_waits_read(&stop->sched, &stop->sched.waits);
}

/* Fill in the information for the user, as far as it is known by now. */
static struct gr_error *fill_info(struct gr_stop *stop)
{
	const struct gr_ptrmap_ops *scheme =
		gr_ptrmap_find(&stop->program->rt.layout);
	struct gr_scan_info *info = &stop->info;

	info->pointer_scheme = scheme ? scheme->name : "unknown";
	info->exe_path = gr_target_module_name(stop->target.modules);
	info->core_path = stop->target.core_path;
	info->pid = stop->target.pid;
	info->kind = stop->target.kind;
	gr_stop_fill_saved(stop);
	info->missing_bytes = gr_image_missing_bytes(stop->image);
	info->broken_list = stop->gaps.broken_list;
	info->bad_headers = gr_image_bad_headers(stop->image);
	info->late_threads = gr_stop_count_late(stop);
	info->types = gr_types_count(stop->program->types);
	info->warnings = stop->program->warnings;
	struct gr_error *err = gr_stop_count_goroutines(stop);
	if (err || info->build_id)
		return err; // filled in before
	info->build_id =
		gr_program_build_id(stop->program, stop->target.modules);
	if (!info->build_id)
		return &gr_enomem;
	err = gr_stop_read_go_modules(stop);
	if (err)
		return err;
	return gr_program_warn(stop->program, gr_image_warning(stop->image));
}

struct gr_error *gr_scan_build(struct gr_scan *scan, unsigned int stages)
{
	struct gr_stop *stop = &scan->stop;
	struct gr_error *err = NULL;

	if (stages & GR_STAGE_HEAP)
		err = map_heap(&scan->answers);
	gr_costs_end_phase(&scan->costs, GR_PHASE_capture);
	if (!err && stages & GR_STAGE_GOROUTINES)
		err = gr_goroutines_unwind(&stop->sched);
	if (!err && stages & GR_STAGE_HEAP)
		err = mark_stacks(stop);
	gr_costs_end_phase(&scan->costs, GR_PHASE_goroutines);
	if (!err && stages & GR_STAGE_HEAP)
		err = gr_roots_collect(stop->heap, &stop->sched, &stop->lists,
				       &stop->roots);
	gr_costs_end_phase(&scan->costs, GR_PHASE_roots);
	if (!err)
		err = fill_info(stop);
	if (!err)
		stop->stages |= stages;
	if (!err && !(stages & GR_STAGE_HEAP)) // a walk saves more names
		gr_stop_save_symbols(stop);
	return err;
}

struct gr_error *gr_scan_need(struct gr_scan *scan, unsigned int stages)
{
	unsigned int missing = stages & ~scan->stop.stages;

	if (!missing)
		return NULL;
	// A process that was sealed cannot be read any more.
	if (!gr_target_is_file(&scan->stop.target))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the heap of the process was not "
				       "captured, only its goroutines");
	scan->costs.phase_start_us = gr_costs_now_us();
	struct gr_error *err = gr_scan_read(scan, missing);
	if (!err) {
		gr_scan_note_estimate(scan);
		err = gr_scan_build(scan, missing);
	}
	if (err)
		gr_scan_drop(scan);
	return err;
}

// ----------------------------------------------------------------- the scan

struct gr_error *gr_scan_new(const struct gr_target *target,
			     enum gr_scan_extent extent, struct gr_scan **ret)
{
	_cleanup_(gr_cleanup_scan) struct gr_scan *scan =
		calloc(1, sizeof(*scan));

	if (!scan)
		return &gr_enomem;
	scan->stop.program = &scan->program;
	scan->answers.stop = &scan->stop;
	scan->answers.costs = &scan->costs;
	scan->costs.phase_start_us = gr_costs_now_us();
	scan->program.rt.gaps = &scan->stop.gaps;
	scan->program.rt.arena = &scan->program.arena;
	scan->program.rt.poll = poll;
	scan->program.rt.poll_ctx = &scan->stop;
	scan->program.rt.progress = &scan->costs.progress;
	gr_pc_lookups_init(&scan->program.pc_lookups, &scan->program.rt.steps);
	scan->program.rt.pc_lookups = &scan->program.pc_lookups;
	scan->stop.sched.rt = &scan->program.rt;
	scan->opening.extent = extent;
	struct gr_error *err = copy_target(&scan->answers, target);
	scan->stop.target.is_recorded = gr_extent_is_recorded(extent);
	gr_scan_set_memory_limit(scan, target->memory_limit_bytes);
	scan->costs.first_private_bytes = scan->costs.meter.first_bytes;
	if (!err && target->kind == GR_TARGET_SAVED)
		err = gr_stop_open_saved(&scan->stop);
	if (!err)
		*ret = steal_ptr(scan);
	return err;
}

struct gr_error *gr_scan_create(const struct gr_target *target,
				enum gr_scan_extent extent,
				struct gr_scan **ret)
{
	unsigned int stages = gr_extent_stages(extent);
	_cleanup_(gr_cleanup_scan) struct gr_scan *scan = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	gr_sigbus_guard_begin(&guard);
	err = gr_scan_new(target, extent, &scan);
	if (!err)
		err = gr_scan_open_program(scan);
	if (!err)
		err = gr_scan_read(scan, stages);
	if (!err)
		err = gr_scan_copy(scan);
	if (!err)
		err = gr_scan_build(scan, stages);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(scan);
	return err;
}

void gr_scan_destroy(struct gr_scan *scan)
{
	if (!scan)
		return;
	gr_scan_drop(scan);
	gr_stop_drop_program(&scan->stop);
	gr_stop_drop_residency(&scan->stop);
	gr_image_destroy(scan->stop.image);
	gr_stop_close_saved(&scan->stop);
	gr_arena_deinit(&scan->program.arena);
	gr_meter_deinit(&scan->costs.meter);
	free(scan);
}

const struct gr_scan_info *gr_scan_info(const struct gr_scan *scan)
{
	return &scan->stop.info;
}

struct gr_error *gr_check_libraries(void)
{
	return gr_dwarf_check_library();
}
