// SPDX-License-Identifier: Apache-2.0
/* The answer to `goref leaks`: the goroutines that the rule has found, in
 * groups, with what each group keeps alive. */
#include "goroutines/leaks.h"

#include "base/sort.h"
#include "goroutines/goroutine_bytes.h"
#include "goroutines/goroutine_info.h"
#include "goroutines/goroutine_places.h"
#include "goroutines/leak_rule.h"
#include "goruntime/sched/channel.h"
#include "goruntime/sched/waits.h"
#include "scan/enter.h"

GR_DEFINE_CLEANUP(leak_report, struct gr_leak_report, gr_leak_report_destroy)
GR_VECTOR(group_vector, struct gr_leak_group);

/** A goroutine that belongs to the answer, and what its group has in common. */
struct member {
	uint64_t go_pc, pc; /* of the go statement, of the innermost call */
	const char *wait_reason;
	uint64_t id;
	uint32_t goroutine; /* index */
	uint8_t state;	    /* enum gr_leak_state */
};
GR_VECTOR(member_vector, struct member);

struct finder {
	struct gr_answers *answers;
	struct gr_leak_report *report;
	struct gr_user_pcs user_pcs;
	struct gr_ignores ignores;
	struct gr_blocked_places places;
	struct member_vector members;
	struct group_vector groups;
};

static void finder_deinit(struct finder *f)
{
	gr_user_pcs_deinit(&f->user_pcs);
	gr_ignores_deinit(&f->ignores);
	gr_blocked_places_deinit(&f->places);
	member_vector_deinit(&f->members);
	group_vector_deinit(&f->groups);
}

void gr_leak_report_destroy(struct gr_leak_report *report)
{
	if (!report)
		return;
	free(report->groups);
	free(report->ids);
	free(report->ignored);
	free(report->places);
	free(report);
}

static const char *state_name(enum gr_leak_state state)
{
	static const char *const names[] = {
#define X(id, name) [GR_LEAK_##id] = name,
		GR_LEAK_STATES(X)
#undef X
	};

	return names[state];
}

// --------------------------------------------------------------------- members

static struct gr_error *add_member(struct finder *f, uint32_t index,
				   const struct gr_frame *frame, uint8_t state)
{
	const struct gr_goroutine *g =
		&f->answers->stop->sched.goroutines[index];
	struct member member = {
		.go_pc = g->gopc,
		.wait_reason = g->wait_reason,
		.id = g->goid,
		.pc = frame ? frame->pc : 0,
		.goroutine = index,
		.state = state,
	};

	f->report->leaked += state == GR_LEAK_LEAKED;
	f->report->unproven += state > GR_LEAK_LEAKED;
	return member_vector_append(&f->members, member) ? NULL : &gr_enomem;
}

/* Count a blocked goroutine, unless it is left out. */
static struct gr_error *add_blocked(struct finder *f, uint32_t index,
				    uint8_t state)
{
	const struct gr_goroutine *g =
		&f->answers->stop->sched.goroutines[index];
	bool is_leaked = state == GR_LEAK_LEAKED;
	const struct gr_frame *frame;
	size_t pattern;
	struct gr_error *err = gr_ignores_find(&f->ignores, g, &pattern);

	if (err)
		return err;
	if (pattern < f->ignores.npatterns) {
		f->report->ignored[pattern].blocked++;
		f->report->ignored[pattern].leaked += is_leaked;
		return NULL;
	}
	err = gr_user_frame(&f->user_pcs, g, &frame);
	if (!err)
		err = gr_blocked_places_add(&f->places, g, frame, is_leaked);
	return err || state < GR_LEAK_LEAKED ?
		       err :
		       add_member(f, index, frame, state);
}

/* Count all goroutines, and collect those that belong to the answer. */
static struct gr_error *collect(struct finder *f, const uint8_t *states)
{
	const struct gr_sched *sched = &f->answers->stop->sched;
	struct gr_leak_report *report = f->report;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		err = gr_runtime_step(&f->answers->stop->program->rt, 1);
		if (err || g->is_g0 || g->is_system)
			continue;
		report->goroutines++;
		if (states[i] == GR_LEAK_NO_CANDIDATE)
			continue;
		report->blocked++;
		err = add_blocked(f, i, states[i]);
	}
	return err;
}

static int compare_places(const struct member *x, const struct member *y)
{
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->go_pc != y->go_pc)
		return x->go_pc < y->go_pc ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return strcmp(x->wait_reason, y->wait_reason);
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = compare_places(x, y);

	return order ? order : (x->id > y->id) - (x->id < y->id);
}

// ---------------------------------------------------------------------- groups

