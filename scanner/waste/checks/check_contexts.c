// SPDX-License-Identifier: Apache-2.0
/*
 * context-children: contexts that nobody has cancelled. Their parent's map of
 * children holds them. The timer of a context with a deadline holds it, too. A
 * call of the cancel function would remove both references. A function of
 * context.AfterFunc() is also a child, but the program needs it: it is called
 * when its parent is cancelled. Source: context/context.go.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "goruntime/types/map_entries.h"
#include "naming/memory_name.h"
#include "scan/answers.h"
#include "waste/checks/checks.h"
#include "waste/checks/context_types.h"
#include "waste/checks/cut_sets.h"
#include "waste/objects/places.h"
#include "waste/checks/timer_cuts.h"

#include <inttypes.h>

enum {
	MANY_CHILDREN = 1000, /* of one context */
	MAX_PLACE_BYTES = 256,
	MAX_ROUNDS = 64, /* contexts in contexts */
	MAX_GROUPS = 8,
};

/** A context with children. */
struct parent {
	gr_obj obj;
	uint64_t map;	   /* address of the header */
	uint64_t children; /* that were found */
};
GR_VECTOR(parent_vector, struct parent);

/** A child, and the piece of a map that leads to it. */
struct child {
	gr_obj obj, piece;
	uint32_t parent; /* index */
	/* Something else holds its channel, or it has a function of
	 * context.AfterFunc(), or one of these is true of a context below. */
	bool is_awaited;
};
GR_VECTOR(child_vector, struct child);

/** Children of one type. */
struct group {
	struct gr_finding row;
	/* The parent with the most children, among those that lose some. */
	uint32_t most;
};
GR_VECTOR(group_vector, struct group);

struct finder {
	struct gr_waste_run *run;
	struct gr_runtime *rt;
	struct gr_context_types types;
	struct parent_vector parents;
	struct child_vector children;
	uint64_t max_children, slot_bytes; /* of one parent; of all children */
	uint64_t entries_left;		   /* a child is in one map only */
	uint64_t map_bytes_left;	   /* and so is a piece */
	struct gr_timer_cuts timers;
	struct gr_keys by_label; /* -> group */
	struct group_vector groups;
	struct gr_cut_sets sets;
};

static void finder_deinit(struct finder *f)
{
	gr_context_types_deinit(&f->types);
	parent_vector_deinit(&f->parents);
	child_vector_deinit(&f->children);
	gr_timer_cuts_deinit(&f->timers);
	gr_keys_deinit(&f->by_label);
	group_vector_deinit(&f->groups);
	gr_cut_sets_deinit(&f->sets);
}

static uint64_t address_of(const struct finder *f, gr_obj obj)
{
	return gr_heap_object_addr(f->run->heap, obj);
}

/* The offsets in an object that is one value of a type; NULL: it is no
 * context. */
static const struct gr_context_type *context_of(const struct finder *f,
						gr_obj obj)
{
	uint32_t label = gr_parents_label(f->run->parents, obj);

	return label < f->types.count && f->types.of[label].children ?
		       &f->types.of[label] :
		       NULL;
}

/* Read a word of the target; 0 if it is not there. */
static struct gr_error *read_word(struct finder *f, uint64_t addr,
				  uint64_t *ret)
{
	struct gr_error *err = gr_image_read_u64(f->rt->image, addr, ret);

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

// ----------------------------------------------------------------- the parents

static struct gr_error *add_parent(struct finder *f, gr_obj obj, uint64_t addr,
				   uint32_t children_off)
{
	struct parent parent = { .obj = obj };
	struct gr_error *err = read_word(f, addr + children_off, &parent.map);

	uint64_t count = 0;
	if (!err && parent.map)
		err = gr_map_count(f->rt, parent.map, &count);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err || !count)
		return err;
	return gr_runtime_append(f->rt, parent_vector, &f->parents, parent);
}

static struct gr_error *find_parents(struct finder *f)
{
	const struct gr_heap *heap = f->run->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		uint32_t n = span->is_noscan ? 0 : span->nelems;

		for (uint32_t k = 0; !err && k < n; k++) {
			gr_obj obj = span->first_obj + k;
			const struct gr_context_type *context =
				context_of(f, obj);
			if (GR_UNLIKELY(context))
				err = add_parent(f, obj,
						 gr_span_slot_addr(span, k) +
							 span->header_bytes,
						 context->children - 1);
		}
		if (!err)
			err = gr_runtime_step(f->rt, n / 8 + 1);
	}
	return err;
}

