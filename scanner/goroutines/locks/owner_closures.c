// SPDX-License-Identifier: Apache-2.0
/* Deferred calls that unlock: which lock a closure is about. */
#include "goroutines/locks/owner_search.h"

#include "goroutines/locks/lock_flow.h"
#include "inferior/recorder.h"
#include "scan/stop.h"

enum {
	CAPTURED_WORDS = 4,
	MAX_CLOSURE_BYTES = 4096, /* of code that is looked at */
};

/** A closure that unlocks. */
struct closure {
	uint64_t addr;
	const struct gr_func *func;
	uint32_t words; /* bit i: word i of it may lead to the lock */
	/* Only one of them may: the lock is that one's. */
	bool is_sole;
	bool always; /* It unlocks on all its ways. */
};

/* A captured word of a deferred call that unlocks. */
static struct gr_error *match_captured(struct gr_owner_search *s,
				       const struct closure *closure,
				       uint64_t value, uint8_t class,
				       const struct gr_lock_at *at)
{
	struct gr_error *err = NULL;
	size_t count;
	struct gr_primitive *p = gr_owner_find_around(s, value, &count);

	for (size_t n = 0; !err && n < count; n++, p++) {
		int64_t distance = (int64_t)(p->object - value);
		bool is_pointer = !distance || at->distance == distance;

		if (gr_primitive_class(p) == class &&
		    (at->distance == GR_ANY_DISTANCE ||
		     at->distance == distance))
			err = gr_owner_note_defer(s, p, class,
						  is_pointer &&
							  closure->is_sole &&
							  closure->always);
	}
	return err;
}

static struct gr_error *note_named_defer(struct gr_owner_search *s,
					 uint8_t class, uint64_t addr,
					 bool always)
{
	struct gr_primitive *p = gr_wait_table_at(s->table, addr);
	const struct gr_primitive *end =
		s->table->primitives + s->table->nprimitives;
	struct gr_error *err = NULL;

	for (; !err && p && p < end && p->object == addr; p++)
		if (gr_primitive_class(p) == class)
			err = gr_owner_note_defer(s, p, class, always);
	return err;
}

/* Read a word that a closure has captured. A file without values has it only if
 * it is an address; 0 is no lock. */
