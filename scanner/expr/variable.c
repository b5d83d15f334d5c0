// SPDX-License-Identifier: Apache-2.0
/* The objects and blocks that the words of a variable point to, without a walk,
 * and those of the static memory behind it: `var cache Store = &store{}`. */
#include "expr/variable.h"

#include "expr/place_internal.h"
#include "scan/enter.h"
#include "scan/native.h"

#include <inttypes.h>

enum {
	MAX_DEPTH = 32,	     /* of structs and arrays in each other */
	MAX_WORDS = 1 << 20, /* of one variable, that are looked at */
	MAX_STATICS = 64,    /* values in static memory behind it */
};

void gr_variable_destroy(struct gr_variable *variable)
{
	if (!variable)
		return;
	free(variable->held);
	free(variable);
}
GR_DEFINE_CLEANUP(variable, struct gr_variable, gr_variable_destroy)

/* The state of reading a variable. */
struct holder {
	struct gr_stop *stop;
	struct gr_native *native; /* or NULL */
	struct gr_variable *ret;
	size_t max;
	uint64_t nwords;
	uint64_t statics[MAX_STATICS]; /* addresses that were looked at */
	size_t nstatics;
};

static struct gr_error *look(struct holder *h, const char *name, uint64_t addr,
			     gr_type_id id, unsigned int depth);

static bool is_static(const struct gr_runtime *rt, uint64_t addr)
{
	for (size_t i = 0; i < rt->nmodules; i++) {
		const struct gr_module *m = &rt->modules[i];
		if ((addr >= m->data && addr < m->edata) ||
		    (addr >= m->bss && addr < m->ebss))
			return true;
	}
	return false;
}

/* Enter a value in static memory, once. */
static bool add_static(struct holder *h, uint64_t addr)
{
	for (size_t i = 0; i < h->nstatics; i++)
		if (h->statics[i] == addr)
			return false;
	if (h->nstatics == MAX_STATICS) {
		h->ret->is_cut = true;
		return false;
	}
	h->statics[h->nstatics++] = addr;
	return true;
}

/* Look at the static memory that a pointer or an interface leads to. */
static struct gr_error *look_behind(struct holder *h, const char *name,
				    uint64_t addr, gr_type_id id,
				    uint64_t value, unsigned int depth)
{
	uint8_t kind = gr_types_get(h->stop->program->types, id)->kind;
	struct gr_place place = { .addr = addr, .type = id, .value = value };

	if ((kind != GR_KIND_PTR && kind != GR_KIND_INTERFACE) ||
	    !is_static(&h->stop->program->rt, value) || !add_static(h, value))
		return NULL;
	struct gr_error *err =
		gr_place_follow(h->stop->program, &place, name, "");
	// Its type may not be known.
	if (gr_error_catch(&err, GR_ERROR_ARGUMENT) || err)
		return err;
	return look(h, name, place.addr, place.type, depth + 1);
}

/* Find what has the address of a pointer; false if it is neither an object nor a
 * block. */
static bool find_held(const struct holder *h, struct gr_held *held)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(h->stop->heap, held->addr, &span);

	if (obj != GR_OBJ_NONE) {
		held->base_addr = gr_heap_object_addr(h->stop->heap, obj);
		held->bytes = span->elem_bytes - span->header_bytes;
		return gr_heap_is_allocated(h->stop->heap, obj);
	}
	uint32_t i = h->native ?
			     gr_blocks_find(&h->native->blocks, held->addr) :
			     GR_BLOCK_NONE;
	if (i == GR_BLOCK_NONE)
		return false;
	const struct gr_block *block = &h->native->blocks.list.data[i];
	held->base_addr = block->addr;
	held->bytes = gr_block_bytes(block);
	held->is_c = true;
	return true;
}