// ---------------------------------------------------------------- the children

/* Add the child of an entry: its key is an interface. */
static struct gr_error *add_child(struct finder *f, uint32_t parent,
				  const struct gr_map_entry *entry)
{
	const struct gr_heap *heap = f->run->heap;
	const struct gr_span *span = NULL, *piece_span;
	struct child child = { .parent = parent };
	uint64_t addr = 0;
	struct gr_error *err =
		read_word(f, entry->key_addr + GR_WORD_BYTES, &addr);

	if (err)
		return err;
	child.obj = gr_heap_object_at(heap, addr, &span);
	child.piece = gr_heap_object_at(heap, entry->key_addr, &piece_span);
	if (child.obj == GR_OBJ_NONE || child.piece == GR_OBJ_NONE ||
	    !gr_parents_has(f->run->parents, child.obj))
		return NULL;
	const struct gr_context_type *context = context_of(f, child.obj);
	child.is_awaited = context && context->is_after_func;
	f->slot_bytes += span->elem_bytes;
	return gr_runtime_append(f->rt, child_vector, &f->children, child);
}

static struct gr_error *find_children(struct finder *f, uint32_t parent)
{
	struct parent *p = &f->parents.data[parent];
	struct gr_map_cursor cursor;
	struct gr_map_entry entry;
	bool is_end = false;
	struct gr_error *err = gr_map_cursor_begin(f->run->types, f->types.map,
						   p->map, f->map_bytes_left,
						   &cursor);

	// The rest of them belongs to the other maps.
	uint64_t pieces = cursor.pieces_left;
	while (!err && !is_end && f->entries_left) {
		f->entries_left--;
		err = gr_map_cursor_next(&cursor, &entry, &is_end);
		if (!err && !is_end) {
			p->children++;
			err = add_child(f, parent, &entry);
		}
		if (!err)
			err = gr_runtime_step(f->rt, 2);
	}
	pieces -= cursor.pieces_left < pieces ? cursor.pieces_left : 0;
	f->map_bytes_left -= pieces * cursor.shape.bytes;
	if (p->children > f->max_children)
		f->max_children = p->children;
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT))
		return NULL;
	return err;
}

/* A child with a deadline has a timer, whose function leads to it. */
static struct gr_error *cut_timer(struct finder *f, const struct child *child,
				  uint32_t group)
{
	const struct gr_context_type *context = context_of(f, child->obj);
	const struct gr_span *span;
	uint64_t addr = 0;

	if (!context || !context->timer)
		return NULL;
	struct gr_error *err = read_word(
		f, address_of(f, child->obj) + context->timer - 1, &addr);
	gr_obj obj = gr_heap_object_at(f->run->heap, addr, &span);
	return err || obj == GR_OBJ_NONE ?
		       err :
		       gr_timer_cuts_add(&f->timers, obj, &f->sets, group);
}

// -------------------------------------------------------------------- the rows

static struct gr_error *find_group(struct finder *f, const struct child *child,
				   uint32_t *ret)
{
	uint32_t label = gr_parents_label(f->run->parents, child->obj);
	struct gr_program *program = f->run->answers->stop->program;

	*ret = gr_keys_find(&f->by_label, label, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	const char *name = gr_memory_name(program, label);
	const struct group group = {
		.row = { .check = GR_WASTE_CONTEXT_CHILDREN,
			 .key = label,
			 .example = UINT64_MAX,
			 .type = gr_arena_intern(&program->arena, name,
						 strlen(name)),
			 .field = ".children" },
	};
	*ret = f->groups.size;
	if (!group.row.type || !gr_keys_add(&f->by_label, label, 0, *ret))
		return &gr_enomem;
	return gr_runtime_append(f->rt, group_vector, &f->groups, group);
}

/* Cut what leads to a child. */
static struct gr_error *cut_child(struct finder *f, const struct child *child,
				  uint32_t group)
{
	const struct gr_objects *objects =
		f->run->answers->graph->graph->objects;
	const struct gr_cut cut = {
		gr_object_vertex(objects, child->obj),
		gr_object_vertex(objects, child->piece),
	};

	if (cut.vertex == GR_VERTEX_NONE || cut.holder == GR_VERTEX_NONE)
		return NULL;
	struct gr_error *err = gr_cut_sets_add(f->run, &f->sets, group, cut);
	return err ? err : cut_timer(f, child, group);
}

/* Cut what leads to any child that is not in use. */
static struct gr_error *cut_children(struct finder *f)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < f->children.size; i++)
		if (!f->children.data[i].is_awaited)
			err = cut_child(f, &f->children.data[i], 0);
	return err;
}

