// SPDX-License-Identifier: Apache-2.0
/*
 * A scan, phase by phase. gr_scan_create() is the table of contents of the
 * whole scanner: read it first.
 */
#include "scan/scan.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "goruntime/sched/buckets.h"
#include "goruntime/sched/labels.h"
#include "goruntime/types/itabs.h"
#include "goruntime/heap/ptrmap.h"
#include "goruntime/sched/waits.h"
#include "inferior/elf.h"
#include "inferior/notes.h"
#include "inferior/source.h"
#include "scan/goroutine_counts.h"
#include "scan/kept_walk.h"
#include "scan/residency.h"

#include <inttypes.h>
#include <time.h>

uint64_t gr_scan_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000) + now.tv_nsec / 1000;
}

void gr_scan_note_memory(struct gr_scan *scan)
{
	uint64_t now = gr_meter_private_bytes(&scan->costs.meter);

	if (now > scan->costs.first_private_bytes &&
	    now - scan->costs.first_private_bytes >
		    scan->costs.peak_private_bytes)
		scan->costs.peak_private_bytes =
			now - scan->costs.first_private_bytes;
}

void gr_scan_end_phase(struct gr_scan *scan, enum gr_phase phase)
{
	uint64_t now = gr_scan_now_us();

	scan->costs.phases_us[phase] += now - scan->costs.phase_start_us;
	scan->costs.phase_start_us = now;
	gr_scan_note_memory(scan);
}

struct gr_error *gr_scan_poll(void *ctx)
{
	struct gr_scan *scan = ctx;

	return gr_source_poll(&scan->stop.target);
}

/* Opening may use this much memory whatever the limit is, so that goref can
 * tell how much a walk needs. */
#define OPENING_BYTES (UINT64_C(32) << 20)

void gr_scan_set_memory_limit(struct gr_scan *scan, uint64_t bytes)
{
	gr_meter_deinit(&scan->costs.meter);
	gr_meter_init(&scan->costs.meter, bytes);
	scan->costs.meter.floor_bytes = scan->costs.walking ? 0 : OPENING_BYTES;
}

void gr_scan_begin_walk(struct gr_scan *scan, const struct gr_ledger *ledger)
{
	scan->costs.walking = ledger;
	scan->costs.meter.floor_bytes = 0;
}

void gr_scan_end_walk(struct gr_scan *scan)
{
	scan->costs.walking = NULL;
	scan->costs.meter.floor_bytes = OPENING_BYTES;
}

void gr_scan_catch_end(struct gr_scan *scan, struct gr_error **err,
		       struct gr_ledger *ledger)
{
	char limit[32];

	ledger->is_partial = gr_error_catch(err, GR_ERROR_INTERRUPTED);
	if (!gr_error_catch(err, GR_ERROR_MEMORY_LIMIT))
		return;
	ledger->is_partial = true;
	gr_text_bytes(scan->costs.meter.limit_bytes, limit, sizeof(limit));
	ledger->end_reason =
		gr_arena_internf(&scan->program.arena,
				 "the memory limit of %s is reached", limit);
}

static const char *intern(struct gr_scan *scan, const char *text)
{
	return text ? gr_arena_intern(&scan->program.arena, text,
				      strlen(text)) :
		      NULL;
}

/* Copy a path unchanged: a printable form might name another file. */
static const char *copy_path(struct gr_scan *scan, const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *copy = gr_arena_alloc(&scan->program.arena, bytes);

	return copy ? memcpy(copy, path, bytes) : NULL;
}

struct gr_error *gr_scan_set_threads(struct gr_scan *scan,
				     const struct gr_target_thread *threads,
				     size_t nthreads)
{
	struct gr_target_thread *copy = gr_arena_alloc(
		&scan->program.arena, nthreads * sizeof(*copy) + 1);

	if (!copy)
		return &gr_enomem;
	if (nthreads)
		memcpy(copy, threads, nthreads * sizeof(*copy));
	scan->stop.target.threads = copy;
	scan->stop.target.nthreads = nthreads;
	return NULL;
}

