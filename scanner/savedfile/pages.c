// SPDX-License-Identifier: Apache-2.0
#include "savedfile/pages.h"

#include "base/cleanup.h"

enum {
	MAX_WORDS = GR_BATCH_PAGES * GR_SET_PAGE_WORDS,
	PLANES = 8,
	/* The head of a page: distance in pages, and stride and column. */
	HEAD_WORDS = 2,
};

/* The numbers at the start of a batch. */
enum { NPAGES, NPRESENT, NNONZERO, NFULL, NNUMBERS };

/** The latest word of each column that is not 0. */
struct columns {
	uint64_t latest[GR_MAX_STRIDE];
};

struct gr_batch_writer {
	uint32_t npages, nfull;
	uint64_t npresent, nnonzero;
	uint64_t last_addr;
	struct columns columns;
	uint64_t heads[GR_BATCH_PAGES][HEAD_WORDS];
	uint64_t present[GR_BATCH_PAGES][GR_SET_PAGE_BITMAP];
	uint8_t is_full[GR_BATCH_PAGES / 8];
	uint8_t nonzero[MAX_WORDS / 8];
	uint64_t differences[MAX_WORDS];
	uint8_t out[GR_BATCH_MAX_BYTES];
};

struct gr_batch_writer *gr_batch_writer_create(void)
{
	return calloc(1, sizeof(struct gr_batch_writer));
}

void gr_batch_writer_destroy(struct gr_batch_writer *w)
{
	free(w);
}

uint32_t gr_batch_pages(const struct gr_batch_writer *w)
{
	return w->npages;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t bits)
{
	return bits >> 1 ^ -(bits & 1);
}

static bool is_full(const uint64_t *present)
{
	for (int i = 0; i < GR_SET_PAGE_BITMAP; i++)
		if (present[i] != UINT64_MAX)
			return false;
	return true;
}

static void add_words(struct gr_batch_writer *w,
		      const struct gr_page_words *page)
{
	uint32_t column = page->column;

	for (int i = 0; i < GR_SET_PAGE_WORDS; i++) {
		uint64_t word = page->words[i];

		if (page->present[i / 64] >> i % 64 & 1) {
			uint64_t at = w->npresent++;

			if (word) {
				w->nonzero[at / 8] |= 1 << at % 8;
				w->differences[w->nnonzero++] = zigzag(
					word - w->columns.latest[column]);
				w->columns.latest[column] = word;
			}
		}
		column = column + 1 == page->stride ? 0 : column + 1;
	}
}

void gr_batch_add(struct gr_batch_writer *w, const struct gr_page_words *page)
{
	uint32_t i = w->npages++;

	w->heads[i][0] = (page->addr - w->last_addr) / GR_SET_PAGE_BYTES;
	w->heads[i][1] = (uint64_t)page->stride << 32 | page->column;
	w->last_addr = page->addr;
	if (is_full(page->present))
		w->is_full[i / 8] |= 1 << i % 8;
	else
		memcpy(w->present[i - w->nfull], page->present,
		       sizeof(page->present));
	w->nfull += is_full(page->present);
	add_words(w, page);
}

static uint8_t *put(uint8_t *to, const void *data, size_t bytes)
{
	memcpy(to, data, bytes);
	return to + bytes;
}

static size_t bits_bytes(uint64_t bits)
{
	return (bits + 7) / 8;
}

struct gr_bytes gr_batch_take(struct gr_batch_writer *w)
{
	uint64_t numbers[NNUMBERS] = { w->npages, w->npresent, w->nnonzero,
				       w->nfull };
	uint8_t *to = put(w->out, numbers, sizeof(numbers));

	to = put(to, w->heads, w->npages * sizeof(w->heads[0]));
	to = put(to, w->is_full, bits_bytes(w->npages));
	to = put(to, w->present,
		 (w->npages - w->nfull) * sizeof(w->present[0]));
	to = put(to, w->nonzero, bits_bytes(w->npresent));
	for (unsigned int plane = 0; plane < PLANES; plane++)
		for (uint64_t i = 0; i < w->nnonzero; i++)
			*to++ = w->differences[i] >> plane * 8;
	memset(w->nonzero, 0, bits_bytes(w->npresent));
	memset(w->is_full, 0, sizeof(w->is_full));
	memset(&w->columns, 0, sizeof(w->columns));
	w->npages = w->nfull = 0;
	w->npresent = w->nnonzero = w->last_addr = 0;
	return (struct gr_bytes){ w->out, to - w->out };
}

// ----------------------------------------------------------------- reading

/** A batch being read. */
struct reader {
	uint64_t numbers[NNUMBERS];
	const uint8_t *heads, *is_full, *present, *nonzero, *planes;
	uint64_t npresent, nnonzero; /* read so far */
	/** Differences [first_ahead, first_ahead + PLANES). At first, no
	 * difference is in this range. */
	uint64_t ahead[PLANES], first_ahead;
	uint64_t addr;
	struct columns columns;
};

static const uint8_t *get(struct gr_bytes batch, uint64_t *off, uint64_t bytes)
{
	struct gr_bytes part = gr_bytes_slice(batch, *off, bytes);

	*off += bytes;
	return part.data;
}

