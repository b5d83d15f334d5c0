/* SPDX-License-Identifier: Apache-2.0 */
/** scan: one opened target, which stages fill. */
#ifndef GR_SCAN_H
#define GR_SCAN_H

#include "base/cleanup.h"
#include "inferior/sigbus.h"
#include "scan/answers.h"

/** The state of a scan that only matters while it is opened. */
struct gr_opening {
	enum gr_scan_extent extent;
	struct gr_gaps program_gaps; /**< Before the first stage. */
	/** The runtime was searched in this number of copies. */
	unsigned int searched_copies;
	bool is_unsettled;		     /**< It is not found yet. */
	struct gr_stack_sample stack_sample; /**< For the estimate. */
};

/** A chain: the answers lead to their stop, and the stop to its program. */
struct gr_scan {
	struct gr_program program;
	struct gr_stop stop;
	struct gr_answers answers;
	struct gr_costs costs;
	struct gr_opening opening;
};

GR_DEFINE_CLEANUP(scan, struct gr_scan, gr_scan_destroy)

static inline bool gr_extent_is_recorded(enum gr_scan_extent extent)
{
	return extent == GR_EXTENT_SAVE || extent == GR_EXTENT_SAVE_VALUES;
}

/** The stages of an extent. */
/** Has the extent the memory of C, and the resident pages? */
static inline bool gr_extent_has_native(enum gr_scan_extent extent)
{
	return extent != GR_EXTENT_HEAP && extent != GR_EXTENT_GOROUTINES &&
	       extent != GR_EXTENT_BUCKETS;
}

static inline unsigned int gr_extent_stages(enum gr_scan_extent extent)
{
	if (extent == GR_EXTENT_GOROUTINES)
		return GR_STAGE_GOROUTINES;
	if (extent == GR_EXTENT_SITES || extent == GR_EXTENT_VALUES ||
	    extent == GR_EXTENT_REPORT || gr_extent_is_recorded(extent))
		return GR_STAGES_ALL | GR_STAGE_BUCKETS;
	return extent == GR_EXTENT_BUCKETS ? GR_STAGE_BUCKETS : GR_STAGES_ALL;
}

/**
 * The steps of gr_scan_create(): make a scan with a copy of @p target; read
 * files, symbols, modules and types; read the runtime's structures of @p stages
 * and plan the copy; copy; build the stages from it: unwind stacks, collect
 * roots and information.
 */
struct gr_error *gr_scan_new(const struct gr_target *target,
			     enum gr_scan_extent extent,
			     struct gr_scan **ret) GR_MUST_CHECK;
struct gr_error *gr_scan_open_program(struct gr_scan *scan) GR_MUST_CHECK;
/** Drop what gr_scan_open_program() has read, but not the image. */
void gr_stop_drop_program(struct gr_stop *stop);

/** Read runtime.buildVersion, and warn of a release that goref is not tested
 * with. */
struct gr_error *gr_stop_read_version(struct gr_stop *stop) GR_MUST_CHECK;
struct gr_error *gr_scan_read(struct gr_scan *scan,
			      unsigned int stages) GR_MUST_CHECK;
struct gr_error *gr_scan_copy(struct gr_scan *scan) GR_MUST_CHECK;
struct gr_error *gr_scan_build(struct gr_scan *scan,
			       unsigned int stages) GR_MUST_CHECK;
/**
 * Read and build those of @p stages that are not there. Only a core can still
 * be read; of a process, what is missing is an error. An error drops all
 * stages, which the next call makes again.
 */
struct gr_error *gr_scan_need(struct gr_scan *scan,
			      unsigned int stages) GR_MUST_CHECK;
/** Estimate the cost of scanning the heap that was read (live.c). */
void gr_scan_note_estimate(struct gr_scan *scan);
/** Estimate the memory of the object graph; better once bitmaps are read. */
void gr_answers_note_graph_estimate(struct gr_answers *answers);
/** Read the saved file of the target, which has the modules (saved.c). */
struct gr_error *gr_stop_open_saved(struct gr_stop *stop) GR_MUST_CHECK;
void gr_stop_close_saved(struct gr_stop *stop);
/** Fill what a saved file tells into the stop's information. */
void gr_stop_fill_saved(struct gr_stop *stop);
/** The threads of a process that did not stop. */
uint64_t gr_stop_count_late(const struct gr_stop *stop);
/** Undo gr_scan_read() and gr_scan_build(), and drop the answers. */
void gr_scan_drop(struct gr_scan *scan);
/** Keep a copy of the threads and their registers. */
struct gr_error *gr_stop_set_threads(struct gr_stop *stop,
				     const struct gr_target_thread *threads,
				     size_t nthreads) GR_MUST_CHECK;

/** Add a warning beside the result. @p text is copied; NULL adds nothing. */
struct gr_error *gr_program_warn(struct gr_program *program,
				 const char *text) GR_MUST_CHECK;

/**
 * Find the file of the target that has the Go runtime (the executable, or a
 * library that a C program loaded), open its debug information, and fill
 * rt.layout from it (files.c).
 */
struct gr_error *gr_stop_open_symbols(struct gr_stop *stop) GR_MUST_CHECK;

/**
 * Read the runtime's list of modules (plugins after the first one), each with
 * the debug information of the file that it was loaded from (files.c).
 */
struct gr_error *gr_stop_read_modules(struct gr_stop *stop) GR_MUST_CHECK;

/** Read the dictionaries of generics in the files with debug information. Only
 * those files tell the purpose of a dictionary (files.c). */
struct gr_error *gr_stop_read_dictionaries(struct gr_stop *stop) GR_MUST_CHECK;

/** GNU's build id of a file in hex, else Go's own, else ""; NULL: no memory. */
const char *gr_program_build_id(struct gr_program *program,
				const struct gr_target_module *module);

/** The file with the Go runtime: the executable if it is one of Go's, else the
 * first library that is (files.c). */
size_t gr_stop_runtime_module(const struct gr_stop *stop);

/** Read which Go modules the program is made of into its information
 * (go_modules.c). */
struct gr_error *gr_stop_read_go_modules(struct gr_stop *stop) GR_MUST_CHECK;

/** Save the tables of the debug information in the cache. */
void gr_stop_save_symbols(struct gr_stop *stop);

#endif /* GR_SCAN_H */
