/* SPDX-License-Identifier: Apache-2.0 */
/**
 * types: the one space of type ids. First the types of every module's DWARF,
 * then what is made on the way: the runtime's own records where no DIE exists,
 * and closure objects.
 */
#ifndef GR_TYPES_H
#define GR_TYPES_H

#include "goruntime/runtime.h"

typedef uint32_t gr_type_id;
#define GR_TYPE_NONE UINT32_MAX

/** What the walk does with a type beyond its structure. */
enum gr_type_role {
	GR_ROLE_PLAIN,
	GR_ROLE_BARRIER, /**< g, m, p and other things of the scheduler. */
	GR_ROLE_ATOMIC_POINTER, /**< sync/atomic.Pointer[T]; elem is T. */
	/** internal/sync.HashTrieMap[K,V] and its like: `key` and `elem`. */
	GR_ROLE_HASH_TRIE,
	GR_ROLE_CLOSURE, /**< A funcval with its captured variables. */
};

struct gr_type {
	const char *name; /**< Never NULL. */
	uint64_t size_bytes;
	uint8_t kind;  /**< enum gr_go_kind */
	uint8_t role;  /**< enum gr_type_role */
	bool has_itab; /**< Interface with methods: itab before the data. */
	bool is_runtime_record; /**< Made from a runtime type record. */
	/**
	 * Of a variable in a generic's shared code: its type is entry
	 * dict_index - 1 of the dictionary (dictionary.h). 0: none.
	 */
	uint16_t dict_index;
	gr_type_id elem, key;
	gr_type_id header; /**< Map, chan: the struct behind the pointer. */
	uint64_t count;	   /**< Of an array. */
	uint32_t first_field, nfields;
};

struct gr_type_field {
	const char *name;
	uint64_t off_bytes;
	gr_type_id type;
};

/** Fill the space from the modules' DWARF. */
struct gr_error *gr_types_create(struct gr_runtime *rt) GR_MUST_CHECK;
void gr_types_destroy(struct gr_types *types);

/** Number of ids in use: they are dense from 0. */
size_t gr_types_count(const struct gr_types *types);
/** @p id must be in use. The pointer is good until the next type is made. */
const struct gr_type *gr_types_get(const struct gr_types *types, gr_type_id id);
const struct gr_type_field *gr_types_field(const struct gr_types *types,
					   const struct gr_type *type,
					   uint32_t i);

/**
 * The type of that DWARF name, or GR_TYPE_NONE. Of a module without debug
 * information it is made from the runtime's record, if there is one.
 */
gr_type_id gr_types_find(struct gr_runtime *rt, const char *name);

/** Id of DWARF type @p index of a module. */
gr_type_id gr_types_from_dwarf(const struct gr_runtime *rt,
			       const struct gr_module *module, uint32_t index);

/**
 * The type whose runtime record lies at @p addr (what an interface or a
 * malloc header points to): its DIE if it has one, else read from the record.
 * GR_TYPE_NONE in *@p ret when the record makes no sense (a gap, once).
 */
struct gr_error *gr_types_from_runtime(struct gr_runtime *rt, uint64_t addr,
				       gr_type_id *ret) GR_MUST_CHECK;

/** gr_types_from_runtime() of the concrete type of the itab at @p addr. */
struct gr_error *gr_types_from_itab(struct gr_runtime *rt, uint64_t addr,
				    gr_type_id *ret) GR_MUST_CHECK;

/**
 * The closure object whose code is at @p pc (the first word of a funcval):
 * a struct of the function's name with what it captures. GR_TYPE_NONE when
 * there is no such function.
 */
struct gr_error *gr_types_closure(struct gr_runtime *rt, uint64_t pc,
				  gr_type_id *ret) GR_MUST_CHECK;

/** `[]T` of the T that is @p elem: the program's own, or one made up. */
struct gr_error *gr_types_slice_of(struct gr_runtime *rt, gr_type_id elem,
				   gr_type_id *ret) GR_MUST_CHECK;

/** True for what the collector's masks call pointer-shaped: such a value is
 * kept in an interface's data word itself. */
bool gr_types_is_direct(const struct gr_types *types, gr_type_id id);

#endif /* GR_TYPES_H */
