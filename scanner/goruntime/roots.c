// SPDX-License-Identifier: Apache-2.0
/* Areas, package variables, and names of words without a variable. */
#include "goruntime/roots.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "goruntime/unwind.h"
#include "goruntime/symbols.h"

#define OWNER_MODULE(i) (UINT32_MAX - (uint32_t)(i))

void gr_roots_deinit(struct gr_roots *roots)
{
	// Stacks' bits belong to their goroutines, those of data to us.
	for (size_t i = 0; i < roots->areas.count; i++)
		if (roots->areas.owners[i] > UINT32_MAX / 2)
			free(roots->areas.areas[i].live);
	free(roots->areas.areas);
	free(roots->areas.owners);
	gr_root_list_deinit(&roots->list);
}

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool is_runtime_name(const char *name)
{
	return has_prefix(name, "runtime.") || has_prefix(name, "internal/") ||
	       has_prefix(name, "runtime/internal/");
}

/*
 * Whom a package variable gives way to. sync's lists of pools (sync/pool.go)
 * are bookkeeping like the runtime's, and lead into whatever has a pool in it.
 */
static enum gr_stratum global_stratum(const char *name)
{
	if (is_runtime_name(name))
		return GR_STRATUM_RUNTIME;
	return !strcmp(name, "sync.allPools") ||
			       !strcmp(name, "sync.oldPools") ?
		       GR_STRATUM_DEFERRED :
		       GR_STRATUM_USER;
}

static enum gr_root_kind global_kind(enum gr_stratum stratum)
{
	return stratum == GR_STRATUM_RUNTIME ? GR_ROOT_RUNTIME : GR_ROOT_GLOBAL;
}

enum gr_stratum gr_roots_frame_stratum(const struct gr_goroutine *g,
				       const char *function)
{
	if (g->is_system)
		return GR_STRATUM_RUNTIME;
	// Frames of the runtime below a user's say less than the user's own.
	return has_prefix(function, "runtime.") ||
			       has_prefix(function, "internal/runtime/") ?
		       GR_STRATUM_DEFERRED :
		       GR_STRATUM_USER;
}

/* data or bss of a module, with the runtime's mask as live bits. */
static struct gr_error *add_module_area(struct gr_runtime *rt, uint64_t start,
					uint64_t end, const uint8_t *mask,
					uint64_t bits, uint32_t owner,
					struct gr_area_list *list)
{
	struct gr_area *area = &list->areas[list->count];
	struct gr_error *err;

	if (start >= end || start % GR_WORD_BYTES ||
	    end - start > UINT64_C(1) << 32)
		return NULL;
	memset(area, 0, sizeof(*area));
	area->start = start;
	area->end = end & ~UINT64_C(7);
	area->live = gr_bitmap_alloc((end - start) / GR_WORD_BYTES + 64);
	if (!area->live)
		return &gr_enomem;
	list->owners[list->count++] = owner;
	if (mask)
		memcpy(area->live, mask, (bits + 7) / 8);
	if (bits % 8)
		gr_bitmap_clear_range(area->live, bits, (bits + 7) / 8 * 8);
	err = gr_image_map_torn(rt->image, area->start, area->end - area->start,
				&area->host);
	return err;
}

struct area_and_owner {
	struct gr_area area;
	uint32_t owner;
};

static int compare_areas(const void *a, const void *b)
{
	const struct area_and_owner *x = a, *y = b;

	if (x->area.start != y->area.start)
		return x->area.start < y->area.start ? -1 : 1;
	return 0;
}

/* Sort by address; of areas that overlap the first one stays. */
static struct gr_error *sort_areas(struct gr_area_list *list)
{
	_cleanup_free_ struct area_and_owner *all =
		calloc(list->count + 1, sizeof(*all));
	size_t kept = 0;

	if (!all)
		return &gr_enomem;
	for (size_t i = 0; i < list->count; i++)
		all[i] = (struct area_and_owner){ list->areas[i],
						  list->owners[i] };
	qsort(all, list->count, sizeof(*all), compare_areas);
	for (size_t i = 0; i < list->count; i++) {
		if (kept && all[i].area.start < list->areas[kept - 1].end) {
			if (all[i].owner > UINT32_MAX / 2)
				free(all[i].area.live);
			continue;
		}
		list->areas[kept] = all[i].area;
		list->owners[kept++] = all[i].owner;
	}
	list->count = kept;
	return NULL;
}

