// SPDX-License-Identifier: Apache-2.0
/* Sizes of fresh maps. */
#include "waste/checks/map_size.h"

#include "goruntime/types/map_shape.h"
#include "suite.h"

/* runtime/sizeclasses.go */
static struct gr_size_classes classes = {
	.bytes = {
		0, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192,
		208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512, 576,
		640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048,
		2304, 2688, 3072, 3200, 3456, 4096, 4864, 5376, 6144, 6528,
		6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336,
		16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
	},
	.count = 68,
	.header_above = 512,
};

__attribute__((__constructor__)) static void finish_classes(void)
{
	gr_size_classes_finish(&classes);
}

/* map[int]int of both designs */
static const struct gr_map_pieces swiss = {
	.classes = &classes,
	.piece_bytes = 136,
	.is_noscan = true,
	.header_bytes = 48,
	.table_bytes = 32,
};
static const struct gr_map_pieces buckets = {
	.classes = &classes,
	.piece_bytes = 144,
	.is_noscan = true,
	.header_bytes = 48,
	.extra_bytes = 24,
	.double_load = 13,
};

struct size_case {
	const char *name;
	const struct gr_map_pieces *pieces;
	uint64_t entries, bytes;
};

// Those of one table or bucket are exact, as measured.
static const struct size_case sizes[] = {
	{ "swiss: none", &swiss, 0, 48 },
	{ "swiss: one", &swiss, 1, 48 + 144 },
	{ "swiss: a group", &swiss, 8, 48 + 144 },
	{ "swiss: two groups", &swiss, 9, 48 + 8 + 32 + 288 },
	{ "swiss: most of two", &swiss, 14, 48 + 8 + 32 + 288 },
	{ "swiss: more than two", &swiss, 15, 48 + 8 + 32 + 576 },
	{ "swiss: the largest table", &swiss, 896, 48 + 8 + 32 + 18432 },
	{ "buckets: none", &buckets, 0, 48 },
	{ "buckets: one", &buckets, 8, 48 + 144 },
	{ "too many", &swiss, UINT64_MAX, UINT64_MAX },
};

TEST_ROWS(sizes, sizes, c)
{
	assert_int_equal(gr_map_fresh_bytes(c->pieces, c->entries), c->bytes);
}

// ------------------------------------------------------------------ at random

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Spread entries over places; count[i] is how many place i has. */
static uint32_t *spread(uint64_t entries, uint64_t places, uint64_t *state)
{
	uint32_t *count = suite_alloc(places * sizeof(*count));

	for (uint64_t i = 0; i < entries; i++)
		count[next_random(state) % places]++;
	return count;
}

/* A map with tables of 1024 slots, some of which are split. */
static uint64_t simulate_tables(uint64_t entries, uint64_t places,
				uint64_t *state)
{
	uint32_t *count = spread(entries, places, state);
	uint64_t tables = places;

	for (uint64_t i = 0; i < places; i++)
		tables += count[i] > 896;
	free(count);
	return 48 + gr_slot_of(&classes, places * 8, false) +
	       tables * (32 + 18432);
}

/* A map whose buckets overflow, without the list of those. */
static uint64_t simulate_buckets(uint64_t entries, uint64_t places,
				 uint64_t *state)
{
	uint32_t *count = spread(entries, places, state);
	uint64_t slot =
		gr_slot_of(&classes, (places + places / 16) * 144, true);
	uint64_t spare = slot / 144 - places, overflow = 0;

	for (uint64_t i = 0; i < places; i++)
		overflow += count[i] ? (count[i] - 1) / 8 : 0;
	free(count);
	return 48 + 24 + slot +
	       (overflow > spare ? (overflow - spare) * 144 : 0);
}

struct random_case {
	const char *name;
	uint64_t entries;
	uint64_t tables, buckets; /* as NewMap() and makemap() compute them */
};

static const struct random_case randoms[] = {
	{ "10,000", 10000, 16, 2048 },
	{ "14,000: tables are nearly full", 14000, 16, 4096 },
	{ "50,000", 50000, 64, 8192 },
	{ "100,000", 100000, 128, 16384 },
	{ "1,000,000", 1000000, 2048, 262144 },
};

/* Nearly all maps are no larger than is said, but hardly smaller. */
TEST_ROWS(randoms, randoms, c)
{
	uint64_t state = 88172645463325252u;
	uint64_t tables = gr_map_fresh_bytes(&swiss, c->entries);
	uint64_t chains = gr_map_fresh_bytes(&buckets, c->entries);

	for (int i = 0; i < 5; i++) {
		uint64_t found = simulate_tables(c->entries, c->tables, &state);

		assert_in_range(found, tables * 2 / 3, tables);
		found = simulate_buckets(c->entries, c->buckets, &state);
		assert_in_range(found, chains * 9 / 10, chains);
	}
}

GR_SUITE("map_size")
