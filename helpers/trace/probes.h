/* SPDX-License-Identifier: Apache-2.0 */
/** probes: the BPF programs in the kernel. They end with this program. */
#ifndef GR_TRACE_PROBES_H
#define GR_TRACE_PROBES_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/event.h"
#include "helpers/trace/input.h"

/** Sums over all processors, since the start. */
struct gr_probe_sums {
	uint64_t events, ns;
	uint64_t ring_full, over_budget, no_stack, missed;
	uint64_t lost_frees; /**< of allocators of C */
	uint64_t off_ns;     /**< in which the budget did not permit probes */
};

struct gr_probes;
struct bpf_program;

/** Called for each event of the ring. A negative number ends the reading. */
typedef int gr_probes_take(void *ctx, void *event, size_t bytes);

/** Set the process, as its own pid namespace knows it. */
struct gr_error *gr_probes_set_target(struct gr_event_config *config,
				      pid_t pid) GR_MUST_CHECK;
/** Set the share of a processor, and how much of it may be saved up. */
void gr_probes_set_budget(struct gr_event_config *config,
			  const struct gr_request *req);
/** Set where the goroutine of a thread is found. */
void gr_probes_set_goroutines(struct gr_event_config *config,
			      const struct gr_request *req);
/** Bytes of a ring for stacks: a power of two, and a small part of the memory
 * that is free. */
uint64_t gr_probes_size_of_ring(void);
/** Runs that the kernel left out, as the program ran already. */
uint64_t gr_probes_missed_runs(const struct bpf_program *program);

/** Load the programs of the request's mode, which do nothing yet. Those of
 * the mode kernel are in kmem.h; here it sees only another program begin. */
struct gr_error *gr_probes_load(pid_t pid, const struct gr_request *req,
				gr_probes_take *take, void *ctx,
				struct gr_probes **ret) GR_MUST_CHECK;

/**
 * Let the programs run, and before that measure what an event costs a process
 * beside what they measure themselves.
 */
struct gr_error *gr_probes_start(struct gr_probes *probes) GR_MUST_CHECK;

/** A sentence for people about each probe; NULL after the last one. */
const char *gr_probes_text(const struct gr_probes *probes, size_t i);

/** The processor time that a page fault costs the process beyond its own, in ns,
 * as measured at the start; 0: not known. */
uint64_t gr_probes_event_ns(const struct gr_probes *probes);

/** Write what the request says, also while the programs run. */
void gr_probes_configure(struct gr_probes *probes,
			 const struct gr_request *req);

/**
 * Take the probes away while the debt is so large that no event is recorded:
 * even such an event costs something. This has to be called often. Return
 * whether they were put back just now, so that changes in between were not seen.
 */
bool gr_probes_keep_budget(struct gr_probes *probes);

/** Hand all events of the ring to @c take, until it refuses. */
void gr_probes_read(struct gr_probes *probes);

/** The number of programs that the process began. */
uint32_t gr_probes_programs(const struct gr_probes *probes);

struct gr_probe_sums gr_probes_sums(const struct gr_probes *probes);

/** Bytes of the ring. */
uint64_t gr_probes_ring_bytes(const struct gr_probes *probes);

void gr_probes_detach(struct gr_probes *probes);
void gr_probes_destroy(struct gr_probes *probes);

#endif /* GR_TRACE_PROBES_H */
