/* SPDX-License-Identifier: Apache-2.0 */
/** types_internal: what types.c and types_record.c share. */
#ifndef GR_TYPES_INTERNAL_H
#define GR_TYPES_INTERNAL_H

#include "base/vector.h"
#include "goruntime/types.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

GR_VECTOR(gr_type_vector, struct gr_type);
GR_VECTOR(gr_field_vector, struct gr_type_field);

/** What a type was made from, so that it is made once. */
enum gr_type_ref_kind {
	GR_REF_RUNTIME, /**< Address of a runtime type record. */
	GR_REF_ITAB,	/**< Address of an itab. */
	GR_REF_CLOSURE, /**< Entry of a function. */
	GR_REF_SLICE,	/**< Type id of the elements. */
};

struct gr_type_ref {
	UT_hash_handle hh;
	uint64_t key[2];
	gr_type_id id;
};

struct gr_types {
	struct gr_type_vector types;
	struct gr_field_vector fields;
	gr_type_id *first_id; /**< Of each module's DWARF types. */
	struct gr_type_ref *refs;
	gr_type_id any; /**< interface {} */
};

struct gr_type_ref *gr_type_ref_find(struct gr_types *types,
				     enum gr_type_ref_kind kind, uint64_t key);
struct gr_error *gr_type_ref_add(struct gr_types *types,
				 enum gr_type_ref_kind kind, uint64_t key,
				 gr_type_id id) GR_MUST_CHECK;
/** Give a struct type its role, by its name. */
void gr_type_set_role(struct gr_types *types, gr_type_id id);
/** Find key and value of a hash trie, once all types are there. */
struct gr_error *gr_type_fill_trie(struct gr_runtime *rt,
				   gr_type_id id) GR_MUST_CHECK;

#endif /* GR_TYPES_INTERNAL_H */
