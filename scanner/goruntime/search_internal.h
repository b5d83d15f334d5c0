/* SPDX-License-Identifier: Apache-2.0 */
/** search_internal: what the files of the search share. */
#ifndef GR_SEARCH_INTERNAL_H
#define GR_SEARCH_INTERNAL_H

#include "base/vector.h"
#include "goruntime/search.h"

GR_VECTOR(gr_addr_vector, uint64_t);

/**
 * A search under way. rt->layout is the layout that is tried, rt->modules are
 * the modules by that layout.
 */
struct gr_search {
	struct gr_runtime *rt;
	const struct gr_elf *elf;
	uint64_t bias;
	/** Places that may be a moduledata: a table of functions comes first. */
	struct gr_addr_vector moduledatas;
	/** Variables that the symbol table knows; the rest of it is empty. */
	struct gr_layout symbols;
	/** How far the layout that is tried has come. */
	unsigned int stage;
	/** Elements of lists that may still be looked at: lists can be loops. */
	uint64_t budget;
};

/** Bytes that a visitor can look at from its word on, if there are so many. */
enum { GR_SEARCH_LOOK_AHEAD = 32 };

/** A word that is not 0, at @p addr; @p at has at least @p avail bytes. */
typedef struct gr_error *gr_search_visit(struct gr_search *s, void *ctx,
					 uint64_t addr, const uint8_t *at,
					 uint64_t avail);

/** Which variables: those that the collector scans, or the others, too. */
enum gr_search_where { GR_SEARCH_POINTERS, GR_SEARCH_ALL };

/**
 * Visit the words of the modules' data and bss. What cannot be read is left
 * out; a GR_ERROR_FAULT of the visitor means "not this one". Any other error
 * ends it.
 */
struct gr_error *gr_search_words(struct gr_search *s,
				 enum gr_search_where where,
				 gr_search_visit *visit,
				 void *ctx) GR_MUST_CHECK;

/** Could a pointer have that value? Most words could not. */
static inline bool gr_search_may_point(uint64_t word)
{
	return word >= 4096 && word % GR_WORD_BYTES == 0 &&
	       word < UINT64_C(1) << 47;
}

/** Pay for one element of a list; an error when too many were looked at. */
struct gr_error *gr_search_pay(struct gr_search *s) GR_MUST_CHECK;

/** "nothing is that", "two are": the error for a variable not found. */
struct gr_error *gr_search_failed(const char *what, size_t found) GR_MUST_CHECK;

/** search_module.c: fill in s->moduledatas. GR_ERROR_NOT_GO if this is none. */
struct gr_error *gr_search_find_moduledatas(struct gr_search *s) GR_MUST_CHECK;

/**
 * search_module.c: is there a moduledata at @p addr by the layout that is
 * tried, do function ids and the runtime's own type records agree with it?
 * Reads the modules. An error of the kind GR_ERROR_LAYOUT says what does not.
 */
struct gr_error *gr_search_check_module(struct gr_search *s,
					uint64_t addr) GR_MUST_CHECK;

/** Types and modules that a try has made. */
void gr_search_forget_modules(struct gr_runtime *rt);

/** search_heap.c: runtime.mheap_, checked; its address in vars if not known. */
struct gr_error *gr_search_find_mheap(struct gr_search *s) GR_MUST_CHECK;

/** search_heap.c: is @p addr inside a span of objects? */
bool gr_search_is_heap(struct gr_search *s, uint64_t addr);

/** search_heap.c: is @p addr a mspan? *@p ret is its record's start. */
struct gr_error *gr_search_read_mspan(struct gr_search *s, uint64_t addr,
				      uint8_t *record, bool *ret) GR_MUST_CHECK;

enum { GR_SEARCH_MAX_RECORD = 1 << 14 };

/** search_sched.c: allgs, allm, allp. */
struct gr_error *gr_search_find_sched(struct gr_search *s) GR_MUST_CHECK;

/** search_queues.c: allfin, gcCleanups; absent when nothing is queued. */
struct gr_error *gr_search_find_queues(struct gr_search *s) GR_MUST_CHECK;

/** search_itabs.c: itabTable; absent when nothing or more than one is like it. */
struct gr_error *gr_search_find_itabs(struct gr_search *s) GR_MUST_CHECK;

/** search_pools.c: symbols of sync's lists of pools. */
struct gr_error *gr_search_find_pools(struct gr_search *s) GR_MUST_CHECK;

/** search_texts.c: what is good to have: the version, wait reasons, whether
 * the collector is marking, the frame of reflect's calls. */
struct gr_error *gr_search_find_others(struct gr_search *s) GR_MUST_CHECK;

/** A list in the target, as one word of the data begins it. */
struct gr_search_list {
	uint64_t addr;	/**< Of the word. */
	uint64_t first; /**< Its value. */
	uint64_t len;
};
GR_VECTOR(gr_search_lists, struct gr_search_list);

/**
 * Of lists that all end in the same way take the longest, of which the others
 * must be the ends; NULL if one is not, or there is none. @p link: the offset
 * of the pointer to the next.
 */
struct gr_error *
gr_search_choose_list(struct gr_search *s, const struct gr_search_lists *lists,
		      uint32_t link,
		      const struct gr_search_list **ret) GR_MUST_CHECK;

#endif /* GR_SEARCH_INTERNAL_H */
