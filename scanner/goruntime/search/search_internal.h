/* SPDX-License-Identifier: Apache-2.0 */
/** search_internal: declarations shared by the files of the search. */
#ifndef GR_SEARCH_INTERNAL_H
#define GR_SEARCH_INTERNAL_H

#include "goruntime/search/search.h"

/**
 * The state of a search. rt->layout is the layout being tried, and rt->modules
 * are the modules by that layout.
 */
struct gr_search {
	struct gr_runtime *rt;
	const struct gr_elf *elf;
	uint64_t bias;
	/** Candidate moduledatas: their first word points to a pcHeader. */
	struct gr_addr_vector moduledatas;
	/** Variables from the symbol table; the other members are empty. */
	struct gr_layout symbols;
	/** The stage that the layout being tried has reached. */
	unsigned int stage;
	/** List elements that may still be read: a list can be a loop. */
	uint64_t budget;
	/** Results of an earlier search; 0 where nothing is kept. */
	struct gr_search_kept kept;
};

/** Bytes that a visitor can read from its word on, unless data ends before. */
enum { GR_SEARCH_LOOK_AHEAD = 32 };

/** A word that is not 0, at @p addr; @p at has at least @p avail bytes. */
typedef struct gr_error *gr_search_visit(struct gr_search *s, void *ctx,
					 uint64_t addr, const uint8_t *at,
					 uint64_t avail);

/** The variables to visit: only those that the collector scans, or all. */
enum gr_search_where { GR_SEARCH_POINTERS, GR_SEARCH_ALL };

/**
 * Visit the words of the modules' data and bss. Unreadable words are skipped.
 * A GR_ERROR_FAULT from the visitor means that the word does not match. Any
 * other error ends the visit.
 */
struct gr_error *gr_search_words(struct gr_search *s,
				 enum gr_search_where where,
				 gr_search_visit *visit,
				 void *ctx) GR_MUST_CHECK;

/** Can the word be a pointer? Most words cannot. */
static inline bool gr_search_may_point(uint64_t word)
{
	return word >= 4096 && word % GR_WORD_BYTES == 0 &&
	       word < UINT64_C(1) << 47;
}

/** Is @p addr of a word in the data or bss of the modules? */
bool gr_search_is_data(const struct gr_search *s, uint64_t addr);

/** Pay for one list element; an error if too many elements were read. */
struct gr_error *gr_search_pay(struct gr_search *s) GR_MUST_CHECK;

/** The error for a variable with no match or several matches. */
struct gr_error *gr_search_failed(const char *what, size_t found) GR_MUST_CHECK;

/** search_module.c: fill in s->moduledatas. GR_ERROR_NOT_GO if this is none. */
struct gr_error *gr_search_find_moduledatas(struct gr_search *s) GR_MUST_CHECK;

/**
 * search_module.c: check that there is a moduledata at @p addr by the layout
 * being tried, and that function IDs and the runtime's own type records agree
 * with the layout. Reads the modules. GR_ERROR_LAYOUT names the mismatch.
 */
struct gr_error *gr_search_check_module(struct gr_search *s,
					uint64_t addr) GR_MUST_CHECK;

/** Drop the modules that an attempt has read. */
void gr_search_forget_modules(struct gr_runtime *rt);

/** search_heap.c: check runtime.mheap_; find its address if not known. */
struct gr_error *gr_search_find_mheap(struct gr_search *s) GR_MUST_CHECK;

/** search_heap.c: is @p addr inside a span of objects? */
bool gr_search_is_heap(struct gr_search *s, uint64_t addr);

/** search_heap.c: are the @p count words from @p addr on inside one object of
 * the heap that may hold pointers? */
bool gr_search_is_array(struct gr_search *s, uint64_t addr, uint64_t count);

/** search_heap.c: is there an mspan at @p addr? Fills in @p record. */
struct gr_error *gr_search_read_mspan(struct gr_search *s, uint64_t addr,
				      uint8_t *record, bool *ret) GR_MUST_CHECK;

enum { GR_SEARCH_MAX_RECORD = 1 << 14 };

/** search_sched.c: allgs, allm, allp. */
struct gr_error *gr_search_find_gs(struct gr_search *s) GR_MUST_CHECK;
struct gr_error *gr_search_find_ms(struct gr_search *s) GR_MUST_CHECK;
struct gr_error *gr_search_find_ps(struct gr_search *s) GR_MUST_CHECK;

/** search_queues.c: allfin, gcCleanups; absent when nothing is queued. */
struct gr_error *gr_search_find_queues(struct gr_search *s) GR_MUST_CHECK;

/** search_itabs.c: itabTable. GR_ERROR_LAYOUT unless there is exactly one match:
 * then it is absent. */
struct gr_error *gr_search_find_itabs(struct gr_search *s) GR_MUST_CHECK;

/** search_pools.c: add symbols for sync's lists of pools. */
struct gr_error *gr_search_find_pools(struct gr_search *s) GR_MUST_CHECK;

/** search_handles.c: add a symbol for the table of cgo.Handle. */
struct gr_error *gr_search_find_handles(struct gr_search *s) GR_MUST_CHECK;

/** search_texts.c: optional items: the version, wait reasons, whether the
 * collector is marking, the frame of reflect's calls. */
struct gr_error *gr_search_find_others(struct gr_search *s) GR_MUST_CHECK;

/** A list in the target that begins at one word of the data. */
struct gr_search_list {
	uint64_t addr;	/**< Address of the word. */
	uint64_t first; /**< Its value. */
	uint64_t len;
};
GR_VECTOR(gr_search_lists, struct gr_search_list);

/**
 * Choose the longest list. All other lists must be the tail of it; otherwise,
 * or if there is no list, *@p ret is NULL. @p link is the offset of the
 * pointer to the next element.
 */
struct gr_error *
gr_search_choose_list(struct gr_search *s, const struct gr_search_lists *lists,
		      uint32_t link,
		      const struct gr_search_list **ret) GR_MUST_CHECK;

#endif /* GR_SEARCH_INTERNAL_H */
