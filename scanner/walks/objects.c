// SPDX-License-Identifier: Apache-2.0
// The objects of the heap, as text.
#include "walks/objects.h"

#include "scan/scan.h"

#include <inttypes.h>

enum {
	PIECE_BYTES = 1 << 16, // that are written at once
	LINE_BYTES = 48,       // at most: 0x, 16 digits, 20 digits
};

struct list {
	struct gr_scan *scan;
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
	struct gr_error *err = list->write(list->ctx, list->text, bytes);
	return err ? err : gr_scan_poll(list->scan);
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

struct gr_error *gr_scan_list_objects(
	struct gr_scan *scan,
	struct gr_error *(*write)(void *ctx, const char *text, size_t bytes),
	void *ctx, struct gr_total *total)
{
	_cleanup_free_ char *text = malloc(PIECE_BYTES);
	struct list list = {
		.scan = scan,
		.write = write,
		.ctx = ctx,
		.total = total,
		.text = text,
	};

	memset(total, 0, sizeof(*total));
	if (!text)
		return &gr_enomem;
	struct gr_error *err = gr_scan_objects(scan, add_line, &list);
	return err ? err : write_piece(&list);
}
