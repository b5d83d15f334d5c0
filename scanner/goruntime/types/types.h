/* SPDX-License-Identifier: Apache-2.0 */
/**
 * types: the single space of type ids. It begins with the types of every
 * module's DWARF. Types that are made later follow: those of runtime records
 * without a DIE, and closure objects.
 */
#ifndef GR_TYPES_H
#define GR_TYPES_H

#include "base/cleanup.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/runtime.h"

typedef uint32_t gr_type_id;
#define GR_TYPE_NONE UINT32_MAX

/** Special treatment of a type by the walk. */
enum gr_type_role {
	GR_ROLE_PLAIN,
	GR_ROLE_SCHEDULER,	/**< g, m, p and other scheduler types. */
	GR_ROLE_ATOMIC_POINTER, /**< sync/atomic.Pointer[T]; elem is T. */
	/** internal/sync.HashTrieMap[K,V] or similar; see `key` and `elem`. */
	GR_ROLE_HASH_TRIE,
	GR_ROLE_CLOSURE, /**< A funcval with its captured variables. */
};

struct gr_type {
	const char *name; /**< Never NULL. */
	uint64_t size_bytes;
	uint8_t kind;  /**< enum gr_go_kind */
	uint8_t role;  /**< enum gr_type_role */
	bool has_itab; /**< Interface with methods: itab before the data. */
	/**
	 * For a variable in the shared code of a generic function: its type is
	 * entry dict_index - 1 of the dictionary (dictionary.h). 0: none.
	 */
	uint16_t dict_index;
	uint8_t align; /**< 0: map_shape.c has not been asked for it. */
	gr_type_id elem, key;
	gr_type_id header; /**< Map, chan: the struct behind the pointer. */
	uint64_t count;	   /**< Length of an array. */
	uint32_t first_field, nfields;
};

struct gr_type_field {
	const char *name;
	uint64_t off_bytes;
	gr_type_id type;
};

/**
 * All known types, with their pointer masks and dictionaries. The scan owns
 * this. The runtime must outlive it.
 */
struct gr_types;

/** Fill a new space from the modules' DWARF. */
struct gr_error *gr_types_create(struct gr_runtime *rt,
				 struct gr_types **ret) GR_MUST_CHECK;
void gr_types_destroy(struct gr_types *types);
GR_DEFINE_CLEANUP(types, struct gr_types, gr_types_destroy)

/** Return the runtime to which the types belong. */
struct gr_runtime *gr_types_runtime(const struct gr_types *types);

/** Number of ids in use. Ids are dense and begin at 0. */
size_t gr_types_count(const struct gr_types *types);
/** Number of fields of all types together. */
size_t gr_types_field_count(const struct gr_types *types);
/** @p id must be in use. The pointer is valid until the next type is made. */
const struct gr_type *gr_types_get(const struct gr_types *types, gr_type_id id);
const struct gr_type_field *gr_types_field(const struct gr_types *types,
					   const struct gr_type *type,
					   uint32_t i);

/** Is a field embedded, so that its own fields are promoted? */
bool gr_types_is_embedded(const struct gr_types *types,
			  const struct gr_type *type, uint32_t i);

/**
 * Return the type with the DWARF name @p name, or GR_TYPE_NONE. In a module
 * without debug information, the type is made from the runtime's record. If
 * poll refuses or memory is short, this and all further searches by name find
 * nothing, until gr_types_take_error() is called.
 */
gr_type_id gr_types_find(struct gr_types *types, const char *name);

/** Return the type of the runtime or library that has @p trait, or
 * GR_TYPE_NONE. The first known name that the target has is used. */
gr_type_id gr_types_known(struct gr_types *types, enum gr_name_trait trait);

/** Take the error that ended a search by name since the last call, or NULL. */
struct gr_error *gr_types_take_error(struct gr_types *types) GR_MUST_CHECK;

/** Return the id of DWARF type @p index of a module. */
gr_type_id gr_types_from_dwarf(const struct gr_types *types,
			       const struct gr_module *module, uint32_t index);

/** The field of that name of a struct, or NULL. @p id may be GR_TYPE_NONE. */
const struct gr_type_field *gr_types_field_named(const struct gr_types *types,
						 gr_type_id id,
						 const char *name);

/**
 * Find a package variable by its full name in the debug information.
 *
 * @return false if no module has it: nothing is set.
 */
bool gr_types_variable(const struct gr_types *types, const char *name,
		       uint64_t *addr, gr_type_id *type);

/**
 * Find the type whose runtime record lies at @p addr. Interfaces and malloc
 * headers point to such records. The type comes from its DIE if there is one,
 * otherwise from the record. *@p ret is GR_TYPE_NONE if the record is invalid,
 * which is counted as a gap once.
 */
struct gr_error *gr_types_from_runtime(struct gr_types *types, uint64_t addr,
				       gr_type_id *ret) GR_MUST_CHECK;

/** Find the concrete type of the itab at @p addr in the same way. */
struct gr_error *gr_types_from_itab(struct gr_types *types, uint64_t addr,
				    gr_type_id *ret) GR_MUST_CHECK;

/**
 * Find the type of the closure object whose code is at @p pc (the first word of
 * a funcval). It is a struct with the function's name and the captured
 * variables. *@p ret is GR_TYPE_NONE if there is no such function.
 */
struct gr_error *gr_types_closure(struct gr_types *types, uint64_t pc,
				  gr_type_id *ret) GR_MUST_CHECK;

/** Find the type `[]T`, where T is @p elem. A missing one is made. */
struct gr_error *gr_types_slice_of(struct gr_types *types, gr_type_id elem,
				   gr_type_id *ret) GR_MUST_CHECK;

/** True if the type is pointer-shaped. An interface holds such a value in its
 * data word itself. */
bool gr_types_is_direct(const struct gr_types *types, gr_type_id id);

#endif /* GR_TYPES_H */