static bool open_batch(struct reader *r, struct gr_bytes batch)
{
	const uint64_t *n = r->numbers;
	uint64_t off = sizeof(r->numbers);

	if (!gr_bytes_get(batch, 0, r->numbers, sizeof(r->numbers)) ||
	    n[NPAGES] > GR_BATCH_PAGES || n[NFULL] > n[NPAGES] ||
	    n[NPRESENT] > n[NPAGES] * GR_SET_PAGE_WORDS ||
	    n[NNONZERO] > n[NPRESENT])
		return false;
	r->heads = get(batch, &off, n[NPAGES] * HEAD_WORDS * 8);
	r->is_full = get(batch, &off, bits_bytes(n[NPAGES]));
	r->present = get(batch, &off,
			 (n[NPAGES] - n[NFULL]) * GR_SET_PAGE_BITMAP * 8);
	r->nonzero = get(batch, &off, bits_bytes(n[NPRESENT]));
	r->planes = get(batch, &off, n[NNONZERO] * PLANES);
	// Each part lies inside if all of them do.
	return off == batch.size;
}

/* Exchange the blocks of a square of 8 x 8 bytes that lie beside its diagonal,
 * for blocks of @p bits, and blocks of blocks of that size. */
static inline void exchange(uint64_t *rows, unsigned int distance,
			    unsigned int bits, uint64_t mask)
{
#pragma GCC unroll 8
	for (unsigned int i = 0; i < PLANES; i++) {
		if (i & distance)
			continue;
		uint64_t other = (rows[i] >> bits ^ rows[i + distance]) & mask;

		rows[i + distance] ^= other;
		rows[i] ^= other << bits;
	}
}

/* Read PLANES differences at once: their bytes lie in as many planes. */
static void look_ahead(struct reader *r, uint64_t first)
{
	uint64_t rows[PLANES];

#pragma GCC unroll 8
	for (unsigned int plane = 0; plane < PLANES; plane++)
		rows[plane] = gr_load_u64(r->planes +
					  plane * r->numbers[NNONZERO] + first);
	exchange(rows, 1, 8, UINT64_C(0x00ff00ff00ff00ff));
	exchange(rows, 2, 16, UINT64_C(0x0000ffff0000ffff));
	exchange(rows, 4, 32, UINT64_C(0x00000000ffffffff));
	memcpy(r->ahead, rows, sizeof(rows));
	r->first_ahead = first;
}

static uint64_t difference_alone(const struct reader *r, uint64_t i)
{
	uint64_t bits = 0;

	for (unsigned int plane = 0; plane < PLANES; plane++)
		bits |= (uint64_t)r->planes[plane * r->numbers[NNONZERO] + i]
			<< plane * 8;
	return bits;
}

static uint64_t difference(struct reader *r, uint64_t i)
{
	if (i - r->first_ahead < PLANES)
		return unzigzag(r->ahead[i - r->first_ahead]);
	if (r->numbers[NNONZERO] - i < PLANES)
		return unzigzag(difference_alone(r, i));
	look_ahead(r, i);
	return unzigzag(r->ahead[0]);
}

static bool read_words(struct reader *r, struct gr_page_words *page)
{
	uint32_t column = page->column;

	memset(page->words, 0, sizeof(page->words));
	for (int i = 0; i < GR_SET_PAGE_WORDS; i++) {
		if (page->present[i / 64] >> i % 64 & 1) {
			uint64_t at = r->npresent++;

			if (at >= r->numbers[NPRESENT])
				return false;
			if (r->nonzero[at / 8] >> at % 8 & 1) {
				if (r->nnonzero >= r->numbers[NNONZERO])
					return false;
				page->words[i] = r->columns.latest[column] +=
					difference(r, r->nnonzero++);
			}
		}
		column = column + 1 == page->stride ? 0 : column + 1;
	}
	return true;
}

static bool read_page(struct reader *r, uint64_t i, uint64_t *nfull,
		      struct gr_page_words *page)
{
	uint64_t distance = gr_load_u64(r->heads + i * HEAD_WORDS * 8);
	uint64_t form = gr_load_u64(r->heads + (i * HEAD_WORDS + 1) * 8);

	if (distance > UINT64_MAX / GR_SET_PAGE_BYTES ||
	    __builtin_add_overflow(r->addr, distance * GR_SET_PAGE_BYTES,
				   &r->addr) ||
	    (i && !distance))
		return false;
	page->addr = r->addr;
	page->stride = form >> 32;
	page->column = (uint32_t)form;
	if (!page->stride || page->stride > GR_MAX_STRIDE ||
	    page->column >= page->stride)
		return false;
	if (r->is_full[i / 8] >> i % 8 & 1) {
		memset(page->present, 0xff, sizeof(page->present));
		(*nfull)++;
	} else {
		if (i - *nfull >= r->numbers[NPAGES] - r->numbers[NFULL])
			return false;
		memcpy(page->present,
		       r->present + (i - *nfull) * sizeof(page->present),
		       sizeof(page->present));
	}
	return read_words(r, page);
}

struct gr_error *gr_batch_read(
	struct gr_bytes batch, struct gr_page_words *page,
	struct gr_error *(*take)(void *ctx, const struct gr_page_words *page),
	void *ctx, bool *is_fine)
{
	_cleanup_free_ struct reader *r = calloc(1, sizeof(*r));
	struct gr_error *err = NULL;
	uint64_t nfull = 0;

	if (!r)
		return &gr_enomem;
	*is_fine = open_batch(r, batch);
	r->first_ahead = -(uint64_t)PLANES;
	// Bounded by the pages of one batch, which were checked.
	for (uint64_t i = 0; *is_fine && !err && i < r->numbers[NPAGES]; i++) {
		*is_fine = read_page(r, i, &nfull, page);
		if (*is_fine)
			err = take(ctx, page);
	}
	return err;
}
