/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sched_records: what the scheduler's own records say: Ps, Ms, and
 * runtime.sched. Source: runtime/runtime2.go (p, m, schedt), runtime/proc.go
 * (schedtrace, which prints the same).
 */
#ifndef GR_SCHED_RECORDS_H
#define GR_SCHED_RECORDS_H

#include "goruntime/sched/goroutine.h"

/** A P. Addresses are in the target; 0: none. */
struct gr_p_record {
	uint64_t addr, m;
	int32_t id;
	uint32_t status;
	uint32_t queued;  /**< Goroutines in its ring of runnable ones. */
	uint64_t runnext; /**< The g that is to run next. */
	uint32_t schedtick, syscalltick;
	/** Moment at which sysmon first saw this schedtick; 0: it has not. */
	uint64_t same_since;
	uint32_t worker; /**< gcMarkWorkerMode */
	bool is_asked;	 /**< To preempt what it runs. */
};

/** An M. */
struct gr_m_record {
	uint64_t addr;
	uint64_t curg, g0, gsignal, p, nextp, lockedg;
	int64_t id;
	int32_t thread_id; /**< 0: the thread has not begun. */
	uint64_t start;	   /**< pc of the function that it runs at first. */
	int32_t mallocing, throwing, locks, dying, ncgo;
	bool is_spinning, is_blocked, is_in_c, is_extra, is_extra_in_c;
	bool has_preemption_off; /**< m.preemptoff has a reason. */
};

/** runtime.sched, and variables beside it. */
struct gr_sched_record {
	bool is_known; /**< The target has runtime.sched. */
	uint32_t queued, idle_ms, idle_locked_ms, idle_ps, spinning_ms;
	uint64_t queue_head; /**< First g of the global queue. */
	bool needs_spinning, is_stopping, has_sysmon_asleep, is_user_disabled;
	uint32_t stop_wait; /**< Ps that a stop of the world still awaits. */
	/** The program is ending (freezetheworld), and stop_wait is 0. */
	bool is_freezing;
	uint32_t safe_point_wait;
	uint32_t disabled; /**< Goroutines that wait for the user's turn. */
	uint32_t gomaxprocs, ncpu, phase, cycles;
};

/** The capture of what is read here and lies outside of the heap. The lists of
 * @p sched are read, and the image is lazy. */
struct gr_error *
gr_sched_records_plan(const struct gr_sched *sched) GR_MUST_CHECK;

/** Read record @p i of sched->ps or sched->ms. *@p found is false if it cannot
 * be read, which is a gap. */
struct gr_error *gr_sched_read_p(const struct gr_sched *sched, size_t i,
				 struct gr_p_record *ret,
				 bool *found) GR_MUST_CHECK;
struct gr_error *gr_sched_read_m(const struct gr_sched *sched, size_t i,
				 struct gr_m_record *ret,
				 bool *found) GR_MUST_CHECK;

struct gr_error *
gr_sched_read_globals(const struct gr_sched *sched,
		      struct gr_sched_record *ret) GR_MUST_CHECK;

#endif /* GR_SCHED_RECORDS_H */
