// SPDX-License-Identifier: Apache-2.0
#include "goroutines/goroutine_bytes.h"

#include "graph/exclusive.h"
#include "scan/answers.h"

struct gr_error *gr_goroutines_weigh(struct gr_answers *answers,
				     const struct gr_set_member_vector *members,
				     uint32_t nsets, struct gr_kept *kept,
				     struct gr_kept *together)
{
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	size_t n = members->size;
	_cleanup_free_ gr_vertex *vertices = calloc(n + 1, sizeof(*vertices));
	_cleanup_free_ uint32_t *set = calloc(n + 1, sizeof(*set));
	const struct gr_root_sets sets = {
		.vertices = vertices, .set = set, .count = n, .nsets = nsets
	};

	*together = (struct gr_kept){ 0 };
	if (!n)
		return NULL;
	if (!vertices || !set)
		return &gr_enomem;
	struct gr_error *err = gr_answers_need_graph(answers, 0);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		vertices[i] = gr_goroutine_vertex(answers->graph,
						  members->data[i].goroutine);
		set[i] = members->data[i].set;
	}
	return gr_graph_exclusive(answers->graph->graph, &sets, &poll, kept,
				  together);
}
