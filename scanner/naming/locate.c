// SPDX-License-Identifier: Apache-2.0
/* The memory at an address, without a walk. */
#include "naming/locate.h"

#include "native/class_name.h"
#include "naming/memory_name.h"
#include "scan/enter.h"
#include "scan/native.h"

#include "inferior/elf.h"
#include "inferior/saved_target.h"

#include "goruntime/layout/c_variable.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/symbols.h"

#include <inttypes.h>

const char *gr_located_kind_name(enum gr_located_kind kind)
{
	static const char *const names[] = {
#define X(id, name) name,
		GR_LOCATED_KINDS(X)
#undef X
	};

	return names[kind];
}

/* Find the package variable that contains an address of data. */
static bool find_variable(struct gr_program *program, const struct gr_module *m,
			  struct gr_located *at)
{
	size_t count, ntypes;

	if (!m->dwarf)
		return false;
	const struct gr_dwarf_variable *v =
		gr_dwarf_variables(m->dwarf, &count);
	const struct gr_dwarf_type *types = gr_dwarf_types(m->dwarf, &ntypes);
	for (size_t i = 0; i < count; i++) {
		uint64_t base = v[i].addr + m->bias;
		if (at->addr < base || v[i].type >= ntypes ||
		    at->addr - base >= types[v[i].type].size_bytes)
			continue;
		gr_type_id id =
			gr_types_from_dwarf(program->types, m, v[i].type);
		at->base_addr = base;
		at->bytes = types[v[i].type].size_bytes;
		at->name = v[i].name;
		at->type_id = id;
		at->type = gr_memory_name(program, id);
		return true;
	}
	return false;
}

/* Find the symbol of an address, if there is no debug information. */
static void find_symbol(struct gr_runtime *rt, struct gr_located *at)
{
	for (size_t i = 0; i < rt->nsymbols; i++) {
		const struct gr_symbol *symbol = &rt->symbols[i];
		if (at->addr < symbol->addr ||
		    at->addr - symbol->addr >= symbol->bytes)
			continue;
		at->base_addr = symbol->addr;
		at->bytes = symbol->bytes;
		at->name = symbol->name;
		return;
	}
}

static bool locate_text(struct gr_runtime *rt, struct gr_located *at)
{
	struct gr_func func;

	if (!gr_func_find(rt, at->addr, &func))
		return false;
	at->kind = GR_LOCATED_TEXT;
	at->base_addr = func.entry;
	at->name = func.name;
	at->text = gr_arena_internf(rt->arena, "text: %s+0x%" PRIx64, func.name,
				    at->addr - func.entry);
	return true;
}

/* Locate an address in data, bss or read-only data of a module. */
static bool locate_data(struct gr_program *program, const struct gr_module *m,
			struct gr_located *at)
{
	const struct {
		const char *name;
		uint64_t start, end;
	} parts[] = {
		{ "data", m->data, m->edata },
		{ "bss", m->bss, m->ebss },
		{ "noptrdata", m->noptrdata, m->enoptrdata },
		{ "noptrbss", m->noptrbss, m->enoptrbss },
		{ "type data", m->types, m->etypes },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(parts); i++) {
		if (at->addr < parts[i].start || at->addr >= parts[i].end)
			continue;
		at->kind = GR_LOCATED_DATA;
		at->section = parts[i].name;
		if (!find_variable(program, m, at))
			find_symbol(&program->rt, at);
		at->text = gr_arena_internf(&program->arena, "%s%s%s",
					    at->section,
					    *at->name ? ": variable " : "",
					    at->name);
		return true;
	}
	return false;
}

const char *gr_data_section(const struct gr_image *image, size_t module,
			    uint64_t addr)
{
	const struct gr_elf *elf =
		module == SIZE_MAX ? NULL : gr_image_elf(image, module);
	uint64_t off = addr - (elf ? gr_image_bias(image, module) : 0);

	for (size_t i = 0; elf && i < elf->phnum; i++) {
		const Elf64_Phdr header = gr_elf_program_header(elf, i);

		if (header.p_type == PT_LOAD && header.p_flags & PF_W &&
		    off - header.p_vaddr < header.p_memsz)
			return off - header.p_vaddr < header.p_filesz ? "data" :
									"bss";
	}
	return NULL;
}

/* Describe a variable of C by the symbol that has the address, and its type by
 * debug information. */
static struct gr_error *find_c_variable(struct gr_stop *stop,
					struct gr_located *at)
{
	struct gr_c_variable variable;
	struct gr_c_typed typed;
	struct gr_error *err =
		gr_c_variable_find(&stop->program->rt, at->addr, &variable);

