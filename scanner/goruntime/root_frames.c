// SPDX-License-Identifier: Apache-2.0
/*
 * Roots of goroutines: the variables of their frames, by DWARF, where they
 * cover live words; registers, deferred functions. Live words that no
 * variable covers are left to the mask phase.
 */
#include "goruntime/roots.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "goruntime/instance.h"
#include "goruntime/stackmask.h"
#include "goruntime/unwind.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { MAX_PIECED_WORDS = 64 };

/* A variable of a function at one pc, ready to be placed in a frame. */
struct local {
	const char *name;		 /* interned `main.f.x` */
	const char *function, *variable; /* `main.f`, `x` */
	uint32_t generic; /* GR_GENERIC_NONE, or index in pc_locals.generics */
	const char *file;
	uint32_t line;
	gr_type_id type;
	uint64_t bytes;
	bool is_plain; /* in one piece at CFA + offset */
	int64_t offset;
	uint32_t npieces;
	struct gr_location_piece *pieces; /* where it is not plain */
};

/* All variables at a pc: many goroutines stand at the same places. */
struct pc_locals {
	UT_hash_handle hh;
	uint64_t pc;
	struct local *locals;
	size_t count;
	struct gr_generic_vector generics; /* also of inlined functions */
	uint32_t generic;		   /* of the function itself */
};

/* A frame of the goroutine at hand. */
struct frame_locals {
	struct pc_locals *at;
	const struct gr_dictionary *dict; /* or NULL */
};
GR_VECTOR(frame_vector, struct frame_locals);

struct frames {
	struct gr_runtime *rt;
	struct gr_root_list *list;
	struct pc_locals *by_pc;
	struct frame_vector frames;
	struct gr_arena arena;
};

static void frames_deinit(struct frames *f)
{
	struct pc_locals *entry, *next;

	HASH_ITER(hh, f->by_pc, entry, next) {
		HASH_DEL(f->by_pc, entry);
		gr_generic_vector_deinit(&entry->generics);
		free(entry);
	}
	frame_vector_deinit(&f->frames);
	gr_arena_deinit(&f->arena);
}

/* Pieces that follow each other in memory are one. */
static bool is_plain(const struct gr_dwarf_local *local, int64_t *ret)
{
	for (uint32_t i = 0; i < local->npieces; i++) {
		const struct gr_location_piece *p = &local->pieces[i];
		if (p->kind != GR_LOCATION_CFA ||
		    p->offset - (int64_t)p->off_bytes !=
			    local->pieces[0].offset -
				    (int64_t)local->pieces[0].off_bytes)
			return false;
	}
	if (!local->npieces || local->pieces[0].off_bytes)
		return false;
	*ret = local->pieces[0].offset;
	return true;
}

static struct gr_error *make_local(struct frames *f, const struct gr_module *m,
				   const struct gr_dwarf_local *from,
				   struct local *ret)
{
	struct gr_runtime *rt = f->rt;
	const char *name = from->name;
	size_t bytes = from->npieces * sizeof(*ret->pieces);

	// A variable that escaped is kept as a pointer to it, `&x`.
	if (*name == '&')
		name++;
	ret->name = gr_arena_internf(rt->arena, "%s.%s", from->function, name);
	ret->function = from->function;
	ret->variable = name;
	ret->generic = GR_GENERIC_NONE;
	ret->type = gr_types_from_dwarf(rt, m, from->type);
	ret->file = from->file;
	ret->line = from->line;
	ret->is_plain = is_plain(from, &ret->offset);
	if (ret->type == GR_TYPE_NONE)
		return NULL;
	ret->bytes = gr_types_get(rt->types, ret->type)->size_bytes;
	if (ret->is_plain)
		return ret->name ? NULL : &gr_enomem;
	ret->npieces = from->npieces;
	ret->pieces = gr_arena_alloc(&f->arena, bytes + 1);
	if (!ret->pieces || !ret->name)
		return &gr_enomem;
	memcpy(ret->pieces, from->pieces, bytes);
	return NULL;
}

