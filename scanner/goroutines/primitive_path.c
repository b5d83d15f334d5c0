// SPDX-License-Identifier: Apache-2.0
#include "goroutines/primitive_path.h"

#include "base/text.h"
#include "goroutines/part_path.h"
#include "goruntime/sched/channel.h"
#include "naming/locate.h"
#include "naming/memory_name.h"
#include "scan/answers.h"

#include <inttypes.h>

enum {
	MAX_TEXT = 512,
	MAX_DEPTH = 32, /* structs in structs */
};

/* The path that is written for one primitive. */
struct writer {
	struct gr_answers *answers;
	struct gr_awaited_names *names;
	struct gr_text text;
	bool is_of_variable;
};

// -------------------------------------------------------------------- fields

/* Append the fields and elements that lead to the type of package sync at @p
 * off of a value. false: there is no such type, only what is known is appended.
 */
static bool put_fields(struct writer *w, gr_type_id id, uint64_t off)
{
	const struct gr_types *types = w->answers->stop->program->types;

	for (int depth = 0; depth < MAX_DEPTH && id != GR_TYPE_NONE; depth++) {
		if (!strncmp(gr_types_get(types, id)->name, "sync.", 5))
			return true;
		if (!gr_part_enter(types, &id, &off, &w->text))
			return false;
	}
	return false;
}

static void put_offset(struct writer *w, uint64_t off)
{
	if (off)
		gr_text_put(&w->text, "+0x%" PRIx64, off);
}

/* Append the index of an element, and its fields. */
static void put_element(struct writer *w, gr_type_id elem, uint64_t off)
{
	uint64_t bytes =
		gr_types_get(w->answers->stop->program->types, elem)->size_bytes;

	if (bytes) {
		gr_text_put(&w->text, "[%" PRIu64 "]", off / bytes);
		off %= bytes;
	}
	put_fields(w, elem, off);
}

/* Append what leads from what a pointer or a slice points to, which may begin in
 * the middle of an object, to the byte at @p off of the object. What lies before
 * and behind that has no name in Go, only an address. */
static void put_from_pointee(struct writer *w,
			     const struct gr_variable_way *way, uint64_t off)
{
	const struct gr_type *type =
		gr_types_get(w->answers->stop->program->types, way->pointee);
	uint64_t rel = off - way->pointee_off;

	if (off < way->pointee_off)
		gr_text_put(&w->text, "-0x%" PRIx64, way->pointee_off - off);
	else if (way->is_slice)
		put_element(w, way->pointee, rel);
	else if (rel < type->size_bytes)
		put_fields(w, way->pointee, rel);
	else
		put_offset(w, rel);
}

/* Append what leads from an object with a label to the byte at @p off. */
static void put_in_object(struct writer *w, uint32_t label, uint64_t off)
{
	const struct gr_types *types = w->answers->stop->program->types;
	gr_type_id id = label & ~GR_LABEL_FLAGS;
	bool is_data = label != GR_TYPE_NONE && label & GR_LABEL_DATA;

	if (is_data) {
		const struct gr_type *type = gr_types_get(types, id);
		id = type->kind == GR_KIND_SLICE ? type->elem : GR_TYPE_NONE;
	}
	if (label == GR_TYPE_NONE || id == GR_TYPE_NONE)
		put_offset(w, off);
	else if (is_data)
		put_element(w, id, off);
	else
		put_fields(w, id, off);
}

// ----------------------------------------------------------------- variables

static struct gr_error *name_in_data(struct writer *w, uint64_t addr,
				     struct gr_awaited_name *ret)
{
	struct gr_stop *stop = w->answers->stop;
	const struct gr_data_variable *variable =
		gr_data_variables_at(&w->names->variables, addr);
	struct gr_located at;

	if (variable) {
		put_fields(w, variable->type,
			   gr_data_variable_put(stop->program->types, variable,
						addr, &w->text));
		w->is_of_variable = true;
		ret->type =
			gr_types_get(stop->program->types, variable->type)->name;
		return NULL;
	}
	struct gr_error *err = gr_stop_locate(stop, addr, &at);
	if (!err && at.kind == GR_LOCATED_DATA && *at.name) {
		gr_text_put(&w->text, "%s", at.name);
		put_offset(w, addr - at.base_addr);
		w->is_of_variable = true;
	}
	return err;
}

