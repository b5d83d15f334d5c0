/* SPDX-License-Identifier: Apache-2.0 */
/** alloc_links: attaches BPF programs to many functions of a few files, and
 * detaches all of them. */
#ifndef GR_TRACE_ALLOC_LINKS_H
#define GR_TRACE_ALLOC_LINKS_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/input.h"
#include "helpers/trace/sampler.h"

struct bpf_link;

/** How the entry and the return of a call are seen, the best way first. */
enum gr_alloc_way {
	GR_ALLOC_SESSION, /**< by one program, with uprobe.multi (Linux 6.13) */
	GR_ALLOC_PAIR,	  /**< by two programs, with uprobe.multi */
	GR_ALLOC_PERF,	  /**< by two programs, with perf events */
};

enum { GR_ALLOC_FILES = 64 };

/** Zero-initialised, there are none. */
struct gr_alloc_links {
	int fds[3 * GR_ALLOC_FILES];
	size_t nfds;
	struct bpf_link *events[2 * GR_MAX_ALLOC_FUNCTIONS];
	size_t nevents;
};

/** Attach a program to places of one file, of which there may be none.
 *
 * @param pid 0: in all processes of the file. Perf events always are.
 */
struct gr_error *
gr_alloc_links_add(struct gr_alloc_links *links, enum gr_alloc_way way,
		   const struct bpf_program *program, enum gr_sampler_when when,
		   pid_t pid,
		   const struct gr_sampler_places *places) GR_MUST_CHECK;

/**
 * Take the links away at a time (CLOCK_MONOTONIC), a moment later, even if this
 * process waits for something then; 0: not any more. Perf events stay.
 */
void gr_alloc_links_set_deadline(struct gr_alloc_links *links, uint64_t ns);

/** Detach all programs. */
void gr_alloc_links_end(struct gr_alloc_links *links);

#endif /* GR_TRACE_ALLOC_LINKS_H */
