// SPDX-License-Identifier: Apache-2.0
/*
 * A scan, phase by phase. gr_scan_create() is the table of contents of the
 * whole scanner: read it first.
 */
#include "scan.h"

#include "base/cleanup.h"
#include "goruntime/dictionary.h"
#include "goruntime/itabs.h"
#include "goruntime/ptrmap.h"
#include "goruntime/typemask.h"
#include "target/elf.h"
#include "target/notes.h"

#include <inttypes.h>
#include <time.h>

/* Releases that were held against their own truth; others get a warning. */
static const char *const tested_releases[] = { "1.19", "1.21", "1.22", "1.23",
					       "1.24", "1.25", "1.26", "1.27" };

uint64_t gr_scan_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000) + now.tv_nsec / 1000;
}

/* Anonymous memory of this process now, from /proc/self/status. */
static uint64_t private_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %llu kB", &kb) == 1)
			break;
	return kb << 10;
}

void gr_scan_note_memory(struct gr_scan *scan)
{
	uint64_t now = private_bytes();

	if (now > scan->first_private_bytes &&
	    now - scan->first_private_bytes > scan->peak_private_bytes)
		scan->peak_private_bytes = now - scan->first_private_bytes;
}

void gr_scan_end_phase(struct gr_scan *scan, enum gr_phase phase)
{
	uint64_t now = gr_scan_now_us();

	scan->phases_us[phase] += now - scan->phase_start_us;
	scan->phase_start_us = now;
	gr_scan_note_memory(scan);
}

struct gr_error *gr_scan_poll(void *ctx)
{
	struct gr_scan *scan = ctx;

	return scan->target.ops.poll ? scan->target.ops.poll(scan->target.ctx) :
				       NULL;
}

static const char *intern(struct gr_scan *scan, const char *text)
{
	return text ? gr_arena_intern(&scan->arena, text, strlen(text)) : NULL;
}

struct gr_error *gr_scan_set_threads(struct gr_scan *scan,
				     const struct gr_target_thread *threads,
				     size_t nthreads)
{
	struct gr_target_thread *copy =
		gr_arena_alloc(&scan->arena, nthreads * sizeof(*copy) + 1);

	if (!copy)
		return &gr_enomem;
	if (nthreads)
		memcpy(copy, threads, nthreads * sizeof(*copy));
	scan->target.threads = copy;
	scan->target.nthreads = nthreads;
	return NULL;
}

/* Keep what the debugger gave: it need not outlive the call. */
static struct gr_error *copy_target(struct gr_scan *scan,
				    const struct gr_target *target)
{
	struct gr_target_module *modules;

	scan->target = *target;
	modules = gr_arena_alloc(&scan->arena,
				 target->nmodules * sizeof(*modules) + 1);
	if (!modules)
		return &gr_enomem;
	for (size_t i = 0; i < target->nmodules; i++) {
		modules[i] = target->modules[i];
		modules[i].path = intern(scan, target->modules[i].path);
		modules[i].debug_path =
			intern(scan, target->modules[i].debug_path);
		if (!modules[i].path)
			return &gr_enomem;
	}
	scan->target.modules = modules;
	scan->target.core_path = intern(scan, target->core_path);
	return gr_scan_set_threads(scan, target->threads, target->nthreads);
}

struct gr_error *gr_scan_warn(struct gr_scan *scan, const char *text)
{
	size_t n = scan->nwarnings;

	if (!text || n + 1 >= GR_ARRAY_SIZE(scan->warnings))
		return NULL;
	scan->warnings[n] = intern(scan, text);
	if (!scan->warnings[n])
		return &gr_enomem;
	scan->nwarnings++;
	return NULL;
}

/* A Go string of the target at @p addr, interned. */
static struct gr_error *read_string(struct gr_scan *scan, uint64_t addr,
				    const char **ret)
{
	struct gr_error *err;
	uint64_t header[2];
	char text[128];

	err = gr_image_read(scan->image, addr, header, sizeof(header));
	if (err)
		return err;
	if (header[1] > sizeof(text))
		header[1] = sizeof(text);
	err = gr_image_read(scan->image, header[0], text, header[1]);
	if (err)
		return err;
	*ret = gr_arena_intern(&scan->arena, text, header[1]);
	return *ret ? NULL : &gr_enomem;
}

/* Say it when a release is none of those that the tests run on. */
static struct gr_error *check_release(struct gr_scan *scan)
{
	const char *version = scan->info.go_version;