/* Does a variable point to the primitive, or to the value that it is part of? */
static bool name_by_pointer(struct writer *w,
			    const struct gr_primitive *primitive,
			    const struct gr_data_variable *row,
			    struct gr_awaited_name *ret)
{
	const struct gr_type *type =
		gr_types_get(w->answers->stop->program->types, row->type);
	bool is_channel = gr_wait_kind_is_channel(primitive->kind);
	uint64_t off = gr_data_variable_put(w->answers->stop->program->types,
					    row, primitive->object, &w->text);

	w->is_of_variable = is_channel ? type->kind == GR_KIND_CHAN && !off &&
						 !row->is_slice :
					 put_fields(w, row->type, off);
	if (!w->is_of_variable)
		w->text = gr_text_begin(w->text.data, w->text.capacity);
	else if (!is_channel)
		ret->type = type->name;
	return w->is_of_variable;
}

static bool name_by_pointers(struct writer *w,
			     const struct gr_primitive *primitive,
			     struct gr_awaited_name *ret)
{
	const struct gr_data_variable_vector *list =
		&w->names->variables.in_heap;
	const struct gr_data_variable *row =
		gr_data_variable_find(list, primitive->object);

	for (int i = 0; i < GR_MAX_NESTED_VARIABLES && row; i++) {
		if (name_by_pointer(w, primitive, row, ret))
			return true;
		row = gr_data_variable_around(list, row, primitive->object);
	}
	return false;
}

// -------------------------------------------------------------------- objects

/* The label of an object, unless the last pointer of its path knows more: the
 * lock is often the first field, and goroutines that wait for it have pointers
 * to the field. */
static uint32_t better_label(const struct writer *w, uint32_t label,
			     uint64_t room, gr_type_id pointee)
{
	const struct gr_types *types = w->answers->stop->program->types;

	if (pointee == GR_TYPE_NONE ||
	    (label != GR_TYPE_NONE && label & GR_LABEL_DATA))
		return label;
	uint64_t size = gr_types_get(types, pointee)->size_bytes;
	uint64_t known =
		label == GR_TYPE_NONE ?
			0 :
			gr_types_get(types, label & ~GR_LABEL_FLAGS)->size_bytes;
	return size > known && size <= room ? pointee : label;
}

/* Could this be a block of the tiny allocator, which has several values? */
static bool may_be_tiny(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_objects *objects = answers->graph->graph->objects;
	const struct gr_span *span = gr_heap_span_at(
		answers->stop->heap, gr_objects_addr(objects, v));

	return span && gr_span_may_be_tiny(span);
}

static void begin_again(struct writer *w)
{
	w->text = gr_text_begin(w->text.data, w->text.capacity);
}

/* Append what a typed pointer leads to: `(*main.Store)(0xc000012340)`. */
static void put_typed(struct writer *w, const char *type, uint64_t addr)
{
	gr_text_put(&w->text, "(*%s)(0x%" PRIx64 ")", type, addr);
}

/* Does the last pointer of a way lead to the value that has the byte at @p off of
 * the object? */
static bool covers(const struct writer *w, const struct gr_variable_way *way,
		   uint64_t off)
{
	return way->pointee != GR_TYPE_NONE && off >= way->pointee_off &&
	       off - way->pointee_off <
		       gr_types_get(w->answers->stop->program->types,
				    way->pointee)
			       ->size_bytes;
}

static bool says_whose(const struct writer *w, gr_type_id id)
{
	return gr_owner_class_of_type(&w->names->paths.types, id) ==
	       GR_OWNER_NAMED;
}

/* The name by one pointer to the value that has the lock; no text: this pointer
 * leads to another value, or tells no name. */
static struct gr_error *try_link(struct writer *w,
				 const struct gr_near_link *near, uint64_t off,
				 struct gr_awaited_name *ret)
{
	struct gr_variable_way way = { .pointee = GR_TYPE_NONE };

