/* SPDX-License-Identifier: Apache-2.0 */
/** lock_operation: the functions that lock and unlock, by name: methods of package
 * sync, and those that send to a channel and receive from it. */
#ifndef GR_LOCK_OPERATION_H
#define GR_LOCK_OPERATION_H

#include "goruntime/layout/inline.h"

enum gr_lock_class {
	GR_LOCK_MUTEX, /**< sync.Mutex */
	GR_LOCK_WRITE, /**< sync.RWMutex, to write */
	GR_LOCK_READ,  /**< sync.RWMutex, to read */
	/** sync.WaitGroup: Done() is what others wait for. */
	GR_LOCK_GROUP,
	/** A place in a channel that is a semaphore: who sends takes it, who
	 * receives gives it back. */
	GR_LOCK_SLOT,
	/** A value of a channel that is a pool: who receives takes it, who sends
	 * gives it back. No site has this class. */
	GR_LOCK_POOLED,
	GR_NLOCK_CLASSES,
};

/** A method of package sync and its effect. */
struct gr_lock_operation {
	const char *name;
	uint8_t class; /**< enum gr_lock_class */
	bool unlocks;
	/** From the lock to the word that its inlined code changes. */
	uint8_t word_off;
};

/** The operation of that name; NULL: it is none. */
const struct gr_lock_operation *gr_lock_operation_find(const char *name);

/** The outermost operation among @p n calls, or NULL. The calls around it begin
 * with number *@p around, which may be @p n. */
const struct gr_lock_operation *
gr_lock_operation_around(const struct gr_logical_frame *calls, size_t n,
			 size_t *around);

/** May it fail? */
bool gr_lock_operation_tries(const struct gr_lock_operation *op);

/** Has the method @p function the name of the operation? */
bool gr_lock_operation_has_name(const struct gr_lock_operation *op,
				const char *function);

/** Is @p function one of package sync, or of the runtime below it? */
bool gr_lock_is_internal(const char *function);

/** The answer of the lines; and of the branches, if these are known. */
struct gr_lock_lines {
	uint32_t locked;   /**< The last line before that locks; or 0. */
	uint32_t unlocked; /**< The first line behind that unlocks; or 0. */
	bool is_between;   /**< Locked and not yet unlocked, it seems. */
	bool is_before;	   /**< It will lock, and has not yet. */
	bool locks_next;   /**< The next line behind that counts locks. */
	/** Locks less unlocks on the lines before; below 0: it has unlocked what
	 * a caller has locked, it seems. */
	int before;
	bool unlocks_before; /**< A line before unlocks, perhaps. */
	bool is_in_progress; /**< The call at the place locks or unlocks. */
	bool is_followed;    /**< The branches are known. */
	bool may_hold; /**< Locked on some ways to the place, not on all. */
};

#endif /* GR_LOCK_OPERATION_H */
