/* SPDX-License-Identifier: Apache-2.0 */
/** field_words: the word over which the nearest path leads to each object. */
#ifndef GR_FIELD_WORDS_H
#define GR_FIELD_WORDS_H

#include "heapgraph/heapgraph.h"

struct gr_answers;

#define GR_WORD_UNKNOWN UINT32_MAX

/**
 * For each object whose gr_graph.parent is an object: the index of the first
 * pointer of the parent that leads into it. The graph has been made.
 *
 * @param[out] words By object; GR_WORD_UNKNOWN where a root leads to it or no
 *	such word is in memory.
 */
struct gr_error *gr_field_words_find(struct gr_answers *answers,
				     uint32_t *words) GR_MUST_CHECK;

#endif /* GR_FIELD_WORDS_H */
