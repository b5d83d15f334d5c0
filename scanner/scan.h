/* SPDX-License-Identifier: Apache-2.0 */
/** scan: one opened target; what scan.c, result.c, place.c, why.c share. */
#ifndef GR_SCAN_H
#define GR_SCAN_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "goruntime/heap.h"
#include "goruntime/roots.h"
#include "mark/walk.h"
#include "scanner.h"
#include "target/sigbus.h"

struct gr_scan {
	struct gr_target target; /**< Our own copy. */
	struct gr_arena arena;	 /**< Names; lives as long as the scan. */
	struct gr_gaps gaps;
	struct gr_image *image;
	struct gr_dwarf **dwarfs; /**< One a module of the target, or NULL. */
	struct gr_runtime rt;
	struct gr_root_list lists;
	struct gr_roots roots;
	struct gr_scan_info info;
	const char *warnings[8]; /**< NULL-terminated. */
	size_t nwarnings;
	uint64_t phases_us[GR_NPHASES];
	uint64_t phase_start_us;
	uint64_t first_private_bytes, peak_private_bytes;
	uint64_t symbols_bytes; /**< Of these, after reading the program. */
	struct gr_estimate estimate;
	const struct gr_ledger *walking; /**< Of the walk under way. */
};

GR_DEFINE_CLEANUP(scan, struct gr_scan, gr_scan_destroy)

/** A finished walk. Names belong to the scan. */
struct gr_result {
	struct gr_tree tree;
	struct gr_ledger ledger;
	struct gr_root_total *roots; /**< Sorted. */
	uint32_t *root_rank;	     /**< Tree's root -> index in roots. */
	struct gr_type_total *types; /**< Sorted. */
	size_t ntypes;
};

/** rt.poll: ask the debugger whether to go on. @p ctx is the scan. */
struct gr_error *gr_scan_poll(void *ctx) GR_MUST_CHECK;

/**
 * The steps of gr_scan_create(): a new scan of a copy of @p target; files,
 * symbols, modules and types; the heap and what to copy of it; the copy;
 * stacks, roots, information.
 */
struct gr_error *gr_scan_new(const struct gr_target *target,
			     struct gr_scan **ret) GR_MUST_CHECK;
struct gr_error *gr_scan_open_program(struct gr_scan *scan) GR_MUST_CHECK;
struct gr_error *gr_scan_read_heap(struct gr_scan *scan) GR_MUST_CHECK;
struct gr_error *gr_scan_copy(struct gr_scan *scan) GR_MUST_CHECK;
struct gr_error *gr_scan_unwind(struct gr_scan *scan) GR_MUST_CHECK;
/** What a scan of the heap that was read will cost (live.c). */
void gr_scan_note_estimate(struct gr_scan *scan);
/** Undo gr_scan_read_heap(). */
void gr_scan_drop_heap(struct gr_scan *scan);
/** Keep a copy of the threads and their registers. */
struct gr_error *gr_scan_set_threads(struct gr_scan *scan,
				     const struct gr_target_thread *threads,
				     size_t nthreads) GR_MUST_CHECK;

/** Say @p text (NULL: nothing) to the user beside the result; it is copied. */
struct gr_error *gr_scan_warn(struct gr_scan *scan,
			      const char *text) GR_MUST_CHECK;

/**
 * Which file of the target has the Go runtime (the executable, or a library
 * that a C program loaded), its debug information, and what that says of the
 * runtime: fills rt.layout (symbols.c).
 */
struct gr_error *gr_scan_open_symbols(struct gr_scan *scan) GR_MUST_CHECK;

/**
 * The runtime's list of modules (plugins after the first), each with the
 * debug information of the file that it was loaded from (symbols.c).
 */
struct gr_error *gr_scan_read_modules(struct gr_scan *scan) GR_MUST_CHECK;

/** The dictionaries of generics in the files with debug information, which
 * alone can tell what they are for (symbols.c). */
struct gr_error *gr_scan_read_dictionaries(struct gr_scan *scan) GR_MUST_CHECK;

/** Microseconds of a clock that only goes forward. */
uint64_t gr_scan_now_us(void);
/** Look at our memory now, for the peak. */
void gr_scan_note_memory(struct gr_scan *scan);
/** Charge the time since the last call to @p phase. */
void gr_scan_end_phase(struct gr_scan *scan, enum gr_phase phase);

/** GNU's build id of a file in hex, else Go's own, else ""; NULL: no memory. */
const char *gr_scan_build_id(struct gr_scan *scan, const char *path);

/** Bring what was learnt of the debug information into the cache. */
void gr_scan_save_symbols(struct gr_scan *scan);

/** Type of an object that no walk reached, by its header; "" if it has none. */
const char *gr_scan_header_type(struct gr_scan *scan,
				const struct gr_span *span, uint32_t index);

/**
 * Before any use of the target's memory: put up the guard against files that
 * shrink. What fails here needs gr_sigbus_guard_end() all the same.
 */
struct gr_error *gr_scan_enter(struct gr_scan *scan,
			       struct gr_sigbus_guard *guard) GR_MUST_CHECK;

/** Walk with what @p options say, into a new walk that is done. */
struct gr_error *gr_scan_run_walk(struct gr_scan *scan,
				  const struct gr_walk_options *options,
				  gr_obj wanted, struct gr_ledger *ledger,
				  struct gr_walk **ret) GR_MUST_CHECK;

/**
 * A word of doubt may lead to garbage, and that to what was swept already: of
 * the pointers to free slots that a walk with @p options has counted in
 * @p ledger, those count as precise that are reached without such words. It
 * takes another walk, which leaves its marks in the heap and is *@p ret; NULL
 * where there are none.
 */
struct gr_error *gr_scan_sort_free_slots(struct gr_scan *scan,
					 const struct gr_walk_options *options,
					 struct gr_ledger *ledger,
					 struct gr_walk **ret) GR_MUST_CHECK;

#endif /* GR_SCAN_H */
