/* SPDX-License-Identifier: Apache-2.0 */
/**
 * open: open a target: the executable, a core, or a process, which may still
 * run. Also information about the target, the cost of a scan, and limits.
 */
#ifndef GR_OPEN_H
#define GR_OPEN_H

#include "base/base.h"
#include "base/error.h"
#include "base/progress.h"
#include "inferior/target.h"

struct gr_scan;

/** Goroutines in one state that wait for the same reason. */
struct gr_goroutine_count {
	const char *state;	 /**< "waiting", "running" ... */
	const char *wait_reason; /**< "chan receive" ..., or "" */
	bool is_system;		 /**< The runtime's own. */
	uint64_t goroutines;
};

/** Information about the opened target; strings belong to the scan. */
struct gr_scan_info {
	const char *go_version; /**< "go1.24.4" */
	const char *gc_phase;	/**< "off", "mark", "mark termination" */
	/** When the last cycle of the collector ended, on the program's own
	 * clock; 0: no cycle has ended. */
	uint64_t last_gc_ns;
	bool has_last_gc;	    /**< That is known. */
	const char *pointer_scheme; /**< "malloc headers", ... */
	const char *exe_path;
	const char *core_path; /**< NULL if not a core. */
	int32_t pid;	       /**< 0 if not native. */
	enum gr_target_kind kind;
	/** Only for GR_TARGET_SAVED: the file, what was saved in it ("core
	 * /tmp/core"), when (since 1970), and what the saver knew:
	 * gr_save_options.stop and .identity. */
	const char *saved_path, *origin, *stop, *identity;
	uint64_t saved_s;
	bool has_values;      /**< A saved file has all memory. */
	const char *build_id; /**< The executable's build id; "" if none. */
	/** The build information: the main module, the import path of the main
	 * package, and the modules that it depends on; "" or none where it says
	 * nothing. The list ends with NULL. */
	const char *main_module, *main_path;
	const char *const *dependencies;
	uint64_t missing_bytes;	 /**< Bytes missing from a truncated core. */
	const char *broken_list; /**< As in gr_gaps; NULL if none. */
	uint64_t bad_headers;	 /**< Lost or invalid headers of a core. */
	/** Threads that did not stop; the other ones stood still. */
	uint64_t late_threads;
	/** One line each, NULL-terminated: torn core, untested release ... */
	const char *const *warnings;
	uint64_t goroutines;
	/** Goroutines by state and wait reason, the largest count first. */
	const struct gr_goroutine_count *goroutine_counts;
	size_t ngoroutine_counts;
	uint64_t types; /**< Types known by name. */
};

/** The questions that a scan is for. */
enum gr_scan_extent {
	/** Questions on the Go heap that need neither the graph nor C. */
	GR_EXTENT_HEAP,
	GR_EXTENT_GOROUTINES, /**< Goroutines and their calls: no heap. */
	/** All, the memory of C, and which pages are resident, as far as that can
	 * be known. What follows has this, too, but for the buckets. */
	GR_EXTENT_NATIVE,
	GR_EXTENT_VALUES,    /**< As sites, and values: strings, numbers. */
	GR_EXTENT_RESIDENCY, /**< An error if the pages are not known. */
	GR_EXTENT_PAGES,     /**< As native. */
	GR_EXTENT_BUCKETS,   /**< The runtime's own profiles, nothing else. */
	GR_EXTENT_SITES,     /**< All, and where objects were allocated. */
	GR_EXTENT_REPORT,    /**< As sites. */
	/** All, residency and profiles; what is read is recorded for
	 * gr_scan_save(). */
	GR_EXTENT_SAVE,
	GR_EXTENT_SAVE_VALUES, /**< The same, and values. */
};

/**
 * Open a target: read symbols, then what @p extent needs: goroutines and their
 * stacks; spans, the memory that the walk needs, and roots. The scan of a core
 * reads more when a question needs it. A process is read after this call only
 * for values, and only if it is held: GR_EXTENT_VALUES copies them, too.
 * @p target may be freed.
 */
struct gr_error *gr_scan_create(const struct gr_target *target,
				enum gr_scan_extent extent,
				struct gr_scan **ret) GR_MUST_CHECK;
