/* SPDX-License-Identifier: Apache-2.0 */
/**
 * answers: questions about single functions (their variables at a pc, their
 * captures, their first parameter) and the answers to them. With these, the
 * cache can answer the next time without opening the debug information.
 *
 * This part knows the questions of dwarf.h, but neither DWARF nor files.
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
	GR_ASK_ALL_LOCALS,  /**< first, count: of the locals, lost ones too. */
	GR_NQUESTIONS,
};

/** Are its answers locals? */
static inline bool gr_question_is_of_locals(uint32_t question)
{
	return question == GR_ASK_LOCALS || question == GR_ASK_ALL_LOCALS;
}

/** One question, and the place of its answer. */
struct gr_answer {
	uint64_t pc; /**< Questions on locals have one; else 0. */
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
struct gr_dwarf_answers {
	struct gr_answer_vector rows;
	size_t nsorted;
	/** All answers are kept, each question once. */
	bool is_unlimited;
	struct gr_local_vector locals;
	struct gr_capture_vector captures;
};

void gr_answers_deinit(struct gr_dwarf_answers *answers);

/** The order of questions, for qsort(). */
int gr_answer_compare(const void *a, const void *b);

/** The answer among the sorted ones, or NULL. */
const struct gr_answer *gr_answers_find(const struct gr_dwarf_answers *answers,
					enum gr_question question,
					uint32_t function, uint64_t pc);

/**
 * Keep an answer. It is dropped if there are too many answers or too little
 * memory. @p rows are @p count locals or captures; for GR_ASK_FIRST_PARAM, a
 * type.
 */
void gr_answers_add(struct gr_dwarf_answers *answers, enum gr_question question,
		    uint32_t function, uint64_t pc, const void *rows,
		    size_t count);

#endif /* GR_DWARF_ANSWERS_H */
