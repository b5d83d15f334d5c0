// SPDX-License-Identifier: Apache-2.0
#include "goroutines/stack_key.h"

#include "goruntime/layout/inline.h"
#include "goruntime/layout/runtime.h"

#include <inttypes.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t gr_stack_key(const struct gr_goroutine *g)
{
	uint64_t hash = g->nframes + ((uint64_t)g->is_cut << 32);

	for (size_t i = 0; i < g->nframes; i++)
		hash = mix(hash, g->frames[i].pc);
	return hash;
}

/* A text that grows up to its capacity; what has no room is left out. */
struct lines {
	char text[8192];
	size_t length;
};

static void add_line(struct lines *lines, const struct gr_logical_frame *frame)
{
	size_t room = sizeof(lines->text) - lines->length;
	int n = snprintf(lines->text + lines->length, room,
			 "%s%s:%" PRIu32 " in %s", lines->length ? "; " : "",
			 *frame->file ? frame->file : "?", frame->line,
			 frame->function);

	if (n > 0 && (size_t)n < room)
		lines->length += n;
}

struct gr_error *gr_stack_key_text(struct gr_runtime *rt,
				   const struct gr_goroutine *g,
				   const char **ret)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	struct lines lines = { .length = 0 };
	struct gr_error *err = NULL;
	size_t n = 0;

	for (size_t i = 0; !err && i < g->nframes; i++) {
		const struct gr_frame *frame = &g->frames[i];

		err = gr_inline_frames(rt, frame->func, gr_frame_call_pc(frame),
				       frames, &n);
		for (size_t j = 0; !err && j < n; j++)
			add_line(&lines, &frames[j]);
	}
	if (err)
		return err;
	*ret = gr_arena_intern(rt->arena, lines.text, lines.length);
	return *ret ? NULL : &gr_enomem;
}
