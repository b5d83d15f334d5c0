/* SPDX-License-Identifier: Apache-2.0 */
/**
 * views: fills the reach of all objects (reach.h) in one pass over the words of
 * the heap and of the roots.
 *
 * The collector's maps say which words are pointers; types only say how far a
 * view goes. So no pointer is missed, whatever the types say. Words of maps are
 * taken from their headers, which know the types of their keys and elements. If
 * a check needs it, the pass also notes which small objects are values of
 * interfaces (boxes.h).
 */
#ifndef GR_WASTE_VIEWS_H
#define GR_WASTE_VIEWS_H

#include "goruntime/types/map_shape.h"
#include "waste/objects/check.h"

/** A view that waits until its object's entry is in the cache. */
struct gr_waiting_view {
	gr_obj obj;
	uint64_t bytes;	      /**< The object's. */
	unsigned int holding; /**< Bits of enum gr_holding. */
	struct gr_interval view;
};

enum { GR_VIEWS_AHEAD = 32, GR_DYNAMIC_TYPES = 1024 };

/** The header of a map that has not been read. */
struct gr_map_header {
	uint64_t addr;
	gr_type_id type;
};
GR_VECTOR(gr_map_header_vector, struct gr_map_header);

/** The type that a word of an interface leads to. */
struct gr_view_type {
	uint64_t word;
	gr_type_id type;
};

struct gr_views {
	struct gr_waste_run *run;
	struct gr_waiting_view waiting[GR_VIEWS_AHEAD];
	uint64_t nwaiting; /**< Views so far; the ring has the last of them. */
	/** NULL: no file is saved. */
	struct gr_recorder *recorder;
	struct gr_map_header_vector headers;
	uint64_t *walked; /**< A bit an object: a map piece that is read. */
	struct gr_view_type dynamic[GR_DYNAMIC_TYPES];
	struct gr_map_shape shape; /**< That of shape_type, if it has bytes. */
	gr_type_id shape_type;
	struct gr_error *err; /**< Sticky. */
};

/** Fill run->reach. */
struct gr_error *gr_views_collect(struct gr_waste_run *run) GR_MUST_CHECK;

/* For views.c, view_maps.c and view_words.c. */

/** Enter a view that waits. */
void gr_views_enter(struct gr_views *v, const struct gr_waiting_view *w);

/** A length of a view that is not known: all of the object. */
#define GR_VIEW_WHOLE UINT64_MAX

/** Add a view of @p reach bytes from @p addr on, of which @p used are in use.
 * False: it is longer than its object, and counts as all of it. */
bool gr_views_add(struct gr_views *v, uint64_t addr, uint64_t reach,
		  uint64_t used);

/** Follow the pointer at @p at, of which a type says what lies behind it; NULL:
 * nothing is known. */
void gr_views_follow(struct gr_views *v, const struct gr_slot *slot,
		     const uint8_t *at);

/** The same of a word that cannot have the value in its place: it is a root's,
 * a closure's or a channel's. */
void gr_views_follow_fixed(struct gr_views *v, const struct gr_slot *slot,
			   const uint8_t *at);

/** Follow all pointers of a value with a plan. */
void gr_views_follow_value(struct gr_views *v, const struct gr_type_plan *plan,
			   const uint8_t *host);

/** Follow the words of a value that is not in use; they may be stale. */
void gr_views_follow_stale(struct gr_views *v, const struct gr_type_plan *plan,
			   const uint8_t *host);

/** The plan of a type; v->err is set if there is none. */
const struct gr_type_plan *gr_views_plan(struct gr_views *v, gr_type_id type);

/** The slot of a word of a value, or NULL. */
const struct gr_slot *gr_views_slot(struct gr_views *v,
				    const struct gr_type_plan *plan,
				    uint64_t word);

/** Read the map at v->headers: follow its keys and elements. */
void gr_views_read_map(struct gr_views *v, struct gr_map_header header);

#endif /* GR_WASTE_VIEWS_H */
