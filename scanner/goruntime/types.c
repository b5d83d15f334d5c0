// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types.h"
#include "goruntime/types_internal.h"

#include "base/cleanup.h"
#include "goruntime/pclntab.h"
#include "goruntime/type_record.h"

void gr_types_destroy(struct gr_types *types)
{
	struct gr_type_ref *ref, *next;

	if (!types)
		return;
	HASH_ITER(hh, types->refs, ref, next) {
		HASH_DEL(types->refs, ref);
		free(ref);
	}
	gr_type_vector_deinit(&types->types);
	gr_field_vector_deinit(&types->fields);
	free(types->first_id);
	free(types);
}

size_t gr_types_count(const struct gr_types *types)
{
	return types->types.size;
}

const struct gr_type *gr_types_get(const struct gr_types *types, gr_type_id id)
{
	return &types->types.data[id];
}

const struct gr_type_field *gr_types_field(const struct gr_types *types,
					   const struct gr_type *type,
					   uint32_t i)
{
	return &types->fields.data[type->first_field + i];
}

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* The scheduler's own structs: pointers to them are not followed for users. */
static bool is_scheduler_type(const char *name)
{
	static const char *const names[] = {
		"runtime.g",	  "runtime.m",	    "runtime.p",
		"runtime.sudog",  "runtime.mcache", "runtime.mspan",
		"runtime.schedt", "runtime.timers", "runtime.sched",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* T of an atomic.Pointer[T]: its first field is a [0]*T. */
static gr_type_id atomic_pointee(const struct gr_types *types,
				 const struct gr_type *type)
{
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type *field = gr_types_get(
			types, gr_types_field(types, type, i)->type);
		if (field->kind != GR_KIND_ARRAY || field->count ||
		    field->elem == GR_TYPE_NONE)
			continue;
		const struct gr_type *elem = gr_types_get(types, field->elem);
		if (elem->kind == GR_KIND_PTR)
			return elem->elem;
	}
	return GR_TYPE_NONE;
}

void gr_type_set_role(struct gr_types *types, gr_type_id id)
{
	struct gr_type *type = &types->types.data[id];

	if (type->kind != GR_KIND_STRUCT)
		return;
	if (is_scheduler_type(type->name)) {
		type->role = GR_ROLE_BARRIER;
	} else if (has_prefix(type->name, "sync/atomic.Pointer[") ||
		   has_prefix(type->name, "internal/runtime/atomic.Pointer[")) {
		type->elem = atomic_pointee(types, type);
		if (type->elem != GR_TYPE_NONE)
			type->role = GR_ROLE_ATOMIC_POINTER;
	} else if (has_prefix(type->name, "internal/sync.HashTrieMap[") ||
		   has_prefix(type->name, "internal/concurrent.HashTrieMap[") ||
		   has_prefix(type->name, "unique.canonMap[")) {
		type->role = GR_ROLE_HASH_TRIE;
	}
}

/* The bytes of the first of some type arguments: up to a comma or bracket. */
static size_t first_argument(const char *args)
{
	unsigned int depth = 0;
	size_t n;

	for (n = 0; args[n]; n++) {
		if (strchr("[{(", args[n]))
			depth++;
		else if (!depth && strchr(",]", args[n]))
			break;
		else if (strchr("]})", args[n]))
			depth--;
	}
	return n;
}

/* Some weak pointer: all of them have the same structure, and not every
 * instance is in the program's debug information. */
static gr_type_id any_weak_pointer(const struct gr_types *types)
{
	for (gr_type_id i = 0; i < types->types.size; i++)
		if (has_prefix(types->types.data[i].name, "weak.Pointer["))
			return i;
	return GR_TYPE_NONE;
}

/* internal/sync/hashtriemap.go: its entries hold K and V; unique/canonmap.go:
 * a weak.Pointer[T] and no value. */
struct gr_error *gr_type_fill_trie(struct gr_runtime *rt, gr_type_id id)
{
	struct gr_type *type = &rt->types->types.data[id];
	const char *args = strchr(type->name, '[') + 1;
	size_t n = first_argument(args);
	const char *key, *value = NULL;
	gr_type_id key_id, value_id = GR_TYPE_NONE;

	if (has_prefix(type->name, "unique.")) {
		key = gr_arena_internf(rt->arena, "weak.Pointer[%.*s]", (int)n,
				       args);
	} else {
		key = gr_arena_intern(rt->arena, args, n);
		args += n + (args[n] != '\0');
		value = gr_arena_intern(rt->arena, args, first_argument(args));
		if (!value)
			return &gr_enomem;
	}
	if (!key)
		return &gr_enomem;
	key_id = gr_types_find(rt, key);
	if (value)
		value_id = gr_types_find(rt, value);
	else if (key_id == GR_TYPE_NONE)
		key_id = any_weak_pointer(rt->types);
	// Finding may have made types and moved the table.
	rt->types->types.data[id].key = key_id;
	rt->types->types.data[id].elem = value_id;
	return NULL;
}

/* Id of a DWARF type index of the module whose types begin at @p base. */
static gr_type_id offset_id(gr_type_id base, uint32_t index, size_t count)
{
	return index < count ? base + index : GR_TYPE_NONE;
}

/*
 * A pointer type in code that several instances of a generic share: all of
 * them are written as pointers to uint8, and what they point to is not known.
 */
static bool is_shape_pointer(const struct gr_dwarf_type *type)
{
	return type->kind == GR_KIND_PTR &&
	       (type->dict_index || has_prefix(type->name, "go.shape."));
}

static struct gr_error *add_dwarf(struct gr_types *types,
				  const struct gr_dwarf *dwarf)
{
	size_t count;
	const struct gr_dwarf_type *table = gr_dwarf_types(dwarf, &count);
	const struct gr_dwarf_field *fields = gr_dwarf_fields(dwarf);
	gr_type_id base = types->types.size;

	if (!gr_type_vector_reserve(&types->types, base + count))
		return &gr_enomem;
	for (size_t i = 0; i < count; i++) {
		struct gr_type type = {
			.name = table[i].name,
			.size_bytes = table[i].size_bytes,
			.kind = is_shape_pointer(&table[i]) ?
					GR_KIND_UNSAFE_POINTER :
					table[i].kind,
			.dict_index = table[i].dict_index,
			.has_itab = table[i].is_interface_with_methods,
			.elem = offset_id(base, table[i].elem, count),
			.key = offset_id(base, table[i].key, count),
			.header = offset_id(base, table[i].header, count),
			.count = table[i].count,
			.first_field = types->fields.size,
			.nfields = table[i].nfields,
		};
		for (uint32_t j = 0; j < table[i].nfields; j++) {
			const struct gr_dwarf_field *f =
				&fields[table[i].first_field + j];
			struct gr_type_field field = {
				.name = f->name,
				.off_bytes = f->off_bytes,
				.type = offset_id(base, f->type, count),
			};
			if (field.type == GR_TYPE_NONE) {
				type.nfields--;
				continue;
			}
			if (!gr_field_vector_append(&types->fields, field))
				return &gr_enomem;
		}
		gr_type_vector_append(&types->types, type);
	}
	for (size_t i = 0; i < count; i++)
		gr_type_set_role(types, base + i);
	return NULL;
}

struct gr_error *gr_types_create(struct gr_runtime *rt)
{
	struct gr_types *types = calloc(1, sizeof(*types));

	if (!types)
		return &gr_enomem;
	rt->types = types;
	types->first_id = calloc(rt->nmodules + 1, sizeof(*types->first_id));
	if (!types->first_id)
		return &gr_enomem;
	for (size_t i = 0; i < rt->nmodules; i++) {
		types->first_id[i] = types->types.size;
		if (!rt->modules[i].dwarf)
			continue;
		struct gr_error *err = add_dwarf(types, rt->modules[i].dwarf);
		if (err)
			return err;
	}
	types->any = gr_types_find(rt, "interface {}");
	for (gr_type_id i = 0; i < types->types.size; i++) {
		if (types->types.data[i].role != GR_ROLE_HASH_TRIE)
			continue;
		struct gr_error *err = gr_type_fill_trie(rt, i);
		if (err)
			return err;
	}
	return NULL;
}

gr_type_id gr_types_from_dwarf(const struct gr_runtime *rt,
			       const struct gr_module *module, uint32_t index)
{
	if (index == GR_DWARF_NONE)
		return GR_TYPE_NONE;
	return rt->types->first_id[module - rt->modules] + index;
}

static gr_type_id find_record(struct gr_runtime *rt,
			      const struct gr_module *module, const char *name)
{
	gr_type_id id = GR_TYPE_NONE;
	uint64_t addr;
	struct gr_error *err = gr_type_record_find(rt, module, name, &addr);

	if (!err && addr)
		err = gr_types_from_runtime(rt, addr, &id);
	gr_error_destroy(err);
	return err ? GR_TYPE_NONE : id;
}

gr_type_id gr_types_find(struct gr_runtime *rt, const char *name)
{
	for (size_t i = 0; i < rt->nmodules; i++) {
		if (!rt->modules[i].dwarf) {
			gr_type_id id = find_record(rt, &rt->modules[i], name);
			if (id != GR_TYPE_NONE)
				return id;
			continue;
		}
		uint32_t index = gr_dwarf_find_type(rt->modules[i].dwarf, name);
		if (index != GR_DWARF_NONE)
			return gr_types_from_dwarf(rt, &rt->modules[i], index);
	}
	return GR_TYPE_NONE;
}

/* A slice type without a name of its own. */
static bool is_slice_of(const struct gr_type *type, gr_type_id elem)
{
	return type->kind == GR_KIND_SLICE && type->elem == elem &&
	       !strncmp(type->name, "[]", 2);
}

struct gr_error *gr_types_slice_of(struct gr_runtime *rt, gr_type_id elem,
				   gr_type_id *ret)
{
	struct gr_types *types = rt->types;
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_SLICE, elem);

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	gr_type_id id = 0;
	while (id < types->types.size &&
	       !is_slice_of(&types->types.data[id], elem))
		id++;
	if (id < types->types.size) {
		*ret = id;
		return gr_type_ref_add(types, GR_REF_SLICE, elem, id);
	}
	struct gr_type type = {
		.name = gr_arena_internf(rt->arena, "[]%s",
					 types->types.data[elem].name),
		.size_bytes = sizeof(struct gr_go_slice),
		.kind = GR_KIND_SLICE,
		.elem = elem,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};
	if (!type.name || !gr_type_vector_append(&types->types, type))
		return &gr_enomem;
	*ret = id;
	return gr_type_ref_add(types, GR_REF_SLICE, elem, id);
}