static struct gr_error *read_captured(struct gr_owner_search *s, uint64_t addr,
				      uint64_t *ret)
{
	struct gr_recorder *recorder = s->stop->program->rt.recorder;
	size_t mark = gr_recorder_search(recorder);
	struct gr_error *err = gr_image_read_u64(s->stop->image, addr, ret);

	gr_recorder_end_search(
		recorder, mark,
		recorder && !err && gr_image_is_mapped(s->stop->image, *ret));
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

/* Does the instruction at @p p copy the closure's own register, rdx, or put it
 * on the stack? */
static bool keeps_context(const uint8_t *p)
{
	return p[0] == 0x48 && p[1] == 0x89 &&
	       ((p[2] & 0xf8) == 0xd0 || p[2] == 0x54 || p[2] == 0x94);
}

/* The captured words that the code loads, `mov 8(%rdx),%rax`. A byte that looks
 * like a load and is none makes that unsure. */
static struct gr_error *find_loads(struct gr_owner_search *s,
				   struct closure *closure)
{
	uint64_t bytes = closure->func->end - closure->func->entry;
	const uint8_t *code;
	struct gr_error *err;

	closure->words = 1 << 1;
	if (s->stop->program->rt.arch == &gr_arch_arm64 ||
	    bytes > MAX_CLOSURE_BYTES)
		return NULL;
	err = gr_image_map(s->stop->image, closure->func->entry, bytes, &code);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	uint32_t found = 0;
	bool is_sure = true;
	for (uint64_t i = 0; i + 4 < bytes; i++) {
		const uint8_t *p = code + i;
		bool is_load = (p[0] & 0xf8) == 0x48 && p[1] == 0x8b &&
			       (p[2] & 7) == 2 && p[2] >> 6 < 3;

		if (is_load && p[2] >> 6 == 1 && p[3] % GR_WORD_BYTES == 0 &&
		    p[3] / GR_WORD_BYTES <= CAPTURED_WORDS)
			found |= 1u << p[3] / GR_WORD_BYTES;
		else if (is_load || keeps_context(p))
			is_sure = false;
	}
	if (found & ~1u)
		closure->words = found & ~1u;
	closure->is_sole = is_sure && found && !(found & (found - 1));
	return NULL;
}

/* Is only one of the captured words a pointer? */
static struct gr_error *has_one_pointer(struct gr_owner_search *s,
					const struct closure *closure,
					bool *ret)
{
	struct gr_error *err = NULL;
	size_t pointers = 0;
	uint64_t value = 0;

	for (size_t i = 1; !err && i <= CAPTURED_WORDS; i++) {
		if (!(closure->words >> i & 1))
			continue;
		err = read_captured(s, closure->addr + i * GR_WORD_BYTES,
				    &value);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			value = 0;
		pointers += gr_image_is_mapped(s->stop->image, value);
	}
	*ret = pointers == 1;
	return err;
}

/* Read the captures of a closure: as the debug information has them, else those
 * that its code loads. */
static struct gr_error *read_closure(struct gr_owner_search *s,
				     struct closure *closure)
{
	gr_type_id type = GR_TYPE_NONE;
	struct gr_error *err = gr_types_closure(s->stop->program->types,
						closure->func->entry, &type);
	uint64_t bytes =
		type == GR_TYPE_NONE ?
			0 :
			gr_types_get(s->stop->program->types, type)->size_bytes;
	uint64_t n = bytes / GR_WORD_BYTES;

	if (err)
		return err;
	if (n < 2)
		return find_loads(s, closure);
	bool is_whole = n <= CAPTURED_WORDS + 1;
	closure->words = ((1u << (is_whole ? n : CAPTURED_WORDS + 1)) - 1) &
			 ~1u;
	return is_whole ? has_one_pointer(s, closure, &closure->is_sole) : NULL;
}

/* Note the locks of a class that the closure unlocks. */
static struct gr_error *match_closure(struct gr_owner_search *s,
				      const struct closure *closure,
				      uint8_t class,
				      const struct gr_lock_at *at)
{
	struct gr_error *err = NULL;
	uint64_t value;

	if (at->addr && class >= GR_LOCK_SLOT)
		return gr_owner_look_for_slots(s, at->addr, class, true);
	if (at->addr)
		return note_named_defer(s, class, at->addr, closure->always);
	for (size_t i = 1; !err && i <= CAPTURED_WORDS; i++) {
		err = gr_runtime_step(&s->stop->program->rt, 1);
		if (!(closure->words >> i & 1))
			continue;
		if (!err)
			err = read_captured(
				s, closure->addr + i * GR_WORD_BYTES, &value);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			return NULL;
		if (!err)
			err = match_captured(s, closure, value, class, at);
		if (!err && class >= GR_LOCK_SLOT)
			err = gr_owner_look_for_slots(s, value, class, true);
	}
	return err;
}

/* Does the code unlock on the whole? What is sent to a channel is given back to
 * a pool. */
static bool gives_back(const struct gr_lock_code *code, uint8_t class,
		       struct gr_lock_at *at)
{
	bool sends = false, receives = false;

	if (class != GR_LOCK_POOLED)
		return code->nsites && gr_lock_code_unlocks(code, class, at);
	for (size_t i = 0; i < code->nsites; i++) {
		const struct gr_lock_site *site = &code->sites[i];

		if (site->class != GR_LOCK_SLOT)
			continue;
		receives |= site->unlocks;
		sends |= !site->unlocks;
		*at = site->at;
	}
	return sends && !receives;
}

static bool unlocks(const struct gr_lock_code *code)
{
	struct gr_lock_at at;
	bool ret = false;

	for (uint8_t class = 0; class < GR_NLOCK_CLASSES; class ++)
		ret |= gives_back(code, class, &at);
	return ret;
}

/* Is the function one of the goroutine's deferred ones that have not run? The
 * frame's slot keeps the closure of one that has. */
static struct gr_error *is_pending(struct gr_owner_search *s, uint64_t entry,
				   bool *ret)
{
	struct gr_error *err = NULL;

	*ret = false;
	if (!s->has_pending) {
		s->pending.size = 0;
		err = gr_deferred_find(&s->stop->sched, s->g, &s->pending);
		s->has_pending = !err;
	}
	for (size_t i = 0; !err && !*ret && i < s->pending.size; i++)
		*ret = s->pending.data[i] == entry;
	return err ? err :
		     gr_runtime_step(&s->stop->program->rt, s->pending.size);
}

/* Find the code of the closure at @p addr, if it unlocks and is still to run;
 * else *@p code is NULL. */
static struct gr_error *find_closure(struct gr_owner_search *s, uint64_t addr,
				     struct gr_func *func,
				     const struct gr_lock_code **code)
{
	bool found;
	struct gr_error *err =
		gr_closure_read(&s->stop->program->rt, addr, func, &found);

	*code = NULL;
	if (err || !found || gr_lock_is_internal(func->name))
		return err;
	err = gr_lock_code_of(&s->codes, func, 1, code);
	if (err || !unlocks(*code)) {
		*code = NULL;
		return err;
	}
	err = is_pending(s, func->entry, &found);
	if (!found)
		*code = NULL;
	return err;
}

struct gr_error *gr_owner_count_closure(struct gr_owner_search *s,
					uint64_t addr)
{
	const struct gr_lock_code *code;
	struct gr_lock_at at;
	struct gr_func func;
	struct gr_error *err = find_closure(s, addr, &func, &code);

	for (uint8_t class = 0; !err && code && class < GR_NLOCK_CLASSES;
	     class ++)
		s->ndeferred[class] += gives_back(code, class, &at);
	return err;
}

/* One that unlocks on some of its ways proves nothing. What the compiler makes of
 * `defer mu.Unlock()` always does. */
static struct gr_error *note_always(struct gr_owner_search *s,
				    const struct gr_lock_code *code,
				    uint8_t class, struct closure *closure)
{
	const struct gr_lock_at any = { GR_ANY_ADDR, GR_ANY_DISTANCE };

	closure->always = strstr(closure->func->name, ".deferwrap");
	return closure->always ?
		       NULL :
		       gr_lock_flow_always(&s->stop->program->rt, code->flow,
					   class, &any, true, &closure->always);
}

struct gr_error *gr_owner_look_at_closure(struct gr_owner_search *s,
					  uint64_t addr)
{
	const struct gr_lock_code *code;
	struct gr_lock_at at;
	struct gr_func func;
	struct closure closure = { .addr = addr, .func = &func };
	struct gr_error *err = find_closure(s, addr, &func, &code);

	if (err || !code)
		return err;
	err = read_closure(s, &closure);
	for (uint8_t class = 0; !err && class < GR_NLOCK_CLASSES; class ++) {
		struct closure one = closure;

		if (!gives_back(code, class, &at))
			continue;
		err = note_always(s, code, class, &one);
		if (!err)
			err = match_closure(s, &one, class, &at);
	}
	return err;
}
