/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_wait: what one goroutine waits for, for people. */
#ifndef GR_GOROUTINE_WAIT_H
#define GR_GOROUTINE_WAIT_H

#include "goroutines/goroutine_list.h"
#include "goroutines/network.h"
#include "goroutines/primitive.h"
#include "show/show.h"

struct gr_answers;
struct gr_scan;

/**
 * One thing that a goroutine waits for: each case of a select is one. Strings
 * but @ref value belong to the scan. What does not apply is 0 or "".
 */
struct gr_wait_info {
	const char *kind;   /**< gr_wait_kind_name() */
	uint64_t primitive; /**< Address of the lock or channel. */
	struct gr_primitive_name name;
	// Only for a channel:
	uint64_t count, capacity; /**< Elements. */
	bool is_closed;
	/** The value that is sent, as gr_show_value() writes it; or NULL. */
	char *value;
	/** Nanoseconds from the start of the program to the end of the wait, if
	 * it is a sleep or for the channel of a timer. */
	uint64_t due_ns;
	/** The count of a WaitGroup, or the readers of a RWMutex. */
	uint64_t holders;
	/** Goroutines that wait for the same thing, this one included. */
	uint64_t waiters;
	bool is_woken; /**< It came: see struct gr_wait. */
	// Only for a system call:
	bool has_number;
	uint64_t number;
	bool is_in_c;		   /**< It called C instead. */
	struct gr_network network; /**< If it waits for the poller. */
	/** The goroutine that a coroutine waits for; 0: not known, or it waits
	 * to be called. */
	uint64_t awaited_id;
	bool is_callee; /**< The coroutine began with it. */
};

/** The answer. Belongs to the caller. */
struct gr_goroutine_wait {
	struct gr_goroutine_info goroutine;
	struct gr_wait_info *waits; /**< None: it does not wait. */
	size_t nwaits;
	uint64_t bubble_id; /**< Its testing/synctest bubble; 0: none. */
	bool is_in_bubble;
};

struct gr_wait_query {
	uint64_t goroutine_id;
	/** Name primitives that no package variable leads to by a walk. */
	bool may_walk;
	struct gr_show_limits limits;
};

/**
 * Find what a goroutine waits for.
 *
 * @return GR_ERROR_NOT_FOUND if there is no such goroutine.
 */
struct gr_error *
gr_scan_goroutine_wait(struct gr_scan *scan, const struct gr_wait_query *query,
		       struct gr_goroutine_wait **ret) GR_MUST_CHECK;
void gr_goroutine_wait_destroy(struct gr_goroutine_wait *wait);

struct gr_wait;

/** Name what a row is about, whose object is known. */
struct gr_error *gr_wait_find_name(struct gr_answers *answers,
				   const struct gr_wait *wait, bool may_walk,
				   struct gr_primitive_name *ret) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_WAIT_H */