	begin_again(w);
	struct gr_error *err = gr_variable_paths_put_holder(
		&w->names->paths, near->link.from, &w->text);
	bool has_way = w->text.bytes;
	if (!err)
		err = gr_variable_way_put_link(&w->names->paths.types,
					       &near->link, GR_VERTEX_NONE,
					       &w->text, &way);
	if (err)
		return err;
	bool is_whole = covers(w, &way, off);
	if (!has_way || !is_whole)
		begin_again(w);
	w->is_of_variable = has_way && is_whole;
	if (!is_whole || (!has_way && !says_whose(w, way.pointee)))
		return NULL;
	ret->type = gr_types_get(w->answers->stop->program->types, way.pointee)
			    ->name;
	if (!has_way)
		put_typed(w, ret->type,
			  gr_objects_addr(w->answers->graph->graph->objects,
					  near->link.to) +
				  way.pointee_off);
	put_from_pointee(w, &way, off);
	return NULL;
}

/* The name by a pointer that leads to the value that has the lock: from a
 * variable if there is such a way, else from the value on. */
static struct gr_error *name_by_links(struct writer *w, gr_vertex v,
				      uint64_t off, struct gr_awaited_name *ret)
{
	const struct gr_near_holders *holders = &w->names->holders;
	const struct gr_near_link *typed = NULL;
	struct gr_error *err = NULL;

	for (const struct gr_near_link *link =
		     gr_near_holders_links(holders, v);
	     !err && link && !w->is_of_variable;
	     link = gr_near_holders_next(holders, link)) {
		err = try_link(w, link, off, ret);
		if (w->text.bytes)
			typed = link;
	}
	if (err || w->is_of_variable)
		return err;
	begin_again(w);
	return typed ? try_link(w, typed, off, ret) : NULL;
}

/* The name from the nearest object that has a type, which is the one that the
 * lock lies in, or points to it. */
static struct gr_error *name_nearby(struct writer *w, gr_vertex v, uint64_t off,
				    uint32_t label, bool is_channel,
				    struct gr_awaited_name *ret)
{
	const struct gr_objects *objects = w->answers->graph->graph->objects;
	bool is_typed = label != GR_TYPE_NONE && !(label & GR_LABEL_FLAGS);
	struct gr_error *err = NULL;
	struct gr_variable_way way = { .pointee = GR_TYPE_NONE };

	if (!is_channel && !(is_typed && says_whose(w, label)))
		err = name_by_links(w, v, off, ret);
	if (err || w->text.bytes)
		return err;
	if (is_channel || !(is_typed && says_whose(w, label)))
		err = gr_near_holders_put(&w->names->holders, v, &w->text,
					  &way);
	if (err || is_channel)
		return err;
	if (w->text.bytes && way.pointee != GR_TYPE_NONE) {
		put_from_pointee(w, &way, off);
		return NULL;
	}
	if (!w->text.bytes && is_typed)
		put_typed(w, ret->type, gr_objects_addr(objects, v));
	if (w->text.bytes)
		put_in_object(w, label, off);
	return NULL;
}

static struct gr_error *name_in_object(struct writer *w, gr_vertex v,
				       uint64_t off, bool is_channel,
				       struct gr_awaited_name *ret)
{
	const struct gr_objects *objects = w->answers->graph->graph->objects;
	const struct gr_slot_run *run = gr_objects_run(objects, v);
	uint64_t room = run->elem_bytes - run->head_bytes;
	struct gr_variable_way way;

	if (!is_channel && may_be_tiny(w->answers, v))
		return name_by_links(w, v, off, ret);
	struct gr_error *err =
		gr_variable_paths_put(&w->names->paths, v, &w->text, &way);
	w->is_of_variable = w->text.bytes;
	if (err || (is_channel && w->is_of_variable))
		return err;
	gr_type_id whole = way.pointee_off || way.is_slice ? GR_TYPE_NONE :
							     way.pointee;
	uint32_t label = better_label(w, objects->type[v], room, whole);
	if (!is_channel)
		ret->type = gr_memory_name(w->answers->stop->program, label);
	if (!w->text.bytes)
		return name_nearby(w, v, off, label, is_channel, ret);
	if (way.pointee != GR_TYPE_NONE)
		put_from_pointee(w, &way, off);
	else
		put_in_object(w, label, off);
	return NULL;
}

/* The type of package sync that a kind of waiting tells; NULL: none. */
static const char *type_of_kind(uint8_t kind)
{
	switch (kind) {
	case GR_WAIT_MUTEX:
		return "sync.Mutex";
	case GR_WAIT_RWMUTEX_READ:
	case GR_WAIT_RWMUTEX_WRITE:
		return "sync.RWMutex";
	case GR_WAIT_WAITGROUP:
		return "sync.WaitGroup";
	case GR_WAIT_COND:
		return "sync.Cond";
	default:
		return NULL;
	}
}

