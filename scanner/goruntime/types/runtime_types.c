// SPDX-License-Identifier: Apache-2.0
/*
 * Types from the runtime's own records (internal/abi/type.go). They are used
 * for types that DWARF lacks: types made by reflect, types of stripped
 * programs, and generic instances.
 */
#include "goruntime/types/types_internal.h"

#include "base/cleanup.h"
#include "goruntime/types/abi_type.h"

enum {
	MAX_FIELDS = 1 << 16,
	MAX_PENDING = 1 << 16, /* records that one record leads to */
	FIELD_BYTES = 24,
	MAX_NESTED_NAMES = 32, /* *[]map[string]*T ... */
	MAX_PRINTED_BYTES = 4096,
};

/* All structs together may have the fields of the modules' types, and this
 * many more in types that reflect made. */
#define SPARE_FIELDS (UINT64_C(1) << 20)

/* Types that wait for their element and field types. */
GR_VECTOR(pending_vector, gr_type_id);

struct pending_record {
	uint64_t addr;
	bool is_named; /* The name is final. */
};

struct builder {
	struct gr_runtime *rt;
	struct gr_types *types;
	struct pending_vector pending;
	struct pending_record *records; /* indexed by id - first */
	size_t records_capacity;
	gr_type_id first;
};

static void builder_cleanup(struct builder *b)
{
	pending_vector_deinit(&b->pending);
	free(b->records);
}

/* Find the DIE of the type at @p addr by its offset in the module's types. */
static gr_type_id find_die(const struct gr_types *types, uint64_t addr)
{
	const struct gr_runtime *rt = types->rt;

	for (size_t i = 0; i < rt->nmodules; i++) {
		const struct gr_module *module = &rt->modules[i];
		if (addr < module->types || addr >= module->etypes ||
		    !module->dwarf)
			continue;
		return gr_types_from_dwarf(
			types, module,
			gr_dwarf_find_runtime_type(module->dwarf,
						   addr - module->types));
	}
	return GR_TYPE_NONE;
}

static struct gr_error *read_record(struct gr_runtime *rt, uint64_t addr,
				    struct gr_type *type, bool *has_name)
{
	struct gr_abi_type record;
	struct gr_error *err = gr_abi_type_read(rt, addr, &record);

	if (err)
		return err;
	type->name = record.name;
	type->size_bytes = record.size_bytes;
	type->kind = record.kind;
	*has_name = record.has_name;
	return NULL;
}

/* Is a record, or a part of it, not there? A file without values lacks those that
 * nobody has read. Then it is counted, and *@p err is dropped. */
static bool catch_missing(struct gr_runtime *rt, struct gr_error **err)
{
	bool is_missing = gr_error_catch(err, GR_ERROR_FAULT) ||
			  gr_error_catch(err, GR_ERROR_NOT_SAVED);

	if (is_missing)
		gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
	return is_missing;
}

/* Return the id of the type at @p addr. A new type is pending until its parts
 * are read. */
static struct gr_error *builder_add(struct builder *b, uint64_t addr,
				    gr_type_id *ret)
{
	struct gr_types *types = b->types;
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_RUNTIME, addr);
	struct gr_error *err;
	struct gr_type type = {
		.elem = GR_TYPE_NONE,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};
	bool is_named = false;

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	err = gr_runtime_step(b->rt, 1);
	if (err)
		return err;
	*ret = find_die(b->types, addr);
	if (*ret != GR_TYPE_NONE)
		return gr_type_ref_add(types, GR_REF_RUNTIME, addr, *ret);
	// Records are aligned and do not overlap, which limits their number.
	err = addr % GR_WORD_BYTES ? gr_error_fault(addr, GR_WORD_BYTES) :
				     read_record(b->rt, addr, &type, &is_named);
	if (catch_missing(b->rt, &err))
		return gr_type_ref_add(types, GR_REF_RUNTIME, addr, *ret);
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

