// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds optional items: the program's version, the names of wait
 * reasons, whether the collector is marking, the stack object of reflect's
 * calls. An item stays absent unless exactly one place matches.
 */
#include "goruntime/search/search_internal.h"

#include "inferior/go_build.h"

#include <string.h>

enum {
	MAX_VERSION_BYTES = 100,
	MAX_TEXT_BYTES = 1 << 25, /* of code that is searched */
	KEPT_TEXT_BYTES = 1 << 21,
	TARGETS = 1 << 12,
};

struct string {
	uint64_t ptr, len;
};

/* Is the string equal to the text? */
static struct gr_error *string_is(struct gr_search *s, const struct string *v,
				  const char *text, size_t len, bool *ret)
{
	char bytes[MAX_VERSION_BYTES];

	*ret = false;
	if (v->len != len || len > sizeof(bytes))
		return NULL;
	struct gr_error *err = gr_image_read(s->rt->image, v->ptr, bytes, len);
	*ret = !err && !memcmp(bytes, text, len);
	return err;
}

struct version_search {
	struct gr_bytes text; /* as the linker wrote it into the file */
	uint64_t addr;
};

/* runtime.buildVersion is a string equal to the version in the file. */
static struct gr_error *visit_version(struct gr_search *s, void *ctx,
				      uint64_t addr, const uint8_t *at,
				      uint64_t avail)
{
	struct version_search *v = ctx;
	struct string string;
	struct gr_error *err;
	bool is_it;

	if (v->addr || avail < sizeof(string))
		return NULL;
	memcpy(&string, at, sizeof(string));
	err = string_is(s, &string, (const char *)v->text.data, v->text.size,
			&is_it);
	if (!err && is_it)
		v->addr = addr;
	return err;
}

static struct gr_error *find_version(struct gr_search *s)
{
	struct version_search v = { .addr = 0 };
	struct gr_go_build build;
	struct gr_error *err = NULL;

	if (s->rt->layout.vars.build_version ||
	    !gr_go_build_find(s->elf, &build))
		return NULL;
	v.text = build.version;
	err = gr_search_words(s, GR_SEARCH_POINTERS, visit_version, &v);
	// Other matches are copies with the same text.
	s->rt->layout.vars.build_version = v.addr;
	return err;
}

struct places {
	uint64_t addr;
	size_t count;
};

static void add_place(struct places *places, uint64_t addr)
{
	places->addr = addr;
	places->count++;
}

/* waitReasonStrings begins with "", "GC assist marking", "IO wait". */
static struct gr_error *visit_reasons(struct gr_search *s, void *ctx,
				      uint64_t addr, const uint8_t *at,
				      uint64_t avail)
{
	static const char *const texts[] = { "GC assist marking", "IO wait" };
	struct places *places = ctx;
	struct string strings[GR_ARRAY_SIZE(texts)];
	struct gr_error *err = NULL;
	bool is_it = avail >= sizeof(strings);

	if (!is_it)
		return NULL;
	memcpy(strings, at, sizeof(strings));
	for (size_t i = 0; !err && is_it && i < GR_ARRAY_SIZE(texts); i++)
		err = string_is(s, &strings[i], texts[i], strlen(texts[i]),
				&is_it);
	if (!err && is_it)
		add_place(places, addr - sizeof(struct string));
	return err;
}

static struct gr_error *find_reasons(struct gr_search *s)
{
	struct places places = { .count = 0 };
	struct gr_error *err = NULL;

	if (s->rt->layout.vars.wait_reasons)
		return NULL;
	err = gr_search_words(s, GR_SEARCH_POINTERS, visit_reasons, &places);
	if (!err && places.count == 1)
		s->rt->layout.vars.wait_reasons = places.addr;
	return err;
}

/* The mask of abi.RegArgs has words without pointers, then pointers. */
static bool is_reg_args(const uint8_t *mask, uint32_t words)
{
	uint32_t pointers = 0;

	for (uint32_t i = 0; i < words; i++) {
		bool is_pointer = mask[i / 8] >> (i % 8) & 1;
		if (pointers && !is_pointer)
			return false;
		pointers += is_pointer;
	}
	return pointers && pointers <= words / 2;
}

/*
 * methodValueCallFrameObjs (runtime/stack.go) is the stack object of an
 * abi.RegArgs. The abi.RegArgs is the highest of the frame's locals, and its
 * last word is not a pointer.
 */