/* Copy the caller's target, which need not outlive the call. */
static struct gr_error *copy_target(struct gr_scan *scan,
				    const struct gr_target *target)
{
	struct gr_target_module *modules;

	scan->stop.target = *target;
	scan->stop.target.meter = &scan->costs.meter;
	modules = gr_arena_alloc(&scan->program.arena,
				 target->nmodules * sizeof(*modules) + 1);
	if (!modules)
		return &gr_enomem;
	for (size_t i = 0; i < target->nmodules; i++) {
		modules[i] = target->modules[i];
		modules[i].path = copy_path(scan, target->modules[i].path);
		if (modules[i].debug_path)
			modules[i].debug_path =
				copy_path(scan, modules[i].debug_path);
		if (!modules[i].path ||
		    !modules[i].debug_path != !target->modules[i].debug_path)
			return &gr_enomem;
	}
	scan->stop.target.modules = modules;
	if (target->saved_path) {
		scan->stop.target.saved_path =
			copy_path(scan, target->saved_path);
		if (!scan->stop.target.saved_path)
			return &gr_enomem;
	}
	if (target->core_path) {
		scan->stop.target.core_path =
			copy_path(scan, target->core_path);
		if (!scan->stop.target.core_path)
			return &gr_enomem;
	}
	return gr_scan_set_threads(scan, target->threads, target->nthreads);
}

struct gr_error *gr_scan_warn(struct gr_scan *scan, const char *text)
{
	size_t n = scan->program.nwarnings;

	if (!text || n + 1 >= GR_ARRAY_SIZE(scan->program.warnings))
		return NULL;
	scan->program.warnings[n] = intern(scan, text);
	if (!scan->program.warnings[n])
		return &gr_enomem;
	scan->program.nwarnings++;
	return NULL;
}

/* Read whether the collector was running: from its phase, or from the write
 * barrier. */
static struct gr_error *read_gc_phase(struct gr_scan *scan)
{
	static const char *const phases[] = { "off", "mark",
					      "mark termination" };
	const struct gr_layout *layout = &scan->program.rt.layout;
	uint64_t addr = layout->vars.gcphase ? layout->vars.gcphase :
					       layout->vars.write_barrier;
	struct gr_error *err;
	uint64_t phase;

	scan->stop.info.gc_phase = "unknown";
	if (!addr)
		return NULL;
	err = gr_image_read_uint(scan->stop.image, addr, 4, &phase);
	if (err)
		return gr_error_prefix(err, "the collector's phase "
					    "(runtime.gcphase): ");
	if (phase < GR_ARRAY_SIZE(phases))
		scan->stop.info.gc_phase = phases[phase];
	return NULL;
}

/* Read when the collector's last cycle ended (runtime/mgc.go:
 * gcMarkTermination). */
static struct gr_error *read_last_gc(struct gr_scan *scan)
{
	const struct gr_layout *layout = &scan->program.rt.layout;
	struct gr_field field = layout->mstats.last_gc_nanotime;
	struct gr_scan_info *info = &scan->stop.info;

	info->has_last_gc = false;
	if (!layout->vars.memstats || field.bytes != 8)
		return NULL;
	struct gr_error *err = gr_image_read_uint(
		scan->stop.image, layout->vars.memstats + field.off, 8,
		&info->last_gc_ns);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	info->has_last_gc = !err;
	return err;
}

/* Add the warning about a damaged core to an error, as its possible reason. */
static struct gr_error *add_reason(const struct gr_scan *scan,
				   struct gr_error *err)
{
	const char *warning =
		scan->stop.image ? gr_image_warning(scan->stop.image) : NULL;
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
static struct gr_error *read_program(struct gr_scan *scan)
{
	struct gr_error *err = gr_scan_read_version(scan);

	if (!err)
		err = gr_scan_read_modules(scan);
	if (!err)
		err = gr_types_create(&scan->program.rt, &scan->program.types);
	if (!err)
		err = gr_scan_read_dictionaries(scan);
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
	err = gr_scan_open_symbols(scan);
	if (!err)
		err = read_program(scan);
	gr_image_keep_plan(scan->stop.image);
	scan->opening.program_gaps = scan->stop.gaps;
	gr_scan_end_phase(scan, GR_PHASE_symbols);
	scan->costs.symbols_bytes = scan->costs.peak_private_bytes;
	return add_reason(scan, err);
}

// -------------------------------------------------------------------- stages

static struct gr_error *read_labels(struct gr_scan *scan)
{
	if (!gr_labels_are_there(&scan->stop.sched))
		return NULL;
	gr_type_id type = gr_types_known(scan->program.types, GR_NAME_LABELS);
	struct gr_error *err = gr_types_take_error(scan->program.types);

	// Labels are values.
	if (err || !gr_scan_may_have_values(scan))
		return err;
	gr_recorder_pause(scan->program.rt.recorder);
	err = gr_labels_read(scan->program.types, type, &scan->stop.sched);
	gr_recorder_resume(scan->program.rt.recorder);
	return err;
}

/* Read the goroutines: their records, where each is, and plan the stacks. */
static struct gr_error *read_goroutines(struct gr_scan *scan)
{
	scan->stop.sched.readable_bytes =
		gr_image_readable_bytes(scan->stop.image);
	// The runtime's clock is that of this machine, CLOCK_MONOTONIC.
	scan->stop.sched.clock_ns =
		scan->stop.target.kind == GR_TARGET_NATIVE ||
				scan->stop.target.kind == GR_TARGET_SNAPSHOT ?
			gr_scan_now_us() * 1000 :
			0;
	struct gr_error *err = gr_goroutines_read(&scan->stop.sched);
	return err ? err : read_labels(scan);
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
		     scan->opening.extent == GR_EXTENT_SAVE_VALUES))
		err = gr_heap_plan_noscan(scan->stop.heap);
	return err;
}