	for (size_t i = 0; i < GR_ARRAY_SIZE(tested_releases); i++) {
		size_t len = strlen(tested_releases[i]);
		if (!strncmp(version, "go", 2) &&
		    !strncmp(version + 2, tested_releases[i], len) &&
		    (version[2 + len] < '0' || version[2 + len] > '9'))
			return NULL;
	}
	return gr_scan_warn(
		scan,
		gr_arena_internf(&scan->arena,
				 "%s is none of the releases that this "
				 "version was tested with (go1.19, go1.21 "
				 "to go1.27); going on",
				 version));
}

/* Whether the collector was at work: by its phase, or what goes with it. */
static struct gr_error *read_gc_phase(struct gr_scan *scan)
{
	static const char *const phases[] = { "off", "mark",
					      "mark termination" };
	const struct gr_layout *layout = &scan->rt.layout;
	uint64_t addr = layout->vars.gcphase ? layout->vars.gcphase :
					       layout->vars.write_barrier;
	struct gr_error *err;
	uint64_t phase;

	scan->info.gc_phase = "unknown";
	if (!addr)
		return NULL;
	err = gr_image_read_uint(scan->image, addr, 4, &phase);
	if (err)
		return gr_error_prefix(err, "the collector's phase "
					    "(runtime.gcphase): ");
	if (phase < GR_ARRAY_SIZE(phases))
		scan->info.gc_phase = phases[phase];
	return NULL;
}

static struct gr_error *read_version(struct gr_scan *scan)
{
	struct gr_error *err;
	uint64_t version = scan->rt.layout.vars.build_version;

	scan->info.go_version = "unknown";
	if (!version)
		return NULL;
	err = read_string(scan, version, &scan->info.go_version);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return gr_error_format(GR_ERROR_FAULT,
				       "the target has no memory for "
				       "runtime.buildVersion: is the program "
				       "started, and the core whole?");
	if (!err && !*scan->info.go_version)
		return gr_error_format(GR_ERROR_FORMAT,
				       "runtime.buildVersion is empty: the "
				       "target's data reads as zeros, so there "
				       "is nothing to go by");
	return err ? err : check_release(scan);
}

/* What is known to be wrong with a core may be why the scan cannot go on. */
static struct gr_error *add_reason(const struct gr_scan *scan,
				   struct gr_error *err)
{
	const char *warning = scan->image ? gr_image_warning(scan->image) :
					    NULL;
	struct gr_error *ret;

	if (!err || !warning ||
	    (err->code != GR_ERROR_FAULT && err->code != GR_ERROR_FORMAT &&
	     err->code != GR_ERROR_NO_DWARF && err->code != GR_ERROR_LAYOUT))
		return err;
	ret = gr_error_format(err->code, "%s (%s)", err->message, warning);
	gr_error_destroy(err);
	return ret;
}

/* What does not change while the program runs. */
static struct gr_error *read_program(struct gr_scan *scan)
{
	struct gr_error *err = read_version(scan);

	if (!err)
		err = gr_scan_read_modules(scan);
	if (!err)
		err = gr_types_create(&scan->rt);
	if (!err)
		err = gr_scan_read_dictionaries(scan);
	return err;
}

struct gr_error *gr_scan_open_program(struct gr_scan *scan)
{
	struct gr_error *err;

	err = gr_image_create(&scan->target, &scan->gaps, &scan->image);
	if (err)
		return err;
	scan->rt.image = scan->image;
	scan->rt.arch = gr_image_arch(scan->image);
	err = gr_scan_open_symbols(scan);
	if (!err)
		err = read_program(scan);
	gr_image_keep_plan(scan->image);
	gr_scan_end_phase(scan, GR_PHASE_symbols);
	scan->symbols_bytes = scan->peak_private_bytes;
	return add_reason(scan, err);
}

/* Everything that is found out by small reads, and the capture plan. */
struct gr_error *gr_scan_read_heap(struct gr_scan *scan)
{
	struct gr_runtime *rt = &scan->rt;
	struct gr_error *err;

	err = read_gc_phase(scan);
	if (!err)
		err = gr_heap_read(rt);
	if (!err)
		err = gr_heap_read_stats(rt);
	if (!err)
		err = gr_ptrmap_prepare(rt);
	if (!err)
		err = gr_goroutines_read(rt);
	if (!err)
		err = gr_roots_read_lists(rt, &scan->lists);
	if (!err)
		err = gr_itabs_plan(rt);
	gr_scan_end_phase(scan, GR_PHASE_heap);
	return add_reason(scan, err);
}

void gr_scan_drop_heap(struct gr_scan *scan)
{
	gr_root_list_deinit(&scan->lists);
	gr_goroutines_deinit(&scan->rt);
	gr_heap_destroy(scan->rt.heap);
	scan->rt.heap = NULL;
}

struct gr_error *gr_scan_copy(struct gr_scan *scan)
{
	struct gr_error *err;

	gr_scan_note_estimate(scan);
	err = gr_image_capture(scan->image);
	if (!err)
		gr_image_seal(scan->image);
	gr_scan_end_phase(scan, GR_PHASE_capture);
	return err;
}

