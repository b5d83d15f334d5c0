// SPDX-License-Identifier: Apache-2.0
#include "goroutines/lock_operation.h"

#include "base/text.h"

/* Exported methods, whose names stay, and what the compiler calls to send and to
 * receive. */
static const struct gr_lock_operation operations[] = {
	{ "sync.(*Mutex).Lock", GR_LOCK_MUTEX, false, 0 },
	{ "sync.(*Mutex).TryLock", GR_LOCK_MUTEX, false, 0 },
	{ "sync.(*Mutex).Unlock", GR_LOCK_MUTEX, true, 0 },
	{ "sync.(*RWMutex).Lock", GR_LOCK_WRITE, false, 0 },
	{ "sync.(*RWMutex).TryLock", GR_LOCK_WRITE, false, 0 },
	{ "sync.(*RWMutex).Unlock", GR_LOCK_WRITE, true, 0 },
	{ "sync.(*RWMutex).RLock", GR_LOCK_READ, false, 16 },
	{ "sync.(*RWMutex).TryRLock", GR_LOCK_READ, false, 16 },
	{ "sync.(*RWMutex).RUnlock", GR_LOCK_READ, true, 16 },
	{ "sync.(*WaitGroup).Done", GR_LOCK_GROUP, true, 0 },
	{ "runtime.chansend1", GR_LOCK_SLOT, false, 0 },
	{ "runtime.chanrecv1", GR_LOCK_SLOT, true, 0 },
	{ "runtime.chanrecv2", GR_LOCK_SLOT, true, 0 },
};

const struct gr_lock_operation *gr_lock_operation_find(const char *name)
{
	if (!gr_has_prefix(name, "sync.(") &&
	    !gr_has_prefix(name, "runtime.chan"))
		return NULL;
	for (size_t i = 0; i < GR_ARRAY_SIZE(operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	return NULL;
}

bool gr_lock_is_internal(const char *function)
{
	return gr_has_prefix(function, "runtime.") ||
	       gr_has_prefix(function, "sync/") ||
	       gr_has_prefix(function, "internal/") ||
	       (gr_has_prefix(function, "sync.") &&
		// It calls the user's function, and Done behind it.
		!gr_has_prefix(function, "sync.(*WaitGroup).Go"));
}

const struct gr_lock_operation *
gr_lock_operation_around(const struct gr_logical_frame *calls, size_t n,
			 size_t *around)
{
	for (size_t i = n; i > 0; i--) {
		const struct gr_lock_operation *op =
			gr_lock_operation_find(calls[i - 1].function);

		*around = i;
		if (op)
			return op;
	}
	return NULL;
}

bool gr_lock_operation_tries(const struct gr_lock_operation *op)
{
	return strstr(op->name, ".Try");
}

bool gr_lock_operation_has_name(const struct gr_lock_operation *op,
				const char *function)
{
	return !strcmp(strrchr(op->name, '.'), strrchr(function, '.'));
}
