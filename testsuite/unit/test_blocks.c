// SPDX-License-Identifier: Apache-2.0
/* blocks: look-ups against a search from the first block on. */
#include "native/blocks.h"

#include "fake_image.h"
#include "suite.h"

enum { NROUNDS = 60, MAX_BLOCKS = 300 };

struct world {
	struct gr_image image;
	struct gr_runtime rt;
	struct gr_blocks blocks;
	struct gr_block all[MAX_BLOCKS]; /* by address */
	size_t nall;
};

static uint64_t below(uint64_t *seed, uint64_t n)
{
	return (suite_random(seed) >> 8) % n;
}

static void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	w->rt.image = &w->image;
	w->rt.poll = suite_poll;
}

/* Blocks by chance: side by side or apart, some as large as several areas. */
static void add_random(struct world *w, uint64_t *seed)
{
	uint64_t start = below(seed, 2) ? 0x10 : 0x7f0000000010;

	w->nall = below(seed, MAX_BLOCKS);
	for (size_t i = 0; i < w->nall; i++) {
		uint32_t units =
			4 + below(seed, below(seed, 20) ? 80 : 40000000);

		uint32_t header_words = below(seed, 3);

		w->all[i] = (struct gr_block){
			.addr = start + (header_words ? 16 : 0),
			.units = units,
			.header_words = header_words,
		};
		start += gr_block_bytes(&w->all[i]);
		start +=
			16 * below(seed, 2) * below(seed, 1 << below(seed, 24));
	}
}

/* Append the blocks in an order by chance. */
static void shuffle(struct world *w, uint64_t *seed)
{
	size_t n = w->nall;

	for (size_t i = 0; i < n; i++)
		assert_true(gr_block_vector_append(&w->blocks.list, w->all[i]));
	for (size_t i = n; i-- > 1;) {
		size_t k = below(seed, i + 1);
		struct gr_block block = w->blocks.list.data[i];

		w->blocks.list.data[i] = w->blocks.list.data[k];
		w->blocks.list.data[k] = block;
	}
}

/* The last one: a block of glibc ends with the first word of the one behind it,
 * which may have no header here. */
static uint32_t search(const struct world *w, uint64_t addr)
{
	for (size_t i = w->nall; i-- > 0;)
		if (addr >= w->all[i].addr &&
		    addr - w->all[i].addr <
			    gr_block_usable_bytes(&w->all[i]) +
				    (w->all[i].header_words == 1))
			return i;
	return GR_BLOCK_NONE;
}

static uint32_t count_before(const struct world *w, uint64_t addr)
{
	uint32_t n = 0;

	while (n < w->nall && w->all[n].addr < addr)
		n++;
	return n;
}

static void check(struct world *w, uint64_t addr)
{
	assert_int_equal(gr_blocks_find(&w->blocks, addr), search(w, addr));
	assert_int_equal(gr_blocks_from(&w->blocks, addr),
			 count_before(w, addr));
}

static void check_all(struct world *w, uint64_t *seed)
{
	for (size_t i = 0; i < w->nall; i++) {
		const struct gr_block *b = &w->all[i];
		uint64_t end = b->addr + gr_block_usable_bytes(b);

		for (int off = -1; off <= 1; off++) {
			check(w, b->addr + off);
			check(w, end + off);
		}
		check(w, b->addr + below(seed, end - b->addr));
	}
	for (int i = 0; i < 100; i++)
		check(w, below(seed, UINT64_C(1) << 47));
	check(w, 0);
	check(w, UINT64_MAX);
}

TEST(look_ups)
{
	uint64_t seed = 4711, dropped;
	struct world *w = suite_alloc(sizeof(*w));

	for (int i = 0; i < NROUNDS; i++) {
		world_init(w);
		add_random(w, &seed);
		shuffle(w, &seed);
		assert_null(gr_blocks_index(&w->blocks, &w->rt, &dropped));
		assert_int_equal(dropped, 0);
		assert_int_equal(w->blocks.list.size, w->nall);
		check_all(w, &seed);
		gr_blocks_deinit(&w->blocks);
	}
	free(w);
}

