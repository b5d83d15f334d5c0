/* SPDX-License-Identifier: Apache-2.0 */
/** histogram: the objects of the heap, counted by what they have in common. */
#ifndef GR_HISTOGRAM_H
#define GR_HISTOGRAM_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "mark/weight.h"

struct gr_scan;

#define GR_HISTOGRAM_KEYS(X)        \
	X(TYPE, "type")             \
	X(PACKAGE, "package")       \
	X(SPAN_CLASS, "span-class") \
	X(ROOT, "root")             \
	X(GOROUTINE, "goroutine")   \
	X(FIELD, "field")           \
	X(HOLDER, "holder")

enum gr_histogram_key {
#define X(id, name) GR_BY_##id,
	GR_HISTOGRAM_KEYS(X)
#undef X
		GR_NHISTOGRAM_KEYS,
};

const char *gr_histogram_key_name(enum gr_histogram_key key);

struct gr_histogram_options {
	/** Roots and goroutines: those that a walk bills (mark/walk.h).
	 	 * Fields: that of the nearest path in the graph. Holders: those of C
	 * memory alone; the last field or variable of Go on the nearest path,
	 * or the root of C. */
	enum gr_histogram_key by;
	bool with_retained;
	/** Count what is allocated and not reached instead. Its roots and its
	 * retained sizes do not exist. */
	bool is_garbage;
	/** Also what all objects of this type (naming/type_filter.h) keep alive
	 * together; or NULL. */
	const char *exact;
	/** The unit of all sizes. Blocks of C have 0 words. */
	enum gr_weight weight;
};

struct gr_histogram_row {
	const char *key; /**< Belongs to the scan. */
	uint64_t objects;
	uint64_t bytes; /**< Their sizes: those of their slots. */
	/** The part of them in blocks of C. */
	uint64_t c_objects, c_bytes;

	/**
	 * They keep these alive. For a root or a goroutine exactly what is only
	 * its own; else a lower bound: the sum for those that no other one of
	 * the row dominates. And the part of it in blocks of C.
	 */
	uint64_t retained_bytes, retained_c_bytes;
};

/** The answer to `goref histogram`. Belongs to the caller. */
struct gr_histogram {
	/** By retained bytes if there are any, by bytes, by name. */
	struct gr_histogram_row *rows;
	size_t nrows;
	uint64_t objects, bytes; /**< The sums of all rows. */
	uint64_t c_objects, c_bytes;
	/** Without all objects of the type, so much would be garbage. */
	uint64_t exact_objects, exact_bytes, exact_c_bytes;
	struct gr_gaps gaps; /**< The target's and the walk's. */
};

/**
 * Count the objects of the heap.
 *
 * @return GR_ERROR_ARGUMENT if the options exclude each other;
 *	GR_ERROR_NOT_FOUND if no object has the type.
 */
struct gr_error *gr_scan_histogram(struct gr_scan *scan,
				   const struct gr_histogram_options *options,
				   struct gr_histogram **ret) GR_MUST_CHECK;
void gr_histogram_destroy(struct gr_histogram *histogram);

#endif /* GR_HISTOGRAM_H */
