/* SPDX-License-Identifier: Apache-2.0 */
/**
 * paths: the reference tree as a profile shows it. Equal paths (same names,
 * same labels) become one, and the smallest leaves fold into their parents
 * until the profile is small enough. Sums never change.
 */
#ifndef GR_PATHS_H
#define GR_PATHS_H

#include "scanner.h"

#define GR_PATH_NONE UINT32_MAX

enum {
	/** Longer paths end at this level; no tool shows more. */
	GR_PATH_MAX_DEPTH = 1024,
};

/** What pprof calls a location: a name, and a place if the root has one. */
struct gr_path_place {
	const char *name;
	const char *file; /**< Or NULL. */
	uint32_t line;
};

/** The labels of a root. */
struct gr_path_label {
	const char *root_kind;
	const char *goroutine_state; /**< Or NULL. */
	uint64_t goroutine_id;	     /**< Or 0. */
};

/** A node of the merged tree. A parent's number is smaller. */
struct gr_path {
	uint32_t parent; /**< GR_PATH_NONE: a root. */
	uint32_t place;	 /**< Index into the places. */
	uint32_t label;	 /**< Index into the labels. */
	uint32_t depth;	 /**< 1: a root. */
	uint64_t objects;
	uint64_t bytes;
};

/**
 * Invariants: paths are in the order in which the tree first has them;
 * the sums of objects and of bytes are those of the tree.
 */
struct gr_paths {
	struct gr_path *paths;
	size_t npaths;
	struct gr_path_place *places;
	size_t nplaces;
	struct gr_path_label *labels;
	size_t nlabels;
	uint64_t samples;   /**< Paths with objects. */
	uint64_t folded;    /**< Of those there were, what folding took. */
	uint64_t shortened; /**< Nodes past GR_PATH_MAX_DEPTH. */
};

/** Merge the tree's equal paths. Names stay the caller's. */
struct gr_error *gr_paths_init(struct gr_paths *paths,
			       const struct gr_node *nodes, size_t nnodes,
			       const struct gr_root_total *roots,
			       size_t nroots) GR_MUST_CHECK;
void gr_paths_deinit(struct gr_paths *paths);

/**
 * Fold the smallest leaves (by bytes, then objects, the later one first) into
 * their parents until at most @p max_samples paths have objects. Roots go
 * last, into one root named `$other_roots$`. After an error the paths are of
 * no more use.
 */
struct gr_error *gr_paths_fold(struct gr_paths *paths,
			       uint64_t max_samples) GR_MUST_CHECK;

#endif /* GR_PATHS_H */
