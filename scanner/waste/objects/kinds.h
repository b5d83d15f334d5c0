/* SPDX-License-Identifier: Apache-2.0 */
/** kinds: the form and the type of the objects of each label, found once. */
#ifndef GR_WASTE_KINDS_H
#define GR_WASTE_KINDS_H

#include "base/vector.h"
#include "mark/parents.h"
#include "mark/type_plan.h"

struct gr_waste_run;

/** The form of memory with a label (mark/parents.h). */
enum gr_form {
	GR_FORM_UNKNOWN, /**< No type; or only that of its beginning. */
	GR_FORM_RECORD,	 /**< One value of the type. */
	GR_FORM_ARRAY,	 /**< Values of the type: behind a slice, mostly. */
	GR_FORM_STRING,	 /**< The bytes of a string. */
	GR_FORM_MAP,	 /**< A piece of a map; the type is the map's. */
	GR_FORM_OTHER,	 /**< A channel, a trie or a closure. */
};

/** The objects of one label. */
struct gr_waste_kind {
	uint32_t label;
	enum gr_form form;
	gr_type_id type;     /**< As the form says; GR_TYPE_NONE: unknown. */
	uint64_t unit_bytes; /**< The size of a value of it; 0: unknown. */
	const struct gr_type_plan *plan; /**< That of a value; never NULL. */
	uint32_t checks; /**< That judge them: bits of gr_waste_check. */
};

GR_VECTOR(gr_kind_vector, struct gr_waste_kind *);

enum { GR_LABEL_FLAG_SHIFT = 30 };

/** Zero-initialised is ready. */
struct gr_waste_kinds {
	/** By type id, for each combination of the two flags of a label. */
	struct gr_kind_vector by_label[4];
	struct gr_waste_kind *unknown;
	/** By way (mark/parents.h). */
	const struct gr_waste_kind **of_way;
	/** By way: gr_waste_kind.checks; 0 for objects that are not reached. */
	uint32_t *checks_of_way;
};

void gr_waste_kinds_deinit(struct gr_waste_kinds *kinds);

/** Find out the kinds of all objects that the walk has reached. */
struct gr_error *gr_waste_kinds_find(struct gr_waste_run *run) GR_MUST_CHECK;

#endif /* GR_WASTE_KINDS_H */
