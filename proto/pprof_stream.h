/* SPDX-License-Identifier: Apache-2.0 */
/**
 * pprof_stream: writes any profile in pprof's format: value types, stacks,
 * labels. Samples are written as they come; only locations and strings stay in
 * memory until the end. The same calls give the same bytes.
 *
 * The order of the calls: init, open, then samples and locations in any order,
 * comments, commit, deinit. Strings may be added at any time. Names must
 * remain valid until deinit; comments are copied.
 */
#ifndef GR_PPROF_STREAM_H
#define GR_PPROF_STREAM_H

#include "base/error.h"
#include "base/vector.h"
#include "proto/output.h"
#include "proto/stamp.h"
#include "proto/table.h"

enum {
	GR_PPROF_MAX_VALUES = 8,
	GR_PPROF_MAX_LINES = 64, /**< Lines of a location. */
};

/** A kind of value: "inuse_space" in "bytes". */
struct gr_pprof_type {
	const char *type;
	const char *unit;
};

/** The head of a profile. Strings may be NULL: unknown. */
struct gr_pprof_header {
	struct gr_pprof_type types[GR_PPROF_MAX_VALUES];
	size_t ntypes;
	struct gr_pprof_type period_type;
	int64_t period;
	const char *default_type; /**< One of the types; NULL: none. */
	struct gr_profile_stamp stamp;
	int64_t duration_ns; /**< 0: not known. */
	const char *exe_path;
	const char *build_id;
};

/** A call in the source, or a name of any other kind. */
struct gr_pprof_line {
	const char *function;
	const char *file; /**< Or NULL. */
	uint32_t line;
	uint32_t start_line; /**< The function's first; 0: not known. */
};

/** A label of a sample: a string or, if `text` is 0, a number. Strings are
 * numbers by gr_pprof_string(). */
struct gr_pprof_label {
	int64_t key;
	int64_t text;
	int64_t number;
};

/**
 * A stack of locations, built from the root to the leaf. Equal beginnings of
 * stacks that follow each other need to be pushed once.
 */
struct gr_pprof_stack {
	/** Location IDs as the file has them, the leaf first; they end at the
	 * end of the array. */
	uint8_t *bytes;
	size_t capacity;
	size_t *begins; /**< Where those of the first N locations begin. */
};

GR_VECTOR(gr_pprof_texts, char *);
GR_VECTOR(gr_pprof_bytes, uint8_t);

/** A function; strings are numbers. */
struct gr_pprof_function {
	int64_t name, file;
	uint32_t start_line;
};
GR_VECTOR(gr_pprof_functions, struct gr_pprof_function);

/** A profile being written. */
struct gr_pprof_stream {
	struct gr_pprof_header header;
	struct gr_output out;
	struct gr_strings strings;
	struct gr_pprof_functions functions; /**< The ID is the index + 1. */
	struct gr_table by_function;	     /**< Hash -> index. */
	/** Encoded locations, each followed by its new functions. */
	struct gr_pprof_bytes locations;
	uint32_t nlocations;
	struct gr_pprof_texts comments;
	struct gr_pprof_bytes sample; /**< Being encoded. */
	struct gr_pprof_bytes tags;   /**< Encoded, as each sample has them. */
	bool has_failed; /**< Memory was short; gr_pprof_commit() says so. */
};

/** Begin a profile: its first strings are those of the value types. */
void gr_pprof_init(struct gr_pprof_stream *stream,
		   const struct gr_pprof_header *header);
void gr_pprof_deinit(struct gr_pprof_stream *stream);

/** Begin to write @p path, with the header. */
struct gr_error *gr_pprof_open(struct gr_pprof_stream *stream,
			       const char *path) GR_MUST_CHECK;

/** The number of a string, NULL as "". */
int64_t gr_pprof_string(struct gr_pprof_stream *stream, const char *text);

/**
 * Add a location.
 *
 * @param address Of the instruction, or 0.
 * @param lines The calls there, the innermost first: all but the last one are
 * inlined; at most GR_PPROF_MAX_LINES.
 * @return Its ID: 1, 2, ...
 */
uint32_t gr_pprof_location(struct gr_pprof_stream *stream, uint64_t address,
			   const struct gr_pprof_line *lines, size_t nlines);

/** Make room for stacks of @p max_depth locations. */
struct gr_error *gr_pprof_stack_init(struct gr_pprof_stack *stack,
				     size_t max_depth) GR_MUST_CHECK;
void gr_pprof_stack_deinit(struct gr_pprof_stack *stack);

/** Set the location behind the first @p depth ones. Those behind it go. */
void gr_pprof_stack_push(struct gr_pprof_stack *stack, size_t depth,
			 uint32_t location);

/** Write a sample: the first @p depth locations, one value for each type. */
struct gr_error *gr_pprof_sample(struct gr_pprof_stream *stream,
				 const struct gr_pprof_stack *stack,
				 size_t depth, const int64_t *values,
				 const struct gr_pprof_label *labels,
				 size_t nlabels) GR_MUST_CHECK;

void gr_pprof_comment(struct gr_pprof_stream *stream, const char *format, ...)
	GR_PRINTF(2, 3);

/** Finish the file. Without this call, @p path does not change. */
struct gr_error *gr_pprof_commit(struct gr_pprof_stream *stream) GR_MUST_CHECK;

#endif /* GR_PPROF_STREAM_H */