static struct gr_error *collect_areas(struct gr_runtime *rt,
				      struct gr_area_list *list)
{
	struct gr_error *err = NULL;
	size_t most = rt->nmodules * 2 + rt->ngoroutines;

	list->areas = calloc(most + 1, sizeof(*list->areas));
	list->owners = calloc(most + 1, sizeof(*list->owners));
	if (!list->areas || !list->owners)
		return &gr_enomem;
	for (size_t i = 0; !err && i < rt->nmodules; i++) {
		const struct gr_module *m = &rt->modules[i];
		err = add_module_area(rt, m->data, m->edata, m->data_mask,
				      m->data_mask_bits, OWNER_MODULE(i), list);
		if (!err)
			err = add_module_area(rt, m->bss, m->ebss, m->bss_mask,
					      m->bss_mask_bits, OWNER_MODULE(i),
					      list);
	}
	for (size_t i = 0; !err && i < rt->ngoroutines; i++) {
		const struct gr_area *stack = &rt->goroutines[i].stack;
		if (stack->start >= stack->end || !stack->host || !stack->live)
			continue;
		list->areas[list->count] = *stack;
		list->owners[list->count++] = i;
	}
	return err ? err : sort_areas(list);
}

static const char *intern(struct gr_runtime *rt, const char *text)
{
	return gr_arena_intern(rt->arena, text, strlen(text));
}

/* Every package variable in data or bss; no pointer words: left out later. */
static struct gr_error *add_globals(struct gr_runtime *rt,
				    const struct gr_module *m,
				    struct gr_root_list *ret)
{
	size_t nvariables, ntypes;
	const struct gr_dwarf_variable *variables =
		gr_dwarf_variables(m->dwarf, &nvariables);
	const struct gr_dwarf_type *types = gr_dwarf_types(m->dwarf, &ntypes);

	for (size_t i = 0; i < nvariables; i++) {
		uint64_t addr = variables[i].addr + m->bias;
		struct gr_root root = {
			.goroutine = UINT32_MAX,
			.form = GR_ROOT_REGION,
			.addr = addr,
		};

		if (!((addr >= m->data && addr < m->edata) ||
		      (addr >= m->bss && addr < m->ebss)) ||
		    variables[i].type >= ntypes)
			continue;
		root.name = intern(rt, variables[i].name);
		root.stratum = global_stratum(variables[i].name);
		root.kind = global_kind(root.stratum);
		root.type = gr_types_from_dwarf(rt, m, variables[i].type);
		root.bytes = types[variables[i].type].size_bytes;
		if (!root.name || !gr_root_list_append(ret, root))
			return &gr_enomem;
	}
	return NULL;
}

/* Types of listed roots, by the runtime records that they came with. */
static struct gr_error *add_lists(struct gr_runtime *rt,
				  const struct gr_root_list *lists,
				  struct gr_root_list *ret)
{
	struct gr_error *err;
	bool is_live = true;

