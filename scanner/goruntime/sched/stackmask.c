// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/stackmask.h"

#include "base/bitmap.h"
#include "base/cleanup.h"

enum {
	MASK_BYTES_A_READ = 128,
	READ_STEPS = 1,
	PROGRAM_REPEAT = 0x80,
	PROGRAM_COUNT = 0x7f,
};

void gr_area_mark(struct gr_area *area, uint64_t addr, bool conservative)
{
	if (addr < area->start || addr >= area->end ||
	    (addr - area->start) % GR_WORD_BYTES)
		return;
	GR_ASSERT(area->live && area->conservative);
	size_t word = (addr - area->start) / GR_WORD_BYTES;
	if (gr_bitmap_set_new(area->live, word) && conservative)
		gr_bitmap_set(area->conservative, word);
	else if (!conservative)
		gr_bitmap_clear(area->conservative, word);
}

static bool has_bit(const struct gr_area *area, const uint64_t *bitmap,
		    uint64_t addr, uint64_t bytes)
{
	uint64_t end = addr + bytes;

	if (!bitmap || addr >= area->end || end <= area->start || end < addr)
		return false;
	if (addr < area->start)
		addr = area->start;
	if (end > area->end)
		end = area->end;
	uint64_t first = (addr - area->start) / GR_WORD_BYTES;
	uint64_t last = (end - area->start) / GR_WORD_BYTES;
	return gr_bitmap_next(bitmap, first, last) < last;
}

bool gr_area_has_live(const struct gr_area *area, uint64_t addr, uint64_t bytes)
{
	return has_bit(area, area->live, addr, bytes);
}

bool gr_area_has_doubt(const struct gr_area *area, uint64_t addr,
		       uint64_t bytes)
{
	return has_bit(area, area->conservative, addr, bytes);
}

void gr_area_mark_range(struct gr_area *area, uint64_t start, uint64_t end)
{
	if (start < area->start)
		start = area->start;
	if (end > area->end)
		end = area->end;
	if (start >= end)
		return;
	GR_ASSERT(area->start % GR_WORD_BYTES == 0 &&
		  area->end % GR_WORD_BYTES == 0);
	// A word in which the range ends is marked as a whole.
	uint64_t at = (start - area->start) / GR_WORD_BYTES;
	uint64_t last = (end - area->start + GR_WORD_BYTES - 1) / GR_WORD_BYTES;
	// Bounded by the area: n is 1 at least.
	for (uint64_t n; at < last; at += n) {
		n = 64 - at % 64;
		if (n > last - at)
			n = last - at;
		uint64_t wanted = UINT64_MAX >> (64 - n) << at % 64;
		area->conservative[at / 64] |= wanted & ~area->live[at / 64];
		area->live[at / 64] |= wanted;
	}
}

/* Limit nwords to the words from start to the area's end. */
static uint64_t clip_words(const struct gr_area *area, uint64_t start,
			   uint64_t nwords)
{
	if (start >= area->end)
		return 0;
	uint64_t there = (area->end - start) / GR_WORD_BYTES;
	return nwords < there ? nwords : there;
}

static void mark_bits(struct gr_area *area, uint64_t start, const uint8_t *bits,
		      uint64_t nwords, bool conservative)
{
	// Bounded by the mask's bits, which its caller has read.
	for (uint64_t i = 0; i < nwords; i++)
		if (bits[i / 8] >> (i % 8) & 1)
			gr_area_mark(area, start + i * GR_WORD_BYTES,
				     conservative);
}

/* The mask cannot be read: mark all words, so that no live word is lost. */
static void mark_unknown(struct gr_runtime *rt, struct gr_area *area,
			 uint64_t start, uint64_t nwords)
{
	gr_gap_add(rt->gaps, GR_GAP_UNREADABLE_PAGES, 1);
	gr_area_mark_range(area, start, start + nwords * GR_WORD_BYTES);
}