	if (err || !variable.name)
		return err;
	at->base_addr = variable.addr;
	at->bytes = variable.bytes;
	err = gr_variable_name(stop->program->rt.arena, variable.name,
			       &at->name);
	if (!err)
		err = gr_stop_c_variable(stop, at->addr, &typed);
	if (!err && typed.addr == at->base_addr)
		at->type = gr_memory_name(stop->program, typed.type);
	return err;
}

/* Locate an address in data or bss that is not Go's. */
static struct gr_error *locate_c_data(struct gr_stop *stop,
				      struct gr_located *at, bool *ret)
{
	struct gr_arena *arena = stop->program->rt.arena;
	size_t module = gr_image_module_at(stop->image, at->addr);
	const char *section = gr_data_section(stop->image, module, at->addr);

	*ret = section;
	if (!section)
		return NULL;
	const char *path = gr_image_module_name(stop->image, module);
	const char *slash = strrchr(path, '/');
	struct gr_error *err = find_c_variable(stop, at);
	if (err)
		return err;
	at->kind = GR_LOCATED_DATA;
	at->section = section;
	at->text = *at->name ? gr_arena_internf(arena, "%s: variable %s",
						section, at->name) :
			       gr_arena_internf(arena, "%s of %s", section,
						slash ? slash + 1 : path);
	return NULL;
}

static void locate_frame(struct gr_runtime *rt, const struct gr_goroutine *g,
			 struct gr_located *at)
{
	for (size_t i = 0; i < g->nframes; i++) {
		const struct gr_frame *frame = &g->frames[i];

		if (at->addr < frame->sp || at->addr >= frame->fp)
			continue;
		at->base_addr = frame->sp;
		at->bytes = frame->fp - frame->sp;
		at->name = frame->func->name;
		at->text = gr_arena_internf(rt->arena,
					    "stack of goroutine %" PRIu64
					    ", frame of %s",
					    g->goid, frame->func->name);
		return;
	}
}

static bool locate_stack(struct gr_sched *sched, struct gr_located *at)
{
	const struct gr_goroutine *g = NULL;

	for (size_t i = 0; i < sched->ngoroutines && !g; i++) {
		const struct gr_goroutine *one = &sched->goroutines[i];

		if (at->addr >= one->stack_lo && at->addr < one->stack_hi)
			g = one;
	}
	if (!g)
		return false;
	at->kind = g->is_g0 ? GR_LOCATED_SYSTEM_STACK : GR_LOCATED_STACK;
	at->text = "system stack of a thread";
	if (g->is_g0)
		return true;
	at->goroutine_id = g->goid;
	at->text = gr_arena_internf(sched->rt->arena,
				    "stack of goroutine %" PRIu64, g->goid);
	locate_frame(sched->rt, g, at);
	return true;
}

/* Signal handlers run on a separate stack, that of m.gsignal. */
static bool is_on_signal_stack(struct gr_sched *sched, uint64_t addr)
{
	const struct gr_layout *layout = &sched->rt->layout;
	uint64_t g, lo, hi;

	for (size_t i = 0; i < sched->nms; i++) {
		struct gr_error *err = gr_image_read_u64(
			sched->rt->image, sched->ms[i] + layout->m.gsignal.off,
			&g);
		if (!err)
			err = gr_image_read_u64(sched->rt->image,
						g + layout->g.stack_lo.off,
						&lo);
		if (!err)
			err = gr_image_read_u64(sched->rt->image,
						g + layout->g.stack_hi.off,
						&hi);
		if (!err && addr >= lo && addr < hi)
			return true;
		gr_error_destroy(err);
	}
	return false;
}

/* Locate an address in a span: in an object, in a free slot or at the end. */
static void locate_slot(struct gr_stop *stop, const struct gr_span *span,
			struct gr_located *at)
{
	at->spanclass = span->spanclass;
	if (at->addr >= span->limit_addr) {
		at->kind = GR_LOCATED_SPAN_END;
		at->text = "unused end of a heap span";
		return;
	}
	uint32_t index = gr_span_index(span, at->addr - span->base_addr);
	at->slot_bytes = at->bytes = span->elem_bytes;
	at->base_addr = gr_span_slot_addr(span, index);
	if (!gr_heap_is_allocated(stop->heap, span->first_obj + index)) {
		at->kind = GR_LOCATED_FREE_SLOT;
		at->text = "free slot of the heap";
		return;
	}
	at->kind = GR_LOCATED_OBJECT;
	at->base_addr += span->header_bytes;
	at->bytes -= span->header_bytes;
	at->type = gr_memory_header_type(stop->program, span, index);
}

