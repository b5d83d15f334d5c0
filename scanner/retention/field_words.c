// SPDX-License-Identifier: Apache-2.0
#include "retention/field_words.h"

#include "naming/link.h"
#include "scan/answers.h"

struct notes {
	const struct gr_graph *g;
	uint32_t *words;
};

/* Note the word of a link in the tree of nearest paths. */
static struct gr_error *note(void *ctx, const struct gr_link *link)
{
	const struct notes *notes = ctx;
	uint64_t word = link->off_bytes / GR_WORD_BYTES;

	if (notes->g->parent[link->to] == link->from &&
	    notes->words[link->to] == GR_WORD_UNKNOWN && word < GR_WORD_UNKNOWN)
		notes->words[link->to] = word;
	return NULL;
}

struct gr_error *gr_field_words_find(struct gr_answers *answers,
				     uint32_t *words)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	const struct gr_graph *g = answers->graph->graph;
	struct notes notes = { g, words };
	struct gr_error *err = NULL;

	for (gr_vertex v = 0; v < g->nobjects; v++)
		words[v] = GR_WORD_UNKNOWN;
	for (gr_vertex v = 0; !err && v < g->nobjects; v++) {
		err = gr_runtime_step(&answers->stop->program->rt, 1);
		if (!err && g->first[v] < g->first[v + 1])
			err = gr_links_each(&reader, v, GR_VERTEX_NONE,
					    SIZE_MAX, note, &notes);
	}
	return err;
}
