/* SPDX-License-Identifier: Apache-2.0 */
/**
 * answers: what was asked of single functions (their variables at a pc, their
 * captures, their first parameter) and what came out, so that the cache can
 * answer it the next time without opening the debug information.
 *
 * Knows the questions of dwarf.h; not DWARF, not files.
 */
#ifndef GR_DWARF_ANSWERS_H
#define GR_DWARF_ANSWERS_H

#include "base/base.h"
#include "base/vector.h"
#include "dwarf/dwarf.h"

enum gr_question {
	GR_ASK_LOCALS,	    /**< first, count: of the locals. */
	GR_ASK_CAPTURES,    /**< first, count: of the captures. */
	GR_ASK_FIRST_PARAM, /**< first: a type, or GR_DWARF_NONE. */
	GR_NQUESTIONS,
};

/** One question, and where its answer is. */
struct gr_answer {
	uint64_t pc; /**< GR_ASK_LOCALS; else 0. */
	uint32_t function;
	uint32_t question; /**< enum gr_question. */
	uint32_t first, count;
};

GR_VECTOR(gr_answer_vector, struct gr_answer);
GR_VECTOR(gr_local_vector, struct gr_dwarf_local);
GR_VECTOR(gr_capture_vector, struct gr_dwarf_capture);

/**
 * All answers so far.
 *
 * Invariant: rows [0, nsorted) are in order of gr_answer_compare().
 */
struct gr_answers {
	struct gr_answer_vector rows;
	size_t nsorted;
	struct gr_local_vector locals;
	struct gr_capture_vector captures;
};

void gr_answers_deinit(struct gr_answers *answers);

/** Order of questions, for qsort(). */
int gr_answer_compare(const void *a, const void *b);

/** The answer among the sorted ones, or NULL. */
const struct gr_answer *gr_answers_find(const struct gr_answers *answers,
					enum gr_question question,
					uint32_t function, uint64_t pc);

/**
 * Keep an answer. What is too much, or finds no memory, is not kept.
 * @p rows are @p count locals or captures; for GR_ASK_FIRST_PARAM a type.
 */
void gr_answers_add(struct gr_answers *answers, enum gr_question question,
		    uint32_t function, uint64_t pc, const void *rows,
		    size_t count);

#endif /* GR_DWARF_ANSWERS_H */
