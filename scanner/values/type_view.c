// SPDX-License-Identifier: Apache-2.0
#include "values/type_view.h"

#include "scan/enter.h"

enum {
	/* reflect.Kind: the last signed integer, the first and last float */
	REFLECT_INT64 = 6,
	REFLECT_FLOAT32 = 13,
	REFLECT_FLOAT64 = 14,
};

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[GR_KIND_INVALID] = "unknown",
		[GR_KIND_BOOL] = "bool",
		[GR_KIND_ARRAY] = "array",
		[GR_KIND_CHAN] = "chan",
		[GR_KIND_FUNC] = "func",
		[GR_KIND_INTERFACE] = "interface",
		[GR_KIND_MAP] = "map",
		[GR_KIND_PTR] = "pointer",
		[GR_KIND_SLICE] = "slice",
		[GR_KIND_STRING] = "string",
		[GR_KIND_STRUCT] = "struct",
		[GR_KIND_UNSAFE_POINTER] = "unsafe pointer",
	};

	switch (kind) {
	case GR_KIND_INT ... REFLECT_INT64:
		return "int";
	case REFLECT_INT64 + 1 ... GR_KIND_UINTPTR:
		return "uint";
	case REFLECT_FLOAT32 ... REFLECT_FLOAT64:
		return "float";
	case REFLECT_FLOAT64 + 1 ... GR_KIND_COMPLEX128:
		return "complex";
	}
	return kind < GR_ARRAY_SIZE(names) ? names[kind] : names[0];
}

void gr_type_info_deinit(struct gr_type_info *info)
{
	free(info->fields);
	memset(info, 0, sizeof(*info));
}

static struct gr_error *describe_fields(struct gr_program *program,
					const struct gr_type *type,
					struct gr_type_info *ret)
{
	struct gr_error *err = gr_image_want(
		program->rt.image, type->nfields * sizeof(*ret->fields));

	ret->fields = err ? NULL :
			    calloc(type->nfields + 1, sizeof(*ret->fields));
	if (!err && !ret->fields)
		err = &gr_enomem;
	for (uint32_t i = 0; !err && i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(program->types, type, i);

		ret->fields[ret->nfields++] = (struct gr_field_info){
			.name = field->name,
			.offset = field->off_bytes,
			.type = field->type,
			.is_embedded =
				gr_types_is_embedded(program->types, type, i),
		};
		err = gr_runtime_step(&program->rt, 1);
	}
	return err;
}

struct gr_error *gr_scan_describe_type(struct gr_scan *scan, uint32_t id,
				       struct gr_type_info *ret)
{
	struct gr_stop *stop = gr_scan_answers(scan)->stop;
	memset(ret, 0, sizeof(*ret));
	if (id >= gr_types_count(stop->program->types))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "no type has the number %u", id);
	const struct gr_type *type = gr_types_get(stop->program->types, id);
	bool has_elem = type->kind == GR_KIND_PTR ||
			type->kind == GR_KIND_ARRAY ||
			type->kind == GR_KIND_SLICE ||
			type->kind == GR_KIND_CHAN || type->kind == GR_KIND_MAP;
	*ret = (struct gr_type_info){
		.name = type->name,
		.kind = kind_name(type->kind),
		.size = type->size_bytes,
		.elem = has_elem ? type->elem : GR_TYPE_NONE,
		.key = type->kind == GR_KIND_MAP ? type->key : GR_TYPE_NONE,
		.length = type->kind == GR_KIND_ARRAY ? type->count : 0,
		.has_itab = type->has_itab,
	};
	return describe_fields(stop->program, type, ret);
}

static struct gr_error *find_dynamic(struct gr_program *program,
				     uint32_t interface, uint64_t word,
				     struct gr_dynamic_type *ret)
{
	struct gr_error *err =
		gr_types_get(program->types, interface)->has_itab ?
			gr_types_from_itab(program->types, word, &ret->type) :
			gr_types_from_runtime(program->types, word, &ret->type);

	if (!err && ret->type != GR_TYPE_NONE)
		ret->is_direct = gr_types_is_direct(program->types, ret->type);
	return err;
}

struct gr_error *gr_scan_dynamic_type(struct gr_scan *scan, uint32_t interface,
				      uint64_t word,
				      struct gr_dynamic_type *ret)
{
	struct gr_stop *stop = gr_scan_answers(scan)->stop;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	*ret = (struct gr_dynamic_type){ .type = GR_TYPE_NONE };
	if (interface >= gr_types_count(stop->program->types))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "no type has the number %u", interface);
	err = gr_scan_enter_goroutines(scan, &guard, &stop);
	if (!err)
		err = find_dynamic(stop->program, interface, word, ret);
	return gr_sigbus_guard_end(&guard, err);
}