struct gr_error *gr_area_mark_mask(struct gr_runtime *rt, struct gr_area *area,
				   uint64_t start, uint64_t nwords,
				   uint64_t mask_addr, bool conservative)
{
	uint8_t bits[MASK_BYTES_A_READ];

	nwords = clip_words(area, start, nwords);
	for (uint64_t done = 0; done < nwords;) {
		uint64_t n = nwords - done;
		if (n > sizeof(bits) * 8)
			n = sizeof(bits) * 8;
		struct gr_error *err = gr_runtime_step(rt, READ_STEPS);
		if (!err)
			err = gr_image_read(rt->image, mask_addr + done / 8,
					    bits, (n + 7) / 8);
		uint64_t at = start + done * GR_WORD_BYTES;
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			mark_unknown(rt, area, at, nwords - done);
			return NULL;
		}
		if (err)
			return err;
		mark_bits(area, at, bits, n, conservative);
		done += n;
	}
	return NULL;
}

/** A running GC program. It ends when nbits reaches limit. */
struct program {
	struct gr_runtime *rt;
	uint64_t addr;
	uint64_t *bits;
	uint64_t nbits, limit;
};

static struct gr_error *program_byte(struct program *p, uint8_t *ret)
{
	return gr_image_read(p->rt->image, p->addr++, ret, 1);
}

static struct gr_error *program_varint(struct program *p, uint64_t *ret)
{
	struct gr_error *err;
	uint8_t byte = PROGRAM_REPEAT;

	*ret = 0;
	for (unsigned int shift = 0; byte & PROGRAM_REPEAT; shift += 7) {
		if (shift >= 63)
			return gr_error_fault(p->addr, 1);
		err = program_byte(p, &byte);
		if (err)
			return err;
		*ret |= (uint64_t)(byte & PROGRAM_COUNT) << shift;
	}
	return NULL;
}

static struct gr_error *program_literal(struct program *p, uint64_t n)
{
	struct gr_error *err;
	uint8_t byte = 0;

	// Bounded by 127, the count of one byte.
	for (uint64_t i = 0; i < n && p->nbits < p->limit; i++) {
		if (i % 8 == 0) {
			err = program_byte(p, &byte);
			if (err)
				return err;
		}
		if (byte >> (i % 8) & 1)
			gr_bitmap_set(p->bits, p->nbits);
		p->nbits++;
	}
	return NULL;
}

/* Repeat the last n bits. The count follows in the program. If n is 0, the real
 * n precedes the count there. */
static struct gr_error *program_repeat(struct program *p, uint64_t n)
{
	struct gr_error *err = NULL;
	uint64_t count;

	if (!n)
		err = program_varint(p, &n);
	if (!err)
		err = program_varint(p, &count);
	if (err)
		return err;
	if (!n || n > p->nbits || !count)
		return gr_error_fault(p->addr, 1);
	uint64_t left = p->limit - p->nbits;
	uint64_t total = count > left / n ? left : count * n;
	// Bounded by the bits that are left.
	for (uint64_t i = 0; i < total; i++, p->nbits++)
		if (gr_bitmap_test(p->bits, p->nbits - n))
			gr_bitmap_set(p->bits, p->nbits);
	return NULL;
}

static struct gr_error *program_run(struct program *p)
{
	struct gr_error *err;
	uint8_t op;

	// Bounded by the limit: each instruction brings a bit.
	while (p->nbits < p->limit) {
		err = program_byte(p, &op);
		if (err)
			return err;
		if (!op)
			return NULL;
		uint64_t n = op & PROGRAM_COUNT;
		err = op & PROGRAM_REPEAT ? program_repeat(p, n) :
					    program_literal(p, n);
		if (err)
			return err;
	}
	return NULL;
}

struct gr_error *gr_area_mark_program(struct gr_runtime *rt,
				      struct gr_area *area, uint64_t start,
				      uint64_t nwords, uint64_t program_addr,
				      bool conservative)
{
	nwords = clip_words(area, start, nwords);
	_cleanup_free_ uint64_t *bits = gr_bitmap_alloc(nwords);
	if (!bits)
		return &gr_enomem;
	struct program p = {
		.rt = rt,
		.addr = program_addr + sizeof(uint32_t),
		.bits = bits,
		.limit = nwords,
	};
	struct gr_error *err = program_run(&p);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		mark_unknown(rt, area, start, nwords);
		return NULL;
	}
	if (!err)
		mark_bits(area, start, (const uint8_t *)bits, nwords,
			  conservative);
	return err;
}
