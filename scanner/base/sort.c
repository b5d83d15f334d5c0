// SPDX-License-Identifier: Apache-2.0
#include "base/sort.h"

#include "base/cleanup.h"

enum { POLL_STEPS = 1 << 14 };

/** A bottom-up merge sort: runs of `from` are merged into `to`. */
struct sort {
	uint8_t *from, *to;
	size_t count, elem_bytes;
	int (*compare)(const void *a, const void *b);
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
	uint32_t steps;
};

static struct gr_error *step(struct sort *s)
{
	if (++s->steps % POLL_STEPS || !s->poll)
		return NULL;
	return s->poll(s->ctx);
}

static struct gr_error *is_in_order(struct sort *s, bool *ret)
{
	*ret = true;
	for (size_t i = 1; *ret && i < s->count; i++) {
		const uint8_t *at = s->from + i * s->elem_bytes;
		struct gr_error *err = step(s);

		if (err)
			return err;
		*ret = s->compare(at - s->elem_bytes, at) <= 0;
	}
	return NULL;
}

/* Merge the adjacent runs [first, middle) and [middle, end). */
static struct gr_error *merge(struct sort *s, size_t first, size_t middle,
			      size_t end)
{
	const uint8_t *a = s->from + first * s->elem_bytes;
	const uint8_t *b = s->from + middle * s->elem_bytes;
	const uint8_t *a_end = b, *b_end = s->from + end * s->elem_bytes;
	uint8_t *to = s->to + first * s->elem_bytes;

	while (a < a_end && b < b_end) {
		struct gr_error *err = step(s);

		if (err)
			return err;
		const uint8_t **next = s->compare(a, b) <= 0 ? &a : &b;
		memcpy(to, *next, s->elem_bytes);
		*next += s->elem_bytes;
		to += s->elem_bytes;
	}
	memcpy(to, a, (size_t)(a_end - a));
	to += a_end - a;
	memcpy(to, b, (size_t)(b_end - b));
	return NULL;
}

/* Merge runs of @p width elements into runs of twice that length. */
static struct gr_error *merge_all(struct sort *s, size_t width)
{
	struct gr_error *err = NULL;

	for (size_t first = 0; !err && first < s->count;) {
		size_t left = s->count - first;
		size_t middle = left < width ? left : width;
		size_t both = left - middle < width ? left : middle + width;

		err = merge(s, first, first + middle, first + both);
		first += both;
	}
	return err;
}

struct gr_error *gr_sort(void *data, size_t count, size_t elem_bytes,
			 int (*compare)(const void *a, const void *b),
			 struct gr_error *(*poll)(void *ctx), void *ctx)
{
	_cleanup_free_ uint8_t *other = NULL;
	struct sort s = { .from = data,
			  .count = count,
			  .elem_bytes = elem_bytes,
			  .compare = compare,
			  .poll = poll,
			  .ctx = ctx };
	struct gr_error *err;
	bool is_done;

	if (count < 2)
		return NULL;
	err = is_in_order(&s, &is_done);
	if (err || is_done)
		return err;
	other = malloc(count * elem_bytes);
	if (!other)
		return &gr_enomem;
	s.to = other;
	for (size_t width = 1; width < count; width *= 2) {
		err = merge_all(&s, width);
		// An aborted merge has written only copies; `from` is complete.
		if (err)
			break;
		uint8_t *merged = s.to;
		s.to = s.from;
		s.from = merged;
	}
	if (s.from != data)
		memcpy(data, s.from, count * elem_bytes);
	return err;
}
