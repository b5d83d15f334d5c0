/* SPDX-License-Identifier: Apache-2.0 */
/** scheduler: Ps, Ms, run queues, the collector, and who stops the world. */
#ifndef GR_SCHEDULER_H
#define GR_SCHEDULER_H

#include "goroutines/goroutine_list.h"

struct gr_scan;

/** A P. Strings belong to the scan. */
struct gr_scheduler_p {
	int32_t id;
	/** "idle", "running", "in a system call", "stopped", "dead", or "?" */
	const char *status;
	int64_t m_id;	  /**< -1: no M has it. */
	uint64_t running; /**< Goroutine that its M runs; 0: none. */
	uint64_t next_id; /**< Goroutine that is to run next; 0: none. */
	/** Runnable goroutines in its queue, the next one included. */
	uint64_t queued;
	uint64_t schedtick, syscalltick;
	/** It has run the same goroutine for at least so many nanoseconds; 0:
	 * not known. */
	uint64_t same_ns;
	const char *mark_worker; /**< "dedicated", "fractional", "idle", or "" */
	bool is_asked;		 /**< To preempt what it runs. */
	/** The world is being stopped, or is: it is its M that does so. */
	bool stops_world;
	bool is_awaited; /**< The world cannot stop before it does. */
};

/** An M. Strings belong to the scan. */
struct gr_scheduler_m {
	int64_t id;
	int32_t thread_id; /**< 0: not started yet. */
	/** See state_of() in scheduler.c. */
	const char *state;
	int32_t p_id;		    /**< -1: none. */
	uint64_t running;	    /**< Its goroutine; 0: none. */
	const char *wait_reason;    /**< That goroutine's, or "". */
	struct gr_source_place at;  /**< Where that is, in the user's code. */
	const char *start_function; /**< `runtime.sysmon`; "": the scheduler. */
	bool has_number;
	uint64_t number; /**< The system call that the thread is in. */
	uint64_t locked; /**< Goroutine that has locked it; 0: none. */
	int32_t mallocing, throwing, locks, dying, ncgo;
	bool is_spinning, is_blocked, is_extra;
};

/** The answer. Belongs to the caller. */
struct gr_scheduler {
	/** The numbers that follow are known; 0 in a stripped program. */
	bool is_known;
	uint64_t gomaxprocs, ncpu;
	uint64_t queued;     /**< Runnable goroutines in the global queue. */
	uint64_t queue_head; /**< The first of them; 0: none. */
	uint64_t idle_ps, idle_ms, idle_locked_ms, spinning_ms;
	uint64_t runnable; /**< Goroutines that are runnable, by their state. */
	bool needs_spinning;
	/** The world is being stopped, or has been: stop_wait is 0 then. */
	bool is_stopping;
	uint64_t stop_wait; /**< Ps that have not stopped yet. */
	/** The program is ending: the runtime has asked all Ps to stop, and
	 * awaits none of them. */
	bool is_freezing;
	uint64_t safe_point_wait;
	bool is_sysmon_asleep;
	/** Only the runtime's own goroutines may run. */
	bool is_user_disabled;
	uint64_t disabled;
	const char *phase;     /**< "off", "mark", "mark termination", or "?" */
	uint64_t cycles;       /**< Collections that have begun. */
	uint64_t poll_waiters; /**< Goroutines that wait for the poller. */
	struct gr_scheduler_p *ps;
	size_t nps;
	struct gr_scheduler_m *ms;
	size_t nms;
};

/** Describe the scheduler. This takes time in proportion to goroutines, Ps and
 * Ms, and does not read the heap. */
struct gr_error *gr_scan_scheduler(struct gr_scan *scan,
				   struct gr_scheduler **ret) GR_MUST_CHECK;
void gr_scheduler_destroy(struct gr_scheduler *scheduler);

#endif /* GR_SCHEDULER_H */