static uint32_t dict_index_of(const struct frames *f, const struct local *local)
{
	return gr_types_get(f->rt->types, local->type)->dict_index;
}

/* Where its functions keep `.dict`, and which dictionaries fit. */
static struct gr_error *find_generics(struct frames *f, struct pc_locals *entry,
				      const struct gr_dwarf_local *found,
				      size_t count)
{
	struct gr_error *err = NULL;
	int64_t off;

	for (size_t i = 0; !err && i < entry->count; i++) {
		struct local *local = &entry->locals[i];
		uint32_t index = dict_index_of(f, local);

		if (!index)
			continue;
		err = gr_generics_add(f->rt, local->function, &entry->generics,
				      &local->generic);
		if (!err && local->generic != GR_GENERIC_NONE)
			err = gr_generic_fit(
				f->rt, &entry->generics.data[local->generic],
				index - 1, local->type);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < entry->generics.size; j++) {
			struct gr_generic *generic = &entry->generics.data[j];

			if (strcmp(found[i].name, ".dict") ||
			    strcmp(found[i].function, generic->function) ||
			    !is_plain(&found[i], &off))
				continue;
			generic->has_dict_off = true;
			generic->dict_off = off;
		}
	return err;
}

static bool has_register(const struct gr_dwarf_local *local)
{
	for (uint32_t i = 0; i < local->npieces; i++)
		if (local->pieces[i].kind == GR_LOCATION_REGISTER)
			return true;
	return false;
}

/*
 * A variable that the call finds in a register and leaves on the stack: its
 * register is lost, and lists of locations give the place on the stack from
 * the return address on only.
 */
static struct gr_error *find_spilled(struct gr_dwarf *dwarf, uint32_t index,
				     uint64_t return_pc,
				     struct gr_dwarf_local *found, size_t count)
{
	_cleanup_free_ struct gr_dwarf_local *later = NULL;
	struct gr_error *err = NULL;
	size_t nlater = 0;

	for (size_t i = 0; i < count; i++) {
		if (!has_register(&found[i]))
			continue;
		if (!later)
			err = gr_dwarf_locals(dwarf, index, return_pc, &later,
					      &nlater);
		if (err)
			return err;
		for (size_t j = 0; j < nlater; j++)
			if (later[j].line == found[i].line &&
			    !strcmp(later[j].name, found[i].name) &&
			    !strcmp(later[j].function, found[i].function) &&
			    !has_register(&later[j]))
				found[i] = later[j];
	}
	return NULL;
}

/* Fill a new entry with the variables of a function at its pc. */
static struct gr_error *read_locals(struct frames *f, struct pc_locals *entry,
				    const struct gr_frame *frame)
{
	const struct gr_module *m = frame->func.module;
	_cleanup_free_ struct gr_dwarf_local *found = NULL;
	struct gr_error *err = NULL;
	size_t count = 0, nfunctions;
	uint32_t index =
		m->dwarf ? gr_dwarf_function_at(m->dwarf, entry->pc - m->bias) :
			   GR_DWARF_NONE;

	entry->generic = GR_GENERIC_NONE;
	if (index != GR_DWARF_NONE)
		err = gr_dwarf_locals(m->dwarf, index, entry->pc - m->bias,
				      &found, &count);
	if (!err && entry->pc != frame->pc)
		err = find_spilled(m->dwarf, index, frame->pc - m->bias, found,
				   count);
	if (gr_error_catch(&err, GR_ERROR_FORMAT)) {
		gr_gap_add(f->rt->gaps, GR_GAP_UNKNOWN_LOCATIONS, 1);
		count = 0;
	}
	if (err)
		return err;
	entry->locals =
		gr_arena_alloc(&f->arena, count * sizeof(*entry->locals) + 1);
	if (!entry->locals)
		return &gr_enomem;
	for (size_t i = 0; i < count; i++) {
		struct local local = { 0 };
		err = make_local(f, m, &found[i], &local);
		if (err)
			return err;
		if (local.type != GR_TYPE_NONE && local.bytes)
			entry->locals[entry->count++] = local;
	}
	if (index != GR_DWARF_NONE)
		err = gr_generics_add(
			f->rt,
			gr_dwarf_functions(m->dwarf, &nfunctions)[index].name,
			&entry->generics, &entry->generic);
	return err ? err : find_generics(f, entry, found, count);
}

