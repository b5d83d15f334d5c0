// SPDX-License-Identifier: Apache-2.0
/*
 * Channels that are semaphores: `sem <- struct{}{}` takes a place, `<-sem` gives
 * it back. And pools: `c := <-pool` takes a value, `pool <- c` gives it back; a
 * worker that receives and sends looks the same, so that only a deferred call
 * tells. A frame mostly has no pointer to the channel, but to the struct that has
 * it in a field.
 */
#include "goroutines/locks/owner_search.h"

#include "inferior/recorder.h"
#include "scan/stop.h"

enum { MAX_WORDS = 64 }; /* of a struct that has a semaphore */

/* The channel at @p value, if it is what is looked for. */
static struct gr_primitive *find_channel(const struct gr_owner_search *s,
					 uint64_t value, uint8_t class)
{
	const struct gr_wait_table *t = s->table;
	struct gr_primitive *p = value ? gr_wait_table_at(t, value) : NULL;

	for (; p && p < t->primitives + t->nprimitives && p->object == value;
	     p++)
		if (gr_primitive_class(p) == class)
			return p;
	return NULL;
}

/* Read a word of a struct. A file without values has it only if it leads to one
 * of the channels. */
static struct gr_error *read_word(struct gr_owner_search *s, uint64_t addr,
				  uint8_t class, struct gr_primitive **ret)
{
	struct gr_recorder *recorder = s->stop->program->rt.recorder;
	size_t mark = gr_recorder_search(recorder);
	uint64_t value = 0;
	struct gr_error *err = gr_image_read_u64(s->stop->image, addr, &value);

	*ret = err ? NULL : find_channel(s, value, class);
	gr_recorder_end_search(recorder, mark, *ret != NULL);
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED) ||
	    gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = NULL;
	return err;
}

static struct gr_error *note(struct gr_owner_search *s, struct gr_primitive *p,
			     uint64_t variable, bool is_deferred)
{
	const struct gr_lock_at at = { variable, GR_ANY_DISTANCE };

	return is_deferred ?
		       gr_owner_note_defer(s, p, gr_primitive_class(p), true) :
		       gr_owner_note_reach(s, p, &at, true);
}

/* How many words of the object at @p addr are behind it; one of a variable. */
static size_t count_words(const struct gr_owner_search *s, uint64_t addr)
{
	const struct gr_span *span = gr_heap_span_at(s->stop->heap, addr);

	if (!span || addr >= span->limit_addr || addr < span->base_addr)
		return span ? 0 : 1;
	uint32_t i = gr_span_index(span, addr - span->base_addr);
	uint64_t end = gr_span_slot_addr(span, i) + span->elem_bytes;
	size_t n = addr < end ? (end - addr) / GR_WORD_BYTES : 0;

	return n < MAX_WORDS ? n : MAX_WORDS;
}

struct gr_error *gr_owner_look_for_slots(struct gr_owner_search *s,
					 uint64_t value, uint8_t class,
					 bool is_deferred)
{
	struct gr_primitive *p;
	struct gr_error *err = NULL;

	if (!s->table->nslots || value % GR_WORD_BYTES)
		return NULL;
	size_t n = count_words(s, value);
	uint64_t variable = gr_heap_span_at(s->stop->heap, value) ? 0 : value;
	for (size_t i = 0; !err && i < n; i++) {
		err = read_word(s, value + i * GR_WORD_BYTES, class, &p);
		if (!err && p)
			err = note(s, p, variable, is_deferred);
	}
	return err ? err : gr_runtime_step(&s->stop->program->rt, 1 + n / 4);
}