/* Is an address in an arena of the heap? One without objects is known to the
 * runtime's index alone. The copy of a process lacks the index; a file has what
 * the index says of resident memory. */
static struct gr_error *is_in_heap(struct gr_heap *heap, uint64_t addr,
				   bool *ret)
{
	uint64_t record = gr_heap_arena_at(heap, addr);
	struct gr_error *err =
		record ? NULL : gr_heap_arena_record(heap->rt, addr, &record);

	gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	*ret = record;
	return err;
}

static struct gr_error *locate_mapping(struct gr_heap *heap,
				       struct gr_located *at)
{
	struct gr_mapping_info mapping;
	bool is_heap = false;

	if (!gr_image_mapping(heap->rt->image, at->addr, &mapping)) {
		at->kind = GR_LOCATED_UNMAPPED;
		at->text = "unmapped";
		return NULL;
	}
	if (mapping.path && strstr(mapping.path, GR_UNSAVED_PATH)) {
		at->kind = GR_LOCATED_MAPPED_FILE;
		at->text =
			*mapping.path == '/' ?
				"mapped from a file whose path is not saved" :
				"mapped memory whose name is not saved";
		return NULL;
	}
	if (mapping.path) {
		at->kind = GR_LOCATED_MAPPED_FILE;
		at->name = gr_arena_intern(heap->rt->arena, mapping.path,
					   strlen(mapping.path));
		at->text = gr_arena_internf(heap->rt->arena, "mapped from %s",
					    mapping.path);
		return NULL;
	}
	struct gr_error *err = is_in_heap(heap, at->addr, &is_heap);
	at->kind = is_heap ? GR_LOCATED_FREE_HEAP : GR_LOCATED_OUTSIDE;
	at->text = is_heap ? "free memory of the Go heap" :
			     "memory outside the Go heap";
	return err;
}

struct gr_error *gr_stop_locate(struct gr_stop *stop, uint64_t addr,
				struct gr_located *ret)
{
	const struct gr_span *span = gr_heap_span_at(stop->heap, addr);
	struct gr_error *err = NULL;
	bool is_found = span;

	*ret = (struct gr_located){
		.addr = addr,
		.type = "",
		.name = "",
		.section = "",
		.text = "",
		.type_id = GR_TYPE_NONE,
	};
	if (span)
		locate_slot(stop, span, ret);
	if (!is_found)
		is_found = locate_stack(&stop->sched, ret);
	if (!is_found && is_on_signal_stack(&stop->sched, addr)) {
		ret->kind = GR_LOCATED_SIGNAL_STACK;
		ret->text = "signal stack of a thread";
		is_found = true;
	}
	if (!is_found)
		is_found = locate_text(&stop->program->rt, ret);
	for (size_t i = 0; !is_found && i < stop->program->rt.nmodules; i++)
		is_found = locate_data(stop->program,
				       &stop->program->rt.modules[i], ret);
	if (!is_found)
		err = locate_c_data(stop, ret, &is_found);
	if (!err && !is_found)
		err = locate_mapping(stop->heap, ret);
	return err || (ret->text && ret->name) ? err : &gr_enomem;
}

struct gr_error *gr_stop_locate_c(struct gr_stop *stop,
				  const struct gr_located *at, const char **ret)
{
	struct gr_arena *arena = &stop->program->arena;
	struct gr_native *native = NULL;
	struct gr_error *err = NULL;
	uint64_t of;

	*ret = at->text;
	if (at->kind == GR_LOCATED_OUTSIDE ||
	    at->kind == GR_LOCATED_MAPPED_FILE)
		err = gr_stop_native(stop, &native);
	if (err || !native)
		return err;
	if (gr_blocks_find(&native->blocks, at->addr) != GR_BLOCK_NONE) {
		*ret = "";
		return NULL;
	}
	switch (gr_native_gap_at(native, at->addr, &of)) {
	case GR_GAP_NONE:
		break;
	case GR_GAP_FREE:
		*ret = gr_arena_internf(arena,
					"free memory of malloc (arena "
					"0x%" PRIx64 ")",
					of);
		break;
	case GR_GAP_HEADER:
		*ret = gr_arena_internf(
			arena, "header of the C block at 0x%" PRIx64, of);
	}
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_scan_locate(struct gr_scan *scan, uint64_t addr,
				struct gr_located *ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = gr_stop_locate(answers->stop, addr, ret);
	return gr_sigbus_guard_end(&guard, err);
}
