/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sampler: a probe at an instruction of the process. There are three ways. A
 * uprobe.multi link with a filter by process is the cheapest, but kernels before
 * 6.10 take the filter for one by thread. Then the link is one for all processes
 * of the file. Older kernels have only perf events.
 */
#ifndef GR_TRACE_SAMPLER_H
#define GR_TRACE_SAMPLER_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"

struct bpf_program;

enum gr_sampler_way {
	GR_SAMPLER_MULTI,     /**< uprobe.multi, only this process */
	GR_SAMPLER_MULTI_ALL, /**< uprobe.multi, all processes of the file */
	GR_SAMPLER_PERF,      /**< a perf event, all processes of the file */
};

/** A place in a file that can be opened, whatever has happened to its name. */
struct gr_sampler_place {
	char path[512];
	uint64_t offset;
};

/** A line of /proc/PID/maps. */
struct gr_sampler_map {
	uint64_t start, end, offset, inode;
	bool is_code;
};

/** Parse a line of /proc/PID/maps. */
bool gr_sampler_parse_map(const char *line, struct gr_sampler_map *ret);

/** Find the file and the offset of an address of code. */
struct gr_error *gr_sampler_find(pid_t pid, uint64_t addr,
				 struct gr_sampler_place *ret) GR_MUST_CHECK;

/** Try which way this kernel has, with a child of our own. */
enum gr_sampler_way gr_sampler_test(void);

/** Prepare a program that is not loaded yet. */
void gr_sampler_prepare(struct bpf_program *program, enum gr_sampler_way way);

/**
 * Attach a loaded program.
 *
 * @return A file; the probe ends when it is closed. Negative: -errno.
 */
int gr_sampler_attach(const struct bpf_program *program,
		      enum gr_sampler_way way, pid_t pid,
		      const struct gr_sampler_place *place);

/** When a program runs that has many places. */
enum gr_sampler_when {
	GR_SAMPLER_ENTRY,
	GR_SAMPLER_RETURN,
	/** At both, with one program (Linux 6.13). If it returns 1 at the entry, it
	 * does not run at the return, and that costs nothing. */
	GR_SAMPLER_SESSION,
};

/** Many places of one file. */
struct gr_sampler_places {
	const char *path;
	const uint64_t *offsets;
	const uint64_t *cookies; /**< what bpf_get_attach_cookie() returns */
	size_t count;
};

/** Prepare a program that is not loaded yet for uprobe.multi. */
void gr_sampler_prepare_many(struct bpf_program *program,
			     enum gr_sampler_when when);

/**
 * Attach a loaded program by uprobe.multi.
 *
 * @param pid 0: to all processes of the file.
 * @return A file; the probes end when it is closed. Negative: -errno.
 */
int gr_sampler_attach_many(const struct bpf_program *program,
			   enum gr_sampler_when when, pid_t pid,
			   const struct gr_sampler_places *places);

#endif /* GR_TRACE_SAMPLER_H */
