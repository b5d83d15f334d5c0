// SPDX-License-Identifier: Apache-2.0
#include "scan/running.h"

#include "goruntime/sched/sched_lists.h"
#include "scan/residency.h"
#include "scan/scan.h"

enum {
	MAX_TRIES = 3,
	/* Bad spans of a heap that is good enough, as a part of all. */
	MAX_BAD_PART = 100,
};

/* Errors that end the question. */
static bool is_final(const struct gr_error *err)
{
	return err->code == GR_ERROR_INTERRUPTED ||
	       err->code == GR_ERROR_MEMORY_LIMIT ||
	       err->code == GR_ERROR_NO_MEMORY;
}

/* Read the spans. While the process runs, a span may be freed and another be
 * made of its pages: those that contradict each other are left out. */
static struct gr_error *try_heap(struct gr_scan *scan,
				 struct gr_running_heap *heap)
{
	struct gr_stop *stop = &scan->stop;
	uint64_t *bad = &stop->gaps.count[GR_GAP_BAD_SPANS], before = *bad;

	gr_heap_destroy(stop->heap);
	stop->heap = NULL;
	struct gr_error *err = gr_heap_read(&scan->program.rt,
					    scan->program.types, &stop->heap);
	heap->bad_spans = *bad - before;
	heap->is_read = !err &&
			stop->heap->nspans / MAX_BAD_PART >= heap->bad_spans;
	if (!err || is_final(err))
		return err;
	gr_error_destroy(err);
	return NULL;
}

static struct gr_error *read_heap(struct gr_scan *scan,
				  struct gr_running_heap *heap)
{
	struct gr_error *err = NULL;

	*heap = (struct gr_running_heap){ 0 };
	for (int i = 0; !err && !heap->is_read && i < MAX_TRIES; i++) {
		if (i)
			gr_image_forget(scan->stop.image);
		err = try_heap(scan, heap);
	}
	if (err || heap->is_read)
		return err;
	// A heap without spans.
	gr_heap_destroy(scan->stop.heap);
	scan->stop.heap = calloc(1, sizeof(*scan->stop.heap));
	if (!scan->stop.heap)
		return &gr_enomem;
	scan->stop.heap->rt = &scan->program.rt;
	scan->stop.heap->types = scan->program.types;
	return NULL;
}

static struct gr_error *read_all(struct gr_scan *scan,
				 struct gr_running_heap *heap)
{
	struct gr_sched *sched = &scan->stop.sched;
	struct gr_error *err = gr_image_refresh(scan->stop.image);

	if (!err)
		err = gr_stop_read_residency(&scan->stop);
	if (!err)
		err = read_heap(scan, heap);
	sched->readable_bytes = gr_image_readable_bytes(scan->stop.image);
	return err ? err : gr_sched_read_ms(sched);
}

struct gr_error *gr_scan_read_running(struct gr_scan *scan,
				      const struct gr_target_thread *threads,
				      size_t nthreads,
				      struct gr_c_block_memo *memo,
				      struct gr_running_heap *heap,
				      struct gr_stop **ret)
{
	gr_scan_drop(scan);
	scan->stop.target.threads = threads;
	scan->stop.target.nthreads = nthreads;
	scan->stop.c_memo = memo;
	*ret = &scan->stop;
	return read_all(scan, heap);
}

void gr_scan_end_running(struct gr_scan *scan)
{
	gr_scan_drop(scan);
	gr_stop_drop_residency(&scan->stop);
	scan->stop.target.threads = NULL;
	scan->stop.target.nthreads = 0;
	scan->stop.c_memo = NULL;
}
