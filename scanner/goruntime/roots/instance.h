/* SPDX-License-Identifier: Apache-2.0 */
/**
 * instance: finds the instance of a generic function that a frame runs. The
 * sources are the function's debug information, the code and the caller
 * (types/dictionary.h).
 */
#ifndef GR_INSTANCE_H
#define GR_INSTANCE_H

#include "base/vector.h"
#include "goruntime/sched/goroutine.h"
#include "goruntime/types/dictionary.h"

/** A generic function with one shape of its type arguments. */
struct gr_generic {
	const char *function;		/**< Name in debug information. */
	struct gr_dictionary_set dicts; /**< Those that fit the variables. */
	bool has_dict_off;		/**< `.dict` lies at CFA + dict_off. */
	int64_t dict_off;
	bool is_closure; /**< `.dict` is captured, not an argument. */
};
GR_VECTOR(gr_generic_vector, struct gr_generic);

#define GR_GENERIC_NONE UINT32_MAX

/**
 * Return the index of @p function in @p list in *@p ret. A new function is
 * appended. The index is GR_GENERIC_NONE if the function has no dictionaries.
 */
struct gr_error *gr_generics_add(struct gr_types *types, const char *function,
				 struct gr_generic_vector *list,
				 uint32_t *ret) GR_MUST_CHECK;

/**
 * Keep only the dictionaries whose entry @p index is a type of the shape that
 * DWARF gives the variable.
 */
struct gr_error *gr_generic_fit(struct gr_types *types,
				struct gr_generic *generic, uint32_t index,
				gr_type_id shape) GR_MUST_CHECK;

/**
 * Return the dictionary with which @p frame runs, or NULL if it is not known.
 * @p caller is the calling frame, or NULL for an inlined function.
 * @p caller_dict is the caller's own dictionary, or NULL if it has none.
 */
const struct gr_dictionary *gr_generic_choose(
	const struct gr_types *types, const struct gr_generic *generic,
	const struct gr_goroutine *g, const struct gr_frame *frame,
	const struct gr_frame *caller, const struct gr_dictionary *caller_dict);

#endif /* GR_INSTANCE_H */
