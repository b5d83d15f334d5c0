// SPDX-License-Identifier: Apache-2.0
/*
 * goroutine-stack: stacks of parked goroutines that are larger than what they
 * use needs. A stack doubles when a call finds no room, and a collection halves
 * it if less than a quarter is used.
 */
#include "waste/checks/check_stacks.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "goroutines/goroutine_places.h"
#include "goroutines/goroutine_start.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "scan/answers.h"
#include "waste/checks/checks.h"

enum {
	MAX_GUARD_BYTES = 8192,
	MAX_TRIES = 64, /* goroutines that are asked for the guard */
	TEXT_BYTES = 32,
};

/** Goroutines that began with one function. */
struct group {
	uint64_t entry; /* of the function */
	struct gr_finding row;
	uint64_t shrinking; /* bytes of it that collections will free */
};
GR_VECTOR(group_vector, struct group);

struct finder {
	struct gr_waste_run *run;
	struct gr_runtime *rt;
	uint64_t guard_bytes;
	struct gr_keys by_entry; /* -> index of the group */
	struct group_vector groups;
};

static void finder_deinit(struct finder *f)
{
	gr_keys_deinit(&f->by_entry);
	group_vector_deinit(&f->groups);
}

/* Is it the program's, and has it stopped of its own accord? */
static bool is_parked(const struct gr_layout *layout,
		      const struct gr_goroutine *g)
{
	return !g->is_g0 && !g->is_system && !g->regs && !g->is_copied &&
	       (g->status == layout->consts.gwaiting ||
		g->status == layout->consts.grunnable ||
		g->status == layout->consts.gpreempted);
}

/* Stacks that the runtime has allocated are powers of two. */
static bool has_stack(const struct gr_goroutine *g)
{
	uint64_t bytes = g->stack_hi - g->stack_lo;

	return g->stack_lo < g->stack_hi && !(bytes & (bytes - 1)) &&
	       g->sp > g->stack_lo && g->sp <= g->stack_hi;
}

/*
 * Find the room that a call must leave: g.stackguard0 - stack.lo, unless the
 * goroutine is to be preempted. Programs with the race detector have more.
 */
static struct gr_error *find_guard(struct finder *f)
{
	const struct gr_sched *sched = &f->run->answers->stop->sched;
	struct gr_types *types = f->run->types;
	const struct gr_type_field *field = gr_types_field_named(
		types, gr_types_find(types, "runtime.g"), "stackguard0");
	struct gr_error *err = gr_types_take_error(types);

	f->guard_bytes = GR_STACK_GUARD;
	for (size_t i = 0;
	     !err && field && i < sched->ngoroutines && i < MAX_TRIES; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		uint64_t guard = 0;

		if (!is_parked(&f->rt->layout, g))
			continue;
		err = gr_image_read_u64(f->rt->image,
					g->addr + field->off_bytes, &guard);
		gr_error_catch(&err, GR_ERROR_FAULT);
		gr_error_catch(&err, GR_ERROR_NOT_SAVED);
		guard -= g->stack_lo;
		if (err || guard < GR_STACK_GUARD || guard >= MAX_GUARD_BYTES)
			continue;
		f->guard_bytes = guard;
		break;
	}
	return err;
}

/* Find the function of a goroutine. The runtime starts the goroutines of
 * coroutines, finalizers and main.main. Their function is the outermost one of
 * the program on their stack. */
static struct gr_error *find_entry(struct finder *f,
				   const struct gr_goroutine *g, uint64_t *ret)
{
	struct gr_error *err = gr_goroutine_find_start(f->rt, g, ret);
	struct gr_func func;

	if (err || !gr_func_find(f->rt, *ret, &func) ||
	    !gr_name_is_in_runtime(func.name))
		return err;
	for (size_t i = g->nframes; i-- > 0;) {
		if (!gr_is_user_call(g->frames[i].func->name))
			continue;
		*ret = g->frames[i].func->entry;
		break;
	}
	return gr_runtime_step(f->rt, g->nframes);
}

static struct gr_error *
find_group(struct finder *f, const struct gr_goroutine *g, struct group **ret)
{
	uint64_t entry;
	struct gr_error *err = find_entry(f, g, &entry);

	if (err)
		return err;
	uint32_t index = gr_keys_find(&f->by_entry, entry, 0);
	if (index == UINT32_MAX) {
		const struct group group = {
			.entry = entry,
			.row = { .check = GR_WASTE_GOROUTINE_STACK,
				 .key = entry,
				 .is_outside = true },
		};
		index = f->groups.size;
		err = gr_runtime_append(f->rt, group_vector, &f->groups, group);
		if (!err && !gr_keys_add(&f->by_entry, entry, 0, index))
			err = &gr_enomem;
	}
	*ret = &f->groups.data[index];
	return err;
}

static struct gr_error *count(struct finder *f, const struct gr_goroutine *g)
{
	uint64_t bytes = g->stack_hi - g->stack_lo;
	uint64_t used = g->stack_hi - g->sp;
	uint64_t needed = gr_smallest_stack(used, f->guard_bytes);
	struct group *group;

	if (needed >= bytes)
		return NULL;
	struct gr_error *err = find_group(f, g, &group);
	if (err)
		return err;
	struct gr_finding *row = &group->row;
	row->bytes += bytes - needed;
	group->shrinking +=
		bytes - gr_shrunk_stack(bytes, used, f->guard_bytes);
	if (!row->count || g->addr < row->example)
		row->example = g->addr;
	row->count++;
	return NULL;
}

/* Say what will help, and what the runtime will do by itself. */
static const char *advise(struct finder *f, const struct group *group)
{
	struct gr_arena *arena = &f->run->answers->stop->program->arena;
	char text[TEXT_BYTES];

	if (!group->shrinking)
		return "Deep calls have grown these stacks: make such calls in "
		       "goroutines that end, or park fewer goroutines. No "
		       "collection shrinks a stack of which a quarter is used.";
	return gr_arena_internf(
		arena,
		"Deep calls have grown these stacks: make such calls in "
		"goroutines that end, or park fewer goroutines. Collections "
		"would free %s of this: each halves a stack of which less than "
		"a quarter is used.",
		gr_text_bytes(group->shrinking, text, sizeof(text)));
}

static struct gr_error *add(struct finder *f, struct group *group)
{
	struct gr_arena *arena = &f->run->answers->stop->program->arena;
	struct gr_func func;

	group->row.type = "";
	group->row.field = "";
	if (gr_func_find(f->rt, group->entry, &func))
		group->row.type =
			gr_arena_intern(arena, func.name, strlen(func.name));
	group->row.advice = advise(f, group);
	if (!group->row.type || !group->row.advice)
		return &gr_enomem;
	return gr_findings_add(&f->run->findings, &group->row);
}

static struct gr_error *find(struct gr_waste_run *run)
{
	const struct gr_sched *sched = &run->answers->stop->sched;
	_cleanup_(finder_deinit) struct finder f = { .run = run,
						     .rt = run->heap->rt };
	struct gr_error *err = find_guard(&f);

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(f.rt, 1);
		if (!err && is_parked(&f.rt->layout, g) && has_stack(g))
			err = count(&f, g);
	}
	for (size_t i = 0; !err && i < f.groups.size; i++)
		err = add(&f, &f.groups.data[i]);
	return err;
}

const struct gr_check gr_check_stacks = {
	.id = GR_WASTE_GOROUTINE_STACK,
	.advice = "Make deep calls in goroutines that end, or park fewer "
		  "goroutines.",
	.find = find,
};
