// SPDX-License-Identifier: Apache-2.0
/*
 * Types from the runtime's own records (internal/abi/type.go), for those that
 * DWARF does not have: made by reflect, stripped, or generic instances.
 */
#include "goruntime/types_internal.h"

#include "base/cleanup.h"
#include "goruntime/type_record.h"

enum {
	MAX_FIELDS = 1 << 16,
	MAX_NESTED_NAMES = 32, /* *[]map[string]*T ... */
};

/* Records waiting for their element and field types. */
GR_VECTOR(pending_vector, gr_type_id);

struct pending_record {
	uint64_t addr;
	bool is_named; /* The name is the one that is to be printed. */
};

struct builder {
	struct gr_runtime *rt;
	struct pending_vector pending;
	struct pending_record *records; /* of the pending ids, by id - first */
	size_t records_capacity;
	gr_type_id first;
};

static void builder_cleanup(struct builder *b)
{
	pending_vector_deinit(&b->pending);
	free(b->records);
}

/* The DIE of the type at @p addr, by its offset in its module's types. */
static gr_type_id find_die(struct gr_runtime *rt, uint64_t addr)
{
	for (size_t i = 0; i < rt->nmodules; i++) {
		const struct gr_module *module = &rt->modules[i];
		if (addr < module->types || addr >= module->etypes ||
		    !module->dwarf)
			continue;
		return gr_types_from_dwarf(
			rt, module,
			gr_dwarf_find_runtime_type(module->dwarf,
						   addr - module->types));
	}
	return GR_TYPE_NONE;
}

static struct gr_error *read_record(struct gr_runtime *rt, uint64_t addr,
				    struct gr_type *type, bool *has_name)
{
	struct gr_type_record record;
	struct gr_error *err = gr_type_record_read(rt, addr, &record);

	if (err)
		return err;
	type->name = record.name;
	type->size_bytes = record.size_bytes;
	type->kind = record.kind;
	*has_name = record.has_name;
	return NULL;
}

/* The id of the type at @p addr; a new one waits for its parts. */
static struct gr_error *builder_add(struct builder *b, uint64_t addr,
				    gr_type_id *ret)
{
	struct gr_types *types = b->rt->types;
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_RUNTIME, addr);
	struct gr_error *err;
	struct gr_type type = {
		.elem = GR_TYPE_NONE,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
		.is_runtime_record = true,
	};
	bool is_named = false;

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	*ret = find_die(b->rt, addr);
	if (*ret != GR_TYPE_NONE)
		return gr_type_ref_add(types, GR_REF_RUNTIME, addr, *ret);
	err = read_record(b->rt, addr, &type, &is_named);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_add(b->rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
		return gr_type_ref_add(types, GR_REF_RUNTIME, addr, *ret);
	}
	if (err)
		return err;
	*ret = types->types.size;
	if (!gr_type_vector_append(&types->types, type) ||
	    !pending_vector_append(&b->pending, *ret))
		return &gr_enomem;
	if (*ret - b->first >= b->records_capacity &&
	    !gr_vector_grow((void **)&b->records, &b->records_capacity,
			    *ret - b->first + 1, sizeof(*b->records)))
		return &gr_enomem;
	b->records[*ret - b->first] = (struct pending_record){ addr, is_named };
	return gr_type_ref_add(types, GR_REF_RUNTIME, addr, *ret);
}

/* The type behind the word at @p addr of the target. */
static struct gr_error *add_at(struct builder *b, uint64_t addr,
			       gr_type_id *ret)
{
	uint64_t type;
	struct gr_error *err = gr_image_read_u64(b->rt->image, addr, &type);

	*ret = GR_TYPE_NONE;
	return err ? err : builder_add(b, type, ret);
}

static struct gr_error *fill_struct(struct builder *b, gr_type_id id,
				    uint64_t parts)
{
	struct gr_types *types = b->rt->types;
	struct gr_error *err;
	struct gr_go_slice fields;

	// abi.StructType: PkgPath, Fields of {Name, Typ, Offset}.
	err = gr_runtime_read_slice(b->rt, parts + 8, MAX_FIELDS, &fields);
	if (gr_error_catch(&err, GR_ERROR_FORMAT))
		return gr_error_fault(parts, 24);
	if (err)
		return err;
	if (!gr_field_vector_reserve(&types->fields,
				     types->fields.size + fields.len))
		return &gr_enomem;
	// No other type's fields come between: builder_add() adds none.
	types->types.data[id].first_field = types->fields.size;
	for (uint64_t i = 0; i < fields.len; i++) {
		uint64_t record[3];
		struct gr_type_field field = { .name = "?" };

		err = gr_image_read(b->rt->image, fields.addr + i * 24, record,
				    sizeof(record));
		if (!err)
			err = gr_type_record_read_name(b->rt, record[0],
						       &field.name);
		if (!err)
			err = builder_add(b, record[1], &field.type);
		if (err)
			return err;
		field.off_bytes = record[2];
		if (field.type == GR_TYPE_NONE)
			continue;
		if (!gr_field_vector_append(&types->fields, field))
			return &gr_enomem;
		types->types.data[id].nfields++;
	}
	return NULL;
}

