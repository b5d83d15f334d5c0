// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-words.h"

#include "mark/edges.h"
#include "naming/memory_name.h"
#include "scan/enter.h"
#include "scan/mark.h"
#include "scan/scan.h"
#include "naming/word_name.h"

#include <inttypes.h>

static const char *type_name(const struct gr_program *program, gr_type_id type)
{
	return type == GR_TYPE_NONE ? "?" :
				      gr_types_get(program->types, type)->name;
}

/** A walk whose objects are named. */
struct naming {
	struct gr_scan *scan;
	struct gr_marking m;
};

static void put_line(const struct naming *naming, const struct gr_edge *edge,
		     const char *root, uint64_t holder, const char *type,
		     const struct gr_word_name *name)
{
	static const char *const kinds[] = {
		[GR_WORD_FIELD] = "field",
		[GR_WORD_POINTER] = "pointer",
		[GR_WORD_PIECE] = "piece",
		[GR_WORD_NAMELESS] = "nameless",
	};

	printf("0x%" PRIx64 "\t0x%" PRIx64 "\t0x%" PRIx64
	       "\t%s\t%s%s\t%s\t%" PRIu64 "\t%s\n",
	       edge->value, edge->addr, holder, type, root, name->text,
	       type_name(&naming->scan->program, name->type), name->off_bytes,
	       kinds[name->kind]);
}

static struct gr_error *put_object_word(const struct naming *naming,
					const struct gr_edge *edge)
{
	struct gr_scan *scan = naming->scan;
	const struct gr_parents *parents = naming->m.parents;
	uint32_t label = gr_parents_label(parents, edge->from);
	uint64_t base = gr_heap_object_addr(scan->stop.heap, edge->from);
	struct gr_word_name name;
	struct gr_error *err = gr_word_find_held_name(
		&scan->stop, gr_parents_from(parents, edge->from), edge->from,
		label, edge->addr - base, &name);

	if (!err)
		put_line(naming, edge, "", base,
			 gr_memory_name(&scan->program, label), &name);
	return err;
}

/* The root whose variable has the word at @p addr, or NULL. */
static const struct gr_root *root_at(const struct gr_stop *stop, uint64_t addr)
{
	const struct gr_root_list *list = &stop->roots.list;

	for (size_t i = 0; i < list->size; i++) {
		const struct gr_root *root = &list->data[i];

		if (root->form == GR_ROOT_REGION && !root->bytes_at &&
		    addr - root->addr < root->bytes)
			return root;
	}
	return NULL;
}

static struct gr_error *put_root_word(const struct naming *naming,
				      const struct gr_edge *edge)
{
	struct gr_scan *scan = naming->scan;
	const struct gr_root *root =
		edge->is_area ? root_at(&scan->stop, edge->addr) :
				&scan->stop.roots.list.data[edge->root];
	struct gr_word_name name;

	if (!root || !edge->addr)
		return NULL;
	struct gr_error *err = gr_word_find_root_name(
		scan->stop.heap, root, edge->addr - root->addr, &name);
	if (!err)
		put_line(naming, edge, root->name, 0,
			 type_name(&scan->program, root->type), &name);
	return err;
}

static struct gr_error *put_edges(void *ctx, const struct gr_edge *edges,
				  size_t count)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = edges[i].from == GR_OBJ_NONE ?
			      put_root_word(ctx, &edges[i]) :
			      put_object_word(ctx, &edges[i]);
	return err;
}

static struct gr_error *put_one(const struct naming *naming, const char *text)
{
	const struct gr_heap *heap = naming->scan->stop.heap;
	const struct gr_span *span;
	struct gr_edge edge = { .addr = strtoull(text, NULL, 0) };
	struct gr_error *err;

	edge.from = gr_heap_object_at(heap, edge.addr, &span);
	if (edge.from == GR_OBJ_NONE ||
	    edge.addr < gr_heap_object_addr(heap, edge.from))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s is in no object of the heap", text);
	err = gr_image_read_u64(naming->scan->stop.image, edge.addr,
				&edge.value);
	return err ? err : put_object_word(naming, &edge);
}

struct gr_error *put_words(struct gr_scan *scan, const char *text)
{
	struct gr_answers *answers;
	struct naming naming = { .scan = scan };
	struct gr_walk_options options = { 0 };
	struct gr_ledger ledger = { 0 };
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = gr_answers_mark(&scan->answers, &options, true, &ledger,
				      &naming.m);
	if (!err)
		err = text ? put_one(&naming, text) :
			     gr_for_each_edge(scan->stop.heap,
					      &scan->stop.roots, &naming.m,
					      put_edges, NULL, &naming);
	gr_marking_deinit(&naming.m);
	return gr_sigbus_guard_end(&guard, err);
}
