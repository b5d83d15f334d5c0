// SPDX-License-Identifier: Apache-2.0
/*
 * native: all lists whose length depends on the target ask for their memory.
 * Where a limit is too small, there is an error, and no more was allocated at
 * once. Memory may also run out at each allocation.
 */
#include "native/c_roots.h"

#include "inferior/elf.h"

#include "allocations.h"
#include "native_builder.h"

enum {
	LIMIT_BYTES = 32 << 10,
	/* Blocks take less where other lists are looked at. */
	FREE_LIMIT_BYTES = 150 << 10,
	MAPPED_LIMIT_BYTES = 250 << 10,
	/* Small pieces are not asked for. */
	SLACK_BYTES = 4 << 10,
	LONG_BYTES = 32 << 20,
	NMANY = 8192,
	MOST_FAILURES = 200,
};

#define FAR_END (BREAK_END + LONG_BYTES)

struct limit_case {
	const char *name;
	void (*fill)(struct native_world *w);
	uint64_t limit_bytes;
	bool is_roots; /* the list is one of roots or threads */
};

/* Lengthen the break; its top is the last page. */
static void lengthen(struct native_world *w)
{
	native_map_anonymous(w, BREAK_END, LONG_BYTES);
	put(w, MAIN_ARENA + GR_GLIBC_TOP, FAR_END - 0x1000);
	put(w, MAIN_ARENA + GR_GLIBC_SYSTEM_MEM, FAR_END - BREAK);
	put_chunk(w, FAR_END - 0x1000, 0x1000, 1);
}

static void many_blocks(struct native_world *w)
{
	uint64_t at = TOP;

	lengthen(w);
	for (; at < TOP + NMANY * 4 * 32; at += 32)
		put_chunk(w, at, 32, 1);
	put_chunk(w, at, FAR_END - 0x1000 - at, 1);
}

/* Free chunks of more than a page, each before a block. */
static void many_free(struct native_world *w)
{
	lengthen(w);
	uint64_t step = 0x2020, at = TOP;
	for (; at + step < FAR_END - 0x1000; at += step) {
		put_chunk(w, at, 0x2000, 1);
		put(w, at + 0x2000, 0x2000);
		put_chunk(w, at + 0x2000, 0x20, 0);
	}
	put_chunk(w, at, FAR_END - 0x1000 - at, 1);
}

static void many_arenas(struct native_world *w)
{
	const uint64_t start = UINT64_C(0x7ff000000000), step = 64;
	uint64_t at = start + 48;

	native_map_anonymous(w, start, (NMANY * step + 0x2000) & ~0xfffull);
	put(w, MAIN_ARENA + GR_GLIBC_NEXT, at);
	for (unsigned int i = 0; i < NMANY; i++, at += step) {
		put(w, at - 48, at);
		put(w, at + GR_GLIBC_NEXT, i + 1 < NMANY ? at + step : ARENA1);
	}
}

static void many_mapped(struct native_world *w)
{
	uint64_t start = MAPPED0 - NMANY * GR_PAGE_BYTES;

	native_map_anonymous(w, start, NMANY * GR_PAGE_BYTES);
	for (uint64_t i = 0; i < NMANY; i++)
		put_chunk(w, start + i * GR_PAGE_BYTES, GR_PAGE_BYTES,
			  GR_CHUNK_IS_MMAPPED);
	put_par(w, NMANY + 2, MMAP_BYTES + NMANY * GR_PAGE_BYTES, BREAK);
}

/* A thread on each page, which is its stack. */
static void many_stacks(struct native_world *w)
{
	const uint64_t start = UINT64_C(0x7fffd0000000);

	native_map_anonymous(w, start, NMANY * GR_PAGE_BYTES);
	for (uint64_t i = 0; i < NMANY; i++) {
		uint64_t page = start + i * GR_PAGE_BYTES, tcb = page + 0x800;

		put(w, tcb, tcb);
		put(w, tcb + 16, tcb);
		put(w, tcb + 0x690, page);
		put(w, tcb + 0x698, GR_PAGE_BYTES);
	}
}

static struct gr_target_thread many[NMANY];

static void many_threads(struct native_world *w)
{
	for (unsigned int i = 0; i < NMANY; i++) {
		many[i] = w->threads[0];
		many[i].lwp = i + 1;
		many[i].regs.value[GR_REG_RSP] = TLS + 16 * (i % 64);
	}
	w->image.threads = many;
	w->image.nthreads = NMANY;
}

static const struct limit_case limit_cases[] = {
	{ "blocks", many_blocks, MAPPED_LIMIT_BYTES, false },
	{ "memory to be given back", many_free, FREE_LIMIT_BYTES, false },
	{ "arenas", many_arenas, FREE_LIMIT_BYTES, false },
	{ "mapped blocks", many_mapped, MAPPED_LIMIT_BYTES, false },
	{ "stacks", many_stacks, LIMIT_BYTES, true },
	{ "threads", many_threads, LIMIT_BYTES, true },
};

/* Read the allocator, then the roots. */
static struct gr_error *read_all(struct native_world *w, bool is_roots)
{
	const struct gr_arch arch = { .nregs = GR_NREGS, .sp = GR_REG_RSP };
	struct gr_sched sched = { .rt = &w->rt };
	struct gr_sys_memory sys_memory = { 0 };
	struct gr_c_root_vector roots = { 0 };
	struct gr_c_threads threads = { 0 };
	struct gr_error *err = is_roots ? NULL : native_read(w, 0);
	const struct gr_c_roots_spec spec = { .rt = &w->rt,
					      .residency = &w->residency,
					      .go_arenas = &w->go_arenas,
					      .sys_memory = &sys_memory,
					      .native = &w->native,
					      .threads = &threads };

	w->rt.arch = &arch;
	if (!err)
		err = gr_c_threads_read(&sched, &threads);
	if (!err)
		err = gr_c_roots_find(&spec, &roots);
	w->rt.arch = NULL;
	gr_c_root_vector_deinit(&roots);
	gr_c_threads_deinit(&threads);
	return err;
}

TEST_ROWS(limit, limit_cases, c)
{
	struct native_world *w = native_create(true);

	c->fill(w);
	native_seal(w);
	if (c->is_roots)
		assert_null(native_read(w, 0));
	assert_null(read_all(w, c->is_roots));
	w->image.limit_bytes = c->limit_bytes;
	allocations_begin();
	struct gr_error *err = read_all(w, c->is_roots);
	uint64_t most = allocations_end();
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_MEMORY_LIMIT);
	assert_true(most <= c->limit_bytes + SLACK_BYTES);
	gr_error_destroy(err);
	native_destroy(w);
}

TEST(no_memory)
{
	struct native_world *w = native_create(true);
	uint64_t left = 0;
	struct gr_error *err;

	native_seal(w);
	do {
		allocations_limit(left++);
		err = read_all(w, false);
		allocations_end();
		assert_true(!err == !allocations.has_failed);
		if (err)
			assert_int_equal(err->code, GR_ERROR_NO_MEMORY);
		gr_error_destroy(err);
	} while (err && left < MOST_FAILURES);
	assert_in_range(left, 10, MOST_FAILURES - 1);
	check_bounds(w);
	native_destroy(w);
}

GR_SUITE_WITH("limits of C memory", polls_set_alarm, NULL)
