/* SPDX-License-Identifier: Apache-2.0 */
/** internal: the counter that the files of this room share. */
#ifndef GR_HISTOGRAM_INTERNAL_H
#define GR_HISTOGRAM_INTERNAL_H

#include "base/vector.h"
#include "graph/keys.h"
#include "histogram/histogram.h"
#include "naming/vertex.h"
#include "scan/answers.h"

/** Kinds of keys, above all type ids, vertices and addresses. */
enum {
	KEY_VERTEX = 1,
	KEY_ROOT,
	KEY_KEPT,
	KEY_RECORD,
	KEY_SPAN_CLASS,
	KEY_NAME,
	KEY_FIELD,
	KEY_BLOCK,
	KEY_SHIFT = 60,
	/* The key of a field has the label, and the word in it. */
	FIELD_WORD_BITS = 28,
};

GR_VECTOR(gr_histogram_rows, struct gr_histogram_row);

struct gr_counter {
	struct gr_answers *answers;
	const struct gr_histogram_options *options;
	const struct gr_graph *g;
	struct gr_poll poll;
	struct gr_histogram_rows rows;
	struct gr_keys keys;
	uint32_t *row_of; /* by object, if it is asked for later */
	uint32_t *words;  /* by object: of its parent, for fields */
	struct gr_span_sizes sizes;
};

static inline uint64_t gr_counter_key(uint64_t kind, uint64_t value)
{
	return kind << KEY_SHIFT | (value & ((UINT64_C(1) << KEY_SHIFT) - 1));
}

/** Enter a key, whose name is @p text. */
struct gr_error *gr_counter_add_key(struct gr_counter *c, uint64_t key,
				    const char *text,
				    uint32_t *ret) GR_MUST_CHECK;

/** Find the row of a type, or of its package. */
struct gr_error *gr_counter_add_type(struct gr_counter *c, uint64_t key,
				     const char *type,
				     uint32_t *ret) GR_MUST_CHECK;

static inline void gr_counter_count(struct gr_counter *c, uint32_t row,
				    uint64_t bytes)
{
	c->rows.data[row].objects++;
	c->rows.data[row].bytes += bytes;
}

/** The row of the variable, goroutine or group that stands for a root. */
struct gr_error *gr_counter_root_row(struct gr_counter *c, gr_vertex root,
				     uint32_t *ret) GR_MUST_CHECK;

/** The row of the field of an object of Go. */
struct gr_error *gr_counter_field_row(struct gr_counter *c, gr_vertex from,
				      uint64_t word,
				      uint32_t *ret) GR_MUST_CHECK;

/** Count a block of C. */
void gr_counter_count_block(struct gr_counter *c, uint32_t row, gr_vertex v);

/** Count the blocks of C by type. */
struct gr_error *gr_counter_count_blocks(struct gr_counter *c) GR_MUST_CHECK;

/** Count them with the row of the object or root before them. */
struct gr_error *
gr_counter_count_held_blocks(struct gr_counter *c) GR_MUST_CHECK;

/** Count them alone, by what holds them. */
struct gr_error *gr_counter_count_holders(struct gr_counter *c) GR_MUST_CHECK;

#endif /* GR_HISTOGRAM_INTERNAL_H */