/* Is the interface without methods? abi.InterfaceType: PkgPath, Methods. */
static struct gr_error *fill_interface(struct builder *b, gr_type_id id,
				       uint64_t parts)
{
	uint64_t nmethods;
	struct gr_error *err =
		gr_image_read_u64(b->rt->image, parts + 16, &nmethods);

	b->rt->types->types.data[id].has_itab = !err && nmethods;
	return err;
}

/* Element, key and field types of one record. */
static struct gr_error *fill_parts(struct builder *b, gr_type_id id)
{
	struct gr_types *types = b->rt->types;
	uint64_t parts =
		b->records[id - b->first].addr + b->rt->layout.type.size_bytes;
	struct gr_error *err = NULL;
	gr_type_id elem = GR_TYPE_NONE, key = GR_TYPE_NONE;
	uint64_t count = 0;

	switch (types->types.data[id].kind) {
	case GR_KIND_ARRAY:
		err = gr_image_read_u64(b->rt->image, parts + 16, &count);
		if (!err)
			err = add_at(b, parts, &elem);
		break;
	case GR_KIND_PTR:
	case GR_KIND_SLICE:
	case GR_KIND_CHAN:
		err = add_at(b, parts, &elem);
		break;
	case GR_KIND_MAP:
		err = add_at(b, parts, &key);
		if (!err)
			err = add_at(b, parts + 8, &elem);
		break;
	case GR_KIND_STRUCT:
		return fill_struct(b, id, parts);
	case GR_KIND_INTERFACE:
		return fill_interface(b, id, parts);
	default:
		break;
	}
	types->types.data[id].elem = elem;
	types->types.data[id].key = key;
	types->types.data[id].count = count;
	return err;
}

static const char *name_of(struct builder *b, gr_type_id id,
			   unsigned int depth);

/* `*T`, `[]T`, `[3]T`, `chan T`, `map[K]V`, with the full names of the parts.
 * The record's own text tells which way a channel goes. */
static const char *put_together(struct builder *b, const struct gr_type *type,
				unsigned int depth)
{
	struct gr_arena *arena = b->rt->arena;
	const char *elem, *key;

	if (type->elem == GR_TYPE_NONE)
		return type->name;
	elem = name_of(b, type->elem, depth + 1);
	switch (type->kind) {
	case GR_KIND_PTR:
		return elem ? gr_arena_internf(arena, "*%s", elem) : NULL;
	case GR_KIND_SLICE:
		return elem ? gr_arena_internf(arena, "[]%s", elem) : NULL;
	case GR_KIND_ARRAY:
		return elem ? gr_arena_internf(arena, "[%llu]%s",
					       (unsigned long long)type->count,
					       elem) :
			      NULL;
	case GR_KIND_CHAN:
		return elem ? gr_arena_internf(arena, "%.*s %s",
					       (int)strcspn(type->name, " "),
					       type->name, elem) :
			      NULL;
	case GR_KIND_MAP:
		if (type->key == GR_TYPE_NONE)
			return type->name;
		key = name_of(b, type->key, depth + 1);
		return elem && key ?
			       gr_arena_internf(arena, "map[%s]%s", key, elem) :
			       NULL;
	default:
		return type->name;
	}
}

/* The name to print of a type; NULL: no memory left. */
static const char *name_of(struct builder *b, gr_type_id id, unsigned int depth)
{
	struct gr_types *types = b->rt->types;
	struct gr_type type = types->types.data[id];

	if (id < b->first || b->records[id - b->first].is_named ||
	    depth > MAX_NESTED_NAMES)
		return type.name;
	type.name = put_together(b, &type, depth);
	if (!type.name)
		return NULL;
	types->types.data[id].name = type.name;
	b->records[id - b->first].is_named = true;
	return type.name;
}

/* Names and roles, now that all parts are there. */
static struct gr_error *finish(struct builder *b)
{
	struct gr_types *types = b->rt->types;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < b->pending.size; i++) {
		gr_type_id id = b->pending.data[i];

		if (!name_of(b, id, 0))
			return &gr_enomem;
		gr_type_set_role(types, id);
		if (types->types.data[id].role == GR_ROLE_HASH_TRIE)
			err = gr_type_fill_trie(b->rt, id);
	}
	return err;
}

struct gr_error *gr_types_from_runtime(struct gr_runtime *rt, uint64_t addr,
				       gr_type_id *ret)
{
	struct gr_error *err;
	_cleanup_(builder_cleanup) struct builder b = {
		.rt = rt,
		.first = rt->types->types.size,
	};

	err = builder_add(&b, addr, ret);
	for (size_t i = 0; !err && i < b.pending.size; i++) {
		err = fill_parts(&b, b.pending.data[i]);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
		// One bad record must not make us read types without end.
		if (i > 1 << 16)
			break;
	}
	return err ? err : finish(&b);
}

struct gr_error *gr_types_from_itab(struct gr_runtime *rt, uint64_t addr,
				    gr_type_id *ret)
{
	struct gr_type_ref *ref =
		gr_type_ref_find(rt->types, GR_REF_ITAB, addr);
	struct gr_error *err;
	uint64_t type;

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	*ret = GR_TYPE_NONE;
	err = gr_image_read_u64(rt->image, addr + rt->layout.itab.type.off,
				&type);
	if (!err)
		err = gr_types_from_runtime(rt, type, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
	if (err)
		return err;
	return gr_type_ref_add(rt->types, GR_REF_ITAB, addr, *ret);
}