/* Return the type whose address is in the word at @p addr of the target. */
static struct gr_error *add_at(struct builder *b, uint64_t addr,
			       gr_type_id *ret)
{
	uint64_t type;
	struct gr_error *err = gr_image_read_u64(b->rt->image, addr, &type);

	*ret = GR_TYPE_NONE;
	return err ? err : builder_add(b, type, ret);
}

/* Return true, and count the fields, if nfields more are plausible. */
static bool has_room(struct builder *b, uint64_t nfields)
{
	struct gr_types *types = b->types;
	uint64_t room = SPARE_FIELDS;

	for (size_t i = 0; i < b->rt->nmodules; i++)
		room += (b->rt->modules[i].etypes - b->rt->modules[i].types) /
			FIELD_BYTES;
	if (nfields > room || types->record_fields > room - nfields)
		return false;
	types->record_fields += nfields;
	return true;
}

/* Does the name of a field, which has been read, say that it is embedded
 * (internal/abi/type.go: Name.IsEmbedded)? */
static struct gr_error *read_embedded(struct builder *b, uint64_t name,
				      bool *ret)
{
	uint64_t flags;
	struct gr_error *err =
		gr_image_read_uint(b->rt->image, name, 1, &flags);

	*ret = !err && flags & 8;
	return err;
}

/* Read one field {Name, Typ, Offset}. Its type is GR_TYPE_NONE if the record of
 * the type is invalid. */
static struct gr_error *read_field(struct builder *b, uint64_t addr,
				   struct gr_type_field *ret, bool *is_embedded)
{
	uint64_t record[FIELD_BYTES / GR_WORD_BYTES];
	struct gr_error *err =
		gr_image_read(b->rt->image, addr, record, sizeof(record));

	ret->name = "?";
	if (!err)
		err = gr_abi_type_read_name(b->rt, record[0], &ret->name);
	if (!err)
		err = gr_runtime_step_name(b->rt, ret->name);
	if (!err)
		err = read_embedded(b, record[0], is_embedded);
	if (!err)
		err = builder_add(b, record[1], &ret->type);
	if (!err)
		ret->off_bytes = record[2];
	return err;
}

static struct gr_error *fill_struct(struct builder *b, gr_type_id id,
				    uint64_t parts)
{
	struct gr_types *types = b->types;
	struct gr_error *err;
	struct gr_go_slice fields;

	// abi.StructType: PkgPath, Fields of {Name, Typ, Offset}.
	err = gr_runtime_read_slice(b->rt, parts + 8, MAX_FIELDS, &fields);
	if (gr_error_catch(&err, GR_ERROR_FORMAT))
		return gr_error_fault(parts, 24);
	if (err)
		return err;
	if (!has_room(b, fields.len))
		return gr_error_fault(parts, 24);
	if (!gr_field_vector_reserve(&types->fields,
				     types->fields.size + fields.len))
		return &gr_enomem;
	// builder_add() adds no fields, so the fields are contiguous.
	types->types.data[id].first_field = types->fields.size;
	// Bounded by 2^16 fields; read_field() takes steps.
	for (uint64_t i = 0; i < fields.len; i++) {
		struct gr_type_field field;
		bool is_embedded = false;

		err = read_field(b, fields.addr + i * FIELD_BYTES, &field,
				 &is_embedded);
		if (err)
			return err;
		if (field.type == GR_TYPE_NONE)
			continue;
		if (!gr_type_add_field(types, field, is_embedded))
			return &gr_enomem;
		types->types.data[id].nfields++;
	}
	return NULL;
}

/* Find out whether the interface has methods. abi.InterfaceType has PkgPath and
 * Methods. */
static struct gr_error *fill_interface(struct builder *b, gr_type_id id,
				       uint64_t parts)
{
	uint64_t nmethods;
	struct gr_error *err =
		gr_image_read_u64(b->rt->image, parts + 16, &nmethods);

	b->types->types.data[id].has_itab = !err && nmethods;
	return err;
}

