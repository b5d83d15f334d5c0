/* SPDX-License-Identifier: Apache-2.0 */
/** cut_sets: cuts in sets, each of which becomes a row, and what they free. */
#ifndef GR_WASTE_CUT_SETS_H
#define GR_WASTE_CUT_SETS_H

#include "graph/sets.h"
#include "mark/tree.h"
#include "waste/objects/check.h"

/** In all cuts there is a holder, or in none. */
struct gr_cut_sets {
	struct gr_cut_vector cuts;
	struct gr_u32_vector set; /**< By cut: the set that it belongs to. */
};

void gr_cut_sets_deinit(struct gr_cut_sets *sets);

/** Add a cut to a set. */
struct gr_error *gr_cut_sets_add(struct gr_waste_run *run,
				 struct gr_cut_sets *sets, uint32_t set,
				 struct gr_cut cut) GR_MUST_CHECK;

/**
 * Find what each set would free if only its own cuts were made. The object
 * graph has been made. If there are holders, all their other references count
 * as cut, too: see gr_graph_exclusive().
 *
 * @param[out] kept Of @p nsets sets, zeroed before; bytes are those of objects
 *	of Go, without blocks of C.
 */
struct gr_error *gr_cut_sets_weigh(struct gr_waste_run *run,
				   const struct gr_cut_sets *sets,
				   uint32_t nsets,
				   struct gr_kept *kept) GR_MUST_CHECK;

/**
 * Mark the object graph, which has been made, without some cuts.
 *
 * @param[out] ret_marked A bit a vertex: it is still reached. For
 *	gr_array_free().
 */
struct gr_error *gr_cuts_mark(struct gr_waste_run *run,
			      const struct gr_cut *cuts, size_t ncuts,
			      uint64_t **ret_marked) GR_MUST_CHECK;

/**
 * Add up the objects of Go that gr_cuts_mark() has not marked.
 *
 * @param bits If not NULL, their slots are set: a bit an object.
 */
struct gr_error *gr_marked_missing(struct gr_waste_run *run,
				   const uint64_t *marked, uint64_t *bits,
				   uint64_t *ret_bytes) GR_MUST_CHECK;

/**
 * Can roots of some kinds hold enough for a row? All that they alone hold is
 * below them in the forest of the walk, so this needs no object graph.
 *
 * @param kinds Bits 1 << enum gr_root_kind.
 */
struct gr_error *gr_roots_may_hold_enough(struct gr_waste_run *run,
					  uint64_t kinds,
					  bool *ret) GR_MUST_CHECK;

/** Add a row with the cuts of a set: gr_findings_add(). */
struct gr_error *gr_cut_sets_finish(struct gr_waste_run *run,
				    const struct gr_cut_sets *sets,
				    uint32_t set,
				    struct gr_finding row) GR_MUST_CHECK;

#endif /* GR_WASTE_CUT_SETS_H */
