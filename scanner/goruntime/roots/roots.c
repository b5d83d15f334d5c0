// SPDX-License-Identifier: Apache-2.0
/* Areas, package variables, and names for words that no variable covers. */
#include "goruntime/roots/roots.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/sort.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/symbols.h"
#include "goruntime/sched/unwind.h"

enum { ROOT_STEPS = 1 };

#define OWNER_MODULE(i) (UINT32_MAX - (uint32_t)(i))

void gr_roots_deinit(struct gr_roots *roots)
{
	// Goroutines own the bits of stacks; the list owns those of data.
	for (size_t i = 0; i < roots->areas.count; i++)
		if (roots->areas.owners[i] > UINT32_MAX / 2)
			free(roots->areas.areas[i].live);
	free(roots->areas.areas);
	free(roots->areas.owners);
	gr_root_list_deinit(&roots->list);
}

/*
 * Return the tier of a package variable. The lists of pools in sync
 * (sync/pool.go) are bookkeeping like the runtime's. They point into every
 * object that contains a pool, so they come after user variables.
 */
static enum gr_tier global_tier(const char *name)
{
	if (gr_name_is_internal(name))
		return GR_TIER_RUNTIME;
	return gr_name_has(name, GR_NAME_ALL_POOLS) ||
			       gr_name_has(name, GR_NAME_OLD_POOLS) ?
		       GR_TIER_DEFERRED :
		       GR_TIER_USER;
}

static enum gr_root_kind global_kind(enum gr_tier tier)
{
	return tier == GR_TIER_RUNTIME ? GR_ROOT_RUNTIME : GR_ROOT_GLOBAL;
}

enum gr_tier gr_roots_frame_tier(const struct gr_goroutine *g,
				 const char *function)
{
	if (g->is_system)
		return GR_TIER_RUNTIME;
	// User frames give better names than the runtime frames they call.
	return gr_name_is_runtime_frame(function) ? GR_TIER_DEFERRED :
						    GR_TIER_USER;
}

/* Add data or bss of a module, with the runtime's mask as live bits. */
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

/* Sort areas by address. If areas overlap, only the first one is kept. */
static struct gr_error *sort_areas(struct gr_runtime *rt,
				   struct gr_area_list *list)
{
	_cleanup_free_ struct area_and_owner *all =
		calloc(list->count + 1, sizeof(*all));
	struct gr_error *err;
	size_t kept = 0;

	if (!all)
		return &gr_enomem;
	for (size_t i = 0; i < list->count; i++)
		all[i] = (struct area_and_owner){ list->areas[i],
						  list->owners[i] };
	err = gr_sort(all, list->count, sizeof(*all), compare_areas, rt->poll,
		      rt->poll_ctx);
	if (err)
		return err;
	for (size_t i = 0; i < list->count; i++) {
		if (kept && all[i].area.start < list->areas[kept - 1].end) {
			if (all[i].owner > UINT32_MAX / 2)
				free(all[i].area.live);
			continue;
		}
		GR_ASSERT(!kept ||
			  list->areas[kept - 1].end <= all[i].area.start);
		GR_ASSERT(all[i].area.start <= all[i].area.end);
		list->areas[kept] = all[i].area;
		list->owners[kept++] = all[i].owner;
	}
	list->count = kept;
	return NULL;
}

static struct gr_error *collect_areas(const struct gr_sched *sched,
				      struct gr_area_list *list)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_error *err = NULL;
	size_t most = rt->nmodules * 2 + sched->ngoroutines;

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
	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_area *stack = &sched->goroutines[i].stack;
		if (stack->start >= stack->end || !stack->host || !stack->live)
			continue;
		list->areas[list->count] = *stack;
		list->owners[list->count++] = i;
	}
	return err ? err : sort_areas(rt, list);
}

static const char *intern(struct gr_runtime *rt, const char *text)
{
	return gr_arena_intern(rt->arena, text, strlen(text));
}

/* Add every package variable in data or bss. Those without pointer words are
 * left out later. */
static struct gr_error *add_globals(struct gr_types *all,
				    const struct gr_module *m,
				    struct gr_root_list *ret)
{
	struct gr_runtime *rt = gr_types_runtime(all);
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
		struct gr_error *err = gr_runtime_step(rt, ROOT_STEPS);
		if (!err)
			err = gr_runtime_step_name(rt, variables[i].name);
		if (err)
			return err;
		root.name = intern(rt, variables[i].name);
		root.tier = global_tier(variables[i].name);
		root.kind = global_kind(root.tier);
		root.type = gr_types_from_dwarf(all, m, variables[i].type);
		root.bytes = types[variables[i].type].size_bytes;
		if (!root.name || !gr_root_list_append(ret, root))
			return &gr_enomem;
	}
	return NULL;
}

/* Add the roots of the runtime's lists. Their types are found by the runtime
 * records in type_addr. */
static struct gr_error *add_lists(const struct gr_heap *heap,
				  const struct gr_root_list *lists,
				  struct gr_root_list *ret)
{
	struct gr_error *err;

