/* SPDX-License-Identifier: Apache-2.0 */
/** owner_search: what the search for owners has found so far, and its parts. */
#ifndef GR_OWNER_SEARCH_H
#define GR_OWNER_SEARCH_H

#include "goroutines/deferred.h"
#include "goroutines/locks/lock_code.h"
#include "goroutines/wait_table.h"
#include "goruntime/layout/inline.h"

struct gr_stop;

enum {
	GR_OWNER_MAX_AROUND = 4096, /* from a pointer to the lock it is about */
	GR_OWNER_MAX_MATCHES = 8,   /* locks that one pointer may be about */
};

/** The frame that is being looked at, and its goroutine. */
struct gr_owner_search {
	struct gr_stop *stop;
	struct gr_wait_table *table;
	const struct gr_reach_sets *reach; /**< Or NULL. */
	struct gr_lock_codes codes;
	const struct gr_goroutine *g;
	uint32_t index;	     /**< The index of g. */
	uint32_t user_frame; /**< The first one that is not the library's. */
	const struct gr_frame *frame;
	uint32_t frame_index;
	const struct gr_lock_code *code; /**< The frame's. */
	struct gr_logical_frame calls[GR_MAX_INLINED];
	size_t ncalls; /**< 0: not read yet. */
	/** The goroutine is in sync.(*Cond).Wait, which has unlocked this
	 * lock, and will lock it again; 0: it is not. */
	uint64_t let_go;
	/** The frame of sync.(*Cond).Wait; UINT32_MAX: it is not in it. */
	uint32_t cond_frame;
	/** The entries of its deferred functions that have not run, read when
	 * they are needed. */
	struct gr_u64_vector pending;
	bool has_pending;
	/** By class: deferred calls of the frame that unlock. */
	uint32_t ndeferred[GR_NLOCK_CLASSES];
	/** By class: the innermost frame that has unlocked what a caller has
	 * locked, it seems; UINT32_MAX: none has. */
	uint32_t unlocks_inside[GR_NLOCK_CLASSES];
};

/** Does the goroutine wait for the primitive? */
static inline bool gr_owner_is_waiter(const struct gr_owner_search *s,
				      const struct gr_primitive *p)
{
	return p->awaited == s->index + 1;
}

/** The primitives that a pointer @p value may be about, *@p count of them: they
 * are at @p value or a little behind, in the same object or variable. */
struct gr_primitive *gr_owner_find_around(const struct gr_owner_search *s,
					  uint64_t value, size_t *count);

/** Note in s->unlocks_inside what the frame's lines say. */
struct gr_error *gr_owner_note_unlocks(struct gr_owner_search *s) GR_MUST_CHECK;

/** The goroutine has a pointer to the primitive, or its code names it. */
struct gr_error *gr_owner_note_reach(struct gr_owner_search *s,
				     struct gr_primitive *p,
				     const struct gr_lock_at *at,
				     bool is_pointer) GR_MUST_CHECK;

/** A deferred call of the frame will unlock a lock of @p class, which may be the
 * primitive. */
struct gr_error *gr_owner_note_defer(struct gr_owner_search *s,
				     struct gr_primitive *p, uint8_t class,
				     bool is_pointer) GR_MUST_CHECK;

/** If there is a closure at @p addr that unlocks, and that is still to run, note
 * the locks that it is about. */
struct gr_error *gr_owner_look_at_closure(struct gr_owner_search *s,
					  uint64_t addr) GR_MUST_CHECK;

/** Count the closure at @p addr in s->ndeferred, if it is such a one. */
struct gr_error *gr_owner_count_closure(struct gr_owner_search *s,
					uint64_t addr) GR_MUST_CHECK;

/**
 * Note the semaphores or pools, as @p class says, among the primitives whose
 * channel is in the object or variable at @p value: `s.sem`. If a deferred call
 * has it, that call will give back a place or a value.
 */
struct gr_error *gr_owner_look_for_slots(struct gr_owner_search *s,
					 uint64_t value, uint8_t class,
					 bool is_deferred) GR_MUST_CHECK;

#endif /* GR_OWNER_SEARCH_H */
