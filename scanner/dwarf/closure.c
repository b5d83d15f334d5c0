// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

// This file reads a closure's captures from the DIEs of its body. It also
// finds the first parameter of a function.

enum {
	CAPTURES_MAX = 1024,
	BLOCKS_MAX = 16, // how deep blocks may nest
};

static struct gr_error *visit_body(struct gr_dwarf *dwarf, Dwarf_Die parent,
				   unsigned int depth,
				   struct gr_capture_vector *ret);

static struct gr_error *add_capture(struct gr_dwarf *dwarf, Dwarf_Die handle,
				    struct gr_capture_vector *ret)
{
	struct gr_error *err;
	struct gr_die die;

	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (err || die.closure_off < GR_WORD_BYTES || !die.name ||
	    ret->size >= CAPTURES_MAX)
		return err;
	const char *name = gr_dwarf_clean_name(dwarf, die.name);
	if (!name)
		return &gr_enomem;
	struct gr_dwarf_capture capture = {
		.name = name[0] == '&' ? name + 1 : name,
		.off_bytes = die.closure_off,
		.type = gr_dwarf_type_at(dwarf, die.type_off),
		.by_reference = name[0] == '&',
	};
	return gr_capture_vector_append(ret, capture) ? NULL : &gr_enomem;
}

/* Recursion: 2^22 steps a question; 16 levels. */
static struct gr_error *visit_body(struct gr_dwarf *dwarf, Dwarf_Die parent,
				   unsigned int depth,
				   struct gr_capture_vector *ret)
{
	_cleanup_die_iter_ struct gr_die_iter iter = { 0 };
	struct gr_error *err;

	if (depth > BLOCKS_MAX)
		return NULL;
	err = gr_die_iter_init(&iter, dwarf->dbg, parent);
	while (!err && iter.handle && !gr_dwarf_is_answered(dwarf)) {
		uint16_t tag = gr_die_tag(dwarf->dbg, iter.handle);
		if (tag == DW_TAG_variable)
			err = add_capture(dwarf, iter.handle, ret);
		else if (tag == DW_TAG_lexical_block)
			err = visit_body(dwarf, iter.handle, depth + 1, ret);
		if (!err)
			err = gr_dwarf_next(dwarf, &iter);
	}
	return err;
}

static int compare_captures(const void *a, const void *b)
{
	const struct gr_dwarf_capture *x = a, *y = b;
	if (x->off_bytes != y->off_bytes)
		return x->off_bytes < y->off_bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

// Sort the captures, and keep one capture for each offset.
static void finish_captures(struct gr_capture_vector *captures)
{
	size_t kept = 0;

	if (!captures->size)
		return;
	qsort(captures->data, captures->size, sizeof(*captures->data),
	      compare_captures);
	for (size_t i = 1; i < captures->size; i++)
		if (captures->data[i].off_bytes !=
		    captures->data[kept].off_bytes)
			captures->data[++kept] = captures->data[i];
	captures->size = kept + 1;
}

static struct gr_error *copy_captures(const struct gr_dwarf *dwarf,
				      const struct gr_answer *answer,
				      struct gr_dwarf_capture **ret,
				      size_t *count)
{
	size_t bytes = answer->count * sizeof(**ret);

	*ret = malloc(bytes + 1);
	if (!*ret)
		return &gr_enomem;
	if (bytes)
		memcpy(*ret, dwarf->answers.captures.data + answer->first,
		       bytes);
	*count = answer->count;
	return NULL;
}

static struct gr_error *decode_captures(struct gr_dwarf *dwarf,
					uint32_t function,
					struct gr_dwarf_capture **ret,
					size_t *count)
{
	_cleanup_(
		gr_capture_vector_deinit) struct gr_capture_vector captures = {
		0
	};
	_cleanup_die_ Dwarf_Die handle = NULL;
	struct gr_error *err;

	err = gr_dwarf_function_die(dwarf, function, &handle);
	if (err || !handle)
		return err;
	err = visit_body(dwarf, handle, 0, &captures);
	if (err && !gr_error_catch(&err, GR_ERROR_FORMAT))
		return err;
	finish_captures(&captures);
	*count = captures.size;
	*ret = steal_ptr(captures.data);
	return NULL;
}

struct gr_error *gr_dwarf_captures(struct gr_dwarf *dwarf, uint32_t function,
				   struct gr_dwarf_capture **ret, size_t *count)
{
	const struct gr_answer *answer;
	struct gr_error *err;

	*ret = NULL;
	*count = 0;
	if (function >= dwarf->functions.size)
		return NULL;
	answer = gr_answers_find(&dwarf->answers, GR_ASK_CAPTURES, function, 0);
	if (answer)
		return copy_captures(dwarf, answer, ret, count);
	err = decode_captures(dwarf, function, ret, count);
	if (!err && (dwarf->is_cached || dwarf->is_kept))
		gr_answers_add(&dwarf->answers, GR_ASK_CAPTURES, function, 0,
			       *ret, *count);
	return err;
}

// Find the type of the first parameter among the children. Results and the
// dictionary of a generic function do not count.
static struct gr_error *first_param(struct gr_dwarf *dwarf, Dwarf_Die function,
				    uint32_t *ret)
{
	_cleanup_die_iter_ struct gr_die_iter iter = { 0 };
	struct gr_error *err;
	struct gr_die die;

	*ret = GR_DWARF_NONE;
	err = gr_die_iter_init(&iter, dwarf->dbg, function);
	while (!err && iter.handle && !gr_dwarf_is_answered(dwarf)) {
		if (gr_die_tag(dwarf->dbg, iter.handle) ==
		    DW_TAG_formal_parameter) {
			err = gr_dwarf_read_die(dwarf, iter.handle, &die);
			if (err)
				return err;
			if (!die.is_result && die.name &&
			    strcmp(die.name, ".dict") != 0) {
				*ret = gr_dwarf_type_at(dwarf, die.type_off);
				return NULL;
			}
		}
		err = gr_dwarf_next(dwarf, &iter);
	}
	return err;
}

static struct gr_error *decode_first_param(struct gr_dwarf *dwarf,
					   uint32_t function, uint32_t *ret)
{
	_cleanup_die_ Dwarf_Die handle = NULL;
	_cleanup_die_ Dwarf_Die origin = NULL;
	struct gr_error *err;
	struct gr_die die;

	*ret = GR_DWARF_NONE;
	err = gr_dwarf_function_die(dwarf, function, &handle);
	if (err || !handle)
		return err;
	err = gr_dwarf_read_die(dwarf, handle, &die);
	if (err)
		return err;
	// The abstract function has all parameters, with types.
	origin = gr_die_at(dwarf->dbg, die.origin_off);
	return first_param(dwarf, origin ? origin : handle, ret);
}

struct gr_error *gr_dwarf_first_param_type(struct gr_dwarf *dwarf,
					   uint32_t function, uint32_t *ret)
{
	const struct gr_answer *answer;
	struct gr_error *err;

	*ret = GR_DWARF_NONE;
	if (function >= dwarf->functions.size)
		return NULL;
	answer = gr_answers_find(&dwarf->answers, GR_ASK_FIRST_PARAM, function,
				 0);
	if (answer) {
		*ret = answer->first;
		return NULL;
	}
	err = decode_first_param(dwarf, function, ret);
	if (!err && (dwarf->is_cached || dwarf->is_kept))
		gr_answers_add(&dwarf->answers, GR_ASK_FIRST_PARAM, function, 0,
			       ret, 0);
	gr_error_catch(&err, GR_ERROR_FORMAT);
	return err;
}