/* The memory of a block begins where that of the one before it has ended. */
TEST(overlaps)
{
	uint64_t seed = 99, dropped;
	struct world *w = suite_alloc(sizeof(*w));

	for (int i = 0; i < NROUNDS; i++) {
		world_init(w);
		uint64_t n = 1 + below(&seed, MAX_BLOCKS), end = 0;
		for (uint64_t k = 0; k < n; k++)
			assert_true(gr_block_vector_append(
				&w->blocks.list,
				(struct gr_block){
					.addr = 0x1000 + 16 * below(&seed, 4000),
					.units = 4 + below(&seed, 120),
					.header_words = below(&seed, 3) }));
		assert_null(gr_blocks_index(&w->blocks, &w->rt, &dropped));
		assert_int_equal(w->blocks.list.size + dropped, n);
		for (size_t k = 0; k < w->blocks.list.size; k++) {
			const struct gr_block *b = &w->blocks.list.data[k];

			assert_true(gr_block_start(b) >= end);
			end = gr_block_start(b) + gr_block_bytes(b);
			w->all[k] = *b;
		}
		w->nall = w->blocks.list.size;
		check_all(w, &seed);
		gr_blocks_deinit(&w->blocks);
	}
	free(w);
}

/* A block of glibc in a mapping of its own, and directly behind it the first
 * block of an allocator that has no headers. */
TEST(mapped_beside_others)
{
	struct world *w = suite_alloc(sizeof(*w));
	uint64_t dropped;

	world_init(w);
	w->all[0] = (struct gr_block){ .addr = 0x7f0000000010,
				       .units = 0x1000 / GR_BLOCK_UNIT,
				       .header_words = 2 };
	w->all[1] = (struct gr_block){ .addr = 0x7f0000001000, .units = 28 };
	for (size_t i = 0; i < 2; i++)
		assert_true(gr_block_vector_append(&w->blocks.list, w->all[i]));
	assert_null(gr_blocks_index(&w->blocks, &w->rt, &dropped));
	assert_int_equal(dropped, 0);
	assert_int_equal(gr_blocks_find(&w->blocks, 0x7f0000000fff), 0);
	assert_int_equal(gr_blocks_find(&w->blocks, 0x7f0000001000), 1);
	gr_blocks_deinit(&w->blocks);
	free(w);
}

/* A block that is all header, as only damage makes it, and another one at its
 * address. */
TEST(blocks_at_one_address)
{
	struct world *w = suite_alloc(sizeof(*w));
	const struct gr_block blocks[] = {
		{ .addr = 0x7f0000000010, .units = 2, .header_words = 2 },
		{ .addr = 0x7f0000000010, .units = 28 },
	};
	uint64_t dropped;

	world_init(w);
	for (size_t i = 0; i < GR_ARRAY_SIZE(blocks); i++)
		assert_true(gr_block_vector_append(&w->blocks.list, blocks[i]));
	assert_null(gr_blocks_index(&w->blocks, &w->rt, &dropped));
	assert_int_equal(dropped, 1);
	gr_blocks_deinit(&w->blocks);
	free(w);
}

/* The index of blocks that lie far apart costs memory, which has a limit. */
TEST(limit)
{
	struct world *w = suite_alloc(sizeof(*w));
	uint64_t dropped;

	world_init(w);
	w->image.limit_bytes = 1000;
	assert_true(gr_block_vector_append(&w->blocks.list,
					   (struct gr_block){ .addr = 0x1010,
							      .units = 4 }));
	struct gr_error *err = gr_blocks_index(&w->blocks, &w->rt, &dropped);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_MEMORY_LIMIT);
	gr_error_destroy(err);
	gr_blocks_deinit(&w->blocks);
	free(w);
}

GR_SUITE("blocks of C")
