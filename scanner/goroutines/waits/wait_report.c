// SPDX-License-Identifier: Apache-2.0
#include "goroutines/waits/wait_report.h"

#include "base/sort.h"
#include "goroutines/locks/owner_list.h"
#include "goroutines/locks/owners.h"
#include "goroutines/locks/reach_sets.h"
#include "goroutines/primitive_path.h"
#include "goroutines/wait_table.h"
#include "goroutines/waits/blockers.h"
#include "goroutines/waits/deadlocks.h"
#include "goroutines/waits/wait_words.h"
#include "goruntime/layout/inline.h"
#include "scan/enter.h"
#include "scan/goroutine_index.h"

GR_VECTOR(primitive_list, const struct gr_primitive *);

/** An answer in the making. */
struct reporter {
	struct gr_answers *answers;
	const struct gr_waits_query *query;
	struct gr_wait_table table;
	struct gr_reach_sets reach;
	struct gr_closed_sets sets;
	struct gr_cycle_vector cycles;
	struct gr_blocker_vector blockers;
	/** Those that are asked about, most waiters first. */
	struct primitive_list order;
	size_t ngroups; /* of these, that are described */
	struct gr_awaited_names names;
};

static void reporter_deinit(struct reporter *r)
{
	gr_wait_table_deinit(&r->table);
	gr_reach_sets_deinit(&r->reach);
	gr_closed_sets_deinit(&r->sets);
	gr_cycles_deinit(&r->cycles);
	gr_blocker_vector_deinit(&r->blockers);
	primitive_list_deinit(&r->order);
	gr_awaited_names_deinit(&r->names);
}

static void group_deinit(struct gr_wait_group *group)
{
	free(group->ids);
	free(group->owners);
}

void gr_wait_report_destroy(struct gr_wait_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->ngroups; i++)
		group_deinit(&report->groups[i]);
	for (size_t i = 0; i < report->ndeadlocks; i++) {
		free(report->deadlocks[i].ids);
		free(report->deadlocks[i].awaits);
		free(report->deadlocks[i].owner_ids);
		free(report->deadlocks[i].primitives);
	}
	free(report->groups);
	free(report->deadlocks);
	free(report->blockers);
	free(report);
}
GR_DEFINE_CLEANUP(wait_report, struct gr_wait_report, gr_wait_report_destroy)

// -------------------------------------------------------------------- groups

/* The innermost call that is not the library's: whose waiting it is. */
static struct gr_error *find_place(struct reporter *r, uint32_t index,
				   struct gr_source_place *ret)
{
	const struct gr_goroutine *g =
		&r->answers->stop->sched.goroutines[index];
	struct gr_logical_frame calls[GR_MAX_INLINED];
	struct gr_error *err = NULL;
	size_t n;

	*ret = (struct gr_source_place){ 0, "", "", 0 };
	for (size_t i = 0; !err && i < g->nframes; i++) {
		const struct gr_frame *frame = &g->frames[i];

		if (gr_lock_is_internal(frame->func->name))
			continue;
		err = gr_inline_frames(&r->answers->stop->program->rt,
				       frame->func, gr_frame_call_pc(frame),
				       calls, &n);
		for (size_t j = 0; !err && j < n; j++) {
			if (gr_lock_is_internal(calls[j].function))
				continue;
			*ret = (struct gr_source_place){ frame->pc,
							 calls[j].function,
							 calls[j].file,
							 calls[j].line };
			if (strncmp(calls[j].function, "time.", 5) != 0)
				return NULL;
		}
	}
	return err;
}

static struct gr_error *describe_owner(struct reporter *r,
				       const struct gr_primitive *p,
				       const struct gr_owner *owner,
				       struct gr_wait_owner *ret)
{
	const struct gr_goroutine *g =
		&r->answers->stop->sched.goroutines[owner->goroutine];

	*ret = (struct gr_wait_owner){
		.id = g->goid,
		.is_certain = owner->is_proven,
		.is_likely = gr_owner_is_likely(owner),
		.evidence =
			gr_owner_evidence(&r->answers->stop->sched, p, owner),
		.state = g->state,
		.wait_reason = g->wait_reason,
	};
	return ret->evidence ? find_place(r, owner->goroutine, &ret->user) :
			       &gr_enomem;
}

