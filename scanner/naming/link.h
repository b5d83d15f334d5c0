/* SPDX-License-Identifier: Apache-2.0 */
/**
 * link: the words over which a vertex of the graph leads to objects.
 *
 * The graph knows who points to whom, but not where the pointer lies. These
  * functions read the words of one object or root again when somebody asks. A
 * link is a word whose value leads into the target: one that the collector
 * follows; or, if the target is a block of C, any word.
 */
#ifndef GR_LINK_H
#define GR_LINK_H

#include "base/vector.h"
#include "heapgraph/heapgraph.h"
#include "naming/word_name.h"

struct gr_answers;

/** One edge of the graph, with its word. */
struct gr_link {
	gr_vertex from, to;
	/** Address of the word; 0: it lies in no memory, but in a register, or
	 * the root is itself the pointer. */
	uint64_t addr;
	/** Offset of the word in the object or in the root's variable. */
	uint64_t off_bytes;
	/** The collector does not follow the word: it may be no pointer. */
	bool is_conservative;
};
GR_VECTOR(gr_link_vector, struct gr_link);

/** Reads links. It keeps the pointer bits of the span that was read last, so
 * that objects in the order of addresses are read fast. */
struct gr_link_reader {
	struct gr_answers *answers;
	const struct gr_span *span;
	uint64_t *words;
};

void gr_link_reader_deinit(struct gr_link_reader *reader);

/** A callback that takes links as they come; an error ends the enumeration. */
typedef struct gr_error *(*gr_link_emit)(void *ctx, const struct gr_link *link);

/**
 * Enumerate the links from @p from, an object or a root, in the order of words:
 * those to @p to, or all if it is GR_VERTEX_NONE; at most @p max.
 */
struct gr_error *gr_links_each(struct gr_link_reader *reader, gr_vertex from,
			       gr_vertex to, size_t max, gr_link_emit emit,
			       void *ctx) GR_MUST_CHECK;

/** Append the links that gr_links_each() enumerates. */
struct gr_error *gr_links_read(struct gr_link_reader *reader, gr_vertex from,
			       gr_vertex to, size_t max,
			       struct gr_link_vector *ret) GR_MUST_CHECK;

/**
 * Name a link: the field or element of an object, as in `.next` or `[3].key`;
 * of a root, what follows the name of its variable. The name is empty if the
 * variable itself is the pointer.
 *
 * @param holder The object that leads to link->from, as the holder of a
 *	channel's buffer; or GR_VERTEX_NONE.
 */
struct gr_error *gr_link_name(struct gr_answers *answers,
			      const struct gr_link *link, gr_vertex holder,
			      struct gr_word_name *ret) GR_MUST_CHECK;

/**
 * Read and name the first link from @p from, an object or a root, to @p to.
 *
 * @param holder As of gr_link_name().
 * @param[out] name "" if there is none: the word lies in no memory.
 */
struct gr_error *gr_link_find(struct gr_link_reader *reader, gr_vertex holder,
			      gr_vertex from, gr_vertex to,
			      struct gr_link *link,
			      struct gr_word_name *name) GR_MUST_CHECK;

/**
 * Make the names of links alike that differ by element only: the indexes and
 * keys in the brackets of @p name go, the element of a map without a key gets
 * brackets, and the offset of an unknown word goes. In place.
 */
void gr_link_name_merge(char *name);

#endif /* GR_LINK_H */