/* The type of a channel by its own header; "" if that cannot be read. */
static struct gr_error *find_channel_type(struct gr_program *program,
					  uint64_t addr, const char **ret)
{
	gr_type_id elem = GR_TYPE_NONE;
	struct gr_channel channel;
	struct gr_error *err = gr_channel_read(&program->rt, addr, &channel);

	if (!err && channel.elem_type_addr)
		err = gr_types_from_runtime(program->types,
					    channel.elem_type_addr, &elem);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err || elem == GR_TYPE_NONE)
		return err;
	*ret = gr_arena_internf(&program->arena, "chan %s",
				gr_types_get(program->types, elem)->name);
	return *ret ? NULL : &gr_enomem;
}

/* The object that a primitive lies in; GR_VERTEX_NONE: in none. */
static gr_vertex vertex_of(const struct gr_answers *answers,
			   const struct gr_primitive *primitive)
{
	return answers->graph && primitive->object ?
		       gr_objects_find(answers->graph->graph->objects,
				       primitive->object) :
		       GR_VERTEX_NONE;
}

/* The name where it lies: in an object of the heap, or in a variable. */
static struct gr_error *name_where_it_lies(struct writer *w,
					   const struct gr_primitive *primitive,
					   struct gr_awaited_name *ret)
{
	struct gr_answers *answers = w->answers;
	gr_vertex v = vertex_of(answers, primitive);

	if (name_by_pointers(w, primitive, ret))
		return NULL;
	if (v != GR_VERTEX_NONE)
		return name_in_object(
			w, v,
			primitive->object -
				gr_objects_addr(answers->graph->graph->objects,
						v),
			gr_wait_kind_is_channel(primitive->kind), ret);
	return gr_heap_span_at(answers->stop->heap, primitive->object) ?
		       NULL :
		       name_in_data(w, primitive->object, ret);
}

struct gr_error *gr_awaited_find_name(struct gr_awaited_names *names,
				      const struct gr_primitive *primitive,
				      struct gr_awaited_name *ret)
{
	struct gr_answers *answers = names->answers;
	bool is_channel = gr_wait_kind_is_channel(primitive->kind);
	char data[MAX_TEXT];
	struct writer w = { answers, names, gr_text_begin(data, sizeof(data)),
			    false };
	struct gr_error *err = NULL;

	*ret = (struct gr_awaited_name){ "", "", false, false };
	if (!primitive->object)
		return NULL;
	if (is_channel)
		err = find_channel_type(answers->stop->program,
					primitive->object, &ret->type);
	if (!err)
		err = name_where_it_lies(&w, primitive, ret);
	if (err)
		return err;
	ret->is_of_variable = w.is_of_variable;
	ret->is_bare = !w.text.bytes;
	if (!w.text.bytes && is_channel && *ret->type)
		gr_text_put(&w.text, "(%s)(0x%" PRIx64 ")", ret->type,
			    primitive->object);
	if (!w.text.bytes && type_of_kind(primitive->kind))
		gr_text_put(&w.text, "(*%s)(0x%" PRIx64 ")",
			    type_of_kind(primitive->kind), primitive->object);
	ret->path = gr_arena_intern(&answers->stop->program->arena, data,
				    w.text.bytes);
	return ret->path ? NULL : &gr_enomem;
}

// ----------------------------------------------------------------------- all

void gr_awaited_names_deinit(struct gr_awaited_names *names)
{
	gr_near_holders_deinit(&names->holders);
	gr_variable_paths_deinit(&names->paths);
	gr_data_variables_deinit(&names->variables);
}

/* Does the name of a primitive need more than one way to its object? */
static bool needs_links(const struct gr_awaited_names *names,
			const struct gr_primitive *primitive, gr_vertex v)
{
	if (!gr_wait_kind_is_channel(primitive->kind) &&
	    may_be_tiny(names->answers, v))
		return true;
	return gr_variable_paths_steps(&names->paths, v) == UINT32_MAX;
}

/* The links to an object may begin at ways, too. */
static struct gr_error *want_holders(struct gr_awaited_names *names,
				     gr_vertex v)
{
	const struct gr_near_holders *holders = &names->holders;
	gr_vertex end = gr_graph_first_root(names->answers->graph->graph);
	struct gr_error *err = NULL;

	for (const struct gr_near_link *link =
		     gr_near_holders_links(holders, v);
	     !err && link; link = gr_near_holders_next(holders, link))
		if (link->link.from < end)
			err = gr_variable_paths_want(&names->paths,
						     link->link.from);
	return err;
}

