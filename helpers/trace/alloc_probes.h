/* SPDX-License-Identifier: Apache-2.0 */
/**
 * alloc_probes: the BPF programs at the functions of the process's allocators.
 * They are there only while they are attached, and record calls only while they
 * are open.
 */
#ifndef GR_TRACE_ALLOC_PROBES_H
#define GR_TRACE_ALLOC_PROBES_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/alloc_links.h"
#include "helpers/trace/input.h"
#include "helpers/trace/native_event.h"
#include "helpers/trace/probes.h"

struct gr_alloc_probes;

/** Processor time that the process pays, in ns; 0: not known. */
struct gr_alloc_costs {
	/** A call that is recorded: at its entry and its return, beside the time
	 * that the program measures itself. */
	uint64_t call_ns;
	uint64_t whole_call_ns; /**< That time included. */
	uint64_t hit_ns;	/**< A hit of a probe that records nothing. */
	uint64_t free_ns;	/**< A free that is recorded. */
};

/** Sums over all processors, since the start. */
struct gr_alloc_sums {
	uint64_t calls; /**< allocations of the sizes that are asked for */
	uint64_t events, no_stack;
	uint64_t hits;	    /**< of probes at entries, and at frees */
	uint64_t lost;	    /**< calls that could not be recorded */
	uint64_t ring_full; /**< the part of these for which there was no room */
	uint64_t lost_frees;
	uint64_t ns; /**< processor time of the process, by the costs */
};

/** The processor time of the process for what was counted, in ns. */
uint64_t gr_alloc_costs_sum(const struct gr_alloc_costs *costs,
			    const struct gr_native_counts *counts);

/**
 * Find the places, load the programs, and measure with a child what they cost.
 *
 * @param first The best way that is tried: GR_ALLOC_SESSION, but for tests.
 */
struct gr_error *
gr_alloc_probes_load(pid_t pid, const struct gr_request *req,
		     enum gr_alloc_way first, gr_probes_take *take, void *ctx,
		     struct gr_alloc_probes **ret) GR_MUST_CHECK;
void gr_alloc_probes_destroy(struct gr_alloc_probes *p);

/** Write what the request says, also while the programs run. */
void gr_alloc_probes_configure(struct gr_alloc_probes *p,
			       const struct gr_request *req);

/** A sentence for people about what is seen and what is not; NULL after the last
 * one. */
const char *gr_alloc_probes_text(const struct gr_alloc_probes *p, size_t i);

/** Put the probes into the functions. They do nothing yet. */
struct gr_error *
gr_alloc_probes_attach(struct gr_alloc_probes *p) GR_MUST_CHECK;
/** Put the probes of the samplers there, which stay, and let them record. */
struct gr_error *
gr_alloc_probes_attach_samplers(struct gr_alloc_probes *p) GR_MUST_CHECK;

/** Change what the programs do with a call. @p window: its number, from 1. */
void gr_alloc_probes_set(struct gr_alloc_probes *p, enum gr_native_state state,
			 uint32_t window);

/**
 * Set when an open window closes by itself (CLOCK_MONOTONIC); 0: never. If this
 * process is busy or waits for a reader then, the programs record nothing more,
 * and a moment later a signal takes the probes away, but for perf events.
 */
void gr_alloc_probes_set_deadline(struct gr_alloc_probes *p, uint64_t ns);

/** Take the probes of the functions away; a call that has begun is still
 * recorded when it returns. */
void gr_alloc_probes_detach(struct gr_alloc_probes *p);
/** Take all probes away. */
void gr_alloc_probes_end(struct gr_alloc_probes *p);

bool gr_alloc_probes_has_functions(const struct gr_alloc_probes *p);
struct gr_alloc_costs gr_alloc_probes_costs(const struct gr_alloc_probes *p);
struct gr_alloc_sums gr_alloc_probes_sums(const struct gr_alloc_probes *p);

/** Hand all events of the ring to @c take, until it refuses. */
void gr_alloc_probes_read(struct gr_alloc_probes *p);

#endif /* GR_TRACE_ALLOC_PROBES_H */
