// SPDX-License-Identifier: Apache-2.0
#include "goroutines/goroutine_wait.h"

#include "goroutines/goroutine_info.h"
#include "goroutines/thread_call.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/channel.h"
#include "goruntime/sched/coroutine.h"
#include "goruntime/sched/waits.h"
#include "scan/enter.h"

enum {
	MAX_VALUE_BYTES = 1 << 16,
	MAX_TYPE_BYTES = 512,
	// sync/rwmutex.go, sync/waitgroup.go: the same in all releases.
	READER_WAIT = 20, /* of a RWMutex: sync/rwmutex.go */
	WAITGROUP_STATE = 0,
};

/** The goroutine whose waits are described. */
struct query {
	struct gr_answers *answers;
	const struct gr_wait_query *asked;
	const struct gr_goroutine *g;
	struct gr_goroutine_wait *ret;
};

void gr_goroutine_wait_destroy(struct gr_goroutine_wait *wait)
{
	if (!wait)
		return;
	for (size_t i = 0; i < wait->nwaits; i++)
		free(wait->waits[i].value);
	free(wait->waits);
	free(wait);
}
GR_DEFINE_CLEANUP(goroutine_wait, struct gr_goroutine_wait,
		  gr_goroutine_wait_destroy)

/* Nanoseconds from the start of the program to a moment of its clock. */
static struct gr_error *since_start(struct gr_runtime *rt, uint64_t when,
				    uint64_t *ret)
{
	const struct gr_field word = { 0, 8 };
	uint64_t start;
	struct gr_error *err = gr_runtime_read_field(
		rt, rt->layout.vars.init_time, word, &start);

	*ret = !err && start && when > start ? when - start : 0;
	return err;
}

// ----------------------------------------------------------------- channels

static bool sends(const struct gr_wait *wait)
{
	return wait->kind == GR_WAIT_CHAN_SEND ||
	       wait->kind == GR_WAIT_SELECT_SEND;
}

static bool is_for_channel(const struct gr_wait *wait)
{
	return sends(wait) || wait->kind == GR_WAIT_CHAN_RECEIVE ||
	       wait->kind == GR_WAIT_SELECT_RECEIVE;
}

static struct gr_error *show_value(struct query *q, const struct gr_wait *wait,
				   gr_type_id type, struct gr_wait_info *ret)
{
	_cleanup_free_ char *data = malloc(MAX_VALUE_BYTES);
	const struct gr_shown value = { .type = type, .addr = wait->elem };

	if (!data)
		return &gr_enomem;
	struct gr_text text = gr_text_begin(data, MAX_VALUE_BYTES);
	struct gr_error *err = gr_show_value(q->answers->stop->program->types,
					     &q->asked->limits, &value, &text);
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err)
		return err;
	ret->value = strdup(text.data);
	return ret->value ? NULL : &gr_enomem;
}

static const char *channel_type(struct gr_program *program, gr_type_id elem)
{
	const char *name = elem == GR_TYPE_NONE ?
				   NULL :
				   gr_types_get(program->types, elem)->name;

	name = name ? gr_arena_internf(&program->arena, "chan %s", name) :
		      "chan";
	return name ? name : "";
}

static struct gr_error *describe_channel(struct query *q,
					 const struct gr_wait *wait,
					 struct gr_wait_info *ret)
{
	struct gr_answers *answers = q->answers;
	gr_type_id elem = GR_TYPE_NONE;
	struct gr_channel channel;
	uint64_t when = 0;
	struct gr_error *err = gr_channel_read(&answers->stop->program->rt,
					       wait->object, &channel);

	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	ret->count = channel.count;
	ret->capacity = channel.capacity;
	ret->is_closed = channel.is_closed;
	if (channel.elem_type_addr)
		err = gr_types_from_runtime(answers->stop->program->types,
					    channel.elem_type_addr, &elem);
	if (!err && sends(wait) && wait->elem && elem != GR_TYPE_NONE)
		err = show_value(q, wait, elem, ret);
	if (!err)
		err = gr_runtime_read_field(
			&answers->stop->program->rt, channel.timer,
			answers->stop->program->rt.layout.timer.when, &when);
	if (!err && when)
		err = since_start(&answers->stop->program->rt, when,
				  &ret->due_ns);
	return err ? err :
		     gr_primitive_find_name(
			     answers, wait->object,
			     channel_type(answers->stop->program, elem), true,
			     q->asked->may_walk, &ret->name);
}

// -------------------------------------------------------------------- locks