bool gr_types_is_direct(const struct gr_types *types, gr_type_id id)
{
	// runtime/type.go: isDirectIface. Structs and arrays of one
	// pointer-shaped field or element are direct, too.
	for (int depth = 0; depth < 32 && id != GR_TYPE_NONE; depth++) {
		const struct gr_type *type = gr_types_get(types, id);

		switch (type->kind) {
		case GR_KIND_PTR:
		case GR_KIND_MAP:
		case GR_KIND_CHAN:
		case GR_KIND_FUNC:
		case GR_KIND_UNSAFE_POINTER:
			return true;
		case GR_KIND_ARRAY:
			if (type->count != 1)
				return false;
			id = type->elem;
			break;
		case GR_KIND_STRUCT:
			id = GR_TYPE_NONE;
			for (uint32_t i = 0; i < type->nfields; i++) {
				const struct gr_type_field *f =
					gr_types_field(types, type, i);
				if (!gr_types_get(types, f->type)->size_bytes)
					continue;
				if (id != GR_TYPE_NONE)
					return false;
				id = f->type;
			}
			break;
		default:
			return false;
		}
	}
	return false;
}

struct gr_type_ref *gr_type_ref_find(struct gr_types *types,
				     enum gr_type_ref_kind kind, uint64_t key)
{
	struct gr_type_ref *ref;
	uint64_t k[2] = { kind, key };