void gr_scan_destroy(struct gr_scan *scan);

/**
 * Read what @p extent needs beyond what is there, as every question does that
 * needs it. After this, gr_scan_estimate() covers it.
 */
struct gr_error *gr_scan_extend(struct gr_scan *scan,
				enum gr_scan_extent extent) GR_MUST_CHECK;

/** The estimated cost of a scan; for a core, only the tables count. */
struct gr_estimate {
	uint64_t copy_bytes;  /**< Process memory to be captured. */
	uint64_t table_bytes; /**< Memory of a walk without its nodes. */
	uint64_t node_bytes;  /**< Memory of each node of the tree. */
	uint64_t max_nodes;   /**< The most nodes that a tree can need. */
	/** Memory to make the object graph, beside the tables. */
	uint64_t graph_bytes;
	uint64_t read_us; /**< Time to read the heap's structures. */
	uint64_t copy_us; /**< Time to copy the memory. */
	/** Based on the process's size, because its heap could not be read
	 * while it ran. */
	bool is_rough;
};

/**
 * Begin to open a process that still runs: read files and symbols, and estimate
 * the cost. gr_scan_reserve() then sets memory for the copy aside. All this is
 * done before the process has to stop. Call gr_scan_capture() when the process
 * is stopped, and gr_scan_finish() when it may run again. The result is that of
 * gr_scan_create(). Other calls are not allowed before that.
 */
struct gr_error *gr_scan_prepare(const struct gr_target *target,
				 enum gr_scan_extent extent,
				 struct gr_scan **ret) GR_MUST_CHECK;
/**
 * Without debug information, the runtime is searched. If the process changes it
 * too fast for that, gr_scan_prepare() and gr_scan_search_copy() leave the scan
 * unsettled. Then copy what the search has looked at with
 * gr_scan_copy_searched(), when the process is stopped, and search the copy
 * with gr_scan_search_copy(), when it may run again.
 */
bool gr_scan_is_unsettled(const struct gr_scan *scan);
struct gr_error *gr_scan_copy_searched(struct gr_scan *scan) GR_MUST_CHECK;
struct gr_error *gr_scan_search_copy(struct gr_scan *scan) GR_MUST_CHECK;
/** The cost of the scan, or of the copy that is searched. */
void gr_scan_estimate(const struct gr_scan *scan, struct gr_estimate *ret);
/** Set memory aside for the copy, as estimated. */
struct gr_error *gr_scan_reserve(struct gr_scan *scan) GR_MUST_CHECK;
/**
 * Copy the needed memory of the stopped process, and @p threads. If @p copy_pid
 * is not 0, it is the process's GR_TARGET_SNAPSHOT, whose memory is copied
 * instead.
 */
struct gr_error *gr_scan_capture(struct gr_scan *scan,
				 const struct gr_target_thread *threads,
				 size_t nthreads,
				 int32_t copy_pid) GR_MUST_CHECK;
struct gr_error *gr_scan_finish(struct gr_scan *scan) GR_MUST_CHECK;

const struct gr_scan_info *gr_scan_info(const struct gr_scan *scan);

/**
 * The resolved layout table as text, for free(): one line for each row, for
 * golden files. The text also says which names of goruntime/layout/names.h the
 * target has. NULL means that there is no memory.
 */
char *gr_scan_layout_text(const struct gr_scan *scan);

/** The running step, for poll. A walk counts objects: those that are reached,
 * and all that are allocated. */
struct gr_progress gr_scan_progress(const struct gr_scan *scan);

/**
 * Limit the private memory that the scan may take from now on; 0 means no
 * limit. A call that exceeds the limit fails with GR_ERROR_MEMORY_LIMIT; a walk
 * ends as if poll had ended it.
 */
void gr_scan_set_memory_limit(struct gr_scan *scan, uint64_t bytes);

/**
 * Check that the libraries are the ones we were built for, and that the loader
 * bound our symbols to them. This is called once, when the extension is loaded.
 */
struct gr_error *gr_check_libraries(void) GR_MUST_CHECK;

#endif /* GR_OPEN_H */
