/* SPDX-License-Identifier: Apache-2.0 */
/** holders: who keeps an object alive, by the object graph. */
#ifndef GR_HOLDERS_H
#define GR_HOLDERS_H

#include "base/base.h"
#include "base/error.h"
#include "naming/vertex.h"

struct gr_scan;

/** A goroutine, in one line. Strings belong to the scan. */
struct gr_goroutine_brief {
	uint64_t id;		 /**< 0: there is none. */
	const char *state;	 /**< "waiting" */
	const char *wait_reason; /**< "chan receive", or "" */
	const char *function;	 /**< That it began with, or "". */
};

/** A vertex on a path, and the word that leads to it. */
struct gr_path_hop {
	struct gr_vertex_info vertex;
	/** A root's name; or the field or element of the hop before that has
	 * the pointer to an object, "" if that is a variable that is itself the
	 * pointer. */
	const char *name;
	/** Address of that pointer; 0: it lies in no memory, or a root. */
	uint64_t word_addr;
	bool is_conservative; /**< As gr_link.is_conservative. */
	uint32_t left_out;    /**< Hops before it that are not described. */
};

/** A shortest path from a root, which is its first hop, to the object. */
struct gr_holder_path {
	struct gr_path_hop *hops;
	size_t nhops;
	struct gr_goroutine_brief goroutine; /**< The root's. */
};

/** A root that reaches the object. */
struct gr_reaching_root {
	struct gr_vertex_info vertex;
	uint32_t distance; /**< References from it to the object. */
	struct gr_goroutine_brief goroutine;
};

/** Roots of one name and kind. */
struct gr_holder_root_group {
	const char *name, *kind;
	uint64_t roots;
	uint32_t least_distance;
	uint64_t goroutine_id; /**< The nearest one's; 0: none. */
};

#define GR_HOLDER_KINDS(X)        \
	X(ROOT, "root")           \
	X(REFERENCE, "reference") \
	X(GOROUTINE, "goroutine") \
	X(SEVERAL, "several")

enum gr_holder_kind {
#define X(id, name) GR_HOLDER_##id,
	GR_HOLDER_KINDS(X)
#undef X
};

/**
 * The holder that all paths have in common, as near to the top as possible.
 *
 * - root: all paths begin at this root.
 * - reference: they do, and go over one pointer of it, which @ref name names.
 * - goroutine: they begin at roots of this goroutine.
 * - several: no root and no goroutine is on all of them. But an object may be.
 */
struct gr_holder {
	const char *kind; /**< By GR_HOLDER_KINDS. */
	/** The root or goroutine; for several roots, the object that is on all
	 * paths if @ref has_vertex. */
	struct gr_vertex_info vertex;
	bool has_vertex;
	const char *name; /**< `main.sessions`, `main.state.sessions`; or "" */
	/** Bytes of slots that would be freed without that, and the part of them
	 * in blocks of C. */
	uint64_t freed_bytes, freed_c_bytes;
	struct gr_goroutine_brief goroutine; /**< A stack's. */
	/** Roots that reach the object, if several; there may be more than
	 * those that were counted. */
	uint32_t nroots;
	bool is_more;
};

/** The answer. Belongs to the caller. */
struct gr_holders {
	/** The object is garbage, or only over what was left out. */
	bool is_reachable;
	/** The object's, and the part of it in blocks of C. */
	uint64_t retained_bytes, retained_c_bytes;
	struct gr_holder holder;
	/** By the tiers of their roots (mark/walk.h), then by length. */
	struct gr_holder_path *paths;
	size_t npaths;
	bool is_complete;		/**< No other root reaches it. */
	struct gr_reaching_root *roots; /**< In the same order. */
	size_t nroots;
	uint64_t all_roots; /**< If they were asked for: how many there are. */
	struct gr_holder_root_group *groups; /**< Most roots first. */
	size_t ngroups;
	uint64_t ungrouped; /**< Roots in no group: there are too many. */
};

struct gr_holders_options {
	uint32_t max_paths; /**< Paths to make. */
	uint32_t max_roots; /**< Roots to describe, if all are searched. */
	bool all_roots;	    /**< Search all roots, and count them. */
	/** Leave weak edges out of paths and roots (weak.h). */
	bool exclude_weak;
};

/** Find who holds the object that has the byte at @p addr. */
struct gr_error *gr_scan_holders(struct gr_scan *scan, uint64_t addr,
				 const struct gr_holders_options *options,
				 struct gr_holders **ret) GR_MUST_CHECK;
void gr_holders_destroy(struct gr_holders *holders);

#endif /* GR_HOLDERS_H */
