// SPDX-License-Identifier: Apache-2.0
#include "goruntime/roots/frame_locals.h"

#include "base/cleanup.h"
#include "goruntime/sched/unwind.h"

enum {
	FRAME_STEPS = 4,
	/** Limits for variables in registers at a call, and for all. */
	MAX_SPILLED = 1 << 10,
	MAX_VARIABLES = 1 << 14,
};

void gr_frame_locals_deinit(struct gr_frame_locals *f)
{
	struct gr_pc_locals *entry, *next;

	HASH_ITER(hh, f->by_pc, entry, next) {
		HASH_DEL(f->by_pc, entry);
		gr_generic_vector_deinit(&entry->generics);
		free(entry);
	}
	gr_frame_local_vector_deinit(&f->frames);
	gr_arena_deinit(&f->arena);
}

/* Return true if all pieces follow each other in memory, from CFA + *ret. */
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

static struct gr_error *make_local(struct gr_frame_locals *f,
				   const struct gr_module *m,
				   const struct gr_dwarf_local *from,
				   struct gr_local *ret)
{
	struct gr_runtime *rt = gr_types_runtime(f->types);
	const char *name = from->name;
	size_t bytes = from->npieces * sizeof(*ret->pieces);
	struct gr_error *err = gr_runtime_step_name(rt, name);

	if (!err)
		err = gr_runtime_step_name(rt, from->function);
	if (err)
		return err;
	// DWARF has a variable that escaped as a pointer to it, `&x`.
	ret->is_escaped = *name == '&';
	if (ret->is_escaped)
		name++;
	ret->name = gr_arena_internf(rt->arena, "%s.%s", from->function, name);
	ret->function = from->function;
	ret->variable = name;
	ret->generic = GR_GENERIC_NONE;
	ret->type = gr_types_from_dwarf(f->types, m, from->type);
	ret->file = from->file;
	ret->line = from->line;
	ret->depth = from->depth;
	ret->is_param = from->is_param;
	ret->is_plain = is_plain(from, &ret->offset);
	if (ret->type == GR_TYPE_NONE)
		return NULL;
	ret->bytes = gr_types_get(f->types, ret->type)->size_bytes;
	if (ret->is_plain)
		return ret->name ? NULL : &gr_enomem;
	ret->npieces = from->npieces;
	ret->pieces = gr_arena_alloc(&f->arena, bytes + 1);
	if (!ret->pieces || !ret->name)
		return &gr_enomem;
	memcpy(ret->pieces, from->pieces, bytes);
	return NULL;
}

static uint32_t dict_index_of(const struct gr_frame_locals *f,
			      const struct gr_local *local)
{
	return gr_types_get(f->types, local->type)->dict_index;
}

/* Find the place of `.dict` in the entry's functions, and the dictionaries that
 * fit their variables. */
