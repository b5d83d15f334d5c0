/* SPDX-License-Identifier: Apache-2.0 */
/**
 * waits: what each goroutine waits for, as the scheduler's records tell. This
 * is the one reader of g.waiting, of the queues of channels, and of semaphores.
 * Source: runtime/runtime2.go (g.waiting, sudog), runtime/chan.go,
 * runtime/select.go, runtime/sema.go.
 */
#ifndef GR_WAITS_H
#define GR_WAITS_H

#include "goruntime/sched/goroutine.h"

/** X(id, name). The names are part of the JSON. */
#define GR_WAIT_KINDS(X)                                                        \
	/** The runtime's text for the reason cannot be read, and no record   \
	 * tells. */ \
	X(UNKNOWN, "unknown")                                                   \
	X(CHAN_SEND, "channel send")                                            \
	X(CHAN_RECEIVE, "channel receive")                                      \
	/** One row for each case of a select; cases with a nil channel have  \
	 * none. */ \
	X(SELECT_SEND, "select send")                                           \
	X(SELECT_RECEIVE, "select receive")                                     \
	X(NIL_CHAN, "nil channel")                                              \
	/** No case, or only such with nil channels. */                         \
	X(EMPTY_SELECT, "empty select")                                         \
	/** A Mutex; also RWMutex.Lock at its `w`. */                           \
	X(MUTEX, "Mutex")                                                       \
	/** RLock, at readerSem. */                                             \
	X(RWMUTEX_READ, "RWMutex read")                                         \
	/** Lock behind readers, at writerSem: this goroutine owns `w`. */      \
	X(RWMUTEX_WRITE, "RWMutex write")                                       \
	X(WAITGROUP, "WaitGroup")                                               \
	X(COND, "Cond")                                                         \
	/** Any other semaphore. */                                             \
	X(SEMAPHORE, "semaphore")                                               \
	X(SLEEP, "sleep")                                                       \
	/** The poller: sockets, pipes. */                                      \
	X(NETWORK, "network")                                                   \
	/** In a system call or in C. */                                        \
	X(SYSCALL, "system call")                                               \
	/** A signal of the operating system, for os/signal. */                 \
	X(SIGNAL, "signal")                                                     \
	X(COROUTINE, "coroutine")                                               \
	/** synctest.Run or Wait. */                                            \
	X(SYNCTEST, "synctest")                                                 \
	/** A reason of the runtime's own. */                                   \
	X(RUNTIME, "runtime")

enum gr_wait_kind {
#define X(id, name) GR_WAIT_##id,
	GR_WAIT_KINDS(X)
#undef X
		GR_NWAIT_KINDS,
};

/** The name of a kind. */
const char *gr_wait_kind_name(enum gr_wait_kind kind);

/** A thing that a goroutine waits for. Addresses are in the target. */
struct gr_wait {
	uint32_t goroutine; /**< Index of the goroutine. */
	uint8_t kind;	    /**< enum gr_wait_kind */
	uint64_t sudog;	    /**< 0: there is none, or it is not known. */
	/** The runtime waits on this: the hchan, the word of the semaphore, or
	 * the notifyList; 0 if it is not known. */
	uint64_t key;
	/** Start of the hchan, Mutex, RWMutex, WaitGroup or Cond; or 0. */
	uint64_t object;
	/** The value to send on a channel, or the place to receive into; or 0.
	 */
	uint64_t elem;
	/** It came, and the goroutine has been woken: whoever did so is about to
	 * make it runnable. */
	bool is_woken;
};

/** A sudog in the list of a goroutine, which may have been woken already; or
 * that of a lock or Cond, which is in no list before Go 1.26. */
struct gr_own_sudog {
	uint64_t addr;
	uint64_t chan; /**< 0: not for a channel. */
	uint64_t elem;
	uint32_t goroutine; /**< Index of the goroutine. */
};

struct gr_waits {
	/**
	 * Each goroutine that waits or is in a system call has at least one
	 * row. Goroutines are in the order of gr_sched.goroutines.
	 */
	struct gr_wait *rows;
	size_t nrows;
	/** [ngoroutines + 1]: the rows of goroutine i are [first[i],
	 * first[i + 1]). */
	uint32_t *first;
	struct gr_own_sudog *sudogs;
	size_t nsudogs;
	/** [nrows]: how many goroutines wait for the key of a row. NULL: not
	 * counted yet. */
	uint32_t *waiters;
};

/**
 * Plan the capture of what tells about waits and is in no span with pointers:
 * headers of channels, and the surroundings of semaphores. The goroutines are
 * known; the image is lazy.
 */
struct gr_error *gr_waits_plan(const struct gr_sched *sched) GR_MUST_CHECK;

/**
 * Read what all goroutines wait for. The goroutines are unwound; the image may
 * be sealed. The time is in proportion to goroutines and sudogs.
 */
struct gr_error *gr_waits_read(const struct gr_sched *sched,
			       struct gr_waits **ret) GR_MUST_CHECK;

/** Count the waiters of all keys (waits->waiters), unless that is done. Takes the
 * time of a sort. */
struct gr_error *gr_waits_count(const struct gr_sched *sched) GR_MUST_CHECK;
void gr_waits_destroy(struct gr_waits *waits);

/** Does a goroutine of that status wait? (A leaked one still does.) */
bool gr_status_is_waiting(const struct gr_layout *layout, uint32_t status);

#endif /* GR_WAITS_H */
