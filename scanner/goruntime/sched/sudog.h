/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sudog: the records of goroutines that wait for channels, semaphores and
 * notify lists. Source: runtime/runtime2.go (sudog, g.waiting).
 */
#ifndef GR_SUDOG_H
#define GR_SUDOG_H

#include "base/chain.h"
#include "goruntime/sched/goroutine.h"

/** One record. The fields have the runtime's names. */
struct gr_sudog {
	uint64_t addr;
	uint64_t g;
	uint64_t next, prev; /**< In the queue of a channel or of a Cond; the
			      * subtrees of a semaphore. */
	uint64_t waitlink;   /**< The next case of a select, or the next
			      * goroutine at a semaphore. */
	/** The value to send or the place to receive into; the address of a
	 * semaphore; since Go 1.26 also that of a notify list. */
	uint64_t elem;
	uint64_t chan;	 /**< 0: not for a channel. */
	uint32_t ticket; /**< Its place among the waiters of a Cond. */
};

/** Take a record apart. @p bytes holds layout->sudog.size_bytes. */
void gr_sudog_load(const struct gr_layout *layout, uint64_t addr,
		   const uint8_t *bytes, struct gr_sudog *ret);

/** Read the record at @p addr. */
struct gr_error *gr_sudog_read(struct gr_runtime *rt, uint64_t addr,
			       struct gr_sudog *ret) GR_MUST_CHECK;

/**
 * A walk along the list of a goroutine's own sudogs: one, or one for each case
 * of a select. Behind one at a semaphore are those of other goroutines, which
 * are not its own: the walk ends there. Behind a case they are damage.
 */
struct gr_sudog_walk {
	struct gr_runtime *rt;
	uint64_t g;    /**< Address of the goroutine. */
	uint64_t next; /**< g.waiting at first; 0: the list ends here. */
	/** Records that the lists of all goroutines together may still have. */
	uint64_t *left;
	struct gr_gaps *gaps; /**< NULL: damage is counted elsewhere. */
	struct gr_chain chain;
	bool is_select; /**< The last one waits for a channel. */
};

/** Begin at @p g. */
struct gr_sudog_walk gr_sudog_walk(struct gr_runtime *rt,
				   const struct gr_goroutine *g,
				   uint64_t *left);

/**
 * Go to the next record. *@p found is false after the last one. A list that is
 * torn, cyclic or too long ends there and is a gap.
 */
struct gr_error *gr_sudog_walk_next(struct gr_sudog_walk *walk,
				    struct gr_sudog *ret,
				    bool *found) GR_MUST_CHECK;

/** The sudogs that all goroutines together may have in lists of one kind. */
uint64_t gr_sudogs_limit(const struct gr_sched *sched);

#endif /* GR_SUDOG_H */
