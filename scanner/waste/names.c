// SPDX-License-Identifier: Apache-2.0
#include "waste/names.h"

#include "base/hash.h"
#include "scan/answers.h"
#include "waste/objects/places.h"
#include "waste/type_owner.h"

// --------------------------------------------------------------------- names

static struct gr_error *name_by_place(struct gr_waste_run *run,
				      struct gr_finding *row)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(run->heap, row->example, &span);

	row->type = row->field = "";
	return obj == GR_OBJ_NONE ?
		       NULL :
		       gr_waste_place_name(run, obj, &row->type, &row->field);
}

static struct gr_error *name_row(struct gr_waste_run *run,
				 struct gr_finding *row)
{
	const struct gr_check *check = gr_waste_check(run, row->check);

	if (!row->advice)
		row->advice = check->advice;
	if (row->type)
		return NULL;
	if (check->is_by_place)
		return name_by_place(run, row);
	row->type = row->field = "";
	return check->name ?
		       check->name(run, row->key, row->example, &row->type,
				   &row->field, &row->advice) :
		       NULL;
}

/* Intern the names, so that equal ones have equal addresses. */
static bool intern(struct gr_waste_run *run, struct gr_finding *row)
{
	struct gr_arena *arena = &run->answers->stop->program->arena;

	row->type = gr_arena_intern(arena, row->type, strlen(row->type));
	row->field = gr_arena_intern(arena, row->field, strlen(row->field));
	return row->type && row->field;
}

// --------------------------------------------------------------------- merge

/* Add a row to the first one of its check with the same names. */
static bool merge(struct gr_waste_run *run, struct gr_keys *names, uint32_t i)
{
	struct gr_finding *rows = run->findings.rows.data, *row = &rows[i];
	uint64_t key = gr_hash_number((uintptr_t)row->type) ^
		       (uintptr_t)row->field;
	uint32_t first = gr_keys_find(names, key, row->check);

	if (first == UINT32_MAX)
		return gr_keys_add(names, key, row->check, i);
	struct gr_finding *into = &rows[first];
	// Findings with cuts or advice of their own stay apart.
	if (into->type != row->type || into->field != row->field ||
	    into->advice != row->advice || row->first_cut < row->end_cut ||
	    row->is_advice)
		return true;
	into->bytes += row->bytes;
	into->count += row->count;
	if (row->example < into->example)
		into->example = row->example;
	row->row = first;
	return true;
}

static struct gr_error *merge_all(struct gr_waste_run *run)
{
	struct gr_finding_vector *rows = &run->findings.rows;
	struct gr_keys names = { 0 };
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < rows->size; i++) {
		err = gr_runtime_step(run->heap->rt, 1);
		if (!err && !merge(run, &names, i))
			err = &gr_enomem;
	}
	gr_keys_deinit(&names);
	return err;
}

/* Can nobody do what the row's advice says? */
static bool is_fixed(const struct gr_waste_run *run,
		     const struct gr_finding *row)
{
	return gr_waste_check(run, row->check)->is_for_author &&
	       gr_type_is_of_library(&run->answers->stop->info, row->type);
}

static struct gr_error *leave_out(struct gr_waste_run *run)
{
	uint64_t least = gr_waste_min_bytes(run);
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < run->findings.rows.size; i++) {
		struct gr_finding *row = &run->findings.rows.data[i];
		bool is_others = is_fixed(run, row);
		bool is_small = !row->is_advice && row->bytes < least;

		err = gr_runtime_step(run->heap->rt, 1);
		row->is_left_out = is_others || is_small;
		if (row->row != i || is_others || !is_small)
			continue;
		run->waste->small_rows++;
		run->waste->small_bytes += row->bytes;
	}
	return err;
}

struct gr_error *gr_waste_name_rows(struct gr_waste_run *run)
{
	struct gr_finding_vector *rows = &run->findings.rows;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < rows->size; i++) {
		err = gr_runtime_step(run->heap->rt, 1);
		if (!err)
			err = name_row(run, &rows->data[i]);
		if (!err && !intern(run, &rows->data[i]))
			err = &gr_enomem;
	}
	if (!err)
		err = merge_all(run);
	return err ? err : leave_out(run);
}

// ---------------------------------------------------------------------- list

bool gr_waste_is_listed(const struct gr_waste_run *run, uint32_t row)
{
	const struct gr_finding *finding = &run->findings.rows.data[row];

	return finding->row == row && !finding->is_left_out;
}

/* Most bytes first; then in the order of the checks and of names. */
static int compare_findings(const void *a, const void *b)
{
	const struct gr_finding *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->check != y->check)
		return x->check < y->check ? -1 : 1;
	order = strcmp(x->type, y->type);
	return order ? order : strcmp(x->field, y->field);
}

static struct gr_waste_row to_row(const struct gr_finding *finding)
{
	return (struct gr_waste_row){
		.check = gr_waste_check_name(finding->check),
		.bytes = finding->bytes,
		.count = finding->count,
		.type = finding->type,
		.field = finding->field,
		.example = finding->example,
		.advice = finding->advice,
	};
}

struct gr_error *gr_waste_list_rows(struct gr_waste_run *run)
{
	struct gr_finding_vector *rows = &run->findings.rows;
	struct gr_waste *waste = run->waste;
	size_t n = 0;

	for (uint32_t i = 0; i < rows->size; i++)
		if (gr_waste_is_listed(run, i))
			rows->data[n++] = rows->data[i];
	if (n)
		qsort(rows->data, n, sizeof(*rows->data), compare_findings);
	waste->rows = calloc(n + 1, sizeof(*waste->rows));
	if (!waste->rows)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		waste->rows[i] = to_row(&rows->data[i]);
	waste->nrows = n;
	return NULL;
}
