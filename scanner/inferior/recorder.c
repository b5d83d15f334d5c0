// SPDX-License-Identifier: Apache-2.0
#include "inferior/recorder.h"

#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

struct gr_recorded_page {
	uint64_t addr;
	UT_hash_handle hh;
	uint8_t bytes[GR_SET_PAGE_BYTES];
};

/** For each word of a page, a bit for each byte that was read by itself. */
struct gr_parts_page {
	uint64_t addr;
	UT_hash_handle hh;
	uint8_t masks[GR_SET_PAGE_WORDS];
	/** Words that the file has as 0. */
	uint64_t blank[GR_SET_PAGE_BITMAP];
};

void gr_recorder_deinit(struct gr_recorder *r)
{
	struct gr_recorded_page *page, *next;
	struct gr_parts_page *parts, *next_parts;

	HASH_ITER(hh, r->parts, parts, next_parts) {
		HASH_DEL(r->parts, parts);
		free(parts);
	}

	HASH_ITER(hh, r->pages, page, next) {
		HASH_DEL(r->pages, page);
		free(page);
	}
	gr_word_set_deinit(&r->words);
	gr_range_vector_deinit(&r->hosts);
	gr_range_vector_deinit(&r->tried);
	memset(r, 0, sizeof(*r));
}

// ------------------------------------------------------------------- parts

static struct gr_parts_page *find_parts(const struct gr_recorder *r,
					uint64_t addr)
{
	struct gr_parts_page *parts = r->last_parts;

	if (!parts || parts->addr != addr)
		HASH_FIND(hh, r->parts, &addr, sizeof(addr), parts);
	return parts;
}

static struct gr_parts_page *make_parts(struct gr_recorder *r, uint64_t addr)
{
	struct gr_parts_page *parts = find_parts(r, addr);

	if (parts)
		return r->last_parts = parts;
	parts = calloc(1, sizeof(*parts));
	if (!parts)
		return NULL;
	parts->addr = addr;
	HASH_ADD(hh, r->parts, addr, sizeof(addr), parts);
	// Without memory, uthash leaves the entry out.
	if (parts->hh.tbl)
		return r->last_parts = parts;
	free(parts);
	return NULL;
}

/* Add @p bytes bytes that lie in one word. */
static void add_part(struct gr_recorder *r, uint64_t addr, uint64_t bytes)
{
	uint64_t off = addr % GR_SET_PAGE_BYTES;
	struct gr_parts_page *parts = make_parts(r, addr - off);

	if (parts)
		parts->masks[off / 8] |= ((1u << bytes) - 1) << off % 8;
	else
		r->is_out_of_memory = true;
}

void gr_recorder_add_blank(struct gr_recorder *r, uint64_t addr)
{
	uint64_t off = addr % GR_SET_PAGE_BYTES, word = off / 8;
	struct gr_parts_page *parts = make_parts(r, addr - off);

	if (parts)
		parts->blank[word / 64] |= UINT64_C(1) << word % 64;
	else
		r->is_out_of_memory = true;
}

bool gr_recorder_list_words(const struct gr_recorder *r,
			    struct gr_word_set *ret)
{
	struct gr_word_set_pages at = { 0 };
	struct gr_parts_page *parts, *next;
	const uint64_t *bits;
	uint64_t page, *to;

	while (gr_word_set_next_page(&r->words, &at, &page, &bits)) {
		to = gr_word_set_make_page(ret, page);
		if (!to)
			return false;
		for (int i = 0; i < GR_SET_PAGE_BITMAP; i++)
			to[i] |= bits[i];
	}
	HASH_ITER(hh, r->parts, parts, next) {
		to = gr_word_set_make_page(ret, parts->addr);
		if (!to)
			return false;
		for (int i = 0; i < GR_SET_PAGE_WORDS; i++)
			to[i / 64] |= (uint64_t)(parts->masks[i] != 0)
				      << i % 64;
		for (int i = 0; i < GR_SET_PAGE_BITMAP; i++)
			to[i] |= parts->blank[i];
	}
	return true;
}

/* A mask of bytes as one of bits. */
static uint64_t spread(uint8_t bytes)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < 8; i++)
		if (bytes >> i & 1)
			bits |= UINT64_C(0xff) << i * 8;
	return bits;
}

void gr_recorder_clear_unread(struct gr_recorder *r, uint64_t page,
			      uint64_t words[GR_SET_PAGE_WORDS])
{
	const struct gr_parts_page *parts = find_parts(r, page);
	const uint64_t *whole = gr_word_set_page(&r->words, page);

	if (!parts)
		return;
	for (int i = 0; i < GR_SET_PAGE_WORDS; i++)
		if ((parts->masks[i] || parts->blank[i / 64] >> i % 64 & 1) &&
		    !(whole && whole[i / 64] >> i % 64 & 1))
			words[i] &= spread(parts->masks[i]);
}

// ------------------------------------------------------------------- words

static void add_words(struct gr_recorder *r, uint64_t addr, uint64_t bytes)
{
	if (bytes && !gr_word_set_add(&r->words, addr, bytes))
		r->is_out_of_memory = true;
}