static const char *lock_type(enum gr_wait_kind kind)
{
	static const char *const types[GR_NWAIT_KINDS] = {
		[GR_WAIT_MUTEX] = "sync.Mutex",
		[GR_WAIT_RWMUTEX_READ] = "sync.RWMutex",
		[GR_WAIT_RWMUTEX_WRITE] = "sync.RWMutex",
		[GR_WAIT_WAITGROUP] = "sync.WaitGroup",
		[GR_WAIT_COND] = "sync.Cond",
	};

	return types[kind] ? types[kind] : "";
}

/* How many are not done, or hold it to read. The count of all readers includes
 * those that wait behind the writer. */
static struct gr_error *count_holders(struct query *q,
				      const struct gr_wait *wait,
				      struct gr_wait_info *ret)
{
	const struct gr_field state = { WAITGROUP_STATE + 4, 4 };
	const struct gr_field readers = { READER_WAIT, 4 };
	uint64_t count;
	struct gr_error *err;

	if (wait->kind == GR_WAIT_WAITGROUP)
		return gr_runtime_read_field(&q->answers->stop->program->rt,
					     wait->object, state,
					     &ret->holders);
	if (wait->kind != GR_WAIT_RWMUTEX_WRITE)
		return NULL;
	err = gr_runtime_read_field(&q->answers->stop->program->rt,
				    wait->object, readers, &count);
	if (!err && (int32_t)count > 0)
		ret->holders = count;
	return err;
}

static struct gr_error *describe_lock(struct query *q,
				      const struct gr_wait *wait,
				      struct gr_wait_info *ret)
{
	struct gr_error *err = count_holders(q, wait, ret);

	return err ? err :
		     gr_primitive_find_name(q->answers, wait->object,
					    lock_type(wait->kind), false,
					    q->asked->may_walk, &ret->name);
}

struct gr_error *gr_wait_find_name(struct gr_answers *answers,
				   const struct gr_wait *wait, bool may_walk,
				   struct gr_primitive_name *ret)
{
	struct gr_stop *stop = answers->stop;
	gr_type_id elem = GR_TYPE_NONE;
	struct gr_channel channel;

	if (!is_for_channel(wait))
		return gr_primitive_find_name(answers, wait->object,
					      lock_type(wait->kind), false,
					      may_walk, ret);
	struct gr_error *err =
		gr_channel_read(&stop->program->rt, wait->object, &channel);
	if (!err && channel.elem_type_addr)
		err = gr_types_from_runtime(stop->program->types,
					    channel.elem_type_addr, &elem);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		elem = GR_TYPE_NONE;
	return err ? err :
		     gr_primitive_find_name(answers, wait->object,
					    channel_type(stop->program, elem),
					    true, may_walk, ret);
}

// ------------------------------------------------------------------- others

static struct gr_error *describe_sleep(struct query *q,
				       struct gr_wait_info *ret)
{
	struct gr_stop *stop = q->answers->stop;
	const struct gr_layout *layout = &stop->program->rt.layout;
	struct gr_field field = gr_field_is_present(layout->timer.nextwhen) ?
					layout->timer.nextwhen :
					layout->timer.when;
	uint64_t timer = 0, when = 0;
	struct gr_error *err = gr_runtime_read_field(
		&stop->program->rt, q->g->addr, layout->g.sleep_when, &when);

	if (!err && !when)
		err = gr_runtime_read_field(&stop->program->rt, q->g->addr,
					    layout->g.timer, &timer);
	if (!err && !when)
		err = gr_runtime_read_field(&stop->program->rt, timer, field,
					    &when);
	return err || !when ?
		       err :
		       since_start(&stop->program->rt, when, &ret->due_ns);
}

/* The number of the call is in the registers of the thread. */
static struct gr_error *find_number(struct query *q,
				    const struct gr_regs *thread,
				    struct gr_wait_info *ret)
{
	struct gr_stop *stop = q->answers->stop;
	struct gr_thread_call call = { .is_known = false };
	uint64_t m;
	struct gr_error *err =
		gr_runtime_read_field(&stop->program->rt, q->g->addr,
				      stop->program->rt.layout.g.m, &m);

	if (!err)
		err = gr_thread_call_find(&stop->program->rt, m, thread, &call);
	ret->has_number = call.is_known;
	ret->number = call.number;
	return err;
}

static struct gr_error *describe_syscall(struct query *q,
					 struct gr_wait_info *ret)
{
	size_t count;
	const struct gr_target_thread *threads =
		gr_image_threads(q->answers->stop->image, &count);
	const struct gr_goroutine *g = q->g;

