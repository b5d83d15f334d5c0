// SPDX-License-Identifier: Apache-2.0
#include "inferior/elf.h"
#include "inferior/source.h"

/*
 * The cache is direct-mapped: an address has one place. Blocks hold up to 16
 * pages. An unreadable page is remembered as missing, because lists that end in
 * unmapped memory are walked more than once.
 */
enum { CACHE_BYTES = 16 << 20 };

struct gr_cache {
	uint64_t block_bytes;
	size_t nblocks;
	/* Target address of the block, plus 1; 0 means empty. */
	uint64_t *tags;
	uint16_t *present; /* one bit a page */
	uint8_t *data;
};

struct gr_cache *gr_cache_create(uint64_t block_bytes)
{
	struct gr_cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->block_bytes = block_bytes;
	cache->nblocks = CACHE_BYTES / block_bytes;
	cache->tags = calloc(cache->nblocks, sizeof(*cache->tags));
	cache->present = calloc(cache->nblocks, sizeof(*cache->present));
	// Untouched parts of the buffer cost nothing.
	cache->data = malloc(CACHE_BYTES);
	if (!cache->tags || !cache->present || !cache->data) {
		gr_cache_destroy(cache);
		return NULL;
	}
	return cache;
}

void gr_cache_destroy(struct gr_cache *cache)
{
	if (!cache)
		return;
	free(cache->tags);
	free(cache->present);
	free(cache->data);
	free(cache);
}

void gr_cache_forget(struct gr_cache *cache)
{
	memset(cache->tags, 0, cache->nblocks * sizeof(*cache->tags));
}

// Map a block to its place. Adjacent blocks and blocks 64 MiB apart (Go's
// arenas) get different places.
static size_t place_of(const struct gr_cache *cache, uint64_t block_addr)
{
	uint64_t block = block_addr / cache->block_bytes;
	return (block ^ block >> 12 ^ block >> 24) % cache->nblocks;
}

// Fill the place with the block. Pages after a missing one are read one by one.
static struct gr_error *fill(struct gr_source *source, uint64_t block_addr,
			     size_t place)
{
	struct gr_cache *cache = source->cache;
	uint8_t *data = cache->data + place * cache->block_bytes;
	uint64_t off = 0, got;

	cache->tags[place] = 0;
	cache->present[place] = 0;
	struct gr_error *err = gr_source_poll(source->target);
	if (err)
		return err;
	// Bounded by the block's bytes: each read brings some.
	while (off < cache->block_bytes) {
		struct gr_piece piece = { block_addr + off, data + off,
					  cache->block_bytes - off };
		err = source->ops->read(source, &piece, 1, &got);
		if (err)
			return err;
		for (uint64_t page = off; page + GR_PAGE_BYTES <= off + got;
		     page += GR_PAGE_BYTES)
			cache->present[place] |= 1u << page / GR_PAGE_BYTES;
		off += got & ~(GR_PAGE_BYTES - 1);
		if (got < GR_PAGE_BYTES)
			off += GR_PAGE_BYTES;
	}
	cache->tags[place] = block_addr + 1;
	return NULL;
}

struct gr_error *gr_cache_read(struct gr_source *source, uint64_t addr,
			       uint8_t *buf, uint64_t bytes, uint64_t *got)
{
	struct gr_cache *cache = source->cache;

	*got = 0;
	while (*got < bytes) {
		uint64_t at = addr + *got;
		uint64_t block_addr = at & ~(cache->block_bytes - 1);
		size_t place = place_of(cache, block_addr);
		if (cache->tags[place] != block_addr + 1) {
			struct gr_error *err = fill(source, block_addr, place);
			if (err)
				return err;
		}
		uint64_t off = at - block_addr;
		if (!(cache->present[place] >> off / GR_PAGE_BYTES & 1))
			return NULL;
		uint64_t step = GR_PAGE_BYTES - off % GR_PAGE_BYTES;
		if (step > bytes - *got)
			step = bytes - *got;
		memcpy(buf + *got,
		       cache->data + place * cache->block_bytes + off, step);
		*got += step;
	}
	return NULL;
}
