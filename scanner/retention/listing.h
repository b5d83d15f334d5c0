/* SPDX-License-Identifier: Apache-2.0 */
/** listing: the reached objects with types and retained sizes, as text. */
#ifndef GR_LISTING_H
#define GR_LISTING_H

#include "base/base.h"
#include "base/error.h"
#include "mark/node.h"

struct gr_scan;

#define GR_LISTING_ORDERS(X)  \
	X(ADDRESS, "address") \
	X(BYTES, "bytes")     \
	X(RETAINED, "retained")

/** The largest first; equal ones by address. */
enum gr_listing_order {
#define X(id, name) GR_ORDER_##id,
	GR_LISTING_ORDERS(X)
#undef X
		GR_NLISTING_ORDERS,
};

const char *gr_listing_order_name(enum gr_listing_order order);

struct gr_listing_options {
	enum gr_listing_order order;
	bool with_retained;
	/** Before the type: `go`, or `c` for a block of C; with retained bytes, those
	 * of C behind them. */
	bool with_kind;
	/** Name types as a histogram does: what begins with main.T is `main.T`. */
	bool with_merged_types;
	uint64_t min_bytes; /**< Without malloc headers. */
	uint64_t limit;	    /**< Lines; 0: no limit. */
	/** True if this type is wanted. For arrays, it is called with both
	 * names: `[]main.T` and `[48]main.T`. NULL: all are. */
	struct gr_error *(*is_wanted)(void *ctx, const char *type, bool *ret);
	void *ctx;
};

/** Where text goes: pieces of whole lines. An error ends the list. */
struct gr_listing_sink {
	struct gr_error *(*write)(void *ctx, const char *text, size_t bytes);
	void *ctx;
};

struct gr_listed {
	struct gr_total total; /**< Objects that were written. */
	uint64_t left;	       /**< Objects beyond the limit. */
};

/**
 * Write a line for each reached object: its address in hexadecimal, its bytes,
 * the bytes that it retains if they are asked for, and its type (`?`: not
 * known, GR_TYPE_UNKNOWN with merged types), with blanks between them. Address
 * and bytes are those behind a malloc header.
 */
struct gr_error *gr_scan_list_objects(struct gr_scan *scan,
				      const struct gr_listing_options *options,
				      const struct gr_listing_sink *sink,
				      struct gr_listed *ret) GR_MUST_CHECK;

#endif /* GR_LISTING_H */
