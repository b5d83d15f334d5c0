/* SPDX-License-Identifier: Apache-2.0 */
/** wait_table: the things that goroutines wait for, each with its waiters. */
#ifndef GR_WAIT_TABLE_H
#define GR_WAIT_TABLE_H

#include "base/vector.h"
#include "goroutines/lock_operation.h"
#include "goruntime/sched/waits.h"

/** How likely it is that a goroutine has a lock, or will do what others wait
 * for. */
enum gr_owner_rank {
	GR_OWNER_LATER,	  /**< Has a pointer to it, and will lock it later. */
	GR_OWNER_REACHES, /**< Has a pointer to it. */
	GR_OWNER_MAY,	  /**< On one way to its place, it has locked it. */
	GR_OWNER_ALONE,	  /**< Nobody else but its waiters reaches it. */
	GR_OWNER_BETWEEN, /**< By its lines, between Lock and Unlock. */
	GR_OWNER_DEFERS,  /**< A deferred call of it will unlock it. */
	GR_OWNER_EXACT,	  /**< The runtime tells. */
};

/** A goroutine that may be the owner, and the frame that says so. */
struct gr_owner {
	uint32_t goroutine; /**< Index. */
	/** UINT32_MAX: the object graph says so. */
	uint32_t frame;
	uint8_t rank; /**< enum gr_owner_rank */
	/** The pointer is to the lock itself, not to what lies around it. */
	bool is_pointer;
	/** It is the owner unless the program is about to end by an Unlock of
	 * what is not locked. */
	bool is_proven;
	uint32_t line; /**< Where the frame is. */
	struct gr_lock_lines lines;
	const char *function; /**< The frame's call; or NULL. */
};

enum { GR_MAX_OWNERS = 8 };

/** The innermost frames of one goroutine that unlock for their callers, and
 * lock for them; UINT32_MAX: none does. */
struct gr_inner_frames {
	uint32_t goroutine; /**< Its index plus one. */
	uint32_t unlocks, locks;
	/** The innermost one of the user's both locks and unlocks it. */
	bool is_paired;
};

/** A thing that goroutines wait for. */
struct gr_primitive {
	uint64_t object; /**< 0: nothing can wake them (nil channel). */
	/** enum gr_wait_kind; of selects GR_WAIT_SELECT_RECEIVE. */
	uint8_t kind;
	bool is_unlocked; /**< A mutex whose bit is not set. */
	bool is_state_known;
	/** The mutex of a RWMutex, to which writers come first. */
	bool is_of_writers;
	/** A channel without values that is full, so that senders wait: each
	 * that has sent is to receive when it is done. */
	bool is_semaphore;
	/** A channel with room for values that has none, so that receivers wait:
	 * perhaps a pool. */
	bool is_pool;
	/** Something speaks for two owners of what one can have. */
	bool is_contradicted;
	int32_t count; /**< Readers waited for; a WaitGroup's counter. */
	/** The object or the variable that it lies in begins here. */
	uint64_t around;
	/** Its waiters: table->waiters[first_waiter, + nwaiters). */
	uint32_t first_waiter, nwaiters;
	uint32_t nsenders; /**< Those that would send to it in a select. */
	struct gr_owner owners[GR_MAX_OWNERS]; /**< The likeliest first. */
	uint8_t nowners;
	uint32_t nreaching; /**< All that were found, those above included. */
	uint32_t nlikely;   /**< Those of rank GR_OWNER_BETWEEN and above. */
	/** The goroutine that is being looked at: its index plus one. */
	uint32_t seen, seen_likely, awaited;
	struct gr_inner_frames inner;
	/** Its last row in gr_wait_table.all, plus one; then its first row. */
	size_t row;
};

/** An owner of any number of owners. */
struct gr_owner_row {
	uint32_t primitive; /**< Index. */
	struct gr_owner owner;
};
GR_VECTOR(gr_owner_row_vector, struct gr_owner_row);

struct gr_wait_table {
	const struct gr_waits *waits;
	struct gr_primitive *primitives; /**< By object, then by kind. */
	size_t nprimitives;
	size_t nslots;	   /**< Semaphores and pools among them. */
	uint32_t *of_row;  /**< By row: its primitive, or UINT32_MAX. */
	uint32_t *waiters; /**< Indices of goroutines. */
	size_t nrows;
	/** All owners, if they are kept (locks/owner_list.h). */
	struct gr_owner_row_vector all;
	bool keeps_all;
};

struct gr_stop;

/** Group the rows of sched.waits, and read the state of locks. Whoever
 * wants more than GR_MAX_OWNERS owners sets keeps_all then. */
struct gr_error *gr_wait_table_make(struct gr_stop *stop,
				    struct gr_wait_table *ret) GR_MUST_CHECK;
void gr_wait_table_deinit(struct gr_wait_table *table);

/** The primitives whose object is at @p addr: the first one, or NULL. */
struct gr_primitive *gr_wait_table_at(const struct gr_wait_table *table,
				      uint64_t addr);

/** The primitive of that object and kind, or NULL. */
struct gr_primitive *gr_wait_table_find(const struct gr_wait_table *table,
					uint64_t object, uint8_t kind);

/** How an owner lets go of a thing of that kind; GR_NLOCK_CLASSES: it is no
 * lock. */
enum gr_lock_class gr_wait_kind_class(uint8_t kind);

/** The same of a primitive: writers unlock the mutex of a RWMutex. */
enum gr_lock_class gr_primitive_class(const struct gr_primitive *p);

/** Is it a channel, also of a select? */
bool gr_wait_kind_is_channel(uint8_t kind);

/** The longest time in nanoseconds that one of its waiters has waited for at
 * least; 0: nothing is known. */
struct gr_error *gr_primitive_waited(struct gr_stop *stop,
				     const struct gr_wait_table *table,
				     const struct gr_primitive *p,
				     uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_WAIT_TABLE_H */
