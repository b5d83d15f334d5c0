// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/types.h"
#include "goruntime/types/types_internal.h"

#include "base/cleanup.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/types/abi_type.h"

/* Limit for the fields of a pointer-shaped struct. All but one are empty. */
enum { MAX_DIRECT_FIELDS = 256, MAX_ATOMIC_FIELDS = 16 };

void gr_types_destroy(struct gr_types *types)
{
	struct gr_type_ref *ref, *next;

	if (!types)
		return;
	gr_error_destroy(types->err);
	HASH_ITER(hh, types->refs, ref, next) {
		HASH_DEL(types->refs, ref);
		free(ref);
	}
	gr_type_vector_deinit(&types->types);
	gr_field_vector_deinit(&types->fields);
	gr_index_vector_deinit(&types->embedded);
	gr_c_source_vector_deinit(&types->c_sources);
	free(types->first_id);
	gr_dictionaries_destroy(types->dictionaries);
	gr_type_masks_destroy(types->masks);
	free(types);
}

struct gr_runtime *gr_types_runtime(const struct gr_types *types)
{
	return types->rt;
}

size_t gr_types_count(const struct gr_types *types)
{
	return types->types.size;
}

size_t gr_types_field_count(const struct gr_types *types)
{
	return types->fields.size;
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

/* Return T of an atomic.Pointer[T], which has a field of type [0]*T and few
 * others. */
static gr_type_id atomic_pointee(const struct gr_types *types,
				 const struct gr_type *type)
{
	for (uint32_t i = 0; i < type->nfields && i < MAX_ATOMIC_FIELDS; i++) {
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
	if (gr_name_has(type->name, GR_NAME_SCHEDULER_TYPE)) {
		type->role = GR_ROLE_SCHEDULER;
	} else if (gr_name_has(type->name, GR_NAME_ATOMIC_POINTER)) {
		type->elem = atomic_pointee(types, type);
		if (type->elem != GR_TYPE_NONE)
			type->role = GR_ROLE_ATOMIC_POINTER;
	} else if (gr_name_has(type->name, GR_NAME_HASH_TRIE) ||
		   gr_name_has(type->name, GR_NAME_CANON_MAP)) {
		type->role = GR_ROLE_HASH_TRIE;
	}
}

/* Return the length of the first type argument, up to a comma or bracket. */
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

/* Return any weak pointer type. All of them have the same structure, and the
 * program's debug information may lack the instance that is needed. */
static gr_type_id any_weak_pointer(struct gr_types *types)
{
	while (types->weak_seen < types->types.size &&
	       !gr_name_has(types->types.data[types->weak_seen].name,
			    GR_NAME_WEAK_POINTER))
		types->weak_seen++;
	return types->weak_seen < types->types.size ? types->weak_seen :
						      GR_TYPE_NONE;
}

/* The entries of internal/sync/hashtriemap.go hold K and V. Those of
 * unique/canonmap.go hold a weak.Pointer[T] and no value.
 * Recursion: the type of a record is made once, and its name is shorter at
 * each level. */
struct gr_error *gr_type_fill_trie(struct gr_types *types, gr_type_id id)
{
	struct gr_arena *arena = types->rt->arena;
	struct gr_type *type = &types->types.data[id];
	const char *args = strchr(type->name, '[') + 1;
	size_t n = first_argument(args);
	const char *key, *value = NULL;
	gr_type_id key_id, value_id = GR_TYPE_NONE;

	if (gr_name_has(type->name, GR_NAME_CANON_MAP)) {
		key = gr_arena_internf(arena, "%s%.*s]",
				       gr_name_of(GR_NAME_WEAK_POINTER), (int)n,
				       args);
	} else {
		key = gr_arena_intern(arena, args, n);
		args += n + (args[n] != '\0');
		value = gr_arena_intern(arena, args, first_argument(args));
		if (!value)
			return &gr_enomem;
	}
	if (!key)
		return &gr_enomem;
	key_id = gr_types_find(types, key);
	if (value)
		value_id = gr_types_find(types, value);
	else if (key_id == GR_TYPE_NONE)
		key_id = any_weak_pointer(types);
	// gr_types_find() may have made types and moved the table.
	types->types.data[id].key = key_id;
	types->types.data[id].elem = value_id;
	return gr_types_take_error(types);
}

/* Return the id of DWARF type @p index. The module's types begin at @p base. */
static gr_type_id offset_id(gr_type_id base, uint32_t index, size_t count)
{
	return index < count ? base + index : GR_TYPE_NONE;
}

/*
 * Return true for a pointer type in code that several instances of a generic
 * share. DWARF describes all of them as pointers to uint8; their real element
 * type is not known.
 */
static bool is_shape_pointer(const struct gr_dwarf_type *type)
{
	return type->kind == GR_KIND_PTR &&
	       (type->dict_index || gr_name_has(type->name, GR_NAME_SHAPE));
}

/*
 * Add the fields of a module's types, except those of unknown type. (*ret)[i]
 * is the number of added fields before field i of DWARF. The caller frees
 * *ret.
 */
static struct gr_error *add_dwarf_fields(struct gr_types *types,
					 const struct gr_dwarf *dwarf,
					 size_t ntypes, uint32_t **ret)
{
	struct gr_runtime *rt = types->rt;
	gr_type_id base = types->types.size;
	size_t count = gr_dwarf_field_count(dwarf);
	const struct gr_dwarf_field *fields = gr_dwarf_fields(dwarf);
	struct gr_error *err = gr_image_want(
		rt->image,
		count * (sizeof(**ret) + sizeof(struct gr_type_field)));

	*ret = err ? NULL : malloc((count + 1) * sizeof(**ret));
	if (!err && !*ret)
		err = &gr_enomem;
	for (size_t i = 0; !err && i < count; i++) {
		struct gr_type_field field = {
			.name = fields[i].name,
			.off_bytes = fields[i].off_bytes,
			.type = offset_id(base, fields[i].type, ntypes),
		};

		(*ret)[i] = types->fields.size;
		if (field.type != GR_TYPE_NONE &&
		    !gr_type_add_field(types, field, fields[i].is_embedded))
			err = &gr_enomem;
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	if (!err)
		(*ret)[count] = types->fields.size;
	return err;
}

static struct gr_error *add_dwarf(struct gr_types *types,
				  const struct gr_dwarf *dwarf)
{
	struct gr_runtime *rt = types->rt;
	_cleanup_free_ uint32_t *before = NULL;
	size_t count;
	const struct gr_dwarf_type *table = gr_dwarf_types(dwarf, &count);
	gr_type_id base = types->types.size;
	struct gr_error *err = add_dwarf_fields(types, dwarf, count, &before);

	if (!err && !gr_type_vector_reserve(&types->types, base + count))
		err = &gr_enomem;
	for (size_t i = 0; !err && i < count; i++) {
		const struct gr_dwarf_type *t = &table[i];
		struct gr_type type = {
			.name = t->name,
			.size_bytes = t->size_bytes,
			.kind = is_shape_pointer(t) ? GR_KIND_UNSAFE_POINTER :
						      t->kind,
			.dict_index = t->dict_index,
			.has_itab = t->is_interface_with_methods,
			.elem = offset_id(base, t->elem, count),
			.key = offset_id(base, t->key, count),
			.header = offset_id(base, t->header, count),
			.count = t->count,
			.first_field = before[t->first_field],
			.nfields = before[t->first_field + t->nfields] -
				   before[t->first_field],
		};

		gr_type_vector_append(&types->types, type);
		err = gr_runtime_step_name(rt, t->name);
	}
	for (size_t i = 0; !err && i < count; i++) {
		gr_type_set_role(types, base + i);
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_types_create(struct gr_runtime *rt, struct gr_types **ret)
{
	_cleanup_(gr_cleanup_types) struct gr_types *types =
		calloc(1, sizeof(*types));

	if (!types)
		return &gr_enomem;
	types->rt = rt;
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
	types->any = gr_types_known(types, GR_NAME_EMPTY_INTERFACE);
	struct gr_error *err = gr_types_take_error(types);
	for (gr_type_id i = 0; !err && i < types->types.size; i++) {
		const struct gr_type *type = &types->types.data[i];

		err = gr_runtime_step_name(rt, type->name);
		if (!err && type->role == GR_ROLE_HASH_TRIE)
			err = gr_type_fill_trie(types, i);
	}
	if (err)
		return err;
	*ret = steal_ptr(types);
	return NULL;
}

gr_type_id gr_types_from_dwarf(const struct gr_types *types,
			       const struct gr_module *module, uint32_t index)
{
	if (index == GR_DWARF_NONE)
		return GR_TYPE_NONE;
	return types->first_id[module - types->rt->modules] + index;
}

static gr_type_id find_record(struct gr_types *types,
			      const struct gr_module *module, const char *name)
{
	gr_type_id id = GR_TYPE_NONE;
	uint64_t addr;
	struct gr_error *err = gr_abi_type_find(types->rt, module, name, &addr);

	if (!err && addr)
		err = gr_types_from_runtime(types, addr, &id);
	// A damaged record has no type. Anything else ends the search.
	if (!gr_error_catch(&err, GR_ERROR_FAULT) &&
	    !gr_error_catch(&err, GR_ERROR_FORMAT))
		types->err = err;
	return types->err ? GR_TYPE_NONE : id;
}

struct gr_error *gr_types_take_error(struct gr_types *types)
{
	return steal_ptr(types->err);
}

gr_type_id gr_types_find(struct gr_types *types, const char *name)
{
	const struct gr_runtime *rt = types->rt;

	for (size_t i = 0; i < rt->nmodules && !types->err; i++) {
		if (!rt->modules[i].dwarf) {
			gr_type_id id =
				find_record(types, &rt->modules[i], name);
			if (id != GR_TYPE_NONE)
				return id;
			continue;
		}
		uint32_t index = gr_dwarf_find_type(rt->modules[i].dwarf, name);
		if (index != GR_DWARF_NONE)
			return gr_types_from_dwarf(types, &rt->modules[i],
						   index);
	}
	return GR_TYPE_NONE;
}

gr_type_id gr_types_known(struct gr_types *types, enum gr_name_trait trait)
{
	gr_type_id id = GR_TYPE_NONE;

	for (size_t i = 0; i < gr_nnames && id == GR_TYPE_NONE; i++)
		if (gr_names[i].trait == trait && !gr_names[i].is_prefix)
			id = gr_types_find(types, gr_names[i].text);
	return id;
}

/* Note the undeclared slice types among the types added since the last call.
 * The first one for each element type is kept. */
static struct gr_error *note_slices(struct gr_types *types)
{
	struct gr_runtime *rt = types->rt;
	struct gr_error *err = NULL;

	for (; !err && types->slices_seen < types->types.size;
	     types->slices_seen++) {
		gr_type_id id = types->slices_seen;
		const struct gr_type *type = &types->types.data[id];

		if (type->kind == GR_KIND_SLICE &&
		    !strncmp(type->name, "[]", 2) &&
		    !gr_type_ref_find(types, GR_REF_SLICE, type->elem))
			err = gr_type_ref_add(types, GR_REF_SLICE, type->elem,
					      id);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_types_slice_of(struct gr_types *types, gr_type_id elem,
				   gr_type_id *ret)
{
	struct gr_runtime *rt = types->rt;
	struct gr_error *err = note_slices(types);
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_SLICE, elem);

	if (err)
		return err;
	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	gr_type_id id = types->types.size;
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
	// runtime/type.go: isDirectIface. Structs and arrays with a single
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
			if (type->nfields > MAX_DIRECT_FIELDS)
				return false;
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

/* Append one field to the closure type that is being made. */
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
 * Add the receiver of a method value `T.M-fm`, which follows the code word
 * (cmd/compile: MethodValueWrapper). Its type is that of the first parameter of
 * T.M.
 */
static struct gr_error *add_receiver(struct gr_types *types,
				     const struct gr_func *func,
				     struct gr_type *closure)
{
	size_t len = strlen(func->name);
	struct gr_dwarf *dwarf = func->module->dwarf;

	if (len < 4 || strcmp(func->name + len - 3, "-fm"))
		return NULL;
	_cleanup_free_ char *method = strndup(func->name, len - 3);
	if (!method)
		return &gr_enomem;
	uint32_t index = gr_dwarf_find_function(dwarf, method);
	if (index == GR_DWARF_NONE)
		return NULL;
	uint32_t param;
	struct gr_error *err = gr_dwarf_first_param_type(dwarf, index, &param);
	gr_type_id type = gr_types_from_dwarf(types, func->module, param);
	if (err || type == GR_TYPE_NONE)
		return err;
	return closure_field(types, closure, "R", GR_WORD_BYTES, type);
}

static struct gr_error *add_captures(struct gr_types *types,
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
		gr_type_id type = gr_types_from_dwarf(types, func->module,
						      captures[i].type);
		if (type == GR_TYPE_NONE)
			continue;
		err = closure_field(types, closure, captures[i].name,
				    captures[i].off_bytes, type);
	}
	return err;
}

struct gr_error *gr_types_closure(struct gr_types *types, uint64_t pc,
				  gr_type_id *ret)
{
	struct gr_runtime *rt = types->rt;
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
		err = add_captures(types, &func, &type);
		if (!err && !type.nfields)
			err = add_receiver(types, &func, &type);
		if (gr_error_catch(&err, GR_ERROR_FORMAT))
			type.nfields = 0;
	}
	// No question asked for it when the file was saved.
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED)) {
		gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
		return gr_type_ref_add(types, GR_REF_CLOSURE, pc, *ret);
	}
	if (err)
		return err;
	*ret = types->types.size;
	if (!gr_type_vector_append(&types->types, type))
		return &gr_enomem;
	return gr_type_ref_add(types, GR_REF_CLOSURE, pc, *ret);
}