static struct gr_error *find_links(struct gr_awaited_names *names,
				   const struct gr_primitive *const *wanted,
				   size_t nwanted)
{
	struct gr_error *err = NULL;

	names->holders.types = &names->paths.types;
	for (size_t i = 0; !err && i < nwanted; i++) {
		gr_vertex v = vertex_of(names->answers, wanted[i]);

		if (v != GR_VERTEX_NONE && needs_links(names, wanted[i], v))
			err = gr_near_holders_want(&names->holders, v);
	}
	if (!err)
		err = gr_near_holders_find(&names->holders);
	for (size_t i = 0; !err && i < nwanted; i++) {
		gr_vertex v = vertex_of(names->answers, wanted[i]);

		if (v != GR_VERTEX_NONE)
			err = want_holders(names, v);
	}
	return err;
}

static struct gr_error *find_paths(struct gr_awaited_names *names,
				   const struct gr_primitive *const *wanted,
				   size_t nwanted)
{
	struct gr_error *err =
		gr_variable_paths_find(names->answers, &names->paths);

	for (size_t i = 0; !err && i < nwanted; i++) {
		gr_vertex v = vertex_of(names->answers, wanted[i]);

		if (v != GR_VERTEX_NONE)
			err = gr_variable_paths_want(&names->paths, v);
	}
	if (!err)
		err = find_links(names, wanted, nwanted);
	return err ? err : gr_variable_paths_read(&names->paths);
}

struct gr_error *gr_awaited_names_make(struct gr_answers *answers,
				       const struct gr_primitive *const *wanted,
				       size_t nwanted,
				       struct gr_awaited_names *ret)
{
	struct gr_error *err = NULL;

	ret->answers = answers;
	if (!nwanted)
		return NULL;
	err = gr_data_variables_make(answers->stop->heap, &ret->variables);
	return err || !answers->graph ? err : find_paths(ret, wanted, nwanted);
}

// ------------------------------------------------------- all that is awaited

GR_VECTOR(wanted_list, const struct gr_primitive *);

static struct gr_error *add_path(struct gr_awaited_names *names,
				 const struct gr_primitive *primitive,
				 struct gr_awaited_path_vector *ret)
{
	struct gr_awaited_name name;
	struct gr_error *err = gr_awaited_find_name(names, primitive, &name);

	if (!err)
		err = gr_runtime_step(&names->answers->stop->program->rt, 16);
	if (err || name.is_bare)
		return err;
	const struct gr_awaited_path path = { primitive->object, name };
	return gr_awaited_path_vector_append(ret, path) ? NULL : &gr_enomem;
}

/* Readers and writers of a RWMutex are two rows of one object. */
static struct gr_error *add_paths(struct gr_answers *answers,
				  const struct gr_wait_table *table,
				  struct gr_awaited_path_vector *ret)
{
	_cleanup_(
		gr_awaited_names_deinit) struct gr_awaited_names names = { 0 };
	_cleanup_(wanted_list_deinit) struct wanted_list wanted = { 0 };
	const struct gr_primitive *all = table->primitives;

	for (size_t i = 0; i < table->nprimitives; i++)
		if ((!i || all[i].object != all[i - 1].object) &&
		    !wanted_list_append(&wanted, &all[i]))
			return &gr_enomem;
	struct gr_error *err = gr_awaited_names_make(answers, wanted.data,
						     wanted.size, &names);
	for (size_t i = 0; !err && i < wanted.size; i++)
		err = add_path(&names, wanted.data[i], ret);
	return err;
}

struct gr_error *gr_awaited_paths_make(struct gr_answers *answers,
				       struct gr_awaited_path_vector *ret)
{
	_cleanup_(gr_wait_table_deinit) struct gr_wait_table table = { 0 };
	bool had_graph = answers->graph;
	struct gr_error *err = gr_answers_need_graph(answers, 0);

	if (!err)
		err = gr_wait_table_make(answers->stop, &table);
	if (!err)
		err = add_paths(answers, &table, ret);
	if (!had_graph)
		gr_answers_drop_graph(answers);
	return err;
}
