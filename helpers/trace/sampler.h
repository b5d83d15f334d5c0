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
	char path[128];
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

#endif /* GR_TRACE_SAMPLER_H */
