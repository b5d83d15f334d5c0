// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-waits.h"

#include "goruntime/sched/channel.h"
#include "goruntime/sched/waits.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_channel(const struct gr_wait *row)
{
	return row->object && (row->kind == GR_WAIT_CHAN_SEND ||
			       row->kind == GR_WAIT_CHAN_RECEIVE ||
			       row->kind == GR_WAIT_SELECT_SEND ||
			       row->kind == GR_WAIT_SELECT_RECEIVE);
}

struct gr_error *put_waits(struct gr_scan *scan)
{
	const struct gr_waits *waits = scan->sched.waits;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < waits->nrows; i++) {
		const struct gr_wait *row = &waits->rows[i];
		struct gr_channel channel;

		printf("%" PRIu64 "\t%s\t%#" PRIx64 "\t%#" PRIx64 "\t%#" PRIx64,
		       scan->sched.goroutines[row->goroutine].goid,
		       gr_wait_kind_name(row->kind), row->object, row->key,
		       row->sudog);
		if (is_channel(row)) {
			err = gr_channel_read(&scan->rt, row->object, &channel);
			if (!err)
				printf("\t%" PRIu64 "\t%" PRIu64 "\t%s",
				       channel.count, channel.capacity,
				       channel.is_closed ? "closed" : "open");
		}
		putchar('\n');
	}
	return err;
}