static struct gr_error *find_locals(struct frames *f,
				    const struct gr_frame *frame,
				    struct pc_locals **ret)
{
	struct pc_locals *entry;
	uint64_t pc = frame->pc;

	// A return address may lie behind the call's function.
	if (!frame->is_exact_pc && pc > frame->func.entry)
		pc--;
	HASH_FIND(hh, f->by_pc, &pc, sizeof(pc), entry);
	*ret = entry;
	if (entry)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return &gr_enomem;
	entry->pc = pc;
	HASH_ADD(hh, f->by_pc, pc, sizeof(pc), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return &gr_enomem;
	}
	*ret = entry;
	return read_locals(f, entry, frame);
}

/* The variables of all frames of a goroutine, and what their callers say of
 * their instances: from the outermost on. */
static struct gr_error *find_frames(struct frames *f,
				    const struct gr_goroutine *g)
{
	const struct gr_dictionary *dict = NULL;

	f->frames.size = 0;
	if (!frame_vector_reserve(&f->frames, g->nframes))
		return &gr_enomem;
	f->frames.size = g->nframes;
	for (size_t i = g->nframes; i-- > 0;) {
		struct frame_locals *locals = &f->frames.data[i];
		const struct gr_frame *frame = &g->frames[i];
		struct gr_error *err = find_locals(f, frame, &locals->at);

		if (err)
			return err;
		if (locals->at->generic == GR_GENERIC_NONE) {
			locals->dict = dict = NULL;
			continue;
		}
		dict = gr_generic_choose(
			f->rt, &locals->at->generics.data[locals->at->generic],
			g, frame, i + 1 < g->nframes ? frame + 1 : NULL, dict);
		locals->dict = dict;
	}
	return NULL;
}

static struct gr_root frame_root(struct gr_runtime *rt, uint32_t index,
				 const struct gr_frame *frame)
{
	const struct gr_goroutine *g = &rt->goroutines[index];

	return (struct gr_root){
		.goroutine = index,
		.goroutine_state =
			gr_arena_intern(rt->arena, g->state, strlen(g->state)),
		.kind = g->is_system ? GR_ROOT_RUNTIME : GR_ROOT_LOCAL,
		.stratum = gr_roots_frame_stratum(g, frame->func.name),
		.form = GR_ROOT_REGION,
		.type = GR_TYPE_NONE,
	};
}

/* Copy one piece of a variable into @p buf; to the root its live words. */
static bool gather_piece(const struct gr_runtime *rt,
			 const struct gr_goroutine *g,
			 const struct gr_frame *frame,
			 const struct gr_location_piece *piece, uint64_t bytes,
			 uint8_t *buf, struct gr_root *root)
{
	const struct gr_area *stack = &g->stack;
	uint64_t size = piece->size_bytes ? piece->size_bytes :
					    bytes - piece->off_bytes;

	if (piece->off_bytes >= bytes || size > bytes - piece->off_bytes)
		return false;
	uint64_t word = piece->off_bytes / GR_WORD_BYTES;
	int saved = piece->kind == GR_LOCATION_REGISTER && frame->is_preempted ?
			    gr_unwind_saved_off(rt->arch, piece->reg) :
			    -1;
	if (piece->kind == GR_LOCATION_CFA || (saved >= 0 && size <= 8)) {
		uint64_t at = saved < 0 ? frame->fp + piece->offset :
					  frame[-1].sp + saved;
		if (at < stack->start || at > stack->end ||
		    size > stack->end - at || !stack->host)
			return false;
		memcpy(buf + piece->off_bytes,
		       stack->host + (at - stack->start), size);
		root->is_conservative |= gr_area_has_doubt(stack, at, size);
		if (at % GR_WORD_BYTES || piece->off_bytes % GR_WORD_BYTES)
			return true;
		for (uint64_t i = 0; i < size / GR_WORD_BYTES; i++)
			if (gr_bitmap_take(stack->live,
					   (at - stack->start) / GR_WORD_BYTES +
						   i))
				root->live |= UINT64_C(1) << (word + i);
		return true;
	}
	if (piece->kind != GR_LOCATION_REGISTER || !g->has_regs ||
	    !frame->is_innermost || piece->reg >= rt->arch->nregs || size > 8)
		return false;
	memcpy(buf + piece->off_bytes, &g->regs.value[piece->reg], size);
	if (size == GR_WORD_BYTES && piece->off_bytes % GR_WORD_BYTES == 0)
		root->live |= UINT64_C(1) << word;
	return true;
}

