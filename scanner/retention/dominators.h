/* SPDX-License-Identifier: Apache-2.0 */
/** dominators: the dominator tree of a stop: what keeps how much alive. */
#ifndef GR_DOMINATORS_H
#define GR_DOMINATORS_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "mark/node.h"
#include "mark/options.h"

struct gr_answers;
struct gr_scan;

/** Levels that an answer can have: no tool shows more. */
enum { GR_DOMINATORS_MAX_DEPTH = 1024 };

struct gr_dominators_options {
	/** Below these; without any, from the top. */
	const struct gr_place *places;
	size_t nplaces;
	uint32_t max_depth;    /**< Levels below the first row. */
	uint32_t max_children; /**< Those of each row; 0: all. */
	uint32_t max_rows;     /**< Those that keep most; 0: all. */
	uint64_t min_bytes;    /**< Rows that keep less are left out. */
	enum gr_weight weight; /**< The unit of all sizes. */
	/** Fill retained_objects, and name single objects and goroutines like
	 * several: names of two stops can be compared. */
	bool is_view;
};

/**
 * A row of the tree: a vertex, or children of one row that are merged: objects
 * of one type, roots of one name, goroutines with the same first function. What
 * an object dominates directly and is of its own type belongs to its row, too:
 * a linked list, the pieces of a map. Strings belong to the scan.
 */
struct gr_dominator {
	const char *name;
	const char *kind;      /**< As in gr_vertex_info. */
	const char *type;      /**< The objects' or variable's; or "". */
	uint64_t addr;	       /**< A single object's or variable's; else 0. */
	uint64_t goroutine_id; /**< As in gr_vertex_info; of a single one. */
	uint32_t depth;	       /**< 0: the first row. */
	uint32_t vertices;     /**< Vertices that are merged in it. */
	uint64_t objects;      /**< Objects among them; 0: none is one. */
	uint64_t bytes;	       /**< The objects' own bytes. */
	/** With C memory; and the part of it in blocks of C. */
	uint64_t retained_bytes, retained_c_bytes;
	uint64_t retained_objects; /**< 0 unless it is a view. */
	/** Rows directly below that are left out, and what these keep. */
	uint64_t cut;
	uint64_t cut_bytes, cut_c_bytes;
};

/** The answer. Belongs to the caller. */
struct gr_dominators {
	/** With C memory; and the part of it in blocks of C. */
	uint64_t reached_bytes, reached_c_bytes;
	/**
	 * Parents before children, and most retained bytes first. The first
	 * row is the top, or all that was asked for. A row's own bytes, and the
	 * retained bytes of the rows directly below with those left out, add up
	 * to its own retained bytes.
	 */
	struct gr_dominator *rows;
	size_t nrows;
	/** Each one that was asked for, in that order. */
	struct gr_dominator *asked;
	size_t nasked;
	/** All that was asked for keeps this alive together: the sum of the
	 * first row, and what only several of them hold. */
	struct gr_total together;
	uint64_t together_c_bytes; /**< The part of it in blocks of C. */
	/** The gaps of the target and of the walk. */
	struct gr_gaps gaps;
};

/**
 * The dominator tree, from the top or below places. The groups of roots, such
 * as all package variables, are no rows: what they hold is directly below the
 * top, and so is what several of them hold.
 *
 * @return GR_ERROR_NOT_FOUND if a place is no variable and no reached object.
 */
struct gr_error *gr_scan_dominators(struct gr_scan *scan,
				    const struct gr_dominators_options *options,
				    struct gr_dominators **ret) GR_MUST_CHECK;
/** The same for a question that has entered. */
struct gr_error *gr_dominators_find(struct gr_answers *answers,
				    const struct gr_dominators_options *options,
				    struct gr_dominators **ret) GR_MUST_CHECK;
void gr_dominators_destroy(struct gr_dominators *dominators);

#endif /* GR_DOMINATORS_H */