	ret->is_in_c = g->nframes &&
		       gr_name_has(g->frames[0].func->name, GR_NAME_CALLS_C);
	for (size_t i = 0; i < count && !ret->is_in_c; i++)
		if (threads[i].lwp == q->ret->goroutine.thread_id)
			return find_number(q, &threads[i].regs, ret);
	return NULL;
}

static struct gr_error *describe_network(struct query *q,
					 struct gr_wait_info *ret)
{
	struct gr_error *err =
		gr_network_find(q->answers->stop, q->g, &ret->network);

	return err || !ret->network.deadline ?
		       err :
		       since_start(&q->answers->stop->program->rt,
				   ret->network.deadline, &ret->due_ns);
}

static struct gr_error *describe_coroutine(struct query *q,
					   struct gr_wait_info *ret)
{
	const struct gr_goroutine *other;
	struct gr_error *err =
		gr_coroutine_awaited(&q->answers->stop->sched, q->g, &other);

	ret->awaited_id = !err && other ? other->goid : 0;
	ret->is_callee =
		gr_coroutine_began_with(&q->answers->stop->program->rt, q->g);
	return err;
}

static struct gr_error *describe(struct query *q, const struct gr_wait *wait,
				 struct gr_wait_info *ret)
{
	const struct gr_waits *waits = q->answers->stop->sched.waits;
	struct gr_error *err =
		gr_runtime_step(&q->answers->stop->program->rt, 16);

	ret->kind = gr_wait_kind_name(wait->kind);
	ret->primitive = wait->object ? wait->object : wait->key;
	ret->is_woken = wait->is_woken;
	if (wait->key)
		ret->waiters = waits->waiters[wait - waits->rows];
	if (err)
		return err;
	if (is_for_channel(wait) && wait->object)
		return describe_channel(q, wait, ret);
	if (ret->primitive)
		return describe_lock(q, wait, ret);
	if (wait->kind == GR_WAIT_NETWORK)
		return describe_network(q, ret);
	if (wait->kind == GR_WAIT_COROUTINE)
		return describe_coroutine(q, ret);
	if (wait->kind == GR_WAIT_SLEEP)
		return describe_sleep(q, ret);
	return wait->kind == GR_WAIT_SYSCALL ? describe_syscall(q, ret) : NULL;
}

static struct gr_error *find_bubble(struct query *q)
{
	struct gr_stop *stop = q->answers->stop;
	const struct gr_layout *layout = &stop->program->rt.layout;
	uint64_t bubble;
	struct gr_error *err = gr_runtime_read_field(
		&stop->program->rt, q->g->addr, layout->g.bubble, &bubble);

	q->ret->is_in_bubble = bubble;
	return err ? err :
		     gr_runtime_read_field(&stop->program->rt, bubble,
					   layout->bubble.id,
					   &q->ret->bubble_id);
}

static struct gr_error *describe_all(struct query *q)
{
	struct gr_stop *stop = q->answers->stop;
	static const struct gr_primitive_name nameless = { "", "", "", "", "" };
	static const struct gr_network no_network = {
		.action = "", .network = "", .local = "", .remote = ""
	};
	const struct gr_waits *waits = stop->sched.waits;
	size_t index = q->g - stop->sched.goroutines;
	uint32_t first = waits->first[index], end = waits->first[index + 1];
	struct gr_error *err = find_bubble(q);

	if (!err)
		err = gr_waits_count(&stop->sched);
	if (err)
		return err;
	q->ret->waits = calloc(end - first + 1, sizeof(*q->ret->waits));
	if (!q->ret->waits)
		return &gr_enomem;
	for (uint32_t i = first; !err && i < end; i++) {
		struct gr_wait_info *info = &q->ret->waits[q->ret->nwaits++];

		info->name = nameless;
		info->network = no_network;
		err = describe(q, &waits->rows[i], info);
	}
	return err;
}

static struct gr_error *answer(struct query *q)
{
	struct gr_error *err = gr_stop_need_goroutine(
		q->answers->stop, q->asked->goroutine_id, &q->g);

	if (err)
		return err;
	err = gr_goroutine_info_read(q->answers->stop, q->g,
				     &q->ret->goroutine);
	return err ? err : describe_all(q);
}

struct gr_error *gr_scan_goroutine_wait(struct gr_scan *scan,
					const struct gr_wait_query *query,
					struct gr_goroutine_wait **ret)
{
	_cleanup_(gr_cleanup_goroutine_wait) struct gr_goroutine_wait *wait =
		calloc(1, sizeof(*wait));
	struct query q = { .asked = query, .ret = wait };
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!wait)
		return &gr_enomem;
	err = gr_scan_enter(scan, &guard, &q.answers);
	if (!err)
		err = answer(&q);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(wait);
	return err;
}
