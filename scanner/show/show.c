// SPDX-License-Identifier: Apache-2.0
#include "inferior/recorder.h"
#include "show/show_internal.h"

#include <inttypes.h>

/* Values in values; only a type that contains slices of itself has more. */
enum { MAX_NESTED = 64 };

struct gr_show_at gr_show_part(const struct gr_show_at *at, gr_type_id type,
			       uint64_t off)
{
	struct gr_show_at part = *at;

	part.value.type = type;
	if (!part.value.host) {
		part.value.addr += off;
		return part;
	}
	if (off > part.value.host_bytes)
		off = part.value.host_bytes;
	part.value.host += off;
	part.value.host_bytes -= off;
	return part;
}

void gr_show_put_missing(struct gr_show *s, uint64_t addr)
{
	struct gr_mapping_info mapping;

	gr_text_put(s->text,
		    gr_image_mapping(s->rt->image, addr, &mapping) ?
			    "(unreadable 0x%" PRIx64 " was not captured)" :
			    "(unreadable no memory at 0x%" PRIx64 ")",
		    addr);
}

bool gr_show_read_memory(struct gr_show *s, uint64_t addr, void *buf,
			 uint64_t bytes, struct gr_error **err)
{
	// Values are not for saved files without them.
	gr_recorder_pause(s->rt->recorder);
	*err = gr_image_read_late(s->rt->image, addr, buf, bytes);
	gr_recorder_resume(s->rt->recorder);
	if (gr_error_catch(err, GR_ERROR_FAULT)) {
		gr_show_put_missing(s, addr);
		return false;
	}
	return !*err;
}

bool gr_show_read(struct gr_show *s, const struct gr_show_at *at, uint64_t off,
		  void *buf, uint64_t bytes, struct gr_error **err)
{
	*err = NULL;
	if (!at->value.host)
		return gr_show_read_memory(s, at->value.addr + off, buf, bytes,
					   err);
	if (off > at->value.host_bytes || bytes > at->value.host_bytes - off) {
		gr_text_put(s->text, "(unreadable part of a register)");
		return false;
	}
	memcpy(buf, at->value.host + off, bytes);
	return true;
}

bool gr_show_read_field(struct gr_show *s, uint64_t addr, struct gr_field field,
			uint64_t *ret, struct gr_error **err)
{
	uint8_t bytes[sizeof(*ret)] = { 0 };

	if (field.bytes > sizeof(bytes))
		field.bytes = sizeof(bytes);
	if (!gr_show_read_memory(s, addr + field.off, bytes, field.bytes, err))
		return false;
	*ret = gr_load_u64(bytes);
	return true;
}

// ------------------------------------------------------------------- structs

/* A name of a type in front of an address is quoted if it has a path. */
static void put_address(struct gr_show *s, const char *type, uint64_t addr)
{
	gr_text_put(s->text,
		    strchr(type, '/') ? "(\"%s\")(0x%" PRIx64 ")" :
					"(%s)(0x%" PRIx64 ")",
		    type, addr);
}

static void put_struct_address(struct gr_show *s, const struct gr_show_at *at)
{
	const char *name = gr_show_type(s, at)->name;

	// A value in registers has no address.
	if (at->value.host)
		gr_text_put(s->text, "%s {...}", name);
	else
		gr_text_put(s->text,
			    strchr(name, '/') ? "(*\"%s\")(0x%" PRIx64 ")" :
						"(*%s)(0x%" PRIx64 ")",
			    name, at->value.addr);
}

/* The fields are of a copy of the type: printing makes types. */
static struct gr_error *
put_fields(struct gr_show *s, const struct gr_show_at *at, struct gr_type type)
{
	struct gr_error *err = NULL;

	gr_text_put(s->text, "{");
	for (uint32_t i = 0; !err && i < type.nfields && !s->text->is_cut;
	     i++) {
		struct gr_type_field field =
			*gr_types_field(s->types, &type, i);
		struct gr_show_at part =
			gr_show_part(at, field.type, field.off_bytes);

		part.flags = GR_SHOW_TYPE;
		part.level++;
		gr_text_put(s->text, "%s%s: ", i ? ", " : "", field.name);
		err = gr_show_put(s, &part);
	}
	gr_text_put(s->text, "}");
	return err;
}

static struct gr_error *put_struct(struct gr_show *s,
				   const struct gr_show_at *at)
{
	struct gr_type type = *gr_show_type(s, at);
	bool is_time = false;

	if (type.nfields && at->level > s->limits.max_depth) {
		put_struct_address(s, at);
		return NULL;
	}
	if (!strcmp(type.name, "time.Time")) {
		struct gr_error *err = gr_show_put_time(s, at, &is_time);
		if (err)
			return err;
	}
	if (!is_time && (at->flags & GR_SHOW_TYPE))
		gr_text_put(s->text, "%s ", type.name);
	return put_fields(s, at, type);
}

// ------------------------------------------------------ pointers, interfaces

static uint8_t kind_of(const struct gr_show *s, gr_type_id type)
{
	return type == GR_TYPE_NONE ? GR_KIND_INVALID :
				      gr_types_get(s->types, type)->kind;
}

