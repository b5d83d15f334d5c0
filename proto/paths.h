/* SPDX-License-Identifier: Apache-2.0 */
/**
 * paths: the reference tree as a profile shows it. Equal paths (same names, and
 * same labels where these count) become one, and the smallest leaves fold into
 * their parents until the profile is small enough. Sums never change.
 */
#ifndef GR_PATHS_H
#define GR_PATHS_H

#include "base/arena.h"
#include "base/error.h"
#include "mark/node.h"

#define GR_PATH_NONE UINT32_MAX

enum {
	/** Longer paths are cut off at this level; no tool shows more. */
	GR_PATH_MAX_DEPTH = 1024,
};

/** The facts that keep paths of equal names apart. */
enum gr_path_form {
	/** The kind, the state and the goroutine of the root. */
	GR_PATHS_LABELLED,
	/** The goroutine of the root, if the roots have one. */
	GR_PATHS_BY_GOROUTINE,
	/** Nothing: a path is names alone, in which `:' stands for `;'. */
	GR_PATHS_STACKS,
};

/** The tree that is merged. The caller keeps owning the names. */
struct gr_paths_input {
	const struct gr_node *nodes;
	size_t nnodes;
	const struct gr_node_line *lines; /**< NULL: only roots have lines. */
	const struct gr_root_total *roots;
	size_t nroots;
	enum gr_path_form form;
};

/**
 * A location in pprof's terms: a name and, if the root has one, a source line.
 */
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
	uint32_t parent;  /**< GR_PATH_NONE: a root. */
	uint32_t place;	  /**< Index into the places. */
	uint32_t label;	  /**< Index into the labels; that of the root. */
	uint32_t child;	  /**< First of a list, or GR_PATH_NONE. */
	uint32_t sibling; /**< The next child of the parent, or GR_PATH_NONE. */
	uint16_t depth;	  /**< 1: a root. */
	uint16_t listed;  /**< Children while merging, up to a limit. */
	uint64_t objects;
	uint64_t bytes;
};

/**
 * Invariants: paths are in the order of their first node in the tree; the sums
 * of objects and of bytes are those of the tree.
 */
struct gr_paths {
	struct gr_path *paths;
	size_t npaths;
	struct gr_path_place *places;
	size_t nplaces;
	struct gr_path_label *labels;
	size_t nlabels;
	uint64_t samples;      /**< Paths with objects. */
	uint64_t folded;       /**< Paths with objects that were folded. */
	uint64_t shortened;    /**< Nodes past GR_PATH_MAX_DEPTH. */
	struct gr_arena names; /**< Names that differ from those of nodes. */
};

/** Merge the tree's equal paths. */
struct gr_error *
gr_paths_init(struct gr_paths *paths,
	      const struct gr_paths_input *input) GR_MUST_CHECK;
void gr_paths_deinit(struct gr_paths *paths);

/**
 * Fold the smallest leaves (by bytes, then objects, the later one first) into
 * their parents until at most @p max_samples paths have objects. Roots go last,
 * into one root named `$other_roots$`. What has folded is removed, so the
 * numbers of paths change. After an error the paths must not be used.
 */
struct gr_error *gr_paths_fold(struct gr_paths *paths,
			       uint64_t max_samples) GR_MUST_CHECK;

/**
 * Link roots and children in the order of their numbers, for gr_paths_next().
 *
 * @return The first root, or GR_PATH_NONE.
 */
uint32_t gr_paths_link(struct gr_paths *paths);

/** The path after @p path, depth first: parents before their children. */
uint32_t gr_paths_next(const struct gr_paths *paths, uint32_t path);

#endif /* GR_PATHS_H */