/* In a generic's shared code: the name and the type of the instance. */
static struct gr_error *name_instance(struct frames *f, uint32_t index,
				      const struct gr_frame *frame,
				      const struct local *local,
				      struct gr_root *root)
{
	const struct gr_goroutine *g = &f->rt->goroutines[index];
	const struct frame_locals *locals = &f->frames.data[frame - g->frames];
	const struct gr_dictionary *dict = NULL;
	const char *function = local->function;
	struct gr_error *err;
	gr_type_id type;

	if (local->generic == locals->at->generic)
		dict = locals->dict;
	else if (local->generic != GR_GENERIC_NONE)
		dict = gr_generic_choose(
			f->rt, &locals->at->generics.data[local->generic], g,
			frame, NULL, NULL);
	if (!dict) {
		gr_gap_add(f->rt->gaps, GR_GAP_UNRESOLVED_GENERICS, 1);
		return NULL;
	}
	err = gr_dictionary_type(f->rt, dict, dict_index_of(f, local) - 1,
				 local->type, &type);
	if (err)
		return err;
	if (type != GR_TYPE_NONE)
		root->type = type;
	function = gr_dictionary_function_name(f->rt, dict, function);
	root->name = function ? gr_arena_internf(f->rt->arena, "%s.%s",
						 function, local->variable) :
				NULL;
	return root->name ? NULL : &gr_enomem;
}

static struct gr_error *add_named(struct frames *f, uint32_t index,
				  const struct gr_frame *frame,
				  const struct local *local,
				  struct gr_root *root)
{
	struct gr_error *err = NULL;

	root->name = local->name;
	root->type = local->type;
	root->bytes = local->bytes;
	root->file = local->file;
	root->line = local->line;
	if (dict_index_of(f, local))
		err = name_instance(f, index, frame, local, root);
	if (err)
		return err;
	return gr_root_list_append(f->list, *root) ? NULL : &gr_enomem;
}

/* A variable in pieces or registers: put it together. */
static struct gr_error *add_pieced(struct frames *f, uint32_t index,
				   const struct gr_frame *frame,
				   const struct local *local)
{
	struct gr_runtime *rt = f->rt;
	struct gr_root root = frame_root(rt, index, frame);

	if (local->bytes > MAX_PIECED_WORDS * GR_WORD_BYTES)
		return NULL;
	uint8_t *buf = gr_arena_alloc(rt->arena, local->bytes + GR_WORD_BYTES);
	if (!buf)
		return &gr_enomem;
	for (uint32_t i = 0; i < local->npieces; i++) {
		if (local->pieces[i].kind == GR_LOCATION_UNKNOWN)
			gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_LOCATIONS, 1);
		gather_piece(rt, &rt->goroutines[index], frame,
			     &local->pieces[i], local->bytes, buf, &root);
	}
	if (!root.live)
		return NULL;
	// Registers are live by DWARF only, not by a map.
	for (uint32_t i = 0; i < local->npieces; i++)
		if (local->pieces[i].kind == GR_LOCATION_REGISTER)
			root.is_conservative = true;
	root.bytes_at = buf;
	return add_named(f, index, frame, local, &root);
}

