// SPDX-License-Identifier: Apache-2.0
#include "native/blocks.h"

#include "base/sort.h"
#include "inferior/elf.h"

#define AREA_BYTES (UINT64_C(64) << 20)
#define AREA_PAGES (AREA_BYTES / GR_PAGE_BYTES)

void gr_blocks_deinit(struct gr_blocks *blocks)
{
	for (size_t i = 0; i < blocks->areas.size; i++)
		free(blocks->areas.data[i].first);
	gr_block_areas_deinit(&blocks->areas);
	gr_block_vector_deinit(&blocks->list);
	memset(blocks, 0, sizeof(*blocks));
}

static int compare(const void *a, const void *b)
{
	const struct gr_block *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool is_sorted(const struct gr_block_vector *list)
{
	for (size_t i = 1; i < list->size; i++)
		if (list->data[i - 1].addr > list->data[i].addr)
			return false;
	return true;
}

static uint64_t end_of(const struct gr_block *block)
{
	return block->addr + gr_block_usable_bytes(block);
}

/* Drop the blocks whose memory begins in that of an earlier one, or that have
 * its address, as a block that is all header leaves no memory behind it. */
static uint64_t drop_overlaps(struct gr_block_vector *list)
{
	size_t kept = 0;
	uint64_t dropped = 0, end = 0;

	for (size_t i = 0; i < list->size; i++) {
		uint64_t start = gr_block_start(&list->data[i]);

		if (start < end ||
		    (kept && list->data[kept - 1].addr == list->data[i].addr)) {
			dropped++;
			continue;
		}
		end = start + gr_block_bytes(&list->data[i]);
		list->data[kept++] = list->data[i];
	}
	list->size = kept;
	return dropped;
}

// --------------------------------------------------------------------- index

/* The area of that number, which is made behind the last one. NULL: no
 * memory. */
static struct gr_block_area *add_area(struct gr_blocks *blocks, uint64_t number,
				      uint32_t before)
{
	struct gr_block_area area = {
		.number = number,
		.first = malloc((AREA_PAGES + 1) * sizeof(*area.first)),
	};

	if (!area.first || !gr_block_areas_append(&blocks->areas, area)) {
		free(area.first);
		return NULL;
	}
	for (size_t i = 0; i <= AREA_PAGES; i++)
		area.first[i] = before;
	return &blocks->areas.data[blocks->areas.size - 1];
}

/* Index one block by the page that it begins on. */
static struct gr_error *index_block(struct gr_blocks *blocks,
				    struct gr_runtime *rt, uint32_t i)
{
	struct gr_block_areas *areas = &blocks->areas;
	uint64_t addr = blocks->list.data[i].addr;
	uint64_t number = addr / AREA_BYTES;
	struct gr_error *err = NULL;

	if (!areas->size || areas->data[areas->size - 1].number != number) {
		err = gr_image_want(rt->image,
				    (AREA_PAGES + 1) * sizeof(uint32_t));
		if (!err && !add_area(blocks, number, i))
			err = &gr_enomem;
		if (!err)
			err = gr_runtime_step(rt, AREA_PAGES / 16);
	}
	if (err)
		return err;
	// A cursor for now: the blocks that begin on the page or before it.
	areas->data[areas->size - 1]
		.first[addr % AREA_BYTES / GR_PAGE_BYTES + 1] = i + 1;
	return gr_runtime_step(rt, 1);
}

/* A page without blocks has the count of the page before it. */
static void fill_pages(struct gr_block_area *area)
{
	for (size_t i = 1; i <= AREA_PAGES; i++)
		if (area->first[i] < area->first[i - 1])
			area->first[i] = area->first[i - 1];
}

struct gr_error *gr_blocks_index(struct gr_blocks *blocks,
				 struct gr_runtime *rt, uint64_t *ret_dropped)
{
	struct gr_block_vector *list = &blocks->list;
	struct gr_error *err = NULL;

	if (!is_sorted(list)) {
		err = gr_image_want(rt->image,
				    list->size * sizeof(*list->data));
		if (err)
			return err;
		err = gr_sort(list->data, list->size, sizeof(*list->data),
			      compare, rt->poll, rt->poll_ctx);
	}
	if (err)
		return err;
	*ret_dropped = drop_overlaps(list);
	if (!list->size)
		return NULL;
	blocks->start = list->data[0].addr;
	blocks->end = end_of(&list->data[list->size - 1]) + 1;
	for (size_t i = 0; !err && i < list->size; i++)
		err = index_block(blocks, rt, i);
	for (size_t i = 0; i < blocks->areas.size; i++)
		fill_pages(&blocks->areas.data[i]);
	return err;
}

// ------------------------------------------------------------------- look-up

static const struct gr_block_area *find_area(struct gr_blocks *blocks,
					     uint64_t addr)
{
	const struct gr_block_areas *areas = &blocks->areas;
	uint64_t number = addr / AREA_BYTES;
	size_t last = __atomic_load_n(&blocks->last, __ATOMIC_RELAXED);

	if (areas->data[last].number == number)
		return &areas->data[last];
	size_t n =
		gr_count_before(areas->size, i, areas->data[i].number < number);
	if (n == areas->size || areas->data[n].number != number)
		return NULL;
	__atomic_store_n(&blocks->last, n, __ATOMIC_RELAXED);
	return &areas->data[n];
}

/* The blocks that begin at @p addr or before it. */
static uint32_t count_up_to(const struct gr_blocks *blocks,
			    const struct gr_block_area *area, uint64_t addr)
{
	uint64_t page = addr % AREA_BYTES / GR_PAGE_BYTES;
	uint32_t first = area->first[page];
	uint32_t count = area->first[page + 1] - first;
	const struct gr_block *on_page = blocks->list.data + first;

	return first + gr_count_before(count, i, on_page[i].addr <= addr);
}

uint32_t gr_blocks_from(const struct gr_blocks *blocks, uint64_t addr)
{
	return gr_count_before(blocks->list.size, i,
			       blocks->list.data[i].addr < addr);
}

uint32_t gr_blocks_look_up(struct gr_blocks *blocks, uint64_t addr)
{
	const struct gr_block_area *area = find_area(blocks, addr);
	// No block begins in 64 MiB that a large one covers.
	uint32_t n = area ? count_up_to(blocks, area, addr) :
			    gr_blocks_from(blocks, addr + 1);

	if (!n)
		return GR_BLOCK_NONE;
	const struct gr_block *block = &blocks->list.data[n - 1];
	// Blocks that are mapped one by one have no header behind them.
	return addr < end_of(block) + (block->header_words == 1) ?
		       n - 1 :
		       GR_BLOCK_NONE;
}
