/* SPDX-License-Identifier: Apache-2.0 */
/** vertex: the vertices of the object graph, for people. */
#ifndef GR_VERTEX_H
#define GR_VERTEX_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "mark/options.h"

struct gr_answers;
struct gr_sched;

#define GR_VERTEX_KINDS(X)        \
	X(OBJECT, "object")       \
	X(ROOT, "root")           \
	X(GOROUTINE, "goroutine") \
	X(GROUP, "group")         \
	X(TOP, "top")

enum gr_vertex_class {
#define X(id, name) GR_CLASS_##id,
	GR_VERTEX_KINDS(X)
#undef X
};

/** A vertex as it is printed. Strings belong to the scan and are never NULL. */
struct gr_vertex_info {
	uint32_t vertex;
	enum gr_vertex_class class;
	/** "object", "goroutine", "group", "top"; of a root its kind: "global",
	 * "local" ... */
	const char *kind;
	/** An object's type, or "object of unknown type"; a root's variable; or
	 * `goroutine 7 (main.serve)`. */
	const char *name;
	const char *type; /**< An object's or a variable's; or "". */
	uint64_t addr;	  /**< An object's or a variable's; else 0. */
	uint64_t bytes;	  /**< An object's memory; else 0. */
	bool is_c;	  /**< A block of C, or a root of C. */
	bool is_leaked;	  /**< A block of C that nothing reaches. */
	/** Only this vertex keeps these alive, itself included; and the part of
	 * them in blocks of C. */
	uint64_t retained_bytes, retained_c_bytes;
	uint64_t goroutine_id; /**< A goroutine's and its roots'; else 0. */
};

/** GR_ERROR_ARGUMENT unless the graph, which has been made, has this vertex. */
struct gr_error *gr_vertex_check(const struct gr_answers *answers,
				 uint32_t vertex) GR_MUST_CHECK;

/**
 * Describe a vertex of the graph, which has been made. @ref retained_bytes is 0
 * if dominators have not been made.
 */
struct gr_error *gr_vertex_describe(struct gr_answers *answers, uint32_t vertex,
				    struct gr_vertex_info *ret) GR_MUST_CHECK;

/**
 * Find the vertex of a place, in the graph that has been made. A whole variable
 * is its root. Any other place is the object that it points to, as for `why',
 * or, if it points to none, the object that it lies in, or the root.
 *
 * @param[out] ret UINT32_MAX: there is no such vertex, or it is garbage of Go.
 *	Nothing may hold it if it is a block of C: gr_graph_is_reached().
 */
void gr_vertex_find(struct gr_answers *answers, const struct gr_place *place,
		    uint32_t *ret);

/** The name of goroutines that begin where the one of that index does:
 * `goroutines (main.serve)`. NULL: no memory. */
const char *gr_goroutines_name(struct gr_sched *sched, uint32_t index);

#endif /* GR_VERTEX_H */
