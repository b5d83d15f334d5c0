/* SPDX-License-Identifier: Apache-2.0 */
/**
 * scanner.h: the scanner's only public header; all that gdbext/ and proto/
 * may include.
 *
 * A gr_scan is one stopped target, opened once and kept for later questions.
 * A gr_result is one walk of it: the reference tree and the ledger.
 */
#ifndef GR_SCANNER_H
#define GR_SCANNER_H

#include "base/base.h"
#include "base/error.h"
#include "target/gaps.h"
#include "target/target.h"

#define GR_UNLIMITED UINT32_MAX

struct gr_scan;
struct gr_result;

/** Steps of a scan, in order, as the time table names them. */
#define GR_PHASES(X)  \
	X(symbols)    \
	X(heap)       \
	X(capture)    \
	X(goroutines) \
	X(roots)      \
	X(typed)      \
	X(mask)       \
	X(output)

enum gr_phase {
#define X(name) GR_PHASE_##name,
	GR_PHASES(X)
#undef X
		GR_NPHASES,
};

/** What was opened; strings belong to the scan. */
struct gr_scan_info {
	const char *go_version;	    /**< "go1.24.4" */
	const char *gc_phase;	    /**< "off", "mark", "mark termination" */
	const char *pointer_scheme; /**< "malloc headers", ... */
	const char *exe_path;
	const char *core_path; /**< NULL if not a core. */
	int32_t pid;	       /**< 0 if not native. */
	enum gr_target_kind kind;
	const char *build_id;	 /**< Of the executable; "" if none. */
	uint64_t missing_bytes;	 /**< That a core's headers promise. */
	const char *broken_list; /**< As in gr_gaps; NULL if none. */
	uint64_t bad_headers;	 /**< Of a core: lost, or making no sense. */
	/** One line each, NULL-terminated: torn core, untested release ... */
	const char *const *warnings;
	uint64_t goroutines;
	uint64_t types; /**< Types known by name. */
};

/**
 * Open a target: symbols, spans, capture of the memory that the walk needs,
 * goroutines and their stacks. When it returns, nothing of the target is read
 * again. @p target may go away afterwards.
 */
struct gr_error *gr_scan_create(const struct gr_target *target,
				struct gr_scan **ret) GR_MUST_CHECK;
void gr_scan_destroy(struct gr_scan *scan);

/** What looking at a target costs; of a core only the tables. */
struct gr_estimate {
	uint64_t copy_bytes;  /**< Of a process's memory: the capture. */
	uint64_t table_bytes; /**< Memory of a walk without its nodes. */
	uint64_t node_bytes;  /**< Memory of each node of the tree. */
	uint64_t max_nodes;   /**< More are not needed. */
	uint64_t read_us;     /**< Time to read what is to be copied, ... */
	uint64_t copy_us;     /**< ... and to copy it. */
	/** The process's own size instead: its heap could not be read while
	 * it ran. */
	bool is_rough;
};

/**
 * Begin to open a process that still runs: files, symbols, an estimate, and
 * memory for the copy, so that all this is done before it has to stand still.
 * Then, when it is stopped, gr_scan_capture(), and gr_scan_finish() when it
 * may run again: as gr_scan_create(). Nothing else may be asked before that.
 */
struct gr_error *gr_scan_prepare(const struct gr_target *target,
				 struct gr_scan **ret) GR_MUST_CHECK;
void gr_scan_estimate(const struct gr_scan *scan, struct gr_estimate *ret);
/** Set the memory of the estimate's copy aside. */
struct gr_error *gr_scan_reserve(struct gr_scan *scan) GR_MUST_CHECK;
/**
 * Copy what is needed of the stopped process; @p threads are copied. With
 * @p copy_pid, which is its GR_TARGET_SNAPSHOT, of that one; else it is 0.
 */
struct gr_error *gr_scan_capture(struct gr_scan *scan,
				 const struct gr_target_thread *threads,
				 size_t nthreads,
				 int32_t copy_pid) GR_MUST_CHECK;
struct gr_error *gr_scan_finish(struct gr_scan *scan) GR_MUST_CHECK;

const struct gr_scan_info *gr_scan_info(const struct gr_scan *scan);

/** The resolved layout table as text (golden files). For free(). */
char *gr_scan_layout_text(const struct gr_scan *scan);

/** A place to start from or to ask about. */
struct gr_place {
	const char *name; /**< As the user wrote it. Belongs to the scan. */
	uint64_t addr;
	uint32_t type;	  /**< Of what lies at addr; UINT32_MAX: not known. */
	bool is_variable; /**< A package variable: follow what it holds. */
	/** What a variable points to (0: nothing): the address to ask about. */
	uint64_t value;
};

