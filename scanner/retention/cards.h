/* SPDX-License-Identifier: Apache-2.0 */
/**
 * cards: the largest objects of types and of suspects, each with all that a
 * page shows of an object: its fields, a path from a root, who refers to it.
 *
 * All cards together take time that is linear in the heap, and memory for a few
 * words an object: to ask for the referrers of each object apart would make the
 * reverse edges of the whole graph, and read large holders again and again.
 */
#ifndef GR_CARDS_H
#define GR_CARDS_H

#include "naming/vertex.h"

#include "inferior/gaps.h"
#include "retention/suspects.h"

struct gr_scan;

enum {
	GR_CARD_MAX_FIELDS = 12,
	GR_CARD_MAX_HOPS = 12, /**< Half of them from each end of the path. */
	GR_CARD_MAX_HOLDERS = 8,
	GR_CARD_MAX_OBJECTS = 64, /**< In a group. */
};

struct gr_card_question {
	/** Names of rows of a histogram by type. */
	const char *const *types;
	uint32_t ntypes;
	uint32_t max_objects; /**< For a type or a suspect. */
	/** Cards in all. Suspects come first, then types in their order. */
	uint32_t max_cards;
};

/** A reference, and what is at its other end. */
struct gr_card_link {
	struct gr_vertex_info vertex;
	/** The field or element with the pointer: `.next`, `[3]`; "" if it is
	 * not known, or if a variable itself is the pointer. */
	const char *name;
};

/** One object. Strings belong to the scan. */
struct gr_card {
	struct gr_vertex_info vertex;
	uint64_t resident_bytes; /**< UINT64_MAX: not known. */
	/** The first references to the objects that retain most; these come
	 * first. */
	struct gr_card_link *fields;
	size_t nfields;
	uint64_t references; /**< All of them. */
	/** A shortest path from a root, both ends included. */
	struct gr_suspect_hop *hops;
	size_t nhops;
	uint64_t hops_left_out; /**< In the middle. */
	/** The objects and roots that refer to it; those that retain most
	 * first. */
	struct gr_card_link *holders;
	size_t nholders;
	uint64_t referrers; /**< All of them, without garbage. */
};

/** The largest objects of one type or suspect, as indexes of cards. */
struct gr_card_group {
	uint32_t *cards;
	size_t ncards;
};

struct gr_cards {
	struct gr_card *cards;
	size_t ncards;
	struct gr_card_group *types; /**< In the order of the question. */
	size_t ntypes;
	/** In the order of gr_scan_suspects(). */
	struct gr_card_group *suspects;
	size_t nsuspects;
	struct gr_gaps gaps;
};

/**
 * Make the cards of the objects that retain most: of each type, and of each
 * suspect at its accumulation point or below. Equal ones come in the order of
 * addresses.
 *
 * @param[out] ret For gr_cards_destroy().
 */
struct gr_error *gr_scan_cards(struct gr_scan *scan,
			       const struct gr_card_question *question,
			       struct gr_cards **ret) GR_MUST_CHECK;

void gr_cards_destroy(struct gr_cards *cards);

#endif /* GR_CARDS_H */
