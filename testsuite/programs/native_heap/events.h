/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdint.h>

// The addresses that a thread has got from malloc and has given back, each
// with its place in the order of the events of all threads. They lie in a
// mapping of their own, which goes when the truth is written: it would hold
// what it names.
struct event {
	uint64_t order;
	uint64_t address; // bit 0: it was freed
};

struct events {
	struct event *rows;
	long count, capacity;
};

int events_init(struct events *events, long capacity);

/** An allocation returned this block. */
void events_took(struct events *events, void *block);

/** This block is about to be freed. */
void events_frees(struct events *events, void *block);

/**
 * The addresses that were freed last, in order, in the rows of @freed, which
 * has room for the events of all lists. Returns how many there are. The lists
 * are removed.
 */
long events_freed(struct events *const *lists, int count, struct events *freed);

void events_deinit(struct events *events);

#endif