static struct gr_error *add_owners(struct reporter *r,
				   const struct gr_primitive *p,
				   struct gr_wait_group *group)
{
	const struct gr_owner *owner;
	struct gr_error *err = NULL;
	size_t n = 0;

	while (gr_owner_of(&r->table, p, n))
		n++;
	group->owners = calloc(n + 1, sizeof(*group->owners));
	if (!group->owners)
		return &gr_enomem;
	// Bounded by the n owners counted above.
	while (!err && (owner = gr_owner_of(&r->table, p, group->nowners)))
		err = describe_owner(r, p, owner,
				     &group->owners[group->nowners++]);
	return err ? err : gr_runtime_step(&r->answers->stop->program->rt, n);
}

static struct gr_error *add_ids(struct reporter *r,
				const struct gr_primitive *p,
				struct gr_wait_group *group)
{
	uint32_t max = r->query->max_ids;
	size_t n = max && max < p->nwaiters ? max : p->nwaiters;
	const uint32_t *waiters = r->table.waiters;

	group->ids = calloc(n + 1, sizeof(*group->ids));
	if (!group->ids)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		group->ids[i] =
			r->answers->stop->sched
				.goroutines[waiters[p->first_waiter + i]]
				.goid;
	group->nids = n;
	return find_place(r, waiters[p->first_waiter], &group->user);
}

/* Everything but waiters and owners. */
static struct gr_error *describe(struct reporter *r,
				 const struct gr_primitive *p,
				 struct gr_wait_group *group)
{
	struct gr_awaited_name name;
	struct gr_error *err = gr_awaited_find_name(&r->names, p, &name);
	const uint8_t *states = r->sets.states;

	*group = (struct gr_wait_group){
		.kind = gr_awaited_kind(p->kind),
		.addr = p->object,
		.path = name.path,
		.type = name.type,
		.state = gr_awaited_state(&r->answers->stop->program->rt, p),
		.verdict = gr_awaited_verdict(&r->table, states, p),
		.waiters = p->nwaiters,
		.senders = p->nsenders,
		.reaching = p->nreaching,
		.likely = p->nlikely,
		.user = { 0, "", "", 0 },
	};
	return err || group->state ? err : &gr_enomem;
}

static bool is_about(const struct reporter *r, const struct gr_primitive *p)
{
	const struct gr_goroutine *goroutines =
		r->answers->stop->sched.goroutines;
	uint64_t id = r->query->goroutine_id;
	bool ret = !id;

	for (uint32_t i = 0; !ret && i < p->nwaiters; i++)
		ret = goroutines[r->table.waiters[p->first_waiter + i]].goid ==
		      id;
	for (uint32_t i = 0; !ret && i < p->nowners; i++)
		ret = gr_owner_is_likely(&p->owners[i]) &&
		      goroutines[p->owners[i].goroutine].goid == id;
	return ret;
}