/* Find the channel of a child's Done(); GR_VERTEX_NONE: it has none. */
static struct gr_error *find_done(struct finder *f, const struct child *child,
				  gr_vertex *ret)
{
	const struct gr_context_type *context = context_of(f, child->obj);
	uint64_t addr = 0;
	struct gr_error *err = NULL;

	if (context && context->done)
		err = read_word(f,
				address_of(f, child->obj) + context->done - 1,
				&addr);
	*ret = gr_objects_find(f->run->answers->graph->graph->objects, addr);
	return err;
}

/* One round upwards: parents of contexts that are in use are in use, too.
 * @p spared has a bit for each of them. */
static struct gr_error *spare_parents(struct finder *f, uint64_t *spared,
				      bool *is_changed)
{
	struct gr_error *err = NULL;

	*is_changed = false;
	for (size_t i = 0; !err && i < f->children.size; i++) {
		struct child *child = &f->children.data[i];

		child->is_awaited |= gr_bitmap_test(spared, child->obj);
		if (child->is_awaited)
			*is_changed |= gr_bitmap_set_new(
				spared, f->parents.data[child->parent].obj);
		err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

/* If contexts lie in each other too deep to tell, all are in use. */
static struct gr_error *spare_above(struct finder *f)
{
	_cleanup_free_ uint64_t *spared = gr_bitmap_alloc(f->run->heap->nobjs);
	struct gr_error *err = spared ? NULL : &gr_enomem;
	bool is_changed = true;

	for (int round = 0; !err && is_changed && round < MAX_ROUNDS; round++)
		err = spare_parents(f, spared, &is_changed);
	for (size_t i = 0; !err && is_changed && i < f->children.size; i++)
		f->children.data[i].is_awaited = true;
	return err;
}

/* A context that nobody has may be in use all the same: somebody waits for its
 * channel. Cut only the others. */
static struct gr_error *spare_awaited(struct finder *f)
{
	_cleanup_array_ uint64_t *marked = NULL;
	struct gr_error *err = gr_cuts_mark(f->run, f->sets.cuts.data,
					    f->sets.cuts.size, &marked);
	bool is_changed = false;
	gr_vertex done;

	for (size_t i = 0; !err && i < f->children.size; i++) {
		struct child *child = &f->children.data[i];

		err = find_done(f, child, &done);
		if (!err)
			err = gr_runtime_step(f->rt, 2);
		child->is_awaited |= !err && done != GR_VERTEX_NONE &&
				     gr_bitmap_test(marked, done);
		is_changed |= child->is_awaited;
	}
	f->sets.cuts.size = f->sets.set.size = 0;
	return !err && is_changed ? spare_above(f) : err;
}

/* One round downwards: a call of a cancel function also cancels the contexts
 * below. */
static struct gr_error *join_below(struct finder *f, uint32_t label,
				   uint64_t *joined, bool *is_changed)
{
	struct gr_error *err = NULL;

	*is_changed = false;
	for (size_t i = 0; !err && i < f->children.size; i++) {
		const struct child *child = &f->children.data[i];
		gr_obj parent = f->parents.data[child->parent].obj;

		if (!child->is_awaited &&
		    (gr_parents_label(f->run->parents, child->obj) == label ||
		     gr_bitmap_test(joined, parent)))
			*is_changed |= gr_bitmap_set_new(joined, child->obj);
		err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

/* Cut what leads to the children of a group, and to those below them. Contexts
 * that lie in each other too deep are left out. */
static struct gr_error *cut_group(struct finder *f, uint32_t group)
{
	_cleanup_free_ uint64_t *joined = gr_bitmap_alloc(f->run->heap->nobjs);
	struct gr_error *err = joined ? NULL : &gr_enomem;
	bool is_changed = true;

	for (int round = 0; !err && is_changed && round < MAX_ROUNDS; round++)
		err = join_below(f, f->groups.data[group].row.key, joined,
				 &is_changed);
	for (size_t i = 0; !err && i < f->children.size; i++) {
		const struct child *child = &f->children.data[i];

		err = gr_runtime_step(f->rt, 1);
		if (!err && !child->is_awaited &&
		    gr_bitmap_test(joined, child->obj))
			err = cut_child(f, child, group);
	}
	return err;
}

static struct gr_error *find_groups(struct finder *f)
{
	struct gr_error *err = NULL;
	uint32_t group;

	for (size_t i = 0; !err && i < f->children.size; i++) {
		err = gr_runtime_step(f->rt, 1);
		if (!err && !f->children.data[i].is_awaited)
			err = find_group(f, &f->children.data[i], &group);
	}
	return err;
}

/* Count the children of a group that would be gone, and find the parent of
 * most. */
static struct gr_error *count_gone(struct finder *f, struct group *group,
				   const uint64_t *marked)
{
	const struct gr_objects *objects =
		f->run->answers->graph->graph->objects;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < f->children.size; i++) {
		const struct child *child = &f->children.data[i];
		gr_vertex v = gr_object_vertex(objects, child->obj);

		err = gr_runtime_step(f->rt, 1);
		if (err || v == GR_VERTEX_NONE || gr_bitmap_test(marked, v) ||
		    gr_parents_label(f->run->parents, child->obj) !=
			    group->row.key)
			continue;
		uint64_t addr = address_of(f, child->obj);
		if (addr < group->row.example)
			group->row.example = addr;
		if (!group->row.count++ ||
		    f->parents.data[child->parent].children >
			    f->parents.data[group->most].children)
			group->most = child->parent;
	}
	return err;
}

/* Say whose children most of them are. */
static struct gr_error *advise(struct finder *f, struct group *group)
{
	const struct parent *parent = &f->parents.data[group->most];
	struct gr_arena *arena = &f->run->answers->stop->program->arena;
	const char *type = "", *field = "";
	struct gr_error *err =
		gr_waste_place_name(f->run, parent->obj, &type, &field);

	if (err)
		return err;
	group->row.advice = gr_arena_internf(
		arena,
		"Call the cancel function of each context when its work is "
		"done. The context at 0x%" PRIx64 " (%.*s%.*s) has %s "
		"children.",
		address_of(f, parent->obj), MAX_PLACE_BYTES, type,
		MAX_PLACE_BYTES, field, gr_number_text(parent->children).text);
	return group->row.advice ? NULL : &gr_enomem;
}

static struct gr_error *add_row(struct finder *f, uint32_t i)
{
	_cleanup_array_ uint64_t *marked = NULL;
	struct group *group = &f->groups.data[i];
	size_t first = f->sets.cuts.size;
	struct gr_error *err = cut_group(f, i);

	if (!err)
		err = gr_cuts_mark(f->run, f->sets.cuts.data + first,
				   f->sets.cuts.size - first, &marked);
	if (!err)
		err = gr_marked_missing(f->run, marked, NULL,
					&group->row.bytes);
	if (!err)
		err = count_gone(f, group, marked);
	if (err || !group->row.bytes ||
	    group->row.bytes < gr_waste_min_bytes(f->run) || !group->row.count)
		return err;
	err = advise(f, group);
	return err ? err : gr_cut_sets_finish(f->run, &f->sets, i, group->row);
}

static struct gr_error *add_rows(struct finder *f)
{
	struct gr_error *err = find_groups(f);

	// Each takes a mark of the graph. Three types of
	// package context are children.
	for (uint32_t i = 0; !err && i < f->groups.size && i < MAX_GROUPS; i++)
		err = add_row(f, i);
	return err;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	_cleanup_(finder_deinit) struct finder f = { .run = run,
						     .rt = run->heap->rt };
	struct gr_error *err = gr_context_types_find(run->types, &f.types);

	if (err || f.types.map == GR_TYPE_NONE)
		return err;
	f.entries_left = (uint64_t)run->heap->nobjs + 1;
	f.map_bytes_left = run->heap->nwords * GR_WORD_BYTES;
	err = find_parents(&f);
	for (uint32_t i = 0; !err && i < f.parents.size && f.entries_left; i++)
		err = find_children(&f, i);
	// Children hold more than themselves: few of them are looked at only if
	// they are large.
	if (err || !f.children.size ||
	    (f.max_children < MANY_CHILDREN &&
	     f.slot_bytes < gr_waste_min_bytes(run)))
		return err;
	err = gr_answers_need_graph(run->answers, 0);
	if (!err)
		err = gr_timer_cuts_init(run, &f.timers);
	if (!err)
		err = cut_children(&f);
	if (!err)
		err = spare_awaited(&f);
	return err ? err : add_rows(&f);
}

const struct gr_check gr_check_contexts = {
	.id = GR_WASTE_CONTEXT_CHILDREN,
	.advice = "Call the cancel function of each context when its work is "
		  "done.",
	.find = find,
};
