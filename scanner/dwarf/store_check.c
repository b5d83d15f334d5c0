// SPDX-License-Identifier: Apache-2.0
#include "dwarf/store_check.h"

enum { BYTES_A_STEP = 64 };

bool gr_store_check_step(struct gr_store_check *check, uint64_t n)
{
	if (check && check->dwarf && !check->err)
		check->err = gr_dwarf_step(check->dwarf, n);
	return !check || !check->err;
}

bool gr_store_check_bytes(struct gr_store_check *check, uint64_t bytes)
{
	return gr_store_check_step(check, bytes / BYTES_A_STEP + 1);
}

// A stored bool may hold any byte.
static bool is_bool(const bool *flag)
{
	uint8_t byte;

	memcpy(&byte, flag, 1);
	return byte <= 1;
}

static bool is_type(uint32_t type, size_t ntypes)
{
	return type == GR_DWARF_NONE || type < ntypes;
}

bool gr_store_check_types(struct gr_store_check *check,
			  const struct gr_dwarf *dwarf)
{
	size_t n = dwarf->types.size, nfields = dwarf->fields.size;

	for (size_t i = 0; i < n; i++) {
		const struct gr_dwarf_type *type = &dwarf->types.data[i];
		if (!is_type(type->elem, n) || !is_type(type->key, n) ||
		    !is_type(type->header, n) || type->kind >= 32 ||
		    !is_bool(&type->is_interface_with_methods) ||
		    type->nfields > GR_DWARF_FIELDS_MAX ||
		    type->nfields > nfields ||
		    type->first_field > nfields - type->nfields ||
		    dwarf->canonical[i] >= n || !gr_store_check_step(check, 1))
			return false;
	}
	for (size_t i = 0; i < nfields; i++)
		if (!is_type(dwarf->fields.data[i].type, n) ||
		    !is_bool(&dwarf->fields.data[i].is_embedded) ||
		    !gr_store_check_step(check, 1))
			return false;
	for (size_t i = 0; i < dwarf->variables.size; i++)
		if (!is_type(dwarf->variables.data[i].type, n) ||
		    !gr_store_check_step(check, 1))
			return false;
	for (size_t i = 0; i < dwarf->constants.size; i++)
		if (!is_type(dwarf->constants.data[i].type, n) ||
		    !gr_store_check_step(check, 1))
			return false;
	return true;
}

bool gr_store_check_index(struct gr_store_check *check,
			  const struct gr_index *index, size_t nslots,
			  size_t nrows)
{
	size_t used = 0;

	if (!nslots || nslots & (nslots - 1))
		return false;
	for (size_t i = 0; i < nslots; i++) {
		if (!gr_store_check_step(check, 1))
			return false;
		if (index->slots[i] == UINT32_MAX)
			continue;
		if (index->slots[i] >= nrows)
			return false;
		used++;
	}
	return used <= nslots / 2;
}

static bool local_is_fine(const struct gr_dwarf_local *local, size_t ntypes)
{
	if (!is_type(local->type, ntypes) || !is_bool(&local->is_param) ||
	    local->npieces > GR_DWARF_PIECES_MAX)
		return false;
	for (size_t i = 0; i < GR_DWARF_PIECES_MAX; i++)
		if ((unsigned int)local->pieces[i].kind > GR_LOCATION_UNKNOWN)
			return false;
	return true;
}

static bool answer_is_fine(const struct gr_dwarf *dwarf,
			   const struct gr_answer *answer)
{
	size_t size = gr_question_is_of_locals(answer->question) ?
			      dwarf->answers.locals.size :
			      dwarf->answers.captures.size;

	if (answer->question == GR_ASK_FIRST_PARAM)
		return is_type(answer->first, dwarf->types.size);
	return answer->question < GR_NQUESTIONS && answer->first <= size &&
	       answer->count <= size - answer->first;
}

bool gr_store_check_answers(struct gr_store_check *check,
			    const struct gr_dwarf *dwarf)
{
	const struct gr_dwarf_answers *answers = &dwarf->answers;
	size_t ntypes = dwarf->types.size;

	for (size_t i = 0; i < answers->locals.size; i++)
		if (!local_is_fine(&answers->locals.data[i], ntypes) ||
		    !gr_store_check_step(check, GR_DWARF_PIECES_MAX))
			return false;
	for (size_t i = 0; i < answers->captures.size; i++)
		if (!is_type(answers->captures.data[i].type, ntypes) ||
		    !is_bool(&answers->captures.data[i].by_reference) ||
		    !gr_store_check_step(check, 1))
			return false;
	for (size_t i = 0; i < answers->rows.size; i++)
		if (!answer_is_fine(dwarf, &answers->rows.data[i]) ||
		    (i && gr_answer_compare(&answers->rows.data[i - 1],
					    &answers->rows.data[i]) >= 0) ||
		    !gr_store_check_step(check, 1))
			return false;
	return true;
}
