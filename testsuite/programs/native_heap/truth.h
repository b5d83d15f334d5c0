/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stddef.h>

#include "events.h"
#include "heap.h"

struct slot {
	void *block; // NULL: none
	size_t asked;
};

/** Open what truth_info() writes to, before the heap is filled. */
int truth_open_info(const char *file);

/** The release of glibc; "": it is another libc. */
const char *truth_libc_version(void);

/** Ask glibc's malloc for its own counters. Takes no memory. */
void truth_info(struct totals *totals);

/**
 * Write each block of the slots: its address, the bytes that were asked for,
 * those that malloc_usable_size() tells, and the word before it, if malloc is
 * that of glibc, else 0; and then the addresses that were freed and are in no
 * slot. All are 64-bit words.
 */
int truth_write(const struct settings *settings, const struct slot *slots,
		long slot_count, struct events *const *lists, int list_count,
		struct totals *totals);

#endif
