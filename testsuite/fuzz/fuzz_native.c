// SPDX-License-Identifier: Apache-2.0
/*
 * The structures of an allocator in a small program with C code, patched by the
 * input: arenas, heads of heaps and of chunks, caches and variables of threads,
 * and what else the allocator has in its memory. The blocks are found, the
 * graph is built over them, and they are asked about.
 */
#include "questions.h"
#include "target.h"
#include "scan/native.h"
#include "scan/scan.h"

#include <err.h>

enum {
	HEAD_OF_HEAP = 4096, /* heap_info, an arena, a cache */
	MOST_OF_OTHER = 1 << 16,
	HEAD_OF_BLOCK = 32,  /* prev_size, size, links if it is free */
	THREAD_BYTES = 1024, /* variables below the base, struct pthread */
};

/* Inputs patch what the allocator keeps, as it is found without damage. */
static void add_structures(struct gr_stop *stop)
{
	struct gr_c_threads threads = { 0 };
	struct gr_native *native;

	fuzz_check_error(gr_stop_native(stop, &native));
	if (!native || !native->blocks.list.size)
		errx(1, "the seed has no C memory");
	for (size_t i = 0; i < native->structures.size; i++)
		fuzz_target_add(native->structures.data[i].start,
				native->structures.data[i].end);
	for (size_t i = 0; i < native->memory.size; i++) {
		uint64_t start = native->memory.data[i].start;

		fuzz_target_add(start, start + HEAD_OF_HEAP);
	}
	for (size_t i = 0; i < native->others.size; i++) {
		const struct gr_native_range *other = &native->others.data[i];
		uint64_t bytes = other->end - other->start;

		fuzz_target_add(other->start,
				other->start + (bytes < MOST_OF_OTHER ?
							bytes :
							MOST_OF_OTHER));
	}
	for (size_t i = 0; i < native->blocks.list.size; i++) {
		const struct gr_block *block = &native->blocks.list.data[i];
		uint64_t end = block->addr - 16 + gr_block_bytes(block);

		/* The chunk behind it may be free. */
		fuzz_target_add(block->addr - 16, block->addr);
		fuzz_target_add(end, end + HEAD_OF_BLOCK);
	}
	fuzz_check_error(gr_c_threads_read(&stop->sched, &threads));
	for (size_t i = 0; i < threads.bases.size; i++)
		fuzz_target_add(threads.bases.data[i].addr - THREAD_BYTES,
				threads.bases.data[i].addr + THREAD_BYTES);
	gr_c_threads_deinit(&threads);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct gr_scan *scan;

	(void)argc;
	(void)argv;
	fuzz_target_init();
	struct gr_error *err = fuzz_target_open(GR_EXTENT_NATIVE, &scan);
	if (err)
		errx(1, "%s", err->message);
	add_structures(&scan->stop);
	gr_scan_destroy(scan);
	return 0;
}

static struct gr_error *ask(struct gr_scan *scan, struct fuzz_input *head)
{
	return fuzz_ask_native(scan, fuzz_target_word(head));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };

	fuzz_target_run(&in, GR_EXTENT_NATIVE, ask);
	return 0;
}
