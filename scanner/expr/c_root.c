// SPDX-License-Identifier: Apache-2.0
/*
 * Roots of C by the names that answers print: `C stack of thread 17`, `cache in
 * libfoo.so.1`. Only the object graph has them, so the name must look like one
 * of theirs before the graph is made.
 */
#include "expr/place_internal.h"
#include "scan/answers.h"
#include "scan/graph.h"
#include "scan/native.h"

/* Texts that only names of these roots begin with, or have inside. */
static bool is_meant(const char *name)
{
	static const char *const begins[] = {
		"C stack ",	 "C thread ",	   "C memory ",
		"data of ",	 "shared memory ", "unchecked arena ",
		"registers of ", "memory of ",	   "frames of ",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return strstr(name, " in ") || strstr(name, "::");
}

/* The place of a variable, or else of the first word of memory. */
static struct gr_error *place_in_memory(struct gr_stop *stop,
					const struct gr_root_vertex *root,
					struct gr_place *ret)
{
	struct gr_c_typed variable = { 0, GR_TYPE_NONE };
	struct gr_error *err = NULL;

	if (root->bytes)
		err = gr_stop_c_variable(stop, root->addr, &variable);
	if (err)
		return err;
	ret->addr = root->addr;
	ret->type = variable.addr == root->addr ? variable.type : GR_TYPE_NONE;
	ret->is_variable = ret->type != GR_TYPE_NONE;
	ret->value = gr_place_pointee(stop->program, ret->addr, ret->type);
	// The only word of a variable is what leads to a block.
	if (!ret->is_variable && root->bytes == GR_WORD_BYTES)
		err = gr_image_read_u64(stop->image, ret->addr, &ret->value);
	return err;
}

/* Registers have no address: they are the first block that they lead to. */
static struct gr_error *place_of(struct gr_answers *answers, size_t i,
				 struct gr_place *ret)
{
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_graph *g = hg->graph;
	gr_vertex v = gr_graph_first_root(g) + i;

	if (hg->roots.data[i].source == GR_FROM_C)
		return place_in_memory(answers->stop, &hg->roots.data[i], ret);
	ret->addr = gr_objects_addr(g->objects, g->to[g->first[v]]);
	ret->value = ret->addr;
	return NULL;
}

struct gr_error *gr_place_of_c_root(struct gr_answers *answers,
				    const char *name, bool *is_found,
				    struct gr_place *ret)
{
	struct gr_error *err = NULL;

	*is_found = false;
	if (!is_meant(name))
		return NULL;
	err = gr_answers_need_graph(answers, GR_PART_NEAREST);
	if (err)
		return err;
	const struct gr_root_vertex_vector *roots = &answers->graph->roots;
	for (size_t i = 0; !err && i < roots->size; i++) {
		const struct gr_root_vertex *root = &roots->data[i];

		err = gr_runtime_step(&answers->stop->program->rt, 1);
		if (err || strcmp(root->name ? root->name : "", name) ||
		    (root->source != GR_FROM_C &&
		     root->source != GR_FROM_C_REGISTERS))
			continue;
		*is_found = true;
		return place_of(answers, i, ret);
	}
	return err;
}