static struct gr_error *add_plain(struct frames *f, uint32_t index,
				  const struct gr_frame *frame,
				  const struct local *local)
{
	const struct gr_area *stack = &f->rt->goroutines[index].stack;
	struct gr_root root = frame_root(f->rt, index, frame);
	uint64_t addr = frame->fp + local->offset;

	if (!gr_area_has_live(stack, addr, local->bytes))
		return NULL;
	root.is_conservative = gr_area_has_doubt(stack, addr, local->bytes);
	root.addr = addr;
	return add_named(f, index, frame, local, &root);
}

static int compare_addr(const void *a, const void *b)
{
	const struct gr_root *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct gr_error *add_frame(struct frames *f, uint32_t index,
				  const struct gr_frame *frame)
{
	const struct pc_locals *at =
		f->frames.data[frame - f->rt->goroutines[index].frames].at;
	struct gr_error *err = NULL;
	size_t first = f->list->size;

	for (size_t i = 0; !err && i < at->count; i++)
		if (at->locals[i].is_plain)
			err = add_plain(f, index, frame, &at->locals[i]);
	if (err)
		return err;
	if (f->list->size > first + 1)
		qsort(f->list->data + first, f->list->size - first,
		      sizeof(*f->list->data), compare_addr);
	for (size_t i = 0; !err && i < at->count; i++)
		if (!at->locals[i].is_plain)
			err = add_pieced(f, index, frame, &at->locals[i]);
	return err;
}

/* Registers and deferred functions: values that have no address. */
static struct gr_error *add_value(struct frames *f, uint32_t index,
				  const struct gr_value_root *value)
{
	struct gr_runtime *rt = f->rt;
	const struct gr_goroutine *g = &rt->goroutines[index];
	static const enum gr_root_kind kinds[] = {
		[GR_VALUE_REGISTER] = GR_ROOT_REGISTER,
		[GR_VALUE_DEFER] = GR_ROOT_DEFER,
		[GR_VALUE_PANIC] = GR_ROOT_DEFER,
		[GR_VALUE_CTXT] = GR_ROOT_REGISTER,
	};
	const struct gr_frame *frame =
		value->frame < g->nframes ? &g->frames[value->frame] : NULL;
	const char *function = frame ? frame->func.name :
				       gr_goroutine_no_frame(g);
	struct gr_root root = {
		.goroutine = index,
		.form = GR_ROOT_VALUE,
		.is_conservative = value->conservative,
		.type = GR_TYPE_NONE,
		.addr = value->value,
		.kind = kinds[value->kind],
		.stratum = gr_roots_frame_stratum(g, function),
	};

	if (!value->value)
		return NULL;
	if (g->is_system)
		root.kind = GR_ROOT_RUNTIME;
	// A deferred function is a user's, also where the runtime holds it.
	if (value->kind == GR_VALUE_DEFER && !g->is_system)
		root.stratum = GR_STRATUM_USER;
	root.is_func = value->kind == GR_VALUE_DEFER ||
		       value->kind == GR_VALUE_CTXT;
	root.name = gr_arena_internf(rt->arena, "%s.%s", function,
				     value->name_suffix);
	root.goroutine_state =
		gr_arena_intern(rt->arena, g->state, strlen(g->state));
	if (frame)
		gr_func_line(&frame->func, frame->pc, &root.file, &root.line);
	if (!root.name || !root.goroutine_state ||
	    !gr_root_list_append(f->list, root))
		return &gr_enomem;
	return NULL;
}

struct gr_error *gr_roots_add_goroutines(struct gr_runtime *rt,
					 struct gr_root_list *ret)
{
	_cleanup_(frames_deinit) struct frames f = { .rt = rt, .list = ret };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < rt->ngoroutines; i++) {
		const struct gr_goroutine *g = &rt->goroutines[i];

		if (i % 1024 == 0)
			err = rt->poll(rt->poll_ctx);
		if (!err)
			err = find_frames(&f, g);
		for (size_t j = 0; !err && j < g->nframes; j++)
			err = add_frame(&f, i, &g->frames[j]);
		for (size_t j = 0; !err && j < g->nvalues; j++)
			err = add_value(&f, i, &g->values[j]);
	}
	return err;
}
