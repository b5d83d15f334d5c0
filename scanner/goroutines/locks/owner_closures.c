// SPDX-License-Identifier: Apache-2.0
/* Deferred calls that unlock: which lock a closure is about. */
#include "goroutines/locks/owner_search.h"

#include "goroutines/deferred.h"
#include "inferior/recorder.h"
#include "scan.h"

enum { CAPTURED_WORDS = 4 };

/* A captured word of a deferred call that unlocks. */
static struct gr_error *match_captured(struct gr_owner_search *s,
				       uint64_t value, uint8_t class,
				       const struct gr_lock_at *at)
{
	const struct gr_wait_table *t = s->table;
	size_t i = gr_count_before(t->nprimitives, i,
				   t->primitives[i].object < value);
	struct gr_error *err = NULL;

	for (size_t n = 0;
	     !err && i < t->nprimitives && n < GR_OWNER_MAX_MATCHES; i++, n++) {
		struct gr_primitive *p = &t->primitives[i];
		int64_t distance = (int64_t)(p->object - value);

		if (distance >= GR_OWNER_MAX_AROUND || value < p->around)
			break;
		if (gr_primitive_class(p) == class &&
		    (at->distance == GR_ANY_DISTANCE ||
		     at->distance == distance))
			err = gr_owner_note_defer(
				s, p, class,
				!distance || at->distance == distance);
	}
	return err;
}

static struct gr_error *note_named_defer(struct gr_owner_search *s,
					 uint8_t class, uint64_t addr)
{
	struct gr_primitive *p = gr_wait_table_at(s->table, addr);
	const struct gr_primitive *end =
		s->table->primitives + s->table->nprimitives;
	struct gr_error *err = NULL;

	for (; !err && p && p < end && p->object == addr; p++)
		if (gr_primitive_class(p) == class)
			err = gr_owner_note_defer(s, p, class, true);
	return err;
}

/* How many words of a closure may be captured: as the debug information has it,
 * else one, the receiver of a deferred method. */
static struct gr_error *count_captured(struct gr_owner_search *s, uint64_t pc,
				       size_t *ret)
{
	gr_type_id type = GR_TYPE_NONE;
	struct gr_error *err = gr_types_closure(s->scan->types, pc, &type);
	uint64_t bytes = type == GR_TYPE_NONE ?
				 0 :
				 gr_types_get(s->scan->types, type)->size_bytes;
	uint64_t n = bytes / GR_WORD_BYTES;

	*ret = n < 2 ? 1 : n > CAPTURED_WORDS ? CAPTURED_WORDS : n - 1;
	return err;
}

/* Read a word that a closure has captured. A file without values has it only if
 * it is an address; 0 is no lock. */
static struct gr_error *read_captured(struct gr_owner_search *s, uint64_t addr,
				      uint64_t *ret)
{
	struct gr_recorder *recorder = s->scan->rt.recorder;
	size_t mark = gr_recorder_search(recorder);
	struct gr_error *err = gr_image_read_u64(s->scan->image, addr, ret);

	gr_recorder_end_search(
		recorder, mark,
		recorder && !err && gr_image_is_mapped(s->scan->image, *ret));
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

/* Note the locks of a class that the closure at @p addr unlocks. */
static struct gr_error *match_closure(struct gr_owner_search *s, uint64_t addr,
				      uint64_t pc, uint8_t class,
				      const struct gr_lock_at *at)
{
	struct gr_error *err = NULL;
	uint64_t value;
	size_t n;

	if (at->addr && class == GR_LOCK_SLOT)
		return gr_owner_look_for_slots(s, at->addr, true);
	if (at->addr)
		return note_named_defer(s, class, at->addr);
	err = count_captured(s, pc, &n);
	for (size_t i = 1; !err && i <= n; i++) {
		err = gr_runtime_step(&s->scan->rt, 1);
		if (!err)
			err = read_captured(s, addr + i * GR_WORD_BYTES,
					    &value);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			return NULL;
		if (!err)
			err = match_captured(s, value, class, at);
		if (!err && class == GR_LOCK_SLOT)
			err = gr_owner_look_for_slots(s, value, true);
	}
	return err;
}

struct gr_error *gr_owner_look_at_closure(struct gr_owner_search *s,
					  uint64_t addr)
{
	const struct gr_lock_code *code;
	struct gr_lock_at at;
	struct gr_func func;
	bool found;
	struct gr_error *err =
		gr_scan_read_closure(s->scan, addr, &func, &found);

	if (err || !found || gr_lock_is_internal(func.name))
		return err;
	err = gr_lock_code_of(&s->codes, &func, 1, &code);
	for (uint8_t class = 0; !err && class < GR_NLOCK_CLASSES; class ++)
		if (code->nsites && gr_lock_code_unlocks(code, class, &at))
			err = match_closure(s, addr, func.entry, class, &at);
	return err;
}
