/* SPDX-License-Identifier: Apache-2.0 */
/** live_words: the live words of one frame, and of its first arguments. */
#ifndef GR_LIVE_WORDS_H
#define GR_LIVE_WORDS_H

#include "goruntime/sched/goroutine.h"
#include "goruntime/sched/stackmask.h"

enum {
	GR_MAX_FRAME_WORDS = 256, /* of a frame that is searched */
	GR_ARGUMENT_WORDS = 4,	  /* behind a frame: arguments, if spilled */
};

struct gr_live_words {
	const struct gr_area *stack;
	uint64_t next, end;
};

/** Begin with the first word of @p frame, which is one of @p g. */
static inline struct gr_live_words gr_live_words(const struct gr_goroutine *g,
						 const struct gr_frame *frame)
{
	uint64_t most = frame->sp + GR_MAX_FRAME_WORDS * GR_WORD_BYTES;
	struct gr_live_words words = { &g->stack, frame->sp,
				       frame->fp + GR_ARGUMENT_WORDS *
							   GR_WORD_BYTES };

	if (words.end > most)
		words.end = most;
	if (words.end > g->stack.end)
		words.end = g->stack.end;
	if (!g->stack.host || !g->stack.live || words.next < g->stack.start)
		words.next = words.end;
	return words;
}

/** The next live word that is not 0; false after the last one. */
static inline bool gr_live_words_next(struct gr_live_words *words,
				      uint64_t *ret)
{
	while (words->next < words->end) {
		uint64_t at = words->next;

		words->next += GR_WORD_BYTES;
		if (!gr_area_has_live(words->stack, at, GR_WORD_BYTES))
			continue;
		*ret = gr_load_u64(words->stack->host + at -
				   words->stack->start);
		if (*ret)
			return true;
	}
	return false;
}

#endif /* GR_LIVE_WORDS_H */
