// SPDX-License-Identifier: Apache-2.0
/*
 * A process that stands still for as short as can be: what does not need it
 * stopped comes before, what does not need it at all comes after.
 */
#include "scan.h"

#include "target/elf.h"
#include "target/sigbus.h"

enum {
	OPEN_TRIES = 3,
	/* What is yet to come in every scan: frames' variables, types; and
	 * half as much again as the symbols, when these are kept in a file. */
	FIXED_BYTES = 4 << 20,
	/* Of a goroutine: its frames and what they hold. */
	GOROUTINE_BYTES = 1 << 10,
	/* Of an object: its node, its bits, its share of the queue. */
	OBJECT_BYTES = 12,
	/* Of a node: itself, its place in its parent's table. */
	NODE_BYTES = 96,
	/* What a copy brings a millisecond, at least on anything recent. */
	BYTES_PER_US = 4000,
	/* Roots, goroutines and stacks that come while we prepare. */
	SPARE_BYTES = 4 << 20,
};

/* Resident memory of a process; 0 if it cannot be had. */
static uint64_t resident_bytes(int32_t pid)
{
	unsigned long long size, pages = 0;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/statm", pid);
	_cleanup_fclose_ FILE *file = fopen(name, "re");
	if (!file || fscanf(file, "%llu %llu", &size, &pages) != 2)
		return 0;
	return pages * GR_PAGE_BYTES;
}

/* Tables of symbols, of which there may be any number, are measured. */
static uint64_t fixed_bytes(const struct gr_scan *scan)
{
	uint64_t bytes = FIXED_BYTES + scan->symbols_bytes * 3 / 2;

	return (bytes | ((1 << 20) - 1)) + 1;
}

void gr_scan_note_estimate(struct gr_scan *scan)
{
	const struct gr_heap *heap = scan->rt.heap;
	struct gr_estimate *e = &scan->estimate;

	e->copy_bytes = gr_image_plan_bytes(scan->image);
	e->table_bytes = fixed_bytes(scan) +
			 (uint64_t)scan->rt.ngoroutines * GOROUTINE_BYTES +
			 (uint64_t)heap->nobjs * OBJECT_BYTES +
			 heap->nwords / 8;
	e->node_bytes = NODE_BYTES;
	e->max_nodes = heap->nobjs;
	e->copy_us = e->copy_bytes / BYTES_PER_US;
}

/* The heap would not hold still: nothing in it can need more than it all. */
static void note_rough_estimate(struct gr_scan *scan)
{
	uint64_t bytes = resident_bytes(scan->target.pid);

	scan->estimate = (struct gr_estimate){
		.copy_bytes = bytes,
		.table_bytes = fixed_bytes(scan) + bytes / 32 * OBJECT_BYTES,
		.node_bytes = NODE_BYTES,
		.max_nodes = GR_UNLIMITED,
		.read_us = bytes / BYTES_PER_US / 4,
		.copy_us = bytes / BYTES_PER_US,
		.is_rough = true,
	};
}

/* Read the heap as if the process stood still, for the estimate only. */
static struct gr_error *try_heap(struct gr_scan *scan)
{
	struct gr_gaps gaps = scan->gaps;
	uint64_t begin = gr_scan_now_us();
	struct gr_error *err = gr_scan_read_heap(scan);

	scan->phases_us[GR_PHASE_heap] = 0;
	scan->estimate.read_us = gr_scan_now_us() - begin;
	if (!err)
		gr_scan_note_estimate(scan);
	gr_scan_drop_heap(scan);
	scan->gaps = gaps;
	return err;
}

/*
 * Without debug information the runtime is searched, by what must hold of its
 * heap and scheduler: that they change meanwhile may be chance.
 */
static struct gr_error *open_program(const struct gr_target *target,
				     struct gr_scan **ret)
{
	struct gr_error *err = NULL;

	// Of one that stands still the registers are known.
	bool is_running = !target->nthreads;

	for (unsigned int i = 0; i < OPEN_TRIES; i++) {
		_cleanup_(gr_cleanup_scan) struct gr_scan *scan = NULL;

		gr_error_destroy(err);
		err = gr_scan_new(target, &scan);
		if (err)
			return err;
		scan->rt.is_running = is_running;
		err = gr_scan_open_program(scan);
		if (!err)
			*ret = steal_ptr(scan);
		if (!err || err->code != GR_ERROR_UNSETTLED)
			return err;
	}
	return err;
}

struct gr_error *gr_scan_prepare(const struct gr_target *target,
				 struct gr_scan **ret)
{
	_cleanup_(gr_cleanup_scan) struct gr_scan *scan = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	gr_sigbus_guard_begin(&guard);
	err = open_program(target, &scan);
	if (!err) {
		err = try_heap(scan);
		if (err && err->code != GR_ERROR_INTERRUPTED &&
		    err->code != GR_ERROR_NO_MEMORY) {
			gr_error_destroy(err);
			err = NULL;
			note_rough_estimate(scan);
		}
	}
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(scan);
	return err;
}

void gr_scan_estimate(const struct gr_scan *scan, struct gr_estimate *ret)
{
	*ret = scan->estimate;
}

struct gr_error *gr_scan_reserve(struct gr_scan *scan)
{
	uint64_t bytes = scan->estimate.copy_bytes;

	return gr_image_reserve(scan->image, bytes + bytes / 16 + SPARE_BYTES);
}

struct gr_error *gr_scan_capture(struct gr_scan *scan,
				 const struct gr_target_thread *threads,
				 size_t nthreads, int32_t copy_pid)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (copy_pid) {
		scan->target.kind = GR_TARGET_SNAPSHOT;
		scan->target.copy_pid = copy_pid;
	}
	scan->phase_start_us = gr_scan_now_us();
	gr_sigbus_guard_begin(&guard);
	err = gr_scan_set_threads(scan, threads, nthreads);
	if (!err)
		err = gr_image_refresh(scan->image);
	if (!err)
		err = gr_scan_read_heap(scan);
	if (!err)
		err = gr_scan_copy(scan);
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_finish(struct gr_scan *scan)
{
	struct gr_sigbus_guard guard;

	scan->phase_start_us = gr_scan_now_us();
	gr_sigbus_guard_begin(&guard);
	return gr_sigbus_guard_end(&guard, gr_scan_unwind(scan));
}
