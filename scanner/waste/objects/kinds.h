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
};

void gr_waste_kinds_deinit(struct gr_waste_kinds *kinds);

/** The kind of a label; it is made if it is new. It stays where it is. */
struct gr_error *
gr_waste_kind_find(struct gr_waste_run *run, uint32_t label,
		   const struct gr_waste_kind **ret) GR_MUST_CHECK;

/** The kind of a label that was looked for before. */
static inline const struct gr_waste_kind *
gr_waste_kind_known(const struct gr_waste_kinds *kinds, uint32_t label)
{
	const struct gr_kind_vector *v =
		&kinds->by_label[label >> GR_LABEL_FLAG_SHIFT];
	size_t id = label & ~(uint32_t)GR_LABEL_FLAGS;

	return id < v->size ? v->data[id] : kinds->unknown;
}

#endif /* GR_WASTE_KINDS_H */