/**
 * Understand what a person typed: `0xc000782240`, Delve's
 * `*(*main.T)(0xc000782240)` and `(*main.T)(0xc000782240)`, a package
 * variable (`main.cache`, `"path/to/pkg".Var`, `&main.cache`).
 *
 * GR_ERROR_NOT_FOUND if it is none of these (a debugger's evaluator may know
 * more); GR_ERROR_ARGUMENT if it is malformed.
 */
struct gr_error *gr_scan_resolve(struct gr_scan *scan, const char *text,
				 struct gr_place *ret) GR_MUST_CHECK;

/** Names of package variables that begin with @p prefix: for completion.
 * At most @p max; array for free(), strings of the scan. */
struct gr_error *gr_scan_complete(struct gr_scan *scan, const char *prefix,
				  size_t max, const char ***ret,
				  size_t *count) GR_MUST_CHECK;

/** Which root is billed for an object that several of them reach. */
enum gr_attribution {
	GR_ATTRIBUTION_NEAREST, /**< The one with the fewest hops. */
	GR_ATTRIBUTION_FIRST,	/**< The first, with all that hangs on it. */
};

struct gr_walk_options {
	uint32_t max_depth; /**< Levels of nodes; default 256. */
	uint32_t max_nodes; /**< Nodes in all; default 1 << 20. */
	enum gr_attribution attribution;
	/** A root of its own for each goroutine: gr_root_total.goroutine_id. */
	bool per_goroutine;
	/** Leave out words of which it is not known that they are pointers. */
	bool precise_only;
	/** When poll ends the walk, what was found is a result. */
	bool keep_partial;
	/** Only what these hold; none: all roots. */
	const struct gr_place *places;
	size_t nplaces;
};

/**
 * How far a walk has come, for poll: objects reached, and objects that there
 * are; 0 and 0 while there is none.
 */
void gr_scan_progress(const struct gr_scan *scan, uint64_t *done,
		      uint64_t *total);

/** Walk the heap. The result is valid until destroyed, before its scan. */
struct gr_error *gr_scan_walk(struct gr_scan *scan,
			      const struct gr_walk_options *options,
			      struct gr_result **ret) GR_MUST_CHECK;
void gr_result_destroy(struct gr_result *result);

/** Objects and the bytes of their slots. */
struct gr_total {
	uint64_t objects;
	uint64_t bytes;
};

/** The ledger: what was allocated, what was reached and how. */
struct gr_ledger {
	struct gr_total allocated;
	struct gr_total reached; /**< = the next four. */
	struct gr_total typed;	 /**< Type known by DWARF from the referrer. */
	/** Type from the runtime's record beside the pointer: interfaces. */
	struct gr_total runtime_type;
	struct gr_total header;	   /**< Type from the object's own header. */
	struct gr_total masked;	   /**< By pointer masks only. */
	struct gr_total unreached; /**< allocated - reached */
	struct gr_gaps gaps;
	uint64_t phases_us[GR_NPHASES];
	uint64_t peak_private_bytes;
	/** The walk was ended before its end: totals are lower bounds. */
	bool is_partial;
};

const struct gr_ledger *gr_result_ledger(const struct gr_result *result);

#define GR_NODE_NONE UINT32_MAX

#define GR_ROOT_KINDS(X)          \
	X(GLOBAL, "global")       \
	X(LOCAL, "local")         \
	X(STACK, "stack")         \
	X(REGISTER, "register")   \
	X(DEFER, "defer")         \
	X(FINALIZER, "finalizer") \
	X(CLEANUP, "cleanup")     \
	X(TIMER, "timer")         \
	X(TINY, "tiny")           \
	X(RUNTIME, "runtime")     \
	X(ADDRESS, "address")

enum gr_root_kind {
#define X(id, name) GR_ROOT_##id,
	GR_ROOT_KINDS(X)
#undef X
};

const char *gr_root_kind_name(enum gr_root_kind kind);

/**
 * A node of the reference tree: what was counted on this path. A parent's
 * number is smaller than its children's.
 */
struct gr_node {
	const char *name;
	uint32_t parent;  /**< GR_NODE_NONE: a root. */
	uint32_t root;	  /**< Index into the roots. */
	uint64_t objects; /**< Counted here, without children. */
	uint64_t bytes;
};

const struct gr_node *gr_result_nodes(const struct gr_result *result,
				      size_t *count);

/** A root with all that is billed to it. */
struct gr_root_total {
	const char *name;
	enum gr_root_kind kind;
	/** Of stack roots ("waiting"), else NULL. */
	const char *goroutine_state;
	/** Only with gr_walk_options.per_goroutine, of stack roots; else 0. */
	uint64_t goroutine_id;
	const char *file; /**< Where the variable stands, or NULL. */
	uint32_t line;
	uint32_t node; /**< Its node. */
	struct gr_total total;
};