	for (size_t i = 0; i < lists->size; i++) {
		struct gr_root root = lists->data[i];
		gr_type_id type;

		if (!root.name) {
			err = gr_roots_place_wait(rt, &root, &is_live);
			if (err)
				return err;
			if (!is_live)
				continue;
		} else if (root.type_addr) {
			err = gr_types_from_runtime(rt, root.type_addr, &type);
			if (err)
				return err;
			// The record is that of a pointer to the object.
			if (type != GR_TYPE_NONE)
				type = gr_types_get(rt->types, type)->elem;
			root.type = type;
		}
		if (!gr_root_list_append(ret, root))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_roots_collect(struct gr_runtime *rt,
				  const struct gr_root_list *lists,
				  struct gr_roots *ret)
{
	struct gr_error *err;

	err = collect_areas(rt, &ret->areas);
	for (size_t i = 0; !err && i < rt->nmodules; i++)
		if (rt->modules[i].dwarf)
			err = add_globals(rt, &rt->modules[i], &ret->list);
	if (!err)
		err = gr_roots_add_goroutines(rt, &ret->list);
	if (!err)
		err = add_lists(rt, lists, &ret->list);
	return err;
}

/* The variable whose bytes hold a file address, or NULL. */
static const struct gr_dwarf_variable *variable_at(const struct gr_dwarf *dwarf,
						   uint64_t addr)
{
	size_t count, ntypes;
	const struct gr_dwarf_variable *v = gr_dwarf_variables(dwarf, &count);
	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &ntypes);
	size_t n = gr_count_before(count, i, v[i].addr <= addr);

	if (!n || v[n - 1].type >= ntypes ||
	    addr - v[n - 1].addr >= types[v[n - 1].type].size_bytes)
		return NULL;
	return &v[n - 1];
}

static struct gr_error *name_data_word(struct gr_runtime *rt,
				       const struct gr_module *m,
				       const struct gr_area *area,
				       uint64_t addr, struct gr_root *ret)
{
	const struct gr_dwarf_variable *variable =
		m->dwarf ? variable_at(m->dwarf, addr - m->bias) : NULL;
	const struct gr_symbol *symbol = gr_symbols_at(rt, addr);
	const char *name = variable ? variable->name :
			   symbol   ? symbol->name :
				      NULL;

	ret->kind = GR_ROOT_GLOBAL;
	ret->stratum = GR_STRATUM_USER;
	if (name) {
		ret->name = intern(rt, name);
		ret->is_sub_object = variable != NULL;
		ret->stratum = global_stratum(name);
		ret->kind = global_kind(ret->stratum);
	} else {
		ret->name = gr_arena_internf(
			rt->arena, "$%s+0x%llx",
			area->start == m->data ? "data" : "bss",
			(unsigned long long)(addr - area->start));
	}
	return ret->name ? NULL : &gr_enomem;
}

/* The frame that holds a stack word: the last whose sp is not above it. */
static const struct gr_frame *frame_of(const struct gr_goroutine *g,
				       uint64_t addr)
{
	size_t n = gr_count_before(g->nframes, i, g->frames[i].sp <= addr);

	return n ? &g->frames[n - 1] : NULL;
}

/*
 * The register of a preempted function that a stack word keeps: it lies in the
 * frame of the call that the signal handler injected. Vector registers stay
 * with that frame: what they hold is mostly stale. -1: none.
 */
static int saved_register(const struct gr_runtime *rt,
			  const struct gr_goroutine *g,
			  const struct gr_frame *frame, uint64_t addr)
{
	if (!frame || frame + 1 >= g->frames + g->nframes ||
	    !frame[1].is_preempted)
		return -1;
	return gr_unwind_saved_reg(rt->arch, addr - frame->sp);
}

static struct gr_error *name_stack_word(struct gr_runtime *rt, uint32_t index,
					uint64_t addr, struct gr_root *ret)
{
	const struct gr_goroutine *g = &rt->goroutines[index];
	const struct gr_frame *frame = frame_of(g, addr);
	uint64_t base = frame ? frame->sp : g->stack.start;
	int reg = saved_register(rt, g, frame, addr);

	if (reg >= 0)
		frame++;
	const char *function = frame ? frame->func.name :
				       gr_goroutine_no_frame(g);
	ret->goroutine = index;
	ret->kind = g->is_system ? GR_ROOT_RUNTIME :
		    reg >= 0	 ? GR_ROOT_REGISTER :
				   GR_ROOT_STACK;
	ret->stratum = gr_roots_frame_stratum(g, function);
	ret->goroutine_state = intern(rt, g->state);
	ret->name = reg >= 0 ?
			    gr_arena_internf(rt->arena, "%s.$%s", function,
					     gr_arch_reg_name(rt->arch, reg)) :
			    gr_arena_internf(rt->arena, "%s.$stack+0x%llx",
					     function,
					     (unsigned long long)(addr - base));
	if (frame)
		gr_func_line(&frame->func, frame->pc, &ret->file, &ret->line);
	return ret->name && ret->goroutine_state ? NULL : &gr_enomem;
}

struct gr_error *gr_roots_name_word(struct gr_runtime *rt,
				    const struct gr_roots *roots, size_t area,
				    uint64_t addr, struct gr_root *ret)
{
	uint32_t owner = roots->areas.owners[area];

	memset(ret, 0, sizeof(*ret));
	ret->goroutine = UINT32_MAX;
	ret->type = GR_TYPE_NONE;
	if (owner > UINT32_MAX / 2)
		return name_data_word(rt, &rt->modules[UINT32_MAX - owner],
				      &roots->areas.areas[area], addr, ret);
	return name_stack_word(rt, owner, addr, ret);
}