/* What the user is told of the target, as text. */
static struct gr_error *fill_info(struct gr_scan *scan)
{
	struct gr_scan_info *info = &scan->info;

	// The runtime has objects of its own before the program starts.
	if (!scan->rt.heap->nobjs && !scan->gaps.count[GR_GAP_BAD_SPANS] &&
	    !scan->gaps.count[GR_GAP_BROKEN_LISTS])
		gr_gap_broken_list(&scan->gaps, "mheap_.allspans");
	info->pointer_scheme = scan->rt.ptrmap->name;
	info->exe_path = scan->target.modules[0].path;
	info->core_path = scan->target.core_path;
	info->pid = scan->target.pid;
	info->kind = scan->target.kind;
	info->missing_bytes = gr_image_missing_bytes(scan->image);
	info->broken_list = scan->gaps.broken_list;
	info->bad_headers = gr_image_bad_headers(scan->image);
	for (size_t i = 0; i < scan->rt.ngoroutines; i++)
		info->goroutines += !scan->rt.goroutines[i].is_g0;
	info->types = gr_types_count(scan->rt.types);
	info->warnings = scan->warnings;
	info->build_id = gr_scan_build_id(scan, info->exe_path);
	if (!info->build_id)
		return &gr_enomem;
	return gr_scan_warn(scan, gr_image_warning(scan->image));
}

struct gr_error *gr_scan_unwind(struct gr_scan *scan)
{
	struct gr_error *err = gr_heap_fill(&scan->rt);

	if (!err)
		err = gr_heap_map(&scan->rt);
	gr_scan_end_phase(scan, GR_PHASE_capture);
	if (!err)
		err = gr_goroutines_unwind(&scan->rt);
	gr_scan_end_phase(scan, GR_PHASE_goroutines);
	if (!err)
		err = gr_roots_collect(&scan->rt, &scan->lists, &scan->roots);
	gr_scan_end_phase(scan, GR_PHASE_roots);
	return err ? err : fill_info(scan);
}

struct gr_error *gr_scan_enter(struct gr_scan *scan,
			       struct gr_sigbus_guard *guard)
{
	gr_sigbus_guard_begin(guard);
	return gr_image_check(scan->image);
}

struct gr_error *gr_scan_new(const struct gr_target *target,
			     struct gr_scan **ret)
{
	_cleanup_(gr_cleanup_scan) struct gr_scan *scan =
		calloc(1, sizeof(*scan));
	struct gr_error *err;

	if (!scan)
		return &gr_enomem;
	scan->first_private_bytes = private_bytes();
	scan->phase_start_us = gr_scan_now_us();
	scan->rt.gaps = &scan->gaps;
	scan->rt.arena = &scan->arena;
	scan->rt.poll = gr_scan_poll;
	scan->rt.poll_ctx = scan;
	err = copy_target(scan, target);
	if (!err)
		*ret = steal_ptr(scan);
	return err;
}

struct gr_error *gr_scan_create(const struct gr_target *target,
				struct gr_scan **ret)
{
	_cleanup_(gr_cleanup_scan) struct gr_scan *scan = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	gr_sigbus_guard_begin(&guard);
	err = gr_scan_new(target, &scan);
	if (!err)
		err = gr_scan_open_program(scan);
	if (!err)
		err = gr_scan_read_heap(scan);
	if (!err)
		err = gr_scan_copy(scan);
	if (!err)
		err = gr_scan_unwind(scan);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(scan);
	return err;
}

void gr_scan_destroy(struct gr_scan *scan)
{
	if (!scan)
		return;
	gr_roots_deinit(&scan->roots);
	gr_root_list_deinit(&scan->lists);
	gr_goroutines_deinit(&scan->rt);
	gr_types_destroy(scan->rt.types);
	gr_dictionaries_destroy(scan->rt.dictionaries);
	gr_type_masks_destroy(scan->rt.masks);
	gr_heap_destroy(scan->rt.heap);
	free(scan->rt.modules);
	free(scan->rt.symbols);
	for (size_t i = 0; scan->dwarfs && i < scan->target.nmodules; i++)
		gr_dwarf_destroy(scan->dwarfs[i]);
	free(scan->dwarfs);
	gr_image_destroy(scan->image);
	gr_arena_deinit(&scan->arena);
	free(scan);
}

const struct gr_scan_info *gr_scan_info(const struct gr_scan *scan)
{
	return &scan->info;
}

char *gr_scan_layout_text(const struct gr_scan *scan)
{
	return gr_layout_text(&scan->rt.layout);
}

struct gr_error *gr_check_libraries(void)
{
	return gr_dwarf_check_library();
}
