/* SPDX-License-Identifier: Apache-2.0 */
/** suspects_internal: what the vertices of a suspect mean, and their names. */
#ifndef GR_SUSPECTS_INTERNAL_H
#define GR_SUSPECTS_INTERNAL_H

#include "graph/suspects.h"
#include "inferior/residency.h"
#include "scan/answers.h"

/** The question by which suspects are found. The dominators have been made. */
struct gr_suspect_question gr_suspects_question(struct gr_answers *answers);

/** The input to find the vertices of suspects, and their residency. */
struct gr_suspect_pages {
	const struct gr_graph *graph; /**< Has the nearest paths, too. */
	const struct gr_suspects *found;
	const struct gr_suspect_question *question;
	const struct gr_poll *poll;
};

/** Suspects behind the first ones have no label. */
enum { GR_SUSPECT_MAX_LABELS = UINT8_MAX - 1 };

/**
 * Give each vertex that a suspect retains the number of that suspect plus one;
 * 0 or a number that no suspect has: none.
 *
 * @param points By suspect: begin at this vertex instead of its holder. Those
 *	of groups are not used. Or NULL.
 * @param labels By vertex, zeroed before.
 */
struct gr_error *gr_suspect_label(const struct gr_suspect_pages *pages,
				  const gr_vertex *points,
				  uint8_t *labels) GR_MUST_CHECK;

/**
 * The resident bytes of [start, end).
 *
 * @param at Where the search in @p ranges begins, 0 at first. Calls with rising
 *	addresses take linear time together.
 */
uint64_t gr_resident_bytes(const struct gr_resident_vector *ranges, size_t *at,
			   uint64_t start, uint64_t end);

/**
 * Find how much of what each suspect retains is resident (suspect_pages.c).
 *
 * @param[out] ret Bytes by suspect, in their order; UINT64_MAX: not known.
 */
struct gr_error *gr_suspect_pages(const struct gr_suspect_pages *pages,
				  const struct gr_residency *residency,
				  uint64_t *ret) GR_MUST_CHECK;

/** The parts of one thing have the same key: the label of an object, the start
 * function of a goroutine, the name of a root. 0 of an object without a type. @p
 * ctx is the gr_answers. */
uint64_t gr_suspect_key(void *ctx, gr_vertex v);

/** The type of an object; NULL if it is no object or has no known type. */
const struct gr_type *gr_suspect_type(const struct gr_answers *answers,
				      gr_vertex v);

/** Is an object the memory of a map, a slice, a channel, a string? */
bool gr_suspect_is_container(const struct gr_answers *answers, gr_vertex v);

/**
 * The vertex that names a suspect: from @p holder down to @p at, the first
 * package variable or object of a type with a name, behind the last closure on
 * the way; else the last one before; else the nearest root or goroutine.
 */
gr_vertex gr_suspect_namer(struct gr_answers *answers, gr_vertex holder,
			   gr_vertex at);

/** The first piece of the map or list of elements that @p v is a piece of, by
 * which others know it; else @p v. */
gr_vertex gr_suspect_whole(const struct gr_answers *answers, gr_vertex v);

/** The name of the function that goroutines with @p startpc run. */
const char *gr_suspect_start(const struct gr_sched *sched, uint64_t startpc);

/**
 * Name the word over which @p from, an object or a root, leads to the object
 * @p to: `.field`, `[3]`; "" for a variable that is a pointer, or if the word is
 * not known.
 *
 * @param holder What leads to @p from; or GR_VERTEX_NONE.
 */
struct gr_error *gr_suspect_step(struct gr_answers *answers, gr_vertex holder,
				 gr_vertex from, gr_vertex to,
				 const char **ret) GR_MUST_CHECK;

/** Where it accumulates, as text: the object, and the holder with a name, with
 * the field of it if it leads there directly; for an object without a type, what
 * refers to it. */
struct gr_error *gr_suspect_point_text(struct gr_answers *answers, gr_vertex at,
				       const char **ret) GR_MUST_CHECK;

/** The name of a vertex; of a piece of a map or a channel, the whole; of an
 * object without a type, its size and span. */
struct gr_error *gr_suspect_text(struct gr_answers *answers, gr_vertex v,
				 const char **ret) GR_MUST_CHECK;

/** The same of several objects with the label of @p v: arrays of any length are
 * one kind, `[]T`. */
struct gr_error *gr_suspect_many_text(struct gr_answers *answers, gr_vertex v,
				      const char **ret) GR_MUST_CHECK;

#endif /* GR_SUSPECTS_INTERNAL_H */