	for (size_t i = 0; i < lists->size; i++) {
		struct gr_root root = lists->data[i];
		gr_type_id type;

		err = gr_runtime_step(heap->rt, ROOT_STEPS);
		if (err)
			return err;

		if (root.type_addr) {
			err = gr_types_from_runtime(heap->types, root.type_addr,
						    &type);
			if (err)
				return err;
			// The record describes a pointer to the object.
			if (type != GR_TYPE_NONE)
				type = gr_types_get(heap->types, type)->elem;
			root.type = type;
		}
		if (!gr_root_list_append(ret, root))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_roots_collect(const struct gr_heap *heap,
				  struct gr_sched *sched,
				  const struct gr_root_list *lists,
				  struct gr_roots *ret)
{
	const struct gr_runtime *rt = heap->rt;
	struct gr_error *err;

	err = collect_areas(sched, &ret->areas);
	for (size_t i = 0; !err && i < rt->nmodules; i++)
		if (rt->modules[i].dwarf)
			err = add_globals(heap->types, &rt->modules[i],
					  &ret->list);
	if (!err)
		err = gr_roots_add_goroutines(heap, sched, &ret->list);
	if (!err)
		err = add_lists(heap, lists, &ret->list);
	return err ? err : gr_roots_add_offers(heap, sched, &ret->list);
}

/* Return the variable that contains a file address, or NULL. */
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
	ret->tier = GR_TIER_USER;
	if (name) {
		ret->name = intern(rt, name);
		ret->is_sub_object = variable != NULL;
		ret->tier = global_tier(name);
		ret->kind = global_kind(ret->tier);
	} else {
		ret->name = gr_arena_internf(
			rt->arena, "$%s+0x%llx",
			area->start == m->data ? "data" : "bss",
			(unsigned long long)(addr - area->start));
	}
	return ret->name ? NULL : &gr_enomem;
}

/* Return the frame of a stack word: the last one whose sp is not above it. */
static const struct gr_frame *frame_of(const struct gr_goroutine *g,
				       uint64_t addr)
{
	size_t n = gr_count_before(g->nframes, i, g->frames[i].sp <= addr);

	return n ? &g->frames[n - 1] : NULL;
}

/*
 * Return the register of a preempted function that a stack word holds, or -1.
 * Such a word lies in the frame of the call that the signal handler injected.
 * Vector registers are not attributed to the function, because most of their
 * values are stale.
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

/* The place of a stack word. */
struct stack_word {
	const struct gr_frame *frame; /* whose word it is; or NULL */
	const char *function;
	uint64_t base; /* what its name counts from */
	int reg;       /* the register that it holds, or -1 */
};

static struct stack_word place_stack_word(const struct gr_runtime *rt,
					  const struct gr_goroutine *g,
					  uint64_t addr)
{
	const struct gr_frame *frame = frame_of(g, addr);
	struct stack_word word = {
		.base = frame ? frame->sp : g->stack.start,
		.reg = saved_register(rt, g, frame, addr),
	};

	word.frame = word.reg >= 0 ? frame + 1 : frame;
	word.function = word.frame ? word.frame->func->name :
				     gr_goroutine_no_frame(g);
	return word;
}

enum gr_tier gr_roots_stack_tier(const struct gr_sched *sched, uint32_t index,
				 uint64_t addr)
{
	const struct gr_goroutine *g = &sched->goroutines[index];

	return gr_roots_frame_tier(
		g, place_stack_word(sched->rt, g, addr).function);
}

static struct gr_error *name_stack_word(const struct gr_sched *sched,
					uint32_t index, uint64_t addr,
					struct gr_root *ret)
{
	const struct gr_runtime *rt = sched->rt;
	const struct gr_goroutine *g = &sched->goroutines[index];
	struct stack_word word = place_stack_word(rt, g, addr);
	const struct gr_frame *frame = word.frame;
	const char *function = word.function;
	int reg = word.reg;

	ret->goroutine = index;
	ret->kind = g->is_system ? GR_ROOT_RUNTIME :
		    reg >= 0	 ? GR_ROOT_REGISTER :
				   GR_ROOT_STACK;
	ret->tier = gr_roots_frame_tier(g, function);
	ret->goroutine_state = g->state;
	ret->name = reg >= 0 ?
			    gr_arena_internf(rt->arena, "%s.$%s", function,
					     gr_arch_reg_name(rt->arch, reg)) :
			    gr_arena_internf(
				    rt->arena, "%s.$stack+0x%llx", function,
				    (unsigned long long)(addr - word.base));
	if (frame)
		gr_func_line(frame->func, frame->pc, &ret->file, &ret->line);
	return ret->name ? NULL : &gr_enomem;
}

struct gr_error *gr_roots_name_word(const struct gr_sched *sched,
				    const struct gr_roots *roots, size_t area,
				    uint64_t addr, struct gr_root *ret)
{
	uint32_t owner = roots->areas.owners[area];

	GR_ASSERT(area < roots->areas.count &&
		  addr >= roots->areas.areas[area].start &&
		  addr < roots->areas.areas[area].end);
	memset(ret, 0, sizeof(*ret));
	ret->goroutine = UINT32_MAX;
	ret->type = GR_TYPE_NONE;
	if (owner > UINT32_MAX / 2)
		return name_data_word(sched->rt,
				      &sched->rt->modules[UINT32_MAX - owner],
				      &roots->areas.areas[area], addr, ret);
	return name_stack_word(sched, owner, addr, ret);
}
