/* SPDX-License-Identifier: Apache-2.0 */
/** suspects: the few holders that keep most of the heap alive. */
#ifndef GR_SUSPECTS_H
#define GR_SUSPECTS_H

#include "naming/vertex.h"

#include "inferior/gaps.h"

struct gr_scan;

/**
 * A suspect retains at least this share of the reached bytes, and at least so
 * many bytes: small heaps have no suspect, and what every service has (tables
 * of the standard library, pools, buffers of connections) is none.
 *
 * Eclipse MAT asks for 20 % and has no least size. Shares alone do not tell a
 * leak from an idle service: in Debian's prometheus, which scrapes only itself,
 * the series have 35 % of 10 MB, in etcd one buffer has 37 % of 3 MB, in
 * docker-registry a table has 53 % of 2 MB. All of these are below the 4 MB
 * from which on Go's collector begins to work (heapMinimum in mgcpacer.go). On
 * a large heap 10 % are worth a name: two or three caches that grow together
 * have less than 20 % each when the service has others.
 */
enum {
	GR_SUSPECT_PERCENT = 10,
	GR_SUSPECT_MIN_BYTES = 4 << 20,
};

#define GR_SUSPECT_KINDS(X)         \
	X(HOLDER, "holder")         \
	X(OBJECTS, "objects")       \
	X(GOROUTINES, "goroutines") \
	X(ROOTS, "roots")

enum gr_suspect_class {
#define X(id, name) GR_SUSPECT_##id,
	GR_SUSPECT_KINDS(X)
#undef X
};

/** A reference of the path to an accumulation point. */
struct gr_suspect_hop {
	struct gr_vertex_info vertex;
	/** The field or element that leads to it, as in `.next`; "" if that is
	 * not known, or if the variable itself does. */
	const char *step;
};

/** Objects of one type that accumulate. */
struct gr_suspect_content {
	const char *type; /**< A description if they have none. */
	uint64_t objects;
	/** With what each of them keeps alive alone, and the part of it in blocks
	 * of C. */
	uint64_t bytes, c_bytes;
};

/** A suspect as it is printed. Strings belong to the scan. */
struct gr_suspect_info {
	/** One holder; or many alike below several roots. */
	enum gr_suspect_class class;
	const char *kind; /**< The name of @ref class. */
	/** The package variable, or the type of the first object that a
	 * programmer has named; else the local variable or the goroutine. */
	const char *name;
	uint64_t objects; /**< Members of a group; 1. */
	/** It keeps these alive; and the part of them in blocks of C. */
	uint64_t retained_bytes, retained_c_bytes;
	/** The part of retained_bytes that is resident; UINT64_MAX: not known. */
	uint64_t resident_bytes;
	/** Where it accumulates, as text: `map[string]*main.T in main.cache`. */
	const char *accumulation_point;
	/** The same as a vertex. It leads to nearly all of a group. */
	struct gr_vertex_info at;
	bool is_chain; /**< A list: each element holds the rest. */
	/** The vertex that holds it, or the heaviest member of a group. */
	struct gr_vertex_info holder;
	/** Where goroutines were created; or "". */
	const char *created_by;
	/** A shortest path from a root to @ref at, both included; without its
	 * middle if it is very long. */
	struct gr_suspect_hop *hops;
	size_t nhops;
	uint64_t hops_left_out;
	struct gr_suspect_content *contents; /**< Most bytes first. */
	size_t ncontents;
};

/** The answer to `goref suspects`. Belongs to the caller. */
struct gr_suspect_report {
	/** All that is reached, and the part of it in blocks of C. */
	uint64_t reached_bytes, reached_c_bytes;
	uint64_t min_bytes; /**< That a suspect retains here. */
	/** Only the runtime keeps these alive. */
	uint64_t runtime_bytes, runtime_c_bytes;
	/** How much is known of resident pages: gr_residency_name(). If it is
	 * "anonymous", resident bytes are upper bounds. */
	const char *residency;
	struct gr_suspect_info *suspects; /**< Most bytes first. */
	size_t count;
	/** It retains most, suspect or not; "" if nothing is reached. */
	const char *largest_name;
	uint64_t largest_bytes, largest_c_bytes;
	struct gr_gaps gaps; /**< The target's and the walk's. */
};

/** @param weight What all sizes count, but those of vertices. */
struct gr_error *gr_scan_suspects(struct gr_scan *scan, enum gr_weight weight,
				  struct gr_suspect_report **ret) GR_MUST_CHECK;
void gr_suspect_report_destroy(struct gr_suspect_report *report);

#endif /* GR_SUSPECTS_H */
