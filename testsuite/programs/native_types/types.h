/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TYPES_H
#define TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/* The compiler keeps a variable that is only written. */
#define USED __attribute__((used))

/* A block, and its type as goref spells it; "" if nothing tells one. The table
 * of them leads to no block: it has the complements of addresses. */
struct truth {
	const char *name;
	unsigned long complement;
	const char *type;
};

/** Note a block; returns it. */
void *note(const char *name, void *block, const char *type);
/** The next row, or NULL. */
struct truth *truth_at(int i);

void make_variables(void);
void make_shapes(void);
/** Lose n objects geometry::Box<long, 20>. */
void lose_shapes(int n);
/** Load a library with a function `fill', and call that. */
void load_library(const char *path);

struct opaque;
struct opaque *opaque_create(void);

extern struct table *shared_table;

#ifdef __cplusplus
}
#endif

#endif