static void add(struct gr_recorder *r, uint64_t addr, uint64_t bytes)
{
	uint64_t before = -addr % 8, after = (addr + bytes) % 8;

	if (GR_LIKELY(!before && !after)) {
		add_words(r, addr, bytes);
	} else if (addr % 8 + bytes <= 8) {
		add_part(r, addr, bytes);
	} else {
		if (before)
			add_part(r, addr, before);
		if (after)
			add_part(r, addr + bytes - after, after);
		add_words(r, addr + before, bytes - before - after);
	}
}

void gr_recorder_add(struct gr_recorder *r, uint64_t addr, uint64_t bytes)
{
	const struct gr_range range = { addr, addr + bytes, NULL };

	if (r->pauses || !bytes)
		return;
	if (GR_LIKELY(!r->searches))
		add(r, addr, bytes);
	else if (!gr_range_vector_append(&r->tried, range))
		r->is_out_of_memory = true;
}

void gr_recorder_end_search(struct gr_recorder *r, size_t mark, bool found)
{
	if (!r)
		return;
	GR_ASSERT(r->searches && mark <= r->tried.size);
	r->searches--;
	// The outermost search decides whether these words are recorded.
	if (found && r->searches)
		return;
	for (size_t i = mark; found && i < r->tried.size; i++) {
		const struct gr_range *range = &r->tried.data[i];

		add(r, range->start, range->end - range->start);
	}
	r->tried.size = mark;
}

void gr_recorder_add_bits(struct gr_recorder *r, uint64_t page,
			  const uint64_t *bits, uint64_t nwords)
{
	uint64_t *to = r->pauses ? NULL :
				   gr_word_set_make_page(&r->words, page);

	GR_ASSERT(!(page % GR_SET_PAGE_BYTES));
	if (!to) {
		r->is_out_of_memory = r->is_out_of_memory || !r->pauses;
		return;
	}
	for (uint64_t i = 0; i < GR_SET_PAGE_BITMAP && i * 64 < nwords; i++) {
		uint64_t left = nwords - i * 64;

		to[i] |= left < 64 ? bits[i] & ((UINT64_C(1) << left) - 1) :
				     bits[i];
	}
}

static struct gr_recorded_page *find_page(const struct gr_recorder *r,
					  uint64_t addr)
{
	struct gr_recorded_page *page;

	HASH_FIND(hh, r->pages, &addr, sizeof(addr), page);
	return page;
}

static struct gr_recorded_page *make_page(struct gr_recorder *r, uint64_t addr)
{
	struct gr_recorded_page *page = find_page(r, addr);

	if (page)
		return page;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->addr = addr;
	HASH_ADD(hh, r->pages, addr, sizeof(addr), page);
	// Without memory, uthash leaves the entry out.
	if (page->hh.tbl)
		return page;
	free(page);
	return NULL;
}

void gr_recorder_add_data(struct gr_recorder *r, uint64_t addr,
			  const void *data, uint64_t bytes)
{
	const uint8_t *from = data;

	if (r->pauses)
		return;
	gr_recorder_add(r, addr, bytes);
	// Bounded by what was read: each page has bytes.
	for (uint64_t done = 0; done < bytes;) {
		uint64_t off = (addr + done) % GR_SET_PAGE_BYTES;
		uint64_t n = GR_SET_PAGE_BYTES - off;
		struct gr_recorded_page *page = make_page(r, addr + done - off);

		if (n > bytes - done)
			n = bytes - done;
		if (page)
			memcpy(page->bytes + off, from + done, n);
		else
			r->is_out_of_memory = true;
		done += n;
	}
}

const uint8_t *gr_recorder_page(const struct gr_recorder *r, uint64_t page)
{
	const struct gr_recorded_page *found = find_page(r, page);

	return found ? found->bytes : NULL;
}

void gr_recorder_add_host(struct gr_recorder *r, struct gr_range range)
{
	if (!gr_range_vector_append(&r->hosts, range))
		r->is_out_of_memory = true;
	r->are_hosts_sorted = false;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct gr_range *x = a, *y = b;

	return x->host < y->host ? -1 : x->host > y->host;
}

static bool holds(const struct gr_range *range, const uint8_t *host)
{
	return host >= range->host &&
	       (uint64_t)(host - range->host) < range->end - range->start;
}

/* The memory that @p host lies in, or NULL. */
static const struct gr_range *find_host(struct gr_recorder *r,
					const uint8_t *host)
{
	const struct gr_range *list = r->hosts.data;
	size_t i;

	if (!r->are_hosts_sorted && r->hosts.size) {
		qsort(r->hosts.data, r->hosts.size, sizeof(*list),
		      compare_hosts);
		r->are_hosts_sorted = true;
		r->last_host = 0;
	}
	if (r->last_host < r->hosts.size && holds(&list[r->last_host], host))
		return &list[r->last_host];
	i = gr_count_before(r->hosts.size, j, list[j].host <= host);
	// Several ranges may begin in one place, the longest of which counts.
	for (; i && list[i - 1].host <= host; i--) {
		if (!holds(&list[i - 1], host))
			continue;
		r->last_host = i - 1;
		return &list[i - 1];
	}
	return NULL;
}

void gr_recorder_note_host(struct gr_recorder *r, const void *host,
			   uint64_t bytes)
{
	const struct gr_range *range;

	if (r->pauses)
		return;
	range = find_host(r, host);
	if (!range)
		return;
	uint64_t off = (const uint8_t *)host - range->host;
	uint64_t left = range->end - range->start - off;
	gr_recorder_add(r, range->start + off, bytes < left ? bytes : left);
}