static struct gr_error *find_generics(struct gr_frame_locals *f,
				      struct gr_pc_locals *entry,
				      const struct gr_dwarf_local *found,
				      size_t count)
{
	struct gr_error *err = NULL;
	int64_t off;

	for (size_t i = 0; !err && i < entry->count; i++) {
		struct gr_local *local = &entry->locals[i];
		uint32_t index = dict_index_of(f, local);

		if (!index)
			continue;
		err = gr_generics_add(f->types, local->function,
				      &entry->generics, &local->generic);
		if (!err && local->generic != GR_GENERIC_NONE)
			err = gr_generic_fit(
				f->types, &entry->generics.data[local->generic],
				index - 1, local->type);
	}
	for (size_t i = 0; !err && i < count; i++) {
		if (strcmp(found[i].name, ".dict") ||
		    !is_plain(&found[i], &off))
			continue;
		err = gr_runtime_step(gr_types_runtime(f->types),
				      1 + entry->generics.size);
		for (size_t j = 0; j < entry->generics.size; j++) {
			struct gr_generic *generic = &entry->generics.data[j];

			if (strcmp(found[i].function, generic->function))
				continue;
			generic->has_dict_off = true;
			generic->dict_off = off;
		}
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
 * Find the stack location of variables that are in a register before a call
 * and on the stack after it. The register is lost during the call, and the
 * location list gives the stack location only from the return address on.
 */
static struct gr_error *find_spilled(struct gr_runtime *rt,
				     struct gr_dwarf *dwarf, uint32_t index,
				     uint64_t return_pc,
				     struct gr_dwarf_local *found, size_t count)
{
	_cleanup_free_ struct gr_dwarf_local *later = NULL;
	struct gr_error *err = NULL;
	size_t nlater = 0, nspilled = 0;

	for (size_t i = 0; i < count; i++) {
		if (!has_register(&found[i]) || ++nspilled > MAX_SPILLED)
			continue;
		if (!later)
			err = gr_dwarf_locals(dwarf, index, return_pc, &later,
					      &nlater);
		if (!err)
			err = gr_runtime_step(rt, 1 + nlater / 16);
		if (err)
			return err;
		for (size_t j = 0; j < nlater && nlater < MAX_VARIABLES; j++)
			if (later[j].line == found[i].line &&
			    !strcmp(later[j].name, found[i].name) &&
			    !strcmp(later[j].function, found[i].function) &&
			    !has_register(&later[j]))
				found[i] = later[j];
	}
	return NULL;
}

/* Fill a new entry with the variables of a function at its pc. */
static struct gr_error *read_locals(struct gr_frame_locals *f,
				    struct gr_pc_locals *entry,
				    const struct gr_frame *frame)
{
	const struct gr_module *m = frame->func->module;
	_cleanup_free_ struct gr_dwarf_local *found = NULL;
	struct gr_error *err = NULL;
	size_t count = 0, nfunctions;
	uint32_t index =
		m->dwarf ? gr_dwarf_function_at(m->dwarf, entry->pc - m->bias) :
			   GR_DWARF_NONE;

	entry->generic = GR_GENERIC_NONE;
	if (index != GR_DWARF_NONE)
		err = (f->with_lost ? gr_dwarf_all_locals : gr_dwarf_locals)(
			m->dwarf, index, entry->pc - m->bias, &found, &count);
	if (!err && entry->pc != frame->pc)
		err = find_spilled(gr_types_runtime(f->types), m->dwarf, index,
				   frame->pc - m->bias, found, count);
	if (gr_error_catch(&err, GR_ERROR_FORMAT)) {
		gr_gap_add(gr_types_runtime(f->types)->gaps,
			   GR_GAP_UNKNOWN_LOCATIONS, 1);
		count = 0;
	}
	if (err)
		return err;
	entry->locals =
		gr_arena_alloc(&f->arena, count * sizeof(*entry->locals) + 1);
	if (!entry->locals)
		return &gr_enomem;
	for (size_t i = 0; i < count; i++) {
		struct gr_local local = { 0 };
		err = make_local(f, m, &found[i], &local);
		if (err)
			return err;
		if (local.type != GR_TYPE_NONE && (local.bytes || f->with_lost))
			entry->locals[entry->count++] = local;
	}
	if (index != GR_DWARF_NONE)
		err = gr_generics_add(
			f->types,
			gr_dwarf_functions(m->dwarf, &nfunctions)[index].name,
			&entry->generics, &entry->generic);
	return err ? err : find_generics(f, entry, found, count);
}

static struct gr_error *find_locals(struct gr_frame_locals *f,
				    const struct gr_frame *frame,
				    struct gr_pc_locals **ret)
{
	struct gr_pc_locals *entry;
	uint64_t pc = frame->pc;

	// A return address may lie beyond the end of the calling function.
	if (!frame->is_exact_pc && pc > frame->func->entry)
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

/* Find the variables and the dictionary of every frame of a goroutine. The
 * outermost frame comes first, because callers determine the instance. */
struct gr_error *gr_frame_locals_find(struct gr_frame_locals *f,
				      const struct gr_goroutine *g)
{
	const struct gr_dictionary *dict = NULL;

	f->frames.size = 0;
	if (!gr_frame_local_vector_reserve(&f->frames, g->nframes))
		return &gr_enomem;
	f->frames.size = g->nframes;
	for (size_t i = g->nframes; i-- > 0;) {
		struct gr_frame_local *locals = &f->frames.data[i];
		const struct gr_frame *frame = &g->frames[i];
		struct gr_error *err = gr_runtime_step(
			gr_types_runtime(f->types), FRAME_STEPS);

		if (!err)
			err = find_locals(f, frame, &locals->at);
		if (err)
			return err;
		if (locals->at->generic == GR_GENERIC_NONE) {
			locals->dict = dict = NULL;
			continue;
		}
		dict = gr_generic_choose(
			f->types,
			&locals->at->generics.data[locals->at->generic], g,
			frame, i + 1 < g->nframes ? frame + 1 : NULL, dict);
		locals->dict = dict;
	}
	return NULL;
}

bool gr_local_is_generic(const struct gr_frame_locals *f,
			 const struct gr_local *local)
{
	return dict_index_of(f, local) != 0;
}

struct gr_error *gr_frame_instance(struct gr_frame_locals *f,
				   const struct gr_goroutine *g,
				   const struct gr_frame *frame,
				   const struct gr_local *local,
				   gr_type_id *type, const char **function)
{
	const struct gr_frame_local *locals =
		&f->frames.data[frame - g->frames];
	const struct gr_dictionary *dict = NULL;
	struct gr_error *err;
	gr_type_id found;

	*function = NULL;
	if (local->generic == locals->at->generic)
		dict = locals->dict;
	else if (local->generic != GR_GENERIC_NONE)
		dict = gr_generic_choose(
			f->types, &locals->at->generics.data[local->generic], g,
			frame, NULL, NULL);
	if (!dict)
		return NULL;
	err = gr_dictionary_type(f->types, dict, dict_index_of(f, local) - 1,
				 local->type, &found);
	if (err)
		return err;
	if (found != GR_TYPE_NONE)
		*type = found;
	*function =
		gr_dictionary_function_name(f->types, dict, local->function);
	return *function ? NULL : &gr_enomem;
}

const uint8_t *gr_frame_piece(const struct gr_runtime *rt,
			      const struct gr_goroutine *g,
			      const struct gr_frame *frame,
			      const struct gr_location_piece *piece,
			      uint64_t bytes, uint64_t *size, uint64_t *at)
{
	const struct gr_area *stack = &g->stack;

	*at = 0;
	*size = piece->size_bytes ? piece->size_bytes :
				    bytes - piece->off_bytes;
	if (piece->off_bytes >= bytes || *size > bytes - piece->off_bytes)
		return NULL;
	int saved = piece->kind == GR_LOCATION_REGISTER && frame->is_preempted ?
			    gr_unwind_saved_off(rt->arch, piece->reg) :
			    -1;
	if (piece->kind == GR_LOCATION_CFA || (saved >= 0 && *size <= 8)) {
		*at = saved < 0 ? frame->fp + piece->offset :
				  frame[-1].sp + saved;
		if (*at < stack->start || *at > stack->end ||
		    *size > stack->end - *at || !stack->host)
			return NULL;
		return stack->host + (*at - stack->start);
	}
	if (piece->kind != GR_LOCATION_REGISTER || !g->regs ||
	    g->regs->is_partial || !frame->is_innermost ||
	    piece->reg >= rt->arch->nregs || *size > 8)
		return NULL;
	return (const uint8_t *)&g->regs->value[piece->reg];
}