static int by_waiters(const void *a, const void *b)
{
	const struct gr_primitive *const *x = a, *const *y = b;

	if ((*x)->nwaiters != (*y)->nwaiters)
		return (*x)->nwaiters > (*y)->nwaiters ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static struct gr_error *sort_groups(struct reporter *r)
{
	uint32_t max = r->query->max_groups;

	for (size_t i = 0; i < r->table.nprimitives; i++)
		if (is_about(r, &r->table.primitives[i]) &&
		    !primitive_list_append(&r->order, &r->table.primitives[i]))
			return &gr_enomem;
	r->ngroups = max && max < r->order.size ? max : r->order.size;
	return gr_sort(r->order.data, r->order.size, sizeof(*r->order.data),
		       by_waiters, r->answers->stop->program->rt.poll,
		       r->answers->stop->program->rt.poll_ctx);
}

static struct gr_error *add_groups(struct reporter *r,
				   struct gr_wait_report *report)
{
	struct gr_error *err = NULL;

	report->total = r->order.size;
	report->groups = calloc(r->ngroups + 1, sizeof(*report->groups));
	if (!report->groups)
		return &gr_enomem;
	for (size_t i = 0; !err && i < r->ngroups; i++) {
		const struct gr_primitive *p = r->order.data[i];
		struct gr_wait_group *group = &report->groups[i];

		err = describe(r, p, group);
		report->ngroups++;
		if (!err)
			err = add_ids(r, p, group);
		if (!err)
			err = gr_primitive_waited(r->answers->stop, &r->table,
						  p, &group->waited_ns);
		if (!err)
			err = add_owners(r, p, group);
		if (!err)
			err = gr_runtime_step(&r->answers->stop->program->rt,
					      16);
	}
	return err;
}

// ----------------------------------------------------------------- deadlocks

static struct gr_error *add_members(const struct reporter *r,
				    const struct gr_cycle *cycle,
				    struct gr_deadlock *ret)
{
	const struct gr_goroutine *goroutines =
		r->answers->stop->sched.goroutines;
	size_t n = cycle->members.size + 1;

	ret->ids = calloc(n, sizeof(*ret->ids));
	ret->awaits = calloc(n, sizeof(*ret->awaits));
	ret->owner_ids = calloc(n, sizeof(*ret->owner_ids));
	if (!ret->ids || !ret->awaits || !ret->owner_ids)
		return &gr_enomem;
	for (size_t i = 0; i < cycle->members.size; i++) {
		const struct gr_cycle_member *member = &cycle->members.data[i];

		ret->ids[i] = goroutines[member->goroutine].goid;
		ret->awaits[i] = member->awaits;
		if (member->owner != UINT32_MAX)
			ret->owner_ids[i] = goroutines[member->owner].goid;
	}
	ret->nids = cycle->members.size;
	return NULL;
}

static struct gr_error *add_deadlock(struct reporter *r,
				     const struct gr_cycle *cycle,
				     struct gr_deadlock *ret)
{
	struct gr_error *err = add_members(r, cycle, ret);

	if (err)
		return err;
	ret->is_certain = cycle->is_certain;
	ret->behind = cycle->behind;
	ret->primitives =
		calloc(cycle->primitives.size + 1, sizeof(*ret->primitives));
	if (!ret->primitives)
		return &gr_enomem;
	for (size_t i = 0; !err && i < cycle->primitives.size; i++)
		err = describe(r,
			       &r->table.primitives[cycle->primitives.data[i]],
			       &ret->primitives[ret->nprimitives++]);
	return err;
}

static bool has_member(const struct reporter *r, const struct gr_cycle *cycle)
{
	bool ret = !r->query->goroutine_id;

	for (size_t i = 0; !ret && i < cycle->members.size; i++)
		ret = r->answers->stop->sched
			      .goroutines[cycle->members.data[i].goroutine]
			      .goid == r->query->goroutine_id;
	return ret;
}

static int by_behind(const void *a, const void *b)
{
	const struct gr_deadlock *x = a, *y = b;

	if (x->behind != y->behind)
		return x->behind > y->behind ? -1 : 1;
	if (x->nids != y->nids)
		return x->nids > y->nids ? -1 : 1;
	return x->nids && x->ids[0] != y->ids[0] ?
		       (x->ids[0] < y->ids[0] ? -1 : 1) :
		       0;
}

static struct gr_error *add_deadlocks(struct reporter *r,
				      struct gr_wait_report *report)
{
	struct gr_error *err = NULL;

	report->deadlocks =
		calloc(r->cycles.size + 1, sizeof(*report->deadlocks));
	if (!report->deadlocks)
		return &gr_enomem;
	for (size_t i = 0; !err && i < r->cycles.size; i++) {
		if (!has_member(r, &r->cycles.data[i]))
			continue;
		err = add_deadlock(r, &r->cycles.data[i],
				   &report->deadlocks[report->ndeadlocks++]);
		if (!err)
			err = gr_runtime_step(&r->answers->stop->program->rt,
					      16);
	}
	qsort(report->deadlocks, report->ndeadlocks, sizeof(*report->deadlocks),
	      by_behind);
	return err;
}

// ------------------------------------------------------------------ blockers

static struct gr_error *add_blockers(struct reporter *r,
				     struct gr_wait_report *report)
{
	size_t n = r->blockers.size, max = r->query->max_groups;
	uint64_t id = r->query->goroutine_id;
	struct gr_error *err = NULL;

	max = max && max < n ? max : n;
	report->blockers = calloc(max + 1, sizeof(*report->blockers));
	if (!report->blockers)
		return &gr_enomem;
	for (size_t i = 0; !err && i < n && report->nblockers < max; i++) {
		const struct gr_blocker *found = &r->blockers.data[i];
		const struct gr_primitive *p =
			&r->table.primitives[found->primitive];
		struct gr_wait_blocker *ret;

		if (id &&
		    r->answers->stop->sched.goroutines[found->goroutine].goid !=
			    id)
			continue;
		ret = &report->blockers[report->nblockers++];
		ret->behind = found->behind;
		ret->depth = found->depth;
		ret->is_in_cycle = found->is_in_cycle;
		err = describe_owner(r, p, &p->owners[0], &ret->owner);
		if (!err)
			err = describe(r, p, &ret->primitive);
		if (!err)
			err = gr_runtime_step(&r->answers->stop->program->rt,
					      16);
	}
	return err;
}

// -------------------------------------------------------------------- answer

/* A goroutine whose select has several channels waits once. */
static uint64_t count_waiters(const struct reporter *r)
{
	const struct gr_waits *waits = r->table.waits;
	uint64_t ret = 0;

	for (size_t g = 0; g < r->answers->stop->sched.ngoroutines; g++) {
		uint32_t i = waits->first[g], end = waits->first[g + 1];

		while (i < end && r->table.of_row[i] == UINT32_MAX)
			i++;
		ret += i < end;
	}
	return ret;
}

/* Everything that will be described: groups, cycles, blockers. */
static struct gr_error *find_names(struct reporter *r)
{
	_cleanup_(primitive_list_deinit) struct primitive_list wanted = { 0 };
	const struct gr_primitive *all = r->table.primitives;
	bool ok = true;

	for (size_t i = 0; ok && i < r->ngroups; i++)
		ok = primitive_list_append(&wanted, r->order.data[i]);
	for (size_t i = 0; ok && i < r->blockers.size; i++)
		ok = primitive_list_append(&wanted,
					   &all[r->blockers.data[i].primitive]);
	for (size_t i = 0; ok && i < r->cycles.size; i++) {
		const struct gr_u32_vector *in = &r->cycles.data[i].primitives;

		for (size_t j = 0; ok && j < in->size; j++)
			ok = primitive_list_append(&wanted, &all[in->data[j]]);
	}
	return ok ? gr_awaited_names_make(r->answers, wanted.data, wanted.size,
					  &r->names) :
		    &gr_enomem;
}

static struct gr_error *answer(struct reporter *r,
			       struct gr_wait_report *report)
{
	struct gr_stop *stop = r->answers->stop;
	uint64_t id = r->query->goroutine_id;
	const struct gr_goroutine *g;
	struct gr_error *err = id ? gr_stop_need_goroutine(stop, id, &g) : NULL;

	if (!err && r->query->with_paths)
		err = gr_answers_need_graph(r->answers, 0);
	if (!err)
		err = gr_wait_table_make(stop, &r->table);
	r->table.keeps_all = !r->query->max_ids;
	if (!err && r->answers->graph)
		err = gr_reach_sets_find(r->answers, &r->table, &r->reach);
	if (!err)
		err = gr_owners_find(stop, &r->table,
				     r->answers->graph ? &r->reach : NULL);
	if (!err && r->answers->graph)
		err = gr_closed_sets_find(r->answers, &r->table, &r->sets);
	if (!err)
		err = gr_cycles_find(&stop->sched, &r->table,
				     r->answers->graph ? &r->sets : NULL,
				     r->answers->graph ? &r->reach : NULL,
				     &r->cycles);
	if (!err)
		err = gr_blockers_find(&stop->sched, &r->table, &r->blockers);
	if (err)
		return err;
	report->goroutines = count_waiters(r);
	err = sort_groups(r);
	if (!err)
		err = find_names(r);
	if (!err)
		err = add_deadlocks(r, report);
	if (!err)
		err = add_blockers(r, report);
	return err ? err : add_groups(r, report);
}

struct gr_error *gr_scan_waits(struct gr_scan *scan,
			       const struct gr_waits_query *query,
			       struct gr_wait_report **ret)
{
	_cleanup_(gr_cleanup_wait_report) struct gr_wait_report *report =
		calloc(1, sizeof(*report));
	_cleanup_(reporter_deinit) struct reporter r = {
		.query = query,
	};
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!report)
		return &gr_enomem;
	err = gr_scan_enter(scan, &guard, &r.answers);
	if (!err)
		err = answer(&r, report);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(report);
	return err;
}