/* Read the runtime's lists of roots, and plan what waits are read from. */
static struct gr_error *read_lists(struct gr_scan *scan)
{
	struct gr_error *err = gr_waits_plan(&scan->stop.sched);

	if (!err)
		err = gr_roots_read_lists(scan->stop.heap, &scan->stop.sched,
					  &scan->stop.lists,
					  &scan->stop.sampled);
	return err ? err : gr_itabs_plan(&scan->program.rt);
}

struct gr_error *gr_scan_read(struct gr_scan *scan, unsigned int stages)
{
	struct gr_error *err = read_gc_phase(scan);

	if (!err)
		err = read_last_gc(scan);
	if (!err && stages & GR_STAGE_HEAP)
		err = read_heap(scan);
	if (!err && stages & GR_STAGE_GOROUTINES)
		err = read_goroutines(scan);
	if (!err && stages & GR_STAGE_HEAP)
		err = read_lists(scan);
	if (!err && stages & GR_STAGE_BUCKETS &&
	    !gr_target_is_file(&scan->stop.target))
		err = gr_buckets_plan(&scan->program.rt);
	gr_scan_end_phase(scan, GR_PHASE_heap);
	return add_reason(scan, err);
}

void gr_scan_drop(struct gr_scan *scan)
{
	gr_roots_deinit(&scan->stop.roots);
	memset(&scan->stop.roots, 0, sizeof(scan->stop.roots));
	gr_root_list_deinit(&scan->stop.lists);
	gr_sampled_vector_deinit(&scan->stop.sampled);
	gr_goroutine_index_deinit(&scan->stop.goroutine_index);
	gr_memo_destroy(steal_ptr(scan->answers.primitive_names));
	gr_memo_destroy(steal_ptr(scan->answers.links));
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
	gr_scan_end_phase(scan, GR_PHASE_capture);
	return err;
}

/* Find the bytes of the heap in the copy, and which slots are in use. */
static struct gr_error *map_heap(struct gr_scan *scan)
{
	struct gr_error *err = gr_heap_fill(scan->stop.heap);

	if (!err) {
		gr_scan_note_graph_estimate(scan);
		err = gr_heap_map(scan->stop.heap);
	}
	// The runtime has objects before the program starts, so a heap without
	// any is damaged.
	if (!err && !scan->stop.heap->nobjs &&
	    !scan->stop.gaps.count[GR_GAP_BAD_SPANS] &&
	    !scan->stop.gaps.count[GR_GAP_BROKEN_LISTS])
		gr_gap_broken_list(&scan->stop.gaps, "mheap_.allspans");
	return err;
}

static bool is_heap(const void *heap, uint64_t addr)
{
	return gr_heap_span_at(heap, addr);
}

/* Find the live pointers of the stacks, and what goroutines wait for. */
static struct gr_error *mark_stacks(struct gr_scan *scan)
{
	scan->stop.sched.is_heap = is_heap;
	scan->stop.sched.is_heap_ctx = scan->stop.heap;
	scan->stop.sched.heap_slots = scan->stop.heap->nobjs;
	struct gr_error *err = gr_goroutines_mark_live(&scan->stop.sched);
	return err ? err :
		     gr_waits_read(&scan->stop.sched, &scan->stop.sched.waits);
}

/* Fill in the information for the user, as far as it is known by now. */
static struct gr_error *fill_info(struct gr_scan *scan)
{
	const struct gr_ptrmap_ops *scheme =
		gr_ptrmap_find(&scan->program.rt.layout);
	struct gr_scan_info *info = &scan->stop.info;

	info->pointer_scheme = scheme ? scheme->name : "unknown";
	info->exe_path = gr_target_module_name(scan->stop.target.modules);
	info->core_path = scan->stop.target.core_path;
	info->pid = scan->stop.target.pid;
	info->kind = scan->stop.target.kind;
	gr_scan_fill_saved(scan);
	info->missing_bytes = gr_image_missing_bytes(scan->stop.image);
	info->broken_list = scan->stop.gaps.broken_list;
	info->bad_headers = gr_image_bad_headers(scan->stop.image);
	info->late_threads = gr_scan_count_late(scan);
	info->types = gr_types_count(scan->program.types);
	info->warnings = scan->program.warnings;
	struct gr_error *err = gr_scan_count_goroutines(scan);
	if (err || info->build_id)
		return err; // filled in before
	info->build_id = gr_scan_build_id(scan, scan->stop.target.modules);
	if (!info->build_id)
		return &gr_enomem;
	return gr_scan_warn(scan, gr_image_warning(scan->stop.image));
}

