/* SPDX-License-Identifier: Apache-2.0 */
/** types_internal: declarations that types.c and runtime_types.c share. */
#ifndef GR_TYPES_INTERNAL_H
#define GR_TYPES_INTERNAL_H

#include "base/hash.h"
#include "base/vector.h"
#include "goruntime/types/c_types.h"
#include "goruntime/types/dictionary.h"
#include "goruntime/types/typemask.h"
#include "goruntime/types/types.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

GR_VECTOR(gr_type_vector, struct gr_type);
GR_VECTOR(gr_field_vector, struct gr_type_field);

/** Source of a type. A type is made only once from the same source. */
enum gr_type_ref_kind {
	GR_REF_RUNTIME, /**< Address of a runtime type record. */
	GR_REF_ITAB,	/**< Address of an itab. */
	GR_REF_CLOSURE, /**< Entry of a function. */
	GR_REF_SLICE,	/**< Type id of the elements. */
	/* Types of C (c_types.c): a DIE, what it looks like, a name alone; then what
	 * is no type id: the definition of a struct in a file, and a file whose
	 * definitions are known. */
	GR_REF_C_DIE,
	GR_REF_C_LOOK,
	GR_REF_C_NAME,
	GR_REF_C_DEFINITION,
	GR_REF_C_FILE,
};

struct gr_type_ref {
	UT_hash_handle hh;
	uint64_t key[2];
	gr_type_id id;
};

GR_VECTOR(gr_index_vector, uint32_t);

/** Where a type of C comes from. */
struct gr_c_source {
	struct gr_c_file file;
	gr_type_id id;
	uint32_t index; /**< GR_DWARF_NONE: its parts are known. */
};
GR_VECTOR(gr_c_source_vector, struct gr_c_source);

struct gr_types {
	struct gr_runtime *rt;
	struct gr_type_masks *masks;
	struct gr_dictionaries *dictionaries; /**< For generics; or NULL. */
	uint64_t mask_words_max; /**< Limit of a mask; 0: not known. */
	struct gr_type_vector types;
	struct gr_field_vector fields;
	struct gr_index_vector embedded; /**< Indexes of `fields`, rising. */
	gr_type_id *first_id; /**< First DWARF type of each module. */
	struct gr_type_ref *refs;
	struct gr_c_source_vector c_sources; /**< In the order of ids. */
	gr_type_id any;			     /**< interface {} */
	uint64_t record_fields; /**< Number read from runtime records. */
	uint64_t align_visits; /**< Fields, to find the alignment of structs. */
	/** Types already checked for being slices or weak pointers. */
	gr_type_id slices_seen, weak_seen;
	/** The end of a search by name: gr_types_take_error(). */
	struct gr_error *err;
};

struct gr_type_ref *gr_type_ref_find(struct gr_types *types,
				     enum gr_type_ref_kind kind, uint64_t key);
struct gr_error *gr_type_ref_add(struct gr_types *types,
				 enum gr_type_ref_kind kind, uint64_t key,
				 gr_type_id id) GR_MUST_CHECK;
/** Append a field; false: no memory. */
bool gr_type_add_field(struct gr_types *types, struct gr_type_field field,
		       bool is_embedded) GR_MUST_CHECK;
/** Set the role of a struct type by its name. */
void gr_type_set_role(struct gr_types *types, gr_type_id id);
/** Set key and elem of a hash trie. All types must be known. */
struct gr_error *gr_type_fill_trie(struct gr_types *types,
				   gr_type_id id) GR_MUST_CHECK;

#endif /* GR_TYPES_INTERNAL_H */