/* Set the element, key and field types of one record. */
static struct gr_error *fill_parts(struct builder *b, gr_type_id id)
{
	struct gr_types *types = b->types;
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

/* Return true if a name would be too long. Nested names can grow fast: the name
 * of `map[T]T`, with T such a map itself, doubles at each level. */
static bool is_too_long(const char *elem, const char *key)
{
	return elem &&
	       strlen(elem) + (key ? strlen(key) : 0) > MAX_PRINTED_BYTES;
}

static const char *name_of(struct builder *b, gr_type_id id,
			   unsigned int depth);

/* Return the name `*T`, `[]T`, `[3]T`, `chan T` or `map[K]V` with the full
 * names of the parts. The direction of a channel comes from the record's own
 * name. */
static const char *put_together(struct builder *b, const struct gr_type *type,
				unsigned int depth)
{
	struct gr_arena *arena = b->rt->arena;
	const char *elem, *key;

	if (type->elem == GR_TYPE_NONE)
		return type->name;
	elem = name_of(b, type->elem, depth + 1);
	if (is_too_long(elem, NULL))
		return type->name;
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
		if (is_too_long(elem, key))
			return type->name;
		return elem && key ?
			       gr_arena_internf(arena, "map[%s]%s", key, elem) :
			       NULL;
	default:
		return type->name;
	}
}

/* Return the name of a type for output, or NULL if there is not enough
 * memory.
 * Recursion: each type once; 32 levels; 4 kB of a name. */
static const char *name_of(struct builder *b, gr_type_id id, unsigned int depth)
{
	struct gr_types *types = b->types;
	struct gr_type type = types->types.data[id];

	if (id < b->first || b->records[id - b->first].is_named ||
	    depth > MAX_NESTED_NAMES)
		return type.name;
	// This is set before the parts are named, so that a type which is its
	// own part does not recurse.
	b->records[id - b->first].is_named = true;
	type.name = put_together(b, &type, depth);
	if (type.name)
		types->types.data[id].name = type.name;
	return type.name;
}

/* Set names and roles. All parts are known now. */
static struct gr_error *finish(struct builder *b)
{
	struct gr_types *types = b->types;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < b->pending.size; i++) {
		gr_type_id id = b->pending.data[i];
		const char *name = name_of(b, id, 0);

		if (!name)
			return &gr_enomem;
		err = gr_runtime_step_name(b->rt, name);
		if (err)
			return err;
		gr_type_set_role(types, id);
		if (types->types.data[id].role == GR_ROLE_HASH_TRIE)
			err = gr_type_fill_trie(b->types, id);
	}
	return err;
}

struct gr_error *gr_types_from_runtime(struct gr_types *types, uint64_t addr,
				       gr_type_id *ret)
{
	struct gr_error *err;
	_cleanup_(builder_cleanup) struct builder b = {
		.rt = types->rt,
		.types = types,
		.first = types->types.size,
	};

	err = builder_add(&b, addr, ret);
	for (size_t i = 0; !err && i < b.pending.size; i++) {
		err = fill_parts(&b, b.pending.data[i]);
		catch_missing(types->rt, &err);
		// A bad record must not cause an endless chain of types.
		if (i > MAX_PENDING)
			break;
	}
	return err ? err : finish(&b);
}

struct gr_error *gr_types_from_itab(struct gr_types *types, uint64_t addr,
				    gr_type_id *ret)
{
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_ITAB, addr);
	struct gr_error *err;
	uint64_t type;

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	*ret = GR_TYPE_NONE;
	err = gr_image_read_u64(types->rt->image,
				addr + types->rt->layout.itab.type.off, &type);
	if (!err)
		err = gr_types_from_runtime(types, type, ret);
	catch_missing(types->rt, &err);
	if (err)
		return err;
	return gr_type_ref_add(types, GR_REF_ITAB, addr, *ret);
}
