/* SPDX-License-Identifier: Apache-2.0 */
/**
 * dictionary: the dictionaries of generic functions. Instances whose type
 * arguments have the same shape share one body. The caller passes a read-only
 * dictionary, `main..dict.hold[*main.Leaf]`, with the differences. The types of
 * the body's variables are entries of the dictionary (DW_AT_go_dict_index).
 * Source: cmd/compile/internal/noder/reader.go (readDict, objDictIdx,
 * addLocal), cmd/internal/dwarf/dwarf.go (putparamtypes).
 *
 * The module knows the symbols and the code of a file. It does not know frames.
 */
#ifndef GR_DICTIONARY_H
#define GR_DICTIONARY_H

#include "goruntime/types/types.h"

struct gr_dictionaries;

struct gr_dictionary {
	const char *name;	/**< Name of the symbol; interned. */
	uint32_t package_bytes; /**< Bytes of the name before `..dict.`. */
	uint64_t addr;		/**< At run time. */
	uint64_t words;
};

/** The dictionaries with which a function may have been called. */
struct gr_dictionary_set {
	const struct gr_dictionary **dicts; /**< Sorted; in the arena. */
	size_t count;
};

/**
 * Read the dictionaries of one file from its symbols, which may be in its debug
 * file. This is called once for every file of the target, before
 * gr_dictionaries_find().
 */
struct gr_error *gr_dictionaries_read(struct gr_types *types,
				      const struct gr_target_module *module,
				      uint64_t bias) GR_MUST_CHECK;

/** The symbols of all dictionaries, in the order in which they were read. */
const struct gr_dictionary *gr_dictionaries_list(const struct gr_types *types,
						 size_t *count);
void gr_dictionaries_destroy(struct gr_dictionaries *dictionaries);

/**
 * Find the dictionaries of all instances of @p function, regardless of their
 * shape. @p function is the name in debug information
 * (`main.hold[go.shape.*uint8]`). The set is empty if it is not generic.
 */
struct gr_error *
gr_dictionaries_find(struct gr_types *types, const char *function,
		     struct gr_dictionary_set *ret) GR_MUST_CHECK;

/**
 * Find the type in entry @p index. *@p ret is GR_TYPE_NONE if the entry is not
 * a type of the shape @p shape. The dictionary belongs to another body then.
 */
struct gr_error *gr_dictionary_type(struct gr_types *types,
				    const struct gr_dictionary *dict,
				    uint32_t index, gr_type_id shape,
				    gr_type_id *ret) GR_MUST_CHECK;

/** Return the dictionary at run-time address @p addr, or NULL. */
const struct gr_dictionary *
gr_dictionary_set_at(const struct gr_dictionary_set *set, uint64_t addr);

/**
 * Return the dictionary whose address the code in [@p entry, @p return_pc)
 * loads last, or NULL. Callers that are not generic pass it this way.
 */
const struct gr_dictionary *
gr_dictionary_set_at_call(const struct gr_types *types,
			  const struct gr_dictionary_set *set, uint64_t entry,
			  uint64_t return_pc);

/**
 * Return the only dictionary of @p set whose address is in the dictionary
 * @p caller, or NULL. A generic caller passes a dictionary from its own one.
 */
const struct gr_dictionary *
gr_dictionary_set_within(const struct gr_types *types,
			 const struct gr_dictionary_set *set,
			 const struct gr_dictionary *caller);

/** Return the name of @p function's instance, such as `main.hold[*main.Leaf]`,
 * or NULL if there is not enough memory. */
const char *gr_dictionary_function_name(const struct gr_types *types,
					const struct gr_dictionary *dict,
					const char *function);

#endif /* GR_DICTIONARY_H */
