/* SPDX-License-Identifier: Apache-2.0 */
/** cards_internal: which objects get a card. */
#ifndef GR_CARDS_INTERNAL_H
#define GR_CARDS_INTERNAL_H

#include "base/vector.h"
#include "heapgraph/heapgraph.h"
#include "retention/cards.h"

struct gr_answers;

GR_VECTOR(gr_vertex_list, gr_vertex);

/**
 * Choose the objects of cards (card_objects.c): fill the groups of @p ret with
 * indexes of @p objects.
 */
struct gr_error *gr_card_objects(struct gr_answers *answers,
				 const struct gr_card_question *question,
				 struct gr_vertex_list *objects,
				 struct gr_cards *ret) GR_MUST_CHECK;

/** Vertices of which few are kept: those that retain most, most first; equal
 * ones by number. */
struct gr_largest {
	gr_vertex *vertices;
	uint32_t count, max;
};

/** Keep @p v if it is one of the largest. */
void gr_largest_offer(struct gr_largest *largest, const struct gr_graph *g,
		      gr_vertex v);

#endif /* GR_CARDS_INTERNAL_H */