struct gr_error *gr_scan_build(struct gr_scan *scan, unsigned int stages)
{
	struct gr_error *err = NULL;

	if (stages & GR_STAGE_HEAP)
		err = map_heap(scan);
	gr_scan_end_phase(scan, GR_PHASE_capture);
	if (!err && stages & GR_STAGE_GOROUTINES)
		err = gr_goroutines_unwind(&scan->stop.sched);
	if (!err && stages & GR_STAGE_HEAP)
		err = mark_stacks(scan);
	gr_scan_end_phase(scan, GR_PHASE_goroutines);
	if (!err && stages & GR_STAGE_HEAP)
		err = gr_roots_collect(scan->stop.heap, &scan->stop.sched,
				       &scan->stop.lists, &scan->stop.roots);
	gr_scan_end_phase(scan, GR_PHASE_roots);
	if (!err)
		err = fill_info(scan);
	if (!err)
		scan->stop.stages |= stages;
	if (!err && !(stages & GR_STAGE_HEAP)) // a walk saves more names
		gr_scan_save_symbols(scan);
	return err;
}

/* Read and build those of @p stages that are not there. Only a core can still
 * be read; of a process, what is missing is an error. An error drops all
 * stages, which the next call makes again. */
static struct gr_error *need(struct gr_scan *scan, unsigned int stages)
{
	unsigned int missing = stages & ~scan->stop.stages;

	if (!missing)
		return NULL;
	// What was sealed cannot be read any more.
	if (!gr_target_is_file(&scan->stop.target))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the heap of the process was not "
				       "captured, only its goroutines");
	scan->costs.phase_start_us = gr_scan_now_us();
	struct gr_error *err = gr_scan_read(scan, missing);
	if (!err) {
		gr_scan_note_estimate(scan);
		err = gr_scan_build(scan, missing);
	}
	if (err)
		gr_scan_drop(scan);
	return err;
}

/* Begin a question that needs @p stages. */
static struct gr_error *enter(struct gr_scan *scan, unsigned int stages,
			      struct gr_sigbus_guard *guard)
{
	gr_sigbus_guard_begin(guard);
	struct gr_error *err = gr_image_check(scan->stop.image);

	return err ? err : need(scan, stages);
}

struct gr_error *gr_scan_enter(struct gr_scan *scan,
			       struct gr_sigbus_guard *guard)
{
	return enter(scan, GR_STAGES_ALL, guard);
}

struct gr_error *gr_scan_enter_goroutines(struct gr_scan *scan,
					  struct gr_sigbus_guard *guard)
{
	return enter(scan, GR_STAGE_GOROUTINES, guard);
}

struct gr_error *gr_scan_enter_buckets(struct gr_scan *scan,
				       struct gr_sigbus_guard *guard)
{
	return enter(scan, 0, guard);
}

struct gr_error *gr_scan_extend(struct gr_scan *scan,
				enum gr_scan_extent extent)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err = enter(scan, gr_extent_stages(extent), &guard);

	return gr_sigbus_guard_end(&guard, err);
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
	scan->costs.phase_start_us = gr_scan_now_us();
	scan->program.rt.gaps = &scan->stop.gaps;
	scan->program.rt.arena = &scan->program.arena;
	scan->program.rt.poll = gr_scan_poll;
	scan->program.rt.poll_ctx = scan;
	gr_pc_lookups_init(&scan->program.pc_lookups, &scan->program.rt.steps);
	scan->program.rt.pc_lookups = &scan->program.pc_lookups;
	scan->stop.sched.rt = &scan->program.rt;
	scan->opening.extent = extent;
	struct gr_error *err = copy_target(scan, target);
	scan->stop.target.is_recorded = gr_extent_is_recorded(extent);
	gr_scan_set_memory_limit(scan, target->memory_limit_bytes);
	scan->costs.first_private_bytes = scan->costs.meter.first_bytes;
	if (!err && target->kind == GR_TARGET_SAVED)
		err = gr_scan_open_saved(scan);
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
	gr_scan_drop_graph(scan);
	gr_scan_drop_chains(scan);
	gr_scan_drop(scan);
	gr_scan_drop_program(scan);
	gr_scan_drop_residency(scan);
	gr_image_destroy(scan->stop.image);
	gr_scan_close_saved(scan);
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