	HASH_FIND(hh, types->refs, k, sizeof(k), ref);
	return ref;
}

struct gr_error *gr_type_ref_add(struct gr_types *types,
				 enum gr_type_ref_kind kind, uint64_t key,
				 gr_type_id id)
{
	struct gr_type_ref *ref = calloc(1, sizeof(*ref));

	if (!ref)
		return &gr_enomem;
	ref->key[0] = kind;
	ref->key[1] = key;
	ref->id = id;
	HASH_ADD(hh, types->refs, key, sizeof(ref->key), ref);
	if (!ref->hh.tbl) {
		free(ref);
		return &gr_enomem;
	}
	return NULL;
}

/* Append one field to the type that is being made (the last one). */
static struct gr_error *closure_field(struct gr_types *types,
				      struct gr_type *closure, const char *name,
				      uint64_t off, gr_type_id type)
{
	struct gr_type_field field = { name, off, type };
	uint64_t end = off + gr_types_get(types, type)->size_bytes;

	if (off < GR_WORD_BYTES || end < off || end > 1 << 20)
		return NULL;
	if (!gr_field_vector_append(&types->fields, field))
		return &gr_enomem;
	closure->nfields++;
	if (end > closure->size_bytes)
		closure->size_bytes = end;
	return NULL;
}

