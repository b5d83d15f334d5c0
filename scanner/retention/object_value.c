// SPDX-License-Identifier: Apache-2.0
#include "retention/object_value.h"

#include "goruntime/sched/channel.h"
#include "naming/locate.h"
#include "naming/memory_name.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"

enum { MAX_VALUE_BYTES = 1 << 20 /* of the text */ };

/** A value, and the header of the slice that it is printed as. */
struct value {
	struct gr_shown shown;
	uint64_t header[3];
};

/* The memory of an array is printed as a slice of all of it. */
static struct gr_error *as_slice(struct gr_program *program, gr_type_id id,
				 const struct gr_located *at,
				 struct value *value)
{
	struct gr_type type = *gr_types_get(program->types, id);
	gr_type_id elem = type.kind == GR_KIND_SLICE ? type.elem : id;

	if (type.kind == GR_KIND_STRING || type.kind == GR_KIND_MAP ||
	    type.kind == GR_KIND_CHAN || type.kind == GR_KIND_FUNC ||
	    type.role == GR_ROLE_HASH_TRIE || elem == GR_TYPE_NONE)
		return NULL;
	uint64_t bytes = gr_types_get(program->types, elem)->size_bytes;
	struct gr_error *err = NULL;
	if (!bytes)
		return NULL;
	if (type.kind != GR_KIND_SLICE)
		err = gr_types_slice_of(program->types, elem, &id);
	if (err || id == GR_TYPE_NONE)
		return err;
	value->header[0] = at->base_addr;
	value->header[1] = value->header[2] = at->bytes / bytes;
	value->shown = (struct gr_shown){
		.type = id,
		.host = (const uint8_t *)value->header,
		.host_bytes = sizeof(value->header),
	};
	return NULL;
}

struct gr_error *gr_channel_is_header(struct gr_program *program, gr_type_id id,
				      uint64_t addr, bool *ret)
{
	gr_type_id elem = GR_TYPE_NONE;
	struct gr_channel channel;
	struct gr_error *err = gr_channel_read(&program->rt, addr, &channel);

	if (!err && channel.elem_type_addr)
		err = gr_types_from_runtime(program->types,
					    channel.elem_type_addr, &elem);
	*ret = !gr_error_catch(&err, GR_ERROR_FAULT) && !err &&
	       elem != GR_TYPE_NONE &&
	       elem == gr_types_get(program->types, id)->elem;
	return err;
}

/* A channel is printed if the object is its header; not if it is its buffer. */
static struct gr_error *as_channel(struct gr_program *program, gr_type_id id,
				   const struct gr_located *at,
				   struct value *value)
{
	bool is_channel;
	struct gr_error *err =
		gr_channel_is_header(program, id, at->base_addr, &is_channel);

	if (err || !is_channel)
		return err;
	value->header[0] = at->base_addr;
	value->shown = (struct gr_shown){
		.type = id,
		.host = (const uint8_t *)value->header,
		.host_bytes = sizeof(value->header[0]),
	};
	return NULL;
}

/* The label that a walk gave to the object, or its malloc header. */
static struct gr_error *find_label(struct gr_answers *answers, uint64_t addr,
				   uint32_t *ret)
{
	const struct gr_span *span = NULL;
	gr_obj obj = gr_heap_object_at(answers->stop->heap, addr, &span);
	struct gr_error *err =
		gr_kept_walk_need(answers, GR_ATTRIBUTION_NEAREST);

	*ret = GR_TYPE_NONE;
	if (err || obj == GR_OBJ_NONE)
		return err;
	// Garbage has no label.
	*ret = gr_parents_label(answers->kept_walk->m.parents, obj);
	if (*ret != GR_TYPE_NONE)
		return NULL;
	return gr_memory_header_label(answers->stop->program, span,
				      obj - span->first_obj, ret);
}

/* The value of the object or variable that has the byte at @p addr. */
static struct gr_error *find_object(struct gr_answers *answers, uint64_t addr,
				    struct value *value)
{
	struct gr_stop *stop = answers->stop;
	struct gr_located at;
	uint32_t label;
	struct gr_error *err = gr_stop_locate(stop, addr, &at);

	if (!err && at.kind == GR_LOCATED_DATA && at.type_id != GR_TYPE_NONE)
		value->shown = (struct gr_shown){ .type = at.type_id,
						  .addr = at.base_addr };
	if (err || at.kind != GR_LOCATED_OBJECT)
		return err;
	err = find_label(answers, addr, &label);
	if (err || label == GR_TYPE_NONE)
		return err;
	gr_type_id id = label & ~(uint32_t)GR_LABEL_FLAGS;
	if (gr_types_get(stop->program->types, id)->kind == GR_KIND_CHAN)
		return as_channel(stop->program, id, &at, value);
	if (label & GR_LABEL_DATA)
		return as_slice(stop->program, id, &at, value);
	value->shown = (struct gr_shown){ .type = id, .addr = at.base_addr };
	return NULL;
}

static struct gr_error *print(struct gr_answers *answers,
			      const struct gr_place *place,
			      const struct gr_show_limits *limits, char **ret)
{
	struct value value = {
		.shown = { .type = place->type, .addr = place->addr },
	};
	struct gr_error *err = NULL;

	if (place->type >= gr_types_count(answers->stop->program->types)) {
		value.shown.type = GR_TYPE_NONE;
		err = find_object(answers,
				  place->value ? place->value : place->addr,
				  &value);
	}
	if (err || value.shown.type == GR_TYPE_NONE)
		return err;
	_cleanup_free_ char *data = malloc(MAX_VALUE_BYTES);
	if (!data)
		return &gr_enomem;
	struct gr_text text = gr_text_begin(data, MAX_VALUE_BYTES);
	err = gr_show_value(answers->stop->program->types, limits, &value.shown,
			    &text);
	if (err)
		return err;
	*ret = strdup(text.data);
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_scan_print_value(struct gr_scan *scan,
				     const struct gr_place *place,
				     const struct gr_show_limits *limits,
				     char **ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	*ret = NULL;
	if (!err)
		err = print(answers, place, limits, ret);
	return gr_sigbus_guard_end(&guard, err);
}
