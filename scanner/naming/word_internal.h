/* SPDX-License-Identifier: Apache-2.0 */
/** word_internal: shared parts of the names of words. */
#ifndef GR_WORD_INTERNAL_H
#define GR_WORD_INTERNAL_H

#include "base/text.h"
#include "goruntime/heap/heap.h"
#include "naming/word_name.h"

/** Memory of one object, from some address in it up to its end. */
struct gr_extent {
	uint64_t addr;
	uint64_t bytes; /**< 0: the address is in no object. */
	bool is_noscan;
};

/** A word that is being named. */
struct gr_word {
	struct gr_heap *heap;
	struct gr_extent in; /**< Its object, behind the malloc header. */
	uint64_t off;	     /**< The word's offset in it. */
	gr_obj holder;	     /**< It leads to the object; or GR_OBJ_NONE. */
	gr_type_id type;     /**< The container's, or one element's. */
	struct gr_text text; /**< The name; its memory is that of `ret`. */
	struct gr_word_name *ret;
};

/** The memory of the object at @p addr, from there on. */
struct gr_extent gr_word_extent(const struct gr_heap *heap, uint64_t addr);

/** Read the word at @p addr. False: it was not captured. */
bool gr_word_load(struct gr_runtime *rt, uint64_t addr, uint64_t *ret);

/** Read @p bytes bytes at @p addr. False: they were not captured. */
bool gr_word_read(struct gr_runtime *rt, uint64_t addr, void *buf,
		  uint64_t bytes);

/** Append the name of byte @p off of one value of @p type. */
struct gr_error *gr_word_put_value(struct gr_word *word, gr_type_id type,
				   uint64_t off) GR_MUST_CHECK;

/** The word leads to another piece of the container: `$buckets`. */
GR_PRINTF(2, 3)
void gr_word_put_piece(struct gr_word *word, const char *fmt, ...);

/** The word has no name: append `+0x18`. */
void gr_word_put_nameless(struct gr_word *word);

/**
 * Append `["abc"]`, `[17]` or `[true]`: the key of @p type at @p key_addr. It is
 * `$mapval` if the key is of another kind, or was not captured.
 */
struct gr_error *gr_word_put_entry(struct gr_word *word, gr_type_id type,
				   uint64_t key_addr) GR_MUST_CHECK;

/** Is the object the header of a map, rather than another piece of it? It is
 * told by its size and by what its words lead to (word_map.c). */
struct gr_error *gr_word_is_map_header(struct gr_word *word,
				       bool *ret) GR_MUST_CHECK;
/** Name a word of a piece of a map (word_map.c). */
struct gr_error *gr_word_name_map(struct gr_word *word) GR_MUST_CHECK;
/** Name a word of a channel or of its buffer (word_container.c). */
struct gr_error *gr_word_name_chan(struct gr_word *word) GR_MUST_CHECK;
/** Name a word of a node of a hash trie (word_container.c). */
struct gr_error *gr_word_name_trie(struct gr_word *word) GR_MUST_CHECK;

#endif /* GR_WORD_INTERNAL_H */
