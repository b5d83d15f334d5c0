// SPDX-License-Identifier: Apache-2.0
#include "waste/total.h"

#include "base/cleanup.h"
#include "waste/names.h"
#include "waste/objects/objects.h"
#include "waste/release.h"

/* Is a saving one of a row that is listed? */
static bool is_listed(const struct gr_waste_run *run, enum gr_waste_check check,
		      uint64_t key)
{
	const struct gr_finding *row =
		gr_findings_find(&run->findings, check, key);

	return row && gr_waste_is_listed(run, row->row);
}

struct total {
	const uint64_t *gone; /* a bit an object that would be; or NULL */
	uint32_t checks;      /* that have listed rows */
};

/* Add what the rows of an object save together. */
static struct gr_error *add_object(struct gr_waste_run *run,
				   const struct gr_waste_object *object,
				   void *ctx)
{
	const struct total *total = ctx;
	uint32_t left = object->kind->checks & total->checks;
	uint64_t most = 0, parts = 0;

	if (total->gone && gr_bitmap_test(total->gone, object->obj))
		return NULL;
	for (; left; left &= left - 1) {
		enum gr_waste_check id = __builtin_ctz(left);
		const struct gr_check *check = gr_waste_check(run, id);
		struct gr_saving saving = { 0 };

		if (check->judge)
			check->judge(run, object, &saving);
		if (!saving.bytes || !is_listed(run, id, saving.key))
			continue;
		if (id == GR_WASTE_SLICE_CAPACITY ||
		    id == GR_WASTE_PINNED_ARRAY)
			parts += saving.bytes;
		else if (saving.bytes > most)
			most = saving.bytes;
	}
	run->waste->total_bytes += most > parts ? most : parts;
	return NULL;
}

/* Add the listed rows that are by object, or those that are not and have no
 * cuts. */
static void add_rows(struct gr_waste_run *run, bool by_object)
{
	const struct gr_finding_vector *rows = &run->findings.rows;

	for (uint32_t i = 0; i < rows->size; i++) {
		const struct gr_finding *row = &rows->data[i];

		if (!gr_waste_check(run, row->check)->judge != by_object &&
		    row->first_cut == row->end_cut && !row->is_advice &&
		    gr_waste_is_listed(run, i))
			run->waste->total_bytes += row->bytes;
	}
}

/* The checks of listed rows by object: their objects have to be judged
 * again. */
static uint32_t judging_checks(const struct gr_waste_run *run)
{
	uint32_t checks = 0;

	for (uint32_t i = 0; i < run->findings.rows.size; i++) {
		enum gr_waste_check id = run->findings.rows.data[i].check;

		if (gr_waste_is_listed(run, i) &&
		    gr_waste_check(run, id)->judge)
			checks |= 1u << id;
	}
	return checks;
}

/* Does no object have rows of two checks? */
static bool are_apart(const struct gr_waste_run *run, uint32_t checks)
{
	const uint32_t *of_way = run->kinds.checks_of_way;

	// Bounded by the ways.
	for (size_t i = 0; i < run->parents->ways.size; i++)
		if (__builtin_popcount(of_way[i] & checks) > 1)
			return false;
	return true;
}

struct gr_error *gr_waste_add_up_total(struct gr_waste_run *run)
{
	_cleanup_free_ uint64_t *gone = NULL;
	struct total total = { .checks = judging_checks(run) };
	uint64_t bytes = 0;
	struct gr_error *err = gr_waste_release(run, &gone, &bytes);

	if (err)
		return err;
	run->waste->total_bytes += bytes;
	add_rows(run, false);
	if (!gone && are_apart(run, total.checks)) {
		add_rows(run, true);
		return NULL;
	}
	total.gone = gone;
	return gr_waste_each(run, total.checks, add_object, &total);
}
