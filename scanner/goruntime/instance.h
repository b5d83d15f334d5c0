/* SPDX-License-Identifier: Apache-2.0 */
/**
 * instance: which instance of a generic function a frame runs, from what its
 * debug information, its code and its caller tell (dictionary.h).
 */
#ifndef GR_INSTANCE_H
#define GR_INSTANCE_H

#include "base/vector.h"
#include "goruntime/dictionary.h"
#include "goruntime/goroutine.h"

/** A generic function with one shape of its type arguments. */
struct gr_generic {
	const char *function;		/**< By its debug information. */
	struct gr_dictionary_set dicts; /**< Those that fit its variables. */
	bool has_dict_off;		/**< `.dict` lies at CFA + dict_off. */
	int64_t dict_off;
	bool is_closure; /**< It has captured `.dict`, no call passes it. */
};
GR_VECTOR(gr_generic_vector, struct gr_generic);

#define GR_GENERIC_NONE UINT32_MAX

/**
 * The index of @p function in @p list, appended if it is new there;
 * GR_GENERIC_NONE if it has no dictionaries.
 */
struct gr_error *gr_generics_add(struct gr_runtime *rt, const char *function,
				 struct gr_generic_vector *list,
				 uint32_t *ret) GR_MUST_CHECK;

/**
 * Of the dictionaries, keep those in whose entry @p index is a type of the
 * shape that DWARF gives the variable.
 */
struct gr_error *gr_generic_fit(struct gr_runtime *rt,
				struct gr_generic *generic, uint32_t index,
				gr_type_id shape) GR_MUST_CHECK;

/**
 * The dictionary with which @p frame runs, or NULL if nothing tells.
 * @p caller: the frame that calls it, NULL of an inlined function; with its
 * own dictionary @p caller_dict, NULL if it has none.
 */
const struct gr_dictionary *
gr_generic_choose(const struct gr_runtime *rt, const struct gr_generic *generic,
		  const struct gr_goroutine *g, const struct gr_frame *frame,
		  const struct gr_frame *caller,
		  const struct gr_dictionary *caller_dict);

#endif /* GR_INSTANCE_H */
