/* SPDX-License-Identifier: Apache-2.0 */
/** findings: the rows of an answer while they are counted. */
#ifndef GR_WASTE_FINDINGS_H
#define GR_WASTE_FINDINGS_H

#include "base/error.h"
#include "base/vector.h"
#include "graph/keys.h"
#include "waste/objects/answer.h"

/** A row of a check, by its key. */
struct gr_finding {
	enum gr_waste_check check;
	uint64_t key;
	uint64_t bytes, count;
	uint64_t example; /**< The lowest address. */
	/** Texts of a finding that find() has added; else NULL. */
	const char *type, *field, *advice;
	/** It is printed though it saves no bytes. */
	bool is_advice;
	/** Its bytes lie in no object of the heap: stacks, say. The total
	 * counts all of them. */
	bool is_outside;
	/** Its bytes are objects that nothing would hold: those behind these
	 * cuts [first_cut, end_cut) of gr_findings.cuts. */
	uint32_t first_cut, end_cut;
	/** The row that it is counted in, once rows of one name are one. */
	uint32_t row;
	/** Below min_share, or about a type of the standard library. */
	bool is_left_out;
};
GR_VECTOR(gr_finding_vector, struct gr_finding);

/** A vertex of the object graph that would be gone: an object or a root. If
 * @ref holder is not GR_VERTEX_NONE, only its references to the vertex are. */
struct gr_cut {
	uint32_t vertex;
	uint32_t holder;
};
GR_VECTOR(gr_cut_vector, struct gr_cut);

struct gr_findings {
	struct gr_finding_vector rows;
	struct gr_keys keys[GR_NWASTE_CHECKS];
	struct gr_cut_vector cuts;
	/** The row of the last saving of each check: the next one often has the
	 * same key. */
	uint32_t last[GR_NWASTE_CHECKS];
};

void gr_findings_deinit(struct gr_findings *findings);

/** Count what an object saves. False: no memory is left. */
bool gr_findings_count(struct gr_findings *findings, enum gr_waste_check check,
		       uint64_t key, uint64_t bytes,
		       uint64_t example) GR_MUST_CHECK;

/** Add a row with texts, as find() has made it: its check, bytes, count,
 * example, type and field, and its cuts. */
struct gr_error *gr_findings_add(struct gr_findings *findings,
				 const struct gr_finding *row) GR_MUST_CHECK;

/** The row of a key, or NULL. */
struct gr_finding *gr_findings_find(const struct gr_findings *findings,
				    enum gr_waste_check check, uint64_t key);

#endif /* GR_WASTE_FINDINGS_H */
