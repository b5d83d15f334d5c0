// SPDX-License-Identifier: Apache-2.0
/*
 * Types from the runtime's own records (internal/abi/type.go), for those that
 * DWARF does not have: made by reflect, stripped, or generic instances.
 */
#include "goruntime/types_internal.h"

#include "base/cleanup.h"

enum {
	MAX_NAME_BYTES = 4096,
	MAX_FIELDS = 1 << 16,
	TFLAG_EXTRA_STAR = 2, /* abi.TFlagExtraStar */
};

/* Records waiting for their element and field types. */
GR_VECTOR(pending_vector, gr_type_id);

struct builder {
	struct gr_runtime *rt;
	struct pending_vector pending;
	uint64_t *addrs; /* of the pending ids, by id - first */
	size_t addrs_capacity;
	gr_type_id first;
};

static void builder_cleanup(struct builder *b)
{
	pending_vector_deinit(&b->pending);
	free(b->addrs);
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

/* A name record (abi.Name): flag byte, varint length, bytes. */
static struct gr_error *read_name(struct gr_runtime *rt, uint64_t addr,
				  const char **ret)
{
	struct gr_error *err;
	uint64_t len = 0, byte;
	unsigned int i = 0;
	_cleanup_free_ char *text = NULL;

	do {
		if (i == 4)
			return gr_error_fault(addr, i);
		err = gr_image_read_uint(rt->image, addr + 1 + i, 1, &byte);
		if (err)
			return err;
		len |= (byte & 0x7f) << (7 * i++);
	} while (byte & 0x80);
	if (len > MAX_NAME_BYTES)
		len = MAX_NAME_BYTES;
	text = malloc(len + 1);
	if (!text)
		return &gr_enomem;
	err = gr_image_read(rt->image, addr + 1 + i, text, len);
	if (err)
		return err;
	*ret = gr_arena_intern(rt->arena, text, len);
	return *ret ? NULL : &gr_enomem;
}

/* The address that Str, an offset from its module's types, stands for. */
static uint64_t name_addr(struct gr_runtime *rt, uint64_t type_addr,
			  uint32_t str)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (type_addr >= rt->modules[i].types &&
		    type_addr < rt->modules[i].etypes)
			return rt->modules[i].types + (int32_t)str;
	return 0;
}

static struct gr_error *read_record(struct gr_runtime *rt, uint64_t addr,
				    struct gr_type *type)
{
	const typeof(rt->layout.type) *f = &rt->layout.type;
	struct gr_error *err;
	uint8_t record[256];

	if (f->size_bytes > sizeof(record))
		return gr_error_fault(addr, f->size_bytes);
	err = gr_image_read(rt->image, addr, record, f->size_bytes);
	if (err)
		return err;
	type->size_bytes = gr_field_uint(record, f->size);
	type->kind = gr_field_uint(record, f->kind) &
		     rt->layout.consts.kind_mask;
	if (!type->kind || type->kind > GR_KIND_UNSAFE_POINTER ||
	    type->size_bytes > UINT64_C(1) << 36)
		return gr_error_fault(addr, f->size_bytes);
	uint64_t name = name_addr(rt, addr, gr_field_uint(record, f->str));
	type->name = "";
	err = name ? read_name(rt, name, &type->name) : NULL;
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		type->name = "";
	if (!err && gr_field_uint(record, f->tflag) & TFLAG_EXTRA_STAR &&
	    *type->name == '*')
		type->name++;
	if (!*type->name)
		type->name = "?";
	return err;
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

	if (ref) {
		*ret = ref->id;
		return NULL;
	}
	*ret = find_die(b->rt, addr);
	if (*ret != GR_TYPE_NONE)
		return gr_type_ref_add(types, GR_REF_RUNTIME, addr, *ret);
	err = read_record(b->rt, addr, &type);
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
	if (*ret - b->first >= b->addrs_capacity &&
	    !gr_vector_grow((void **)&b->addrs, &b->addrs_capacity,
			    *ret - b->first + 1, sizeof(*b->addrs)))
		return &gr_enomem;
	b->addrs[*ret - b->first] = addr;
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
			err = read_name(b->rt, record[0], &field.name);
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
	gr_type_set_role(types, id);
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
	uint64_t parts = b->addrs[id - b->first] +
			 b->rt->layout.type.size_bytes;
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
	return err;
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