static struct gr_error *visit_reg_args(struct gr_search *s, void *ctx,
				       uint64_t addr, const uint8_t *at,
				       uint64_t avail)
{
	const typeof(s->rt->layout.stack_object) *f =
		&s->rt->layout.stack_object;
	struct places *places = ctx;
	uint8_t mask[64];

	if (avail < f->size_bytes)
		return NULL;
	int32_t off = gr_field_uint(at, f->off);
	uint32_t size = gr_field_uint(at, f->size);
	uint32_t words = gr_field_uint(at, f->ptr_bytes) / GR_WORD_BYTES;
	if (size < 2 * GR_WORD_BYTES || size % GR_WORD_BYTES ||
	    off != -(int64_t)size || words != size / GR_WORD_BYTES - 1 ||
	    words > sizeof(mask) * 8)
		return NULL;
	struct gr_error *err = gr_image_read(
		s->rt->image,
		s->rt->modules[0].rodata + gr_field_uint(at, f->gcdataoff),
		mask, (words + 7) / 8);
	if (!err && is_reg_args(mask, words))
		add_place(places, addr);
	return err;
}

static struct gr_error *find_reg_args(struct gr_search *s)
{
	struct places places = { .count = 0 };
	struct gr_error *err;

	if (s->rt->layout.vars.method_value_objs ||
	    s->rt->layout.stack_object.size_bytes > GR_SEARCH_LOOK_AHEAD ||
	    !gr_field_is_present(s->rt->layout.stack_object.gcdataoff))
		return NULL;
	err = gr_search_words(s, GR_SEARCH_ALL, visit_reg_args, &places);
	if (!err && places.count == 1)
		s->rt->layout.vars.method_value_objs = places.addr;
	return err;
}

/* Counts how often code compares each word of memory with zero. */
struct counter {
	uint64_t targets[TARGETS];
	uint32_t counts[TARGETS];
};

static void count(struct counter *c, uint64_t target)
{
	size_t at = (target >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 52;

	for (size_t i = 0; i < TARGETS; i++, at++) {
		size_t slot = at % TARGETS;
		if (!c->counts[slot])
			c->targets[slot] = target;
		if (c->targets[slot] == target) {
			c->counts[slot]++;
			return;
		}
	}
}

/* The word that is by far the most frequent, or 0. */
static uint64_t most_frequent(const struct counter *c)
{
	size_t best = 0, second = 0;

	for (size_t i = 1; i < TARGETS; i++) {
		if (c->counts[i] > c->counts[best]) {
			second = best;
			best = i;
		} else if (second == best || c->counts[i] > c->counts[second]) {
			second = i;
		}
	}
	return c->counts[best] > 4 * c->counts[second] &&
			       c->counts[best] > 100 ?
		       c->targets[best] :
		       0;
}

/*
 * The variable that code compares with zero by far the most often, among the
 * first @p max_bytes of code: CMPL $0, off(RIP). 0: there is none.
 */
static struct gr_error *most_compared(struct gr_search *s, uint64_t max_bytes,
				      uint64_t *ret)
{
	static const uint8_t opcode[] = { 0x83, 0x3d };
	const struct gr_module *m = &s->rt->modules[0];
	struct counter *counter;
	struct gr_error *err;
	struct gr_bytes text = { NULL, m->etext - m->text };

	*ret = 0;
	if (text.size > max_bytes)
		text.size = max_bytes;
	err = gr_image_map(s->rt->image, m->text, text.size, &text.data);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (err)
		return err;
	counter = calloc(1, sizeof(*counter));
	if (!counter)
		return &gr_enomem;
	const uint8_t *at = text.data, *end = text.data + text.size;
	while (end - at >= 7 && (at = memmem(at, end - at - 5, opcode, 2))) {
		uint64_t next = m->text + (at - text.data) + 7;
		uint64_t target = next + (int32_t)gr_load_u32(at + 2);
		err = gr_runtime_step(s->rt, 1);
		if (err)
			break;
		if (!at[6] && target >= m->noptrbss && target < m->enoptrbss)
			count(counter, target);
		at++;
	}
	if (!err)
		*ret = most_frequent(counter);
	free(counter);
	return err;
}

/*
 * Find runtime.writeBarrier, which is set while the collector marks. Compiled
 * code tests it before every write of a pointer. To check what is kept, a part
 * of the code is enough.
 */
static struct gr_error *find_write_barrier(struct gr_search *s)
{
	uint64_t *var = &s->rt->layout.vars.write_barrier, found;
	struct gr_error *err = NULL;

	if (*var)
		return NULL;
	if (s->kept.write_barrier) {
		err = most_compared(s, KEPT_TEXT_BYTES, &found);
		if (!err && found == s->kept.write_barrier + s->bias)
			*var = found;
	}
	return err || *var ? err : most_compared(s, MAX_TEXT_BYTES, var);
}

struct gr_error *gr_search_find_others(struct gr_search *s)
{
	struct gr_error *err = find_version(s);

	if (!err)
		err = find_reasons(s);
	if (!err)
		err = find_reg_args(s);
	if (!err)
		err = find_write_barrier(s);
	return err;
}