/* The thing that a kind of wait is for; "" if it is for nothing. */
static const char *awaited_name(enum gr_wait_kind kind)
{
	static const char *const names[GR_NWAIT_KINDS] = {
		[GR_WAIT_CHAN_SEND] = "channel",
		[GR_WAIT_CHAN_RECEIVE] = "channel",
		[GR_WAIT_SELECT_SEND] = "channel",
		[GR_WAIT_SELECT_RECEIVE] = "channel",
		[GR_WAIT_MUTEX] = "Mutex",
		[GR_WAIT_RWMUTEX_READ] = "RWMutex",
		[GR_WAIT_RWMUTEX_WRITE] = "RWMutex",
		[GR_WAIT_WAITGROUP] = "WaitGroup",
		[GR_WAIT_COND] = "Cond",
	};

	return names[kind] ? names[kind] : "";
}

/* The type of a channel's elements; "" if it is not known. */
static struct gr_error *element_type(struct gr_program *program, uint64_t chan,
				     const char **ret)
{
	gr_type_id type = GR_TYPE_NONE;
	struct gr_channel channel;
	struct gr_error *err = gr_channel_read(&program->rt, chan, &channel);

	*ret = "";
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	err = gr_types_from_runtime(program->types, channel.elem_type_addr,
				    &type);
	if (!err && type != GR_TYPE_NONE)
		*ret = gr_types_get(program->types, type)->name;
	return err;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Count the different things that members await. */
static struct gr_error *count_awaited(struct finder *f,
				      const struct member *members, size_t n,
				      struct gr_leak_group *group)
{
	struct gr_stop *stop = f->answers->stop;
	_cleanup_(gr_addr_vector_deinit) struct gr_addr_vector keys = { 0 };
	const struct gr_waits *waits = stop->sched.waits;
	struct gr_error *err = NULL;

	for (size_t i = 0; i < n; i++) {
		uint32_t g = members[i].goroutine;
		for (uint32_t w = waits->first[g]; w < waits->first[g + 1]; w++)
			if (waits->rows[w].key &&
			    !gr_addr_vector_append(&keys, waits->rows[w].key))
				return &gr_enomem;
		err = gr_runtime_step(&stop->program->rt, 1);
		if (err)
			return err;
	}
	err = gr_sort(keys.data, keys.size, sizeof(*keys.data),
		      compare_addresses, stop->program->rt.poll,
		      stop->program->rt.poll_ctx);
	for (size_t i = 0; !err && i < keys.size; i++)
		group->nawaited += !i || keys.data[i] != keys.data[i - 1];
	return err;
}

/* Describe a group by its first member. */
static struct gr_error *describe(struct finder *f, const struct member *first,
				 struct gr_leak_group *group)
{
	struct gr_stop *stop = f->answers->stop;
	const struct gr_waits *waits = stop->sched.waits;
	const struct gr_goroutine *g =
		&stop->sched.goroutines[first->goroutine];
	const struct gr_wait *wait =
		&waits->rows[waits->first[first->goroutine]];
	struct gr_goroutine_info info;
	struct gr_error *err =
		gr_goroutine_info_read(f->answers->stop, g, &info);

	if (err)
		return err;
	group->start = info.start;
	group->go = info.go;
	group->wait_reason = info.wait_reason;
	group->awaited = wait->key ? awaited_name(wait->kind) : "";
	group->at = info.user;
	if (strcmp(group->awaited, "channel") == 0)
		err = element_type(stop->program, wait->key,
				   &group->element_type);
	return err;
}

/* Make the group of n members. Their ids follow those of the groups before. */
static struct gr_error *add_group(struct finder *f, size_t start, size_t n)
{
	const struct member *members = &f->members.data[start];
	struct gr_leak_group group = {
		.state = members->state,
		.verdict = state_name(members->state),
		.goroutines = n,
		.element_type = "",
		.first = start,
		.nids = n,
	};
	struct gr_error *err = describe(f, members, &group);

	for (size_t i = 0; i < n; i++) {
		const struct gr_goroutine *g =
			&f->answers->stop->sched
				 .goroutines[members[i].goroutine];
		group.stack_bytes += g->stack_hi - g->stack_lo;
	}
	if (!err)
		err = count_awaited(f, members, n, &group);
	if (!err && !group_vector_append(&f->groups, group))
		err = &gr_enomem;
	return err;
}

static struct gr_error *make_groups(struct finder *f)
{
	const struct member *members = f->members.data;
	size_t n = f->members.size, end;
	struct gr_error *err = gr_sort(f->members.data, n, sizeof(*members),
				       compare_members,
				       f->answers->stop->program->rt.poll,
				       f->answers->stop->program->rt.poll_ctx);

	// Bounded by the members: each group has one.
	for (size_t i = 0; !err && i < n; i = end) {
		end = i + 1;
		while (end < n && !compare_places(&members[i], &members[end]))
			end++;
		err = add_group(f, i, end - i);
	}
	return err;
}

// ----------------------------------------------------------------------- bytes

/* Weigh what each of the groups [first, end) keeps alive, and all together. */
static struct gr_error *weigh(struct finder *f, size_t first, size_t end,
			      struct gr_kept *together)
{
	_cleanup_(gr_set_member_vector_deinit) struct gr_set_member_vector
		sets = { 0 };
	struct gr_leak_group *groups = f->groups.data;
	_cleanup_free_ struct gr_kept *kept =
		calloc(end - first + 1, sizeof(*kept));

	if (!kept)
		return &gr_enomem;
	for (size_t k = first; k < end; k++)
		for (size_t m = 0; m < groups[k].nids; m++) {
			const struct member *member =
				&f->members.data[groups[k].first + m];
			if (!gr_set_member_vector_append(
				    &sets,
				    (struct gr_set_member){ member->goroutine,
							    k - first }))
				return &gr_enomem;
		}
	struct gr_error *err = gr_goroutines_weigh(f->answers, &sets,
						   end - first, kept, together);
	for (size_t k = first; !err && k < end; k++) {
		groups[k].retained_bytes = kept[k - first].bytes;
		groups[k].retained_objects = kept[k - first].objects;
		groups[k].retained_c_bytes = kept[k - first].second_bytes;
	}
	return err;
}

static struct gr_error *weigh_all(struct finder *f)
{
	const struct gr_leak_group *groups = f->groups.data;
	struct gr_leak_report *report = f->report;
	struct gr_kept leaked, unproven;
	size_t n = 0;

	while (n < f->groups.size && groups[n].state == GR_LEAK_LEAKED)
		report->stack_bytes += groups[n++].stack_bytes;
	struct gr_error *err = weigh(f, 0, n, &leaked);
	report->retained_bytes = leaked.bytes;
	report->retained_objects = leaked.objects;
	report->retained_c_bytes = leaked.second_bytes;
	return err ? err : weigh(f, n, f->groups.size, &unproven);
}

// ---------------------------------------------------------------------- answer

static int compare_groups(const void *a, const void *b)
{
	const struct gr_leak_group *x = a, *y = b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes > y->retained_bytes ? -1 : 1;
	if (x->goroutines != y->goroutines)
		return x->goroutines > y->goroutines ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static struct gr_error *finish(struct finder *f)
{
	struct gr_leak_report *report = f->report;
	size_t n = f->members.size;

	report->ids = calloc(n + 1, sizeof(*report->ids));
	if (!report->ids)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		report->ids[i] = f->members.data[i].id;
	report->nids = n;
	report->ngroups = f->groups.size;
	report->groups = steal_ptr(f->groups.data);
	gr_blocked_places_sort(&f->places);
	report->nplaces = f->places.rows.size;
	report->places = steal_ptr(f->places.rows.data);
	report->gaps = f->answers->graph_gaps;
	report->knows_c = f->answers->stop->has_native;
	if (report->ngroups)
		qsort(report->groups, report->ngroups, sizeof(*report->groups),
		      compare_groups);
	return NULL;
}

static struct gr_error *find(struct finder *f)
{
	size_t n = f->answers->stop->sched.ngoroutines;
	_cleanup_free_ uint8_t *states = calloc(n + 1, sizeof(*states));
	struct gr_error *err =
		gr_answers_need_graph(f->answers, GR_PART_NEAREST);

	if (!err && !states)
		err = &gr_enomem;
	if (!err)
		err = gr_leak_rule_apply(f->answers, states);
	if (!err)
		err = collect(f, states);
	if (!err)
		err = make_groups(f);
	if (!err)
		err = weigh_all(f);
	return err ? err : finish(f);
}

static struct gr_error *make_ignores(struct finder *f,
				     const struct gr_leak_query *query)
{
	size_t n = query ? query->nignored : 0;

	f->report->nignored = n;
	f->report->ignored = calloc(n + 1, sizeof(*f->report->ignored));
	return f->report->ignored ?
		       gr_ignores_make(&f->answers->stop->program->rt,
				       query ? query->ignored : NULL, n,
				       &f->ignores) :
		       &gr_enomem;
}

struct gr_error *gr_scan_leaks(struct gr_scan *scan,
			       const struct gr_leak_query *query,
			       struct gr_leak_report **ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	_cleanup_(gr_cleanup_leak_report) struct gr_leak_report *report =
		calloc(1, sizeof(*report));
	_cleanup_(finder_deinit) struct finder f = {
		.answers = answers,
		.report = report,
		.user_pcs = { .rt = &answers->stop->program->rt },
		.places = { .stop = answers->stop },
	};
	struct gr_sigbus_guard guard;

	if (!report)
		return &gr_enomem;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = make_ignores(&f, query);
	if (!err)
		err = find(&f);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(report);
	return err;
}
