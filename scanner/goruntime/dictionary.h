/* SPDX-License-Identifier: Apache-2.0 */
/**
 * dictionary: which instance of a generic a frame runs. Instances whose type
 * arguments have the same shape share one body; what differs lies in a
 * read-only dictionary, `main..dict.hold[*main.Leaf]`, that the caller passes.
 * The types of the body's variables are entries of it
 * (DW_AT_go_dict_index). Source: cmd/compile/internal/noder/reader.go
 * (readDict, objDictIdx, addLocal), cmd/internal/dwarf/dwarf.go (putparamtypes).
 *
 * Knows the file's symbols and its code; knows nothing of frames.
 */
#ifndef GR_DICTIONARY_H
#define GR_DICTIONARY_H

#include "goruntime/types.h"

struct gr_dictionary {
	const char *name; /**< Of the symbol; interned. */
	uint64_t addr;	  /**< At run time. */
	uint64_t words;
};

/** The dictionaries that a function may have been called with. */
struct gr_dictionary_set {
	const struct gr_dictionary **dicts; /**< In the runtime's arena. */
	size_t count;
};

/**
 * Read the dictionaries of one file from its symbols, which are in
 * @p symbols_path, or in @p path itself where that is NULL. Once for every
 * file of the target, before gr_dictionaries_find().
 */
struct gr_error *gr_dictionaries_read(struct gr_runtime *rt, const char *path,
				      const char *symbols_path,
				      uint64_t bias) GR_MUST_CHECK;
void gr_dictionaries_destroy(struct gr_dictionaries *dictionaries);

/**
 * The dictionaries of @p function, by the name in its debug information
 * (`main.hold[go.shape.*uint8]`): of all its instances, whatever their shape.
 * None if it is not generic.
 */
struct gr_error *
gr_dictionaries_find(struct gr_runtime *rt, const char *function,
		     struct gr_dictionary_set *ret) GR_MUST_CHECK;

/**
 * The type in entry @p index, or GR_TYPE_NONE where there is none that has the
 * shape of @p shape: then it is not the dictionary of this body.
 */
struct gr_error *gr_dictionary_type(struct gr_runtime *rt,
				    const struct gr_dictionary *dict,
				    uint32_t index, gr_type_id shape,
				    gr_type_id *ret) GR_MUST_CHECK;

/** The one at run-time address @p addr, or NULL. */
const struct gr_dictionary *
gr_dictionary_set_at(const struct gr_dictionary_set *set, uint64_t addr);

/**
 * The one whose address the code before @p return_pc loads last, not before
 * @p entry; or NULL. That is how a caller that is not generic passes it.
 */
const struct gr_dictionary *
gr_dictionary_set_at_call(const struct gr_runtime *rt,
			  const struct gr_dictionary_set *set, uint64_t entry,
			  uint64_t return_pc);

/**
 * The only one that the caller's own dictionary leads to, or NULL: a generic
 * caller hands on what lies there.
 */
const struct gr_dictionary *
gr_dictionary_set_within(const struct gr_runtime *rt,
			 const struct gr_dictionary_set *set,
			 const struct gr_dictionary *caller);

/** `main.hold[*main.Leaf]` for @p function; NULL if memory is short. */
const char *gr_dictionary_function_name(struct gr_runtime *rt,
					const struct gr_dictionary *dict,
					const char *function);

#endif /* GR_DICTIONARY_H */
