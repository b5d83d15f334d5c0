/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INDEX_H
#define INDEX_H

#include <stddef.h>

struct entry {
	long number;
	char text[40];
};

struct node {
	struct node *left, *right;
	struct entry *entry;
	long key;
};

// A table that several indexes share.
struct table {
	long rows[100];
};

struct index {
	struct node *root;
	struct table *table;
	char *label;
	long count;
};

// The blocks of an index and the bytes of their chunks, without the table.
struct sum {
	long blocks, bytes;
};

struct table *table_create(void);

/** A tree of that many nodes, each with an entry. */
struct index *index_create(struct table *table, long count, struct sum *sum);

/** The node furthest to the left. */
struct node *index_first(struct index *index);

/** A block of so many bytes, with no pointers in it. */
void *block_create(size_t size, struct sum *sum);

#endif
