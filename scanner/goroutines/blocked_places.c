// SPDX-License-Identifier: Apache-2.0
#include "goroutines/blocked_places.h"

#include "goroutines/goroutine_info.h"
#include "scan/answers.h"

#include <inttypes.h>

void gr_blocked_places_deinit(struct gr_blocked_places *places)
{
	gr_keys_deinit(&places->by_pc);
	gr_keys_deinit(&places->by_text);
	gr_blocked_place_vector_deinit(&places->rows);
}

/* The row of a place, made if it is new: calls at several pcs may be in one
 * line. */
static struct gr_error *find_row(struct gr_blocked_places *places,
				 const struct gr_goroutine *g, uint32_t *ret)
{
	struct gr_goroutine_info info;
	struct gr_error *err = gr_goroutine_info_read(places->stop, g, &info);

	if (err)
		return err;
	const struct gr_blocked_place row = { .at = info.user,
					      .wait_reason = info.wait_reason };
	const char *text = gr_arena_internf(&places->stop->program->arena,
					    "%s\n%s:%" PRIu32 " in %s",
					    row.wait_reason, row.at.file,
					    row.at.line, row.at.function);
	if (!text)
		return &gr_enomem;
	*ret = gr_keys_find(&places->by_text, (uintptr_t)text, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = places->rows.size;
	return gr_blocked_place_vector_append(&places->rows, row) &&
			       gr_keys_add(&places->by_text, (uintptr_t)text, 0,
					   *ret) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_blocked_places_add(struct gr_blocked_places *places,
				       const struct gr_goroutine *g,
				       const struct gr_frame *frame,
				       bool is_leaked)
{
	// Each text for a reason has one address.
	uint64_t key = (frame ? frame->pc : 0) ^
		       (uintptr_t)g->wait_reason * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t is_exact = frame && frame->is_exact_pc;
	uint32_t row = gr_keys_find(&places->by_pc, key, is_exact);

	if (row == UINT32_MAX) {
		struct gr_error *err = find_row(places, g, &row);

		if (err)
			return err;
		if (!gr_keys_add(&places->by_pc, key, is_exact, row))
			return &gr_enomem;
	}
	places->rows.data[row].goroutines++;
	places->rows.data[row].leaked += is_leaked;
	return NULL;
}

static int compare_places(const void *a, const void *b)
{
	const struct gr_blocked_place *x = a, *y = b;
	int order;

	if (x->goroutines != y->goroutines)
		return x->goroutines > y->goroutines ? -1 : 1;
	order = strcmp(x->at.function, y->at.function);
	if (!order)
		order = strcmp(x->at.file, y->at.file);
	if (!order)
		order = (x->at.line > y->at.line) - (x->at.line < y->at.line);
	return order ? order : strcmp(x->wait_reason, y->wait_reason);
}

void gr_blocked_places_sort(struct gr_blocked_places *places)
{
	if (places->rows.size)
		qsort(places->rows.data, places->rows.size,
		      sizeof(*places->rows.data), compare_places);
}