/** Sorted by bytes, then objects, both falling, then name. */
const struct gr_root_total *gr_result_roots(const struct gr_result *result,
					    size_t *count);

/** Index in gr_result_roots() of a node's `root`. */
uint32_t gr_result_root_rank(const struct gr_result *result, uint32_t root);

/** Reached objects of one type. Sorted like the roots. */
struct gr_type_total {
	const char *type;
	struct gr_total total;
};

const struct gr_type_total *gr_result_types(const struct gr_result *result,
					    size_t *count);

/** One hop of a chain, root first. */
struct gr_hop {
	const char *name; /**< As in the tree. */
	const char *type; /**< Of the object reached, or "". */
	uint64_t addr;	  /**< Of that object; 0 for a root in registers. */
};

/** The answer to `goref why`. Belongs to the caller. */
struct gr_why {
	uint64_t addr;
	bool is_object;
	uint64_t base_addr, bytes; /**< The object. */
	const char *type;	   /**< Or "" if not known. */
	uint64_t offset;	   /**< addr - base_addr */
	bool is_reachable;
	const char *root_name;
	enum gr_root_kind root_kind;
	uint64_t goroutine_id; /**< Of stack roots, else 0. */
	struct gr_hop *hops;
	size_t nhops;
	/** What it is when no object: "stack of goroutine 7", "free slot". */
	const char *description;
	/** Of the target and of the walk, up to where the answer was found. */
	struct gr_gaps gaps;
};

/** Who holds the memory at @p addr: the chain over which a walk bills it. */
struct gr_error *gr_scan_why(struct gr_scan *scan,
			     const struct gr_walk_options *options,
			     uint64_t addr, struct gr_why **ret) GR_MUST_CHECK;
void gr_why_destroy(struct gr_why *why);

/** Objects of one span class (runtime/mheap.go: spanClass). */
struct gr_class_total {
	uint8_t spanclass;   /**< Size class << 1 | noscan. */
	uint64_t elem_bytes; /**< Of a slot; 0 for large objects. */
	struct gr_total allocated, reached;
};

/** One object in which what is allocated and what is reached differ. */
struct gr_difference {
	uint64_t addr;
	uint64_t bytes;
	const char *type; /**< Or "" if nothing tells. */
	/** Why; NULL: no explanation, which should not be. */
	const char *reason;
};

/** A pointer into a slot that is not allocated. */
struct gr_free_slot {
	uint64_t addr;	  /**< Its value. */
	uint64_t held_by; /**< Base of the object it lies in; 0: a root. */
};

/** How many of them are kept. */
#define GR_FREE_SLOTS_MAX 20

/** The answer to `goref verify`. Belongs to the caller. */
struct gr_verdict {
	struct gr_total allocated, reached;
	/**
	 * Objects that the last collection found alive and that no allocation
	 * has come near since; and those of them that are reached. If most
	 * are not, perhaps a kind of root is not seen.
	 */
	struct gr_total kept, kept_reached;
	bool is_most_lost;
	uint64_t free_slot_pointers;
	struct gr_free_slot free_slots[GR_FREE_SLOTS_MAX]; /**< The first. */
	size_t nfree_slots;
	/** Pointers in reached memory to objects that were not reached. */
	uint64_t missed_pointers;
	/** The runtime's own statistics, and the same figures from spans. */
	bool has_stats;
	struct gr_total stats, rebuilt;
	struct gr_class_total *classes; /**< Where the two differ. */
	size_t nclasses;
	struct gr_difference *differences; /**< The first, by address. */
	size_t ndifferences;
	uint64_t unexplained; /**< 0: everything is accounted for. */
	struct gr_gaps gaps;
};

/**
 * Hold the walk against the allocator: every allocated object is reached or
 * has a reason not to be, no precise pointer leads to a free slot, and the
 * runtime's own totals come out to the byte. At most @p max_differences.
 */
struct gr_error *gr_scan_verify(struct gr_scan *scan, size_t max_differences,
				struct gr_verdict **ret) GR_MUST_CHECK;
void gr_verdict_destroy(struct gr_verdict *verdict);

/**
 * Call @p emit with the base address (behind a malloc header) and slot size
 * of every reached object, by address. An error of @p emit ends it.
 */
struct gr_error *gr_scan_objects(struct gr_scan *scan,
				 struct gr_error *(*emit)(void *ctx,
							  uint64_t addr,
							  uint64_t bytes),
				 void *ctx) GR_MUST_CHECK;

/**
 * Check that the libraries are the ones we were built for, and that the
 * loader bound our symbols to them. Once, when the extension is loaded.
 */
struct gr_error *gr_check_libraries(void) GR_MUST_CHECK;

#endif /* GR_SCANNER_H */