/*
 * A method value `T.M-fm` holds its receiver behind the code word
 * (cmd/compile: MethodValueWrapper): the first parameter of T.M.
 */
static struct gr_error *add_receiver(struct gr_runtime *rt,
				     const struct gr_func *func,
				     struct gr_type *closure)
{
	size_t len = strlen(func->name), count;
	struct gr_dwarf *dwarf = func->module->dwarf;
	const struct gr_dwarf_function *functions =
		gr_dwarf_functions(dwarf, &count);

	if (len < 4 || strcmp(func->name + len - 3, "-fm"))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (strlen(functions[i].name) != len - 3 ||
		    memcmp(functions[i].name, func->name, len - 3))
			continue;
		gr_type_id type = gr_types_from_dwarf(
			rt, func->module, gr_dwarf_first_param_type(dwarf, i));
		if (type == GR_TYPE_NONE)
			return NULL;
		return closure_field(rt->types, closure, "R", GR_WORD_BYTES,
				     type);
	}
	return NULL;
}

static struct gr_error *add_captures(struct gr_runtime *rt,
				     const struct gr_func *func,
				     struct gr_type *closure)
{
	struct gr_dwarf *dwarf = func->module->dwarf;
	_cleanup_free_ struct gr_dwarf_capture *captures = NULL;
	struct gr_error *err;
	size_t count;
	uint32_t index =
		gr_dwarf_function_at(dwarf, func->entry - func->module->bias);

	if (index == GR_DWARF_NONE)
		return NULL;
	err = gr_dwarf_captures(dwarf, index, &captures, &count);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		gr_type_id type =
			gr_types_from_dwarf(rt, func->module, captures[i].type);
		if (type == GR_TYPE_NONE)
			continue;
		err = closure_field(rt->types, closure, captures[i].name,
				    captures[i].off_bytes, type);
	}
	return err;
}

struct gr_error *gr_types_closure(struct gr_runtime *rt, uint64_t pc,
				  gr_type_id *ret)
{
	struct gr_types *types = rt->types;
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_CLOSURE, pc);
	struct gr_error *err = NULL;
	struct gr_func func;

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	*ret = GR_TYPE_NONE;
	if (!gr_func_find(rt, pc, &func) || func.entry != pc)
		return gr_type_ref_add(types, GR_REF_CLOSURE, pc, *ret);
	struct gr_type type = {
		.name = gr_arena_intern(rt->arena, func.name,
					strlen(func.name)),
		.size_bytes = GR_WORD_BYTES,
		.kind = GR_KIND_STRUCT,
		.role = GR_ROLE_CLOSURE,
		.elem = GR_TYPE_NONE,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};
	if (!type.name)
		return &gr_enomem;
	type.first_field = types->fields.size;
	if (func.module->dwarf) {
		err = add_captures(rt, &func, &type);
		if (!err && !type.nfields)
			err = add_receiver(rt, &func, &type);
		if (gr_error_catch(&err, GR_ERROR_FORMAT))
			type.nfields = 0;
	}
	if (err)
		return err;
	*ret = types->types.size;
	if (!gr_type_vector_append(&types->types, type))
		return &gr_enomem;
	return gr_type_ref_add(types, GR_REF_CLOSURE, pc, *ret);
}
