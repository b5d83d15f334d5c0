// SPDX-License-Identifier: Apache-2.0
#include "goroutines/goroutine_info.h"

#include "base/cleanup.h"
#include "goroutines/goroutine_places.h"
#include "goroutines/goroutine_start.h"
#include "goruntime/layout/inline.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/sched/wait_kind.h"
#include "scan/goroutine_counts.h"
#include "scan/stop.h"

void gr_goroutine_describer_deinit(struct gr_goroutine_describer *d)
{
	gr_keys_deinit(&d->by_pc);
	gr_pc_places_vector_deinit(&d->places);
}

static struct gr_source_place location_of(const struct gr_logical_frame *frame,
					  uint64_t pc)
{
	return (struct gr_source_place){ pc, frame->function, frame->file,
					 frame->line };
}

/* Read the places of @p pc, which lies in a call unless it @p is_exact. */
static struct gr_error *read_places(struct gr_goroutine_describer *d,
				    const struct gr_func *func, uint64_t pc,
				    bool is_exact, struct gr_pc_places *ret)
{
	struct gr_logical_frame frames[GR_MAX_INLINED];
	size_t n;
	struct gr_error *err = gr_inline_frames(
		&d->stop->program->rt, func,
		is_exact || pc == func->entry ? pc : pc - 1, frames, &n);

	if (err)
		return err;
	ret->current = location_of(&frames[0], pc);
	ret->user.pc = 0;
	for (size_t i = 0; i < n && !ret->user.pc; i++)
		if (gr_is_user_call(frames[i].function))
			ret->user = location_of(&frames[i], pc);
	return NULL;
}

/* The places of a pc, which are read once. */
static struct gr_error *find_places(struct gr_goroutine_describer *d,
				    const struct gr_func *func, uint64_t pc,
				    bool is_exact, struct gr_pc_places *ret)
{
	uint32_t i = gr_keys_find(&d->by_pc, pc, is_exact);
	struct gr_error *err;

	if (i != UINT32_MAX) {
		*ret = d->places.data[i];
		return NULL;
	}
	err = read_places(d, func, pc, is_exact, ret);
	if (err)
		return err;
	i = d->places.size;
	if (!gr_pc_places_vector_append(&d->places, *ret) ||
	    !gr_keys_add(&d->by_pc, pc, is_exact, i))
		return &gr_enomem;
	return NULL;
}

/* The place of a pc that no frame has: of a go statement, of a function. */
static struct gr_error *find_lone_place(struct gr_goroutine_describer *d,
					uint64_t pc, bool is_exact,
					struct gr_source_place *ret)
{
	struct gr_pc_places places;
	struct gr_func func;

	*ret = (struct gr_source_place){ pc, "", "", 0 };
	if (!pc || !gr_func_find(&d->stop->program->rt, pc, &func))
		return NULL;
	struct gr_error *err = find_places(d, &func, pc, is_exact, &places);
	if (!err)
		*ret = places.current;
	return err;
}

static struct gr_error *find_frame_places(struct gr_goroutine_describer *d,
					  const struct gr_goroutine *g,
					  struct gr_goroutine_info *info)
{
	static const struct gr_source_place nowhere = { 0, "", "", 0 };
	struct gr_error *err = NULL;
	struct gr_pc_places places;

	info->current = info->user = nowhere;
	for (size_t i = 0; !err && i < g->nframes && !info->user.pc; i++) {
		const struct gr_frame *frame = &g->frames[i];

		err = find_places(d, frame->func, frame->pc, frame->is_exact_pc,
				  &places);
		if (!err && !i)
			info->current = places.current;
		if (!err && places.user.pc)
			info->user = places.user;
	}
	if (!info->user.pc)
		info->user = info->current;
	return err;
}

struct gr_error *gr_goroutine_describe(struct gr_goroutine_describer *d,
				       const struct gr_goroutine *g,
				       struct gr_goroutine_info *info)
{
	struct gr_stop *stop = d->stop;
	const struct gr_running *running =
		gr_sched_running(&stop->sched, g->addr);
	const struct gr_moments *moments;
	struct gr_error *err = gr_stop_moments(stop, &moments);
	uint64_t start;

	if (err)
		return err;
	*info = (struct gr_goroutine_info){
		.id = g->goid,
		.state = g->state,
		.wait_reason = gr_goroutine_wait_reason(&stop->program->rt, g),
		.is_system = g->is_system,
		.thread_id = running ? running->thread_id : 0,
		.m_id = running ? running->m_id : -1,
		.locked_thread_id = g->locked_thread_id,
		.creator_id = g->creator_id,
		.waited_ns = gr_moments_waited(moments, g->waitsince),
		.stack_size = g->stack_hi - g->stack_lo,
		.stack_bytes =
			g->sp && g->sp < g->stack_hi ? g->stack_hi - g->sp : 0,
		.has_unsaved_labels = g->labels_addr &&
				      !gr_stop_may_have_values(stop),
	};
	if (g->labels) {
		info->labels = g->labels->labels;
		info->nlabels = g->labels->nlabels;
	}
	err = find_frame_places(d, g, info);
	if (!err)
		err = find_lone_place(d, g->gopc, false, &info->go);
	if (!err)
		err = gr_goroutine_find_start(&stop->program->rt, g, &start);
	if (!err)
		err = find_lone_place(d, start, true, &info->start);
	return err;
}

struct gr_error *gr_goroutine_info_read(struct gr_stop *stop,
					const struct gr_goroutine *g,
					struct gr_goroutine_info *ret)
{
	_cleanup_(gr_goroutine_describer_deinit) struct gr_goroutine_describer
		d = { .stop = stop };

	return gr_goroutine_describe(&d, g, ret);
}
