// SPDX-License-Identifier: Apache-2.0
#include "dwarf/answers.h"

// Answers beyond these limits are decoded each time. The limits allow 64 k
// questions and about 7 MB of variables.
enum { ROWS_MAX = 1 << 16, LOCALS_MAX = 1 << 14, CAPTURES_MAX = 1 << 16 };

// Unlimited answers are sorted when more are not.
enum { UNSORTED_MAX = 256 };

void gr_answers_deinit(struct gr_dwarf_answers *answers)
{
	gr_answer_vector_deinit(&answers->rows);
	gr_local_vector_deinit(&answers->locals);
	gr_capture_vector_deinit(&answers->captures);
	answers->nsorted = 0;
}

int gr_answer_compare(const void *a, const void *b)
{
	const struct gr_answer *x = a, *y = b;

	if (x->question != y->question)
		return x->question < y->question ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

const struct gr_answer *gr_answers_find(const struct gr_dwarf_answers *answers,
					enum gr_question question,
					uint32_t function, uint64_t pc)
{
	struct gr_answer key = {
		.pc = pc,
		.function = function,
		.question = question,
	};

	if (!answers->nsorted)
		return NULL;
	return bsearch(&key, answers->rows.data, answers->nsorted, sizeof(key),
		       gr_answer_compare);
}

static bool add_locals(struct gr_dwarf_answers *answers,
		       const struct gr_dwarf_local *rows, size_t count)
{
	struct gr_local_vector *locals = &answers->locals;

	if (!answers->is_unlimited && count > LOCALS_MAX - locals->size)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!gr_local_vector_append(locals, rows[i]))
			return false;
	return true;
}

static bool add_captures(struct gr_dwarf_answers *answers,
			 const struct gr_dwarf_capture *rows, size_t count)
{
	struct gr_capture_vector *captures = &answers->captures;

	if (!answers->is_unlimited && count > CAPTURES_MAX - captures->size)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!gr_capture_vector_append(captures, rows[i]))
			return false;
	return true;
}

/* Sort all answers, and keep each question once. */
static void sort(struct gr_dwarf_answers *answers)
{
	struct gr_answer_vector *rows = &answers->rows;
	size_t kept = 0;

	qsort(rows->data, rows->size, sizeof(*rows->data), gr_answer_compare);
	for (size_t i = 0; i < rows->size; i++)
		if (!kept ||
		    gr_answer_compare(&rows->data[kept - 1], &rows->data[i]))
			rows->data[kept++] = rows->data[i];
	rows->size = answers->nsorted = kept;
}

void gr_answers_add(struct gr_dwarf_answers *answers, enum gr_question question,
		    uint32_t function, uint64_t pc, const void *rows,
		    size_t count)
{
	struct gr_answer answer = {
		.pc = pc,
		.function = function,
		.question = question,
		.count = (uint32_t)count,
	};
	bool is_kept = answers->is_unlimited || answers->rows.size < ROWS_MAX;

	if (gr_question_is_of_locals(question)) {
		answer.first = (uint32_t)answers->locals.size;
		is_kept = is_kept && add_locals(answers, rows, count);
	} else if (question == GR_ASK_CAPTURES) {
		answer.first = (uint32_t)answers->captures.size;
		is_kept = is_kept && add_captures(answers, rows, count);
	} else {
		memcpy(&answer.first, rows, sizeof(answer.first));
	}
	if (is_kept)
		gr_answer_vector_append(&answers->rows, answer);
	// A question that is found is not asked again.
	if (answers->is_unlimited && answers->rows.size - answers->nsorted >
					     UNSORTED_MAX + answers->nsorted)
		sort(answers);
}
