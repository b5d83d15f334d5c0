// SPDX-License-Identifier: Apache-2.0
#include "goroutines/fatal_text.h"

#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/runtime.h"

enum {
	MAX_STACK_WORDS = 1 << 16, /* the frame is among the innermost ones */
	MAX_TEXT_BYTES = 1 << 10,
	MAX_CAPTURED = 3, /* words of the closure before the string */
};

static struct gr_error *read_word(struct gr_runtime *rt, uint64_t addr,
				  uint64_t *ret)
{
	struct gr_error *err = gr_image_read_u64(rt->image, addr, ret);

	if (gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = 0;
	return err;
}

static bool is_closure(const struct gr_runtime *rt, uint64_t word)
{
	struct gr_func func;

	return gr_runtime_module_at(rt, word) &&
	       gr_func_find(rt, word, &func) && func.entry == word &&
	       gr_name_has(func.name, GR_NAME_FATAL_CLOSURE);
}

/* The string whose header is at @p addr; NULL if that is none. */
static struct gr_error *read_string(struct gr_runtime *rt, uint64_t addr,
				    const char **ret)
{
	char text[MAX_TEXT_BYTES];
	uint64_t header[2];
	struct gr_error *err =
		gr_image_read(rt->image, addr, header, sizeof(header));

	*ret = NULL;
	if (!err && header[1] && header[1] <= sizeof(text))
		err = gr_image_read(rt->image, header[0], text, header[1]);
	else if (!err)
		return NULL;
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	*ret = gr_arena_intern(rt->arena, text, header[1]);
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_fatal_text_find(struct gr_runtime *rt, uint64_t lo,
				    uint64_t hi, const char **ret)
{
	struct gr_error *err = NULL;
	uint64_t word = 0;

	*ret = NULL;
	if (hi > lo && (hi - lo) / GR_WORD_BYTES > MAX_STACK_WORDS)
		hi = lo + MAX_STACK_WORDS * GR_WORD_BYTES;
	for (uint64_t at = lo; !err && !*ret && at < hi; at += GR_WORD_BYTES) {
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = read_word(rt, at, &word);
		if (err || !is_closure(rt, word))
			continue;
		for (unsigned int i = 1; !err && !*ret && i <= MAX_CAPTURED;
		     i++)
			err = read_string(rt, at + i * GR_WORD_BYTES, ret);
	}
	return err;
}
