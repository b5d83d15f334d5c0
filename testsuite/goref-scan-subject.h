/* SPDX-License-Identifier: Apache-2.0 */
/** The target of goref-scan. */
#ifndef GOREF_SCAN_SUBJECT_H
#define GOREF_SCAN_SUBJECT_H

#include "process/process.h"

enum { MAX_MODULES = 16 };

/** The target, and what it takes to read it. */
struct subject {
	struct gr_target target;
	struct gr_target_module modules[MAX_MODULES];
	struct gr_process *process; // NULL: a file
	int mem_fd;
	char exe[64];
};

/** Open EXE CORE, PID or FILE, the words of a command line. Stops a process. */
struct gr_error *open_subject(struct subject *s, int argc,
			      char **argv) GR_MUST_CHECK;
/** Let a process go on. */
void close_subject(struct subject *s);

#endif /* GOREF_SCAN_SUBJECT_H */