static struct gr_error *hold(struct holder *h, const char *name, uint64_t addr,
			     gr_type_id id, unsigned int depth)
{
	struct gr_variable *ret = h->ret;
	struct gr_held held = {
		.type = gr_types_get(h->stop->program->types, id)->name,
		.addr = gr_place_pointee(h->stop->program, addr, id),
	};

	if (!held.addr)
		return NULL;
	if (!find_held(h, &held))
		return look_behind(h, name, addr, id, held.addr, depth);
	if (ret->nheld == h->max) {
		ret->nothers++;
		return NULL;
	}
	held.name =
		gr_arena_intern(&h->stop->program->arena, name, strlen(name));
	ret->held[ret->nheld++] = held;
	return held.name ? NULL : &gr_enomem;
}

static struct gr_error *look_at_fields(struct holder *h, const char *name,
				       uint64_t addr,
				       const struct gr_type *type,
				       unsigned int depth)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; i < type->nfields && !err; i++) {
		const struct gr_type_field field =
			*gr_types_field(h->stop->program->types, type, i);
		_cleanup_free_ char *below = NULL;

		if (h->nwords > MAX_WORDS)
			break;
		if (asprintf(&below, "%s.%s", name, field.name) < 0) {
			below = NULL;
			return &gr_enomem;
		}
		err = look(h, below, addr + field.off_bytes, field.type,
			   depth + 1);
	}
	return err;
}

static struct gr_error *look_at_elements(struct holder *h, const char *name,
					 uint64_t addr,
					 const struct gr_type *type,
					 unsigned int depth)
{
	struct gr_error *err = NULL;

	if (type->elem == GR_TYPE_NONE)
		return NULL;
	uint64_t bytes =
		gr_types_get(h->stop->program->types, type->elem)->size_bytes;
	for (uint64_t i = 0; bytes && i < type->count && !err; i++) {
		_cleanup_free_ char *below = NULL;

		if (h->nwords > MAX_WORDS)
			break;
		if (asprintf(&below, "%s[%" PRIu64 "]", name, i) < 0) {
			below = NULL;
			return &gr_enomem;
		}
		err = look(h, below, addr + i * bytes, type->elem, depth + 1);
	}
	return err;
}

/* Recursion: 2^20 parts, by their names; 64 values; 32 levels. */
static struct gr_error *look(struct holder *h, const char *name, uint64_t addr,
			     gr_type_id id, unsigned int depth)
{
	if (id == GR_TYPE_NONE || depth > MAX_DEPTH || h->nwords++ > MAX_WORDS)
		return NULL;
	struct gr_error *err =
		gr_runtime_step_name(&h->stop->program->rt, name);
	if (err)
		return err;
	const struct gr_type type = *gr_types_get(h->stop->program->types, id);
	switch (type.kind) {
	case GR_KIND_STRUCT:
		return look_at_fields(h, name, addr, &type, depth);
	case GR_KIND_ARRAY:
		return look_at_elements(h, name, addr, &type, depth);
	default:
		return hold(h, name, addr, id, depth);
	}
}

static struct gr_error *read_variable(struct gr_stop *stop,
				      const struct gr_place *place, size_t max,
				      struct gr_variable **ret)
{
	_cleanup_(gr_cleanup_variable) struct gr_variable *v =
		calloc(1, sizeof(*v));
	struct holder h = { .stop = stop, .ret = v, .max = max };

	if (!v)
		return &gr_enomem;
	v->held = calloc(max + 1, sizeof(*v->held));
	if (!v->held)
		return &gr_enomem;
	const struct gr_type *type =
		gr_types_get(stop->program->types, place->type);
	v->name = place->name;
	v->type = type->name;
	v->addr = place->addr;
	v->bytes = type->size_bytes;
	struct gr_error *err = gr_stop_native(stop, &h.native);
	if (!err)
		err = look(&h, place->name, place->addr, place->type, 0);
	v->is_cut = v->is_cut || h.nwords > MAX_WORDS;
	if (!err)
		*ret = steal_ptr(v);
	return err;
}

struct gr_error *gr_scan_read_variable(struct gr_scan *scan,
				       const struct gr_place *place, size_t max,
				       struct gr_variable **ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_sigbus_guard guard;

	if (!place->is_variable ||
	    place->type >= gr_types_count(answers->stop->program->types))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s is not a variable of a known type",
				       place->name);
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = read_variable(answers->stop, place, max, ret);
	return gr_sigbus_guard_end(&guard, err);
}
