// SPDX-License-Identifier: Apache-2.0
// The objects that a walk reaches, one by one and as text.
#include "walks/reached.h"

#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "scan/mark.h"

#include <inttypes.h>

enum {
	PIECE_BYTES = 1 << 16, // that are written at once
	LINE_BYTES = 48,       // at most: 0x, 16 digits, 20 digits
};

struct gr_error *gr_reached_mark(struct gr_answers *answers,
				 struct gr_ledger *ledger,
				 struct gr_marking *ret)
{
	const struct gr_walk_options options = { .max_depth = 1,
						 .max_nodes = 1 };
	struct gr_gaps *gaps = &answers->stop->gaps;
	struct gr_gaps before = *gaps;
	struct gr_error *err;

	gr_kept_walk_drop(answers);
	gr_answers_make_room(answers);
	err = gr_answers_mark(answers, &options, false, ledger, ret);
	ledger->gaps = *gaps;
	gr_gaps_end_walk(gaps, &before);
	return err;
}

struct gr_error *gr_scan_each_reached(struct gr_scan *scan,
				      struct gr_error *(*emit)(void *ctx,
							       uint64_t addr,
							       uint64_t bytes),
				      void *ctx)
{
	_cleanup_(gr_marking_deinit) struct gr_marking m = { 0 };
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_ledger unused = { 0 };
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = gr_reached_mark(answers, &unused, &m);
	err = gr_sigbus_guard_end(&guard, err);
	const struct gr_heap *heap = answers->stop->heap;
	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		err = gr_runtime_step(heap->rt, span->nelems);
		for (uint32_t j = 0; !err && j < span->nelems; j++)
			if (gr_marking_is_reached(&m, span->first_obj + j))
				err = emit(ctx,
					   gr_span_slot_addr(span, j) +
						   span->header_bytes,
					   span->elem_bytes -
						   span->header_bytes);
	}
	return err;
}

struct list {
	struct gr_error *(*write)(void *ctx, const char *text, size_t bytes);
	void *ctx;
	struct gr_total *total;
	char *text; // of PIECE_BYTES
	size_t bytes;
};

static struct gr_error *write_piece(struct list *list)
{
	size_t bytes = list->bytes;

	list->bytes = 0;
	if (!bytes)
		return NULL;
	return list->write(list->ctx, list->text, bytes);
}

static struct gr_error *add_line(void *ctx, uint64_t addr, uint64_t bytes)
{
	struct list *list = ctx;

	list->total->objects++;
	list->total->bytes += bytes;
	list->bytes += (size_t)snprintf(list->text + list->bytes, LINE_BYTES,
					"0x%" PRIx64 " %" PRIu64 "\n", addr,
					bytes);
	return list->bytes > PIECE_BYTES - LINE_BYTES ? write_piece(list) :
							NULL;
}

struct gr_error *gr_scan_write_reached(
	struct gr_scan *scan,
	struct gr_error *(*write)(void *ctx, const char *text, size_t bytes),
	void *ctx, struct gr_total *total)
{
	_cleanup_free_ char *text = malloc(PIECE_BYTES);
	struct list list = {
		.write = write,
		.ctx = ctx,
		.total = total,
		.text = text,
	};

	memset(total, 0, sizeof(*total));
	if (!text)
		return &gr_enomem;
	struct gr_error *err = gr_scan_each_reached(scan, add_line, &list);
	return err ? err : write_piece(&list);
}