static struct gr_error *put_pointer(struct gr_show *s,
				    const struct gr_show_at *at)
{
	const struct gr_type *type = gr_show_type(s, at);
	uint8_t kind = kind_of(s, type->elem);
	bool is_deeper = kind == GR_KIND_PTR || kind == GR_KIND_UNSAFE_POINTER;
	struct gr_error *err;
	uint64_t addr;

	if (!gr_show_read(s, at, 0, &addr, sizeof(addr), &err))
		return err;
	if (addr && (type->elem == GR_TYPE_NONE ||
		     (is_deeper && at->level > s->limits.max_depth))) {
		put_address(s, type->name, addr);
		return NULL;
	}
	gr_text_put(s->text, "*");
	if (!addr) {
		if ((at->flags & GR_SHOW_TYPE) && type->elem != GR_TYPE_NONE)
			gr_text_put(s->text, "%s ",
				    gr_types_get(s->types, type->elem)->name);
		gr_text_put(s->text, "nil");
		return NULL;
	}
	struct gr_show_at to = {
		.value = { .type = type->elem, .addr = addr },
		.flags = at->flags & ~(unsigned int)GR_SHOW_TOP,
		.level = at->level + (is_deeper || kind == GR_KIND_INTERFACE),
	};
	return gr_show_put(s, &to);
}

/* The value in an interface, of @p type. */
static struct gr_error *put_concrete(struct gr_show *s,
				     const struct gr_show_at *at,
				     gr_type_id type, uint64_t data)
{
	bool is_loaded = at->level <= s->limits.max_depth;
	uint8_t kind = kind_of(s, type);
	struct gr_show_at inner = gr_show_part(at, type, GR_WORD_BYTES);

	inner.flags = at->flags & GR_SHOW_TYPE ? 0 : GR_SHOW_TYPE;
	if (kind == GR_KIND_PTR && !is_loaded) {
		gr_text_put(s->text, "...");
		return NULL;
	}
	if (kind == GR_KIND_PTR && !data) {
		gr_text_put(s->text, "nil");
		return NULL;
	}
	if (!is_loaded && !at->value.host) {
		gr_text_put(s->text, "*");
		put_struct_address(s, at);
		return NULL;
	}
	if (kind != GR_KIND_PTR && !gr_types_is_direct(s->types, type))
		inner.value = (struct gr_shown){ .type = type, .addr = data };
	return gr_show_put(s, &inner);
}

static struct gr_error *put_interface(struct gr_show *s,
				      const struct gr_show_at *at)
{
	const struct gr_type *type = gr_show_type(s, at);
	const char *name = type->name;
	bool has_type = at->flags & GR_SHOW_TYPE;
	gr_type_id concrete;
	struct gr_error *err;
	uint64_t words[2];

	if (!gr_show_read(s, at, 0, words, sizeof(words), &err))
		return err;
	if (!words[0]) {
		gr_text_put(s->text, "%s%snil", has_type ? name : "",
			    has_type ? " " : "");
		return NULL;
	}
	err = type->has_itab ?
		      gr_types_from_itab(s->types, words[0], &concrete) :
		      gr_types_from_runtime(s->types, words[0], &concrete);
	if (err)
		return err;
	if (concrete == GR_TYPE_NONE) {
		gr_text_put(s->text,
			    "(unreadable unknown type at 0x%" PRIx64 ")",
			    words[0]);
		return NULL;
	}
	if (has_type)
		gr_text_put(s->text, "%s(%s) ", name,
			    gr_types_get(s->types, concrete)->name);
	return put_concrete(s, at, concrete, words[1]);
}

static struct gr_error *put_unsafe_pointer(struct gr_show *s,
					   const struct gr_show_at *at)
{
	struct gr_error *err;
	uint64_t addr;

	if (gr_show_read(s, at, 0, &addr, sizeof(addr), &err))
		gr_text_put(s->text, "unsafe.Pointer(0x%" PRIx64 ")", addr);
	return err;
}

// ------------------------------------------------------------------ dispatch

static struct gr_error *put_kind(struct gr_show *s, const struct gr_show_at *at)
{
	switch (kind_of(s, at->value.type)) {
	case GR_KIND_BOOL ... GR_KIND_COMPLEX128:
		return gr_show_put_number(s, at);
	case GR_KIND_ARRAY:
		return gr_show_put_array(s, at);
	case GR_KIND_CHAN:
		return gr_show_put_chan(s, at);
	case GR_KIND_FUNC:
		return gr_show_put_func(s, at);
	case GR_KIND_INTERFACE:
		return put_interface(s, at);
	case GR_KIND_MAP:
		return gr_show_put_map(s, at);
	case GR_KIND_PTR:
		return put_pointer(s, at);
	case GR_KIND_SLICE:
		return gr_show_put_slice(s, at);
	case GR_KIND_STRING:
		return gr_show_put_string(s, at);
	case GR_KIND_STRUCT:
		return put_struct(s, at);
	case GR_KIND_UNSAFE_POINTER:
		return put_unsafe_pointer(s, at);
	default:
		gr_text_put(s->text, "(unknown type)");
		return NULL;
	}
}

/* Recursion: each value takes a character of the text, and steps; 64
 * levels. */
struct gr_error *gr_show_put(struct gr_show *s, const struct gr_show_at *at)
{
	struct gr_error *err = gr_runtime_step(s->rt, 4);

	if (err || s->text->is_cut)
		return err;
	if (s->nested >= MAX_NESTED) {
		gr_text_put(s->text, "...");
		return NULL;
	}
	s->nested++;
	err = put_kind(s, at);
	s->nested--;
	return err;
}

struct gr_error *gr_show_value(struct gr_types *types,
			       const struct gr_show_limits *limits,
			       const struct gr_shown *value,
			       struct gr_text *text)
{
	struct gr_show s = {
		.types = types,
		.rt = gr_types_runtime(types),
		.limits = *limits,
		.text = text,
	};
	struct gr_show_at at = {
		.value = *value,
		.flags = GR_SHOW_TOP | GR_SHOW_TYPE,
	};

	return gr_show_put(&s, &at);
}
