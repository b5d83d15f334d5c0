/* SPDX-License-Identifier: Apache-2.0 */
/** What goref-scan looks at. */
#ifndef GOREF_SCAN_SUBJECT_H
#define GOREF_SCAN_SUBJECT_H

#include "scanner.h"

#include <time.h>

#include "base/vector.h"

enum { MAX_MODULES = 16 };

GR_VECTOR(thread_vector, struct gr_target_thread);

/** What is looked at. */
struct subject {
	struct gr_target target;
	struct gr_target_module modules[MAX_MODULES];
	struct thread_vector threads;
	int mem_fd;
	char exe[64];
	uint64_t end_ms; // 0: never
	bool has_clock;
	uint64_t polled_us, longest_us, npolls;
	uint64_t last_poll; // 0: never
};

/** Microseconds of a clock. */
uint64_t clock_us(clockid_t clock);

/** Note the processor time since the last poll. */
void note_poll(struct subject *s);

/**
 * Open EXE CORE, PID or FILE, the words of a command line. Stops a process.
 * False after a message.
 */
bool open_subject(struct subject *s, int argc, char **argv);
/** Let a process go on. */
void close_subject(struct subject *s);

#endif /* GOREF_SCAN_SUBJECT_H */
