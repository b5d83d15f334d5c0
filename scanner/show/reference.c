// SPDX-License-Identifier: Apache-2.0
/* Functions with what they have captured, and channels with what waits in them.
 */
#include "goruntime/layout/pclntab.h"
#include "show/show_internal.h"

#include <inttypes.h>

/* Are the parts of this value printed? A channel or a closure inside a struct
 * says little by them. */
static bool is_near(const struct gr_show *s, const struct gr_show_at *at)
{
	return at->level < s->limits.max_depth;
}

// ----------------------------------------------------------------- functions

/* The name that the debug information gives the function at @p pc, or else the
 * function tables; NULL: there is no function. */
static const char *function_name(const struct gr_runtime *rt, uint64_t pc)
{
	const struct gr_module *m = gr_runtime_module_at(rt, pc);
	struct gr_func func;
	size_t count;

	if (m && m->dwarf) {
		uint32_t i = gr_dwarf_function_at(m->dwarf, pc - m->bias);

		if (i != GR_DWARF_NONE)
			return gr_dwarf_functions(m->dwarf, &count)[i].name;
	}
	return gr_func_find(rt, pc, &func) ? func.name : NULL;
}

/* The captures of the closure with the code at @p pc; none before Go 1.23. */
static struct gr_error *find_captures(const struct gr_show *s, uint64_t pc,
				      struct gr_dwarf_capture **ret,
				      size_t *count)
{
	const struct gr_module *m = gr_runtime_module_at(s->rt, pc);
	uint32_t function =
		m && m->dwarf ? gr_dwarf_function_at(m->dwarf, pc - m->bias) :
				GR_DWARF_NONE;
	struct gr_error *err;

	*count = 0;
	if (function == GR_DWARF_NONE)
		return NULL;
	err = gr_dwarf_captures(m->dwarf, function, ret, count);
	if (gr_error_catch(&err, GR_ERROR_FORMAT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*count = 0;
	return err;
}

static bool is_by_reference(const struct gr_dwarf_capture *captures,
			    size_t count, uint64_t off_bytes)
{
	for (size_t i = 0; i < count; i++)
		if (captures[i].off_bytes == off_bytes)
			return captures[i].by_reference;
	return false;
}

/* One captured variable. If the closure has a pointer to it, the variable is
 * what it points to. */
static struct gr_error *put_variable(struct gr_show *s,
				     const struct gr_show_at *closure,
				     const struct gr_type_field *field,
				     bool is_reference)
{
	struct gr_show_at variable =
		gr_show_part(closure, field->type, field->off_bytes);
	uint64_t addr = 0;
	struct gr_error *err;

	variable.flags = GR_SHOW_TYPE;
	variable.level++;
	gr_text_put(s->text,
		    "%s: ", strcmp(field->name, ".this") ? field->name : "R");
	gr_type_id elem = gr_show_type(s, &variable)->elem;
	if (!is_reference || elem == GR_TYPE_NONE)
		return gr_show_put(s, &variable);
	if (!gr_show_read(s, &variable, 0, &addr, sizeof(addr), &err))
		return err;
	variable.value = (struct gr_shown){ .type = elem, .addr = addr };
	return gr_show_put(s, &variable);
}

/* Append what a closure has captured; the receiver of a method value is `R`. */
static struct gr_error *put_captured(struct gr_show *s,
				     const struct gr_show_at *at, uint64_t addr,
				     uint64_t pc)
{
	_cleanup_free_ struct gr_dwarf_capture *captures = NULL;
	struct gr_show_at closure = { .value.addr = addr, .level = at->level };
	size_t count = 0;
	struct gr_error *err =
		gr_types_closure(s->types, pc, &closure.value.type);

	if (err || closure.value.type == GR_TYPE_NONE)
		return err;
	// A copy of the type: printing makes types.
	struct gr_type type = *gr_show_type(s, &closure);
	if (!type.nfields)
		return NULL;
	err = find_captures(s, pc, &captures, &count);
	gr_text_put(s->text, " {");
	for (uint32_t i = 0; !err && i < type.nfields && !s->text->is_cut;
	     i++) {
		struct gr_type_field field =
			*gr_types_field(s->types, &type, i);

		gr_text_put(s->text, "%s", i ? ", " : "");
		err = put_variable(s, &closure, &field,
				   is_by_reference(captures, count,
						   field.off_bytes));
	}
	gr_text_put(s->text, "}");
	return err;
}

struct gr_error *gr_show_put_func(struct gr_show *s,
				  const struct gr_show_at *at)
{
	struct gr_error *err;
	uint64_t addr, pc;

	if (!gr_show_read(s, at, 0, &addr, sizeof(addr), &err))
		return err;
	if (!addr) {
		gr_text_put(s->text, "nil");
		return NULL;
	}
	if (!gr_show_read_memory(s, addr, &pc, sizeof(pc), &err))
		return err;
	const char *name = function_name(s->rt, pc);
	if (!name) {
		gr_text_put(s->text,
			    "(unreadable no function at 0x%" PRIx64 ")", pc);
		return NULL;
	}
	gr_text_put(s->text, "%s", name);
	return is_near(s, at) ? put_captured(s, at, addr, pc) : NULL;
}

// ------------------------------------------------------------------ channels

/* The elements of the channel at @p addr, the one that is received next first. */
static struct gr_error *put_buffer(struct gr_show *s,
				   const struct gr_show_at *at, uint64_t addr,
				   struct gr_show_ring ring)
{
	const typeof(s->rt->layout.hchan) *f = &s->rt->layout.hchan;
	struct gr_show_at first = {
		.value = { .type = gr_show_type(s, at)->elem },
		.level = at->level + 1,
	};
	struct gr_error *err;

	if (!gr_show_read_field(s, addr, f->recvx, &ring.first, &err) ||
	    !gr_show_read_field(s, addr, f->buf, &first.value.addr, &err))
		return err;
	if (ring.first >= ring.capacity)
		return NULL;
	gr_text_put(s->text, " ");
	return gr_show_put_elements(s, &first, &ring);
}

struct gr_error *gr_show_put_chan(struct gr_show *s,
				  const struct gr_show_at *at)
{
	const typeof(s->rt->layout.hchan) *f = &s->rt->layout.hchan;
	struct gr_type type = *gr_show_type(s, at);
	struct gr_show_ring ring = { .first = 0 };
	struct gr_error *err;
	uint64_t addr;

	if (!gr_show_read(s, at, 0, &addr, sizeof(addr), &err))
		return err;
	if (!addr) {
		gr_text_put(s->text, "%s nil", type.name);
		return NULL;
	}
	if (!gr_show_read_field(s, addr, f->qcount, &ring.count, &err) ||
	    !gr_show_read_field(s, addr, f->dataqsiz, &ring.capacity, &err))
		return err;
	gr_text_put(s->text, "%s %" PRIu64 "/%" PRIu64, type.name, ring.count,
		    ring.capacity);
	if (!ring.count || ring.count > ring.capacity ||
	    type.elem == GR_TYPE_NONE || !is_near(s, at))
		return NULL;
	return put_buffer(s, at, addr, ring);
}
