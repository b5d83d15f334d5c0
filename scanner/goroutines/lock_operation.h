/* SPDX-License-Identifier: Apache-2.0 */
/** lock_operation: the functions that lock and unlock, by name: methods of package
 * sync, and those that send to a channel and receive from it. */
#ifndef GR_LOCK_OPERATION_H
#define GR_LOCK_OPERATION_H

#include "goroutines/locks/lock_code.h"
#include "goruntime/layout/inline.h"

/** What a method of package sync does. */
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

/** Does @p text begin with @p prefix? */
static inline bool gr_has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

#endif /* GR_LOCK_OPERATION_H */
