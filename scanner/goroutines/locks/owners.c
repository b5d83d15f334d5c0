// SPDX-License-Identifier: Apache-2.0
/*
 * Who may own what others wait for.
 *
 * A sync.Mutex has no owner. Whoever will unlock it has a pointer to it, or to
 * what lies around it, in a frame that is between the lines of Lock and Unlock,
 * or in the closure of a deferred call. A package-level lock needs no pointer:
 * the code of the frame names it.
 */
#include "goroutines/locks/owners.h"

#include "goroutines/locks/owner_list.h"
#include "goroutines/locks/owner_search.h"
#include "goroutines/locks/reach_sets.h"
#include "scan/stop.h"

enum {
	ONCE_MUTEX = 4,	 /* sync/once.go: Once.m, behind done */
	COND_LOCK = 8,	 /* sync/cond.go: the pointer of Cond.L */
	WORD_STEPS = 16, /* words in the time of a step */
};

static const char once_prefix[] = "sync.(*Once).";
static const char cond_wait[] = "sync.(*Cond).Wait";

static void search_deinit(struct gr_owner_search *s)
{
	gr_lock_codes_deinit(&s->codes);
	gr_u64_vector_deinit(&s->pending);
}

struct gr_primitive *gr_owner_find_around(const struct gr_owner_search *s,
					  uint64_t value, size_t *count)
{
	const struct gr_wait_table *t = s->table;
	size_t i = gr_count_before(t->nprimitives, i,
				   t->primitives[i].object < value);
	struct gr_primitive *first = t->primitives + i;
	size_t n = 0;

	while (n < GR_OWNER_MAX_MATCHES && i + n < t->nprimitives &&
	       first[n].object - value < GR_OWNER_MAX_AROUND &&
	       value >= first[n].around)
		n++;
	*count = n;
	return first;
}

/* Note the primitives that a pointer is about. */
static struct gr_error *match(struct gr_owner_search *s, uint64_t value)
{
	struct gr_error *err = NULL;
	size_t count;
	struct gr_primitive *p = gr_owner_find_around(s, value, &count);

	for (size_t n = 0; !err && n < count; n++, p++) {
		const struct gr_lock_at at = { .distance = (int64_t)(p->object -
								     value) };
		err = gr_owner_note_reach(s, p, &at, p->object == value);
	}
	return err;
}

// -------------------------------------------------------------------- frames

/* The holder of a Once is inside the call that it makes. */
static struct gr_error *note_once(struct gr_owner_search *s, uint64_t value)
{
	const struct gr_owner owner = {
		.goroutine = s->index,
		.frame = s->frame_index,
		.rank = GR_OWNER_EXACT,
		.is_pointer = true,
		.is_proven = true,
		.function = s->frame->func->name,
	};
	struct gr_primitive *p =
		gr_wait_table_find(s->table, value, GR_WAIT_MUTEX);

	if (!p)
		p = gr_wait_table_find(s->table, value + ONCE_MUTEX,
				       GR_WAIT_MUTEX);
	if (value >= GR_HEAP_PAGE_BYTES && p && s->frame_index > s->user_frame)
		gr_owner_add(s->table, p, &owner);
	return NULL;
}

/* Does the frame's function take and give back places of a semaphore? */
static bool has_slots(const struct gr_owner_search *s)
{
	bool takes = false, gives = false;

	for (size_t i = 0; s->table->nslots && i < s->code->nsites; i++) {
		const struct gr_lock_site *site = &s->code->sites[i];

		takes |= site->class == GR_LOCK_SLOT && !site->unlocks;
		gives |= site->class == GR_LOCK_SLOT && site->unlocks;
	}
	return takes && gives;
}

static struct gr_error *look_at_word(struct gr_owner_search *s, uint64_t value)
{
	struct gr_error *err = NULL;

	if (value < GR_HEAP_PAGE_BYTES)
		return NULL;
	err = match(s, value);
	if (!err && has_slots(s))
		err = gr_owner_look_for_slots(s, value, GR_LOCK_SLOT, false);
	if (!err && s->frame->func->deferreturn)
		err = gr_owner_look_at_closure(s, value);
	return err;
}

/* The end of a frame's words: its arguments, and the slots to which it spills
 * those that came in registers, lie in the frame of its caller. */
static uint64_t end_of_words(const struct gr_frame *frame)
{
	uint32_t bytes = frame->func->args_bytes;

	return bytes == GR_FUNC_ARGS_UNKNOWN || frame->argp < frame->fp ||
			       bytes > UINT64_MAX - frame->argp ?
		       frame->fp :
		       frame->argp + bytes;
}

typedef struct gr_error *word_fn(struct gr_owner_search *s, uint64_t value);

/* Call @p look for the live words of the frame. */
static struct gr_error *for_each_word(struct gr_owner_search *s, word_fn *look)
{
	const struct gr_area *stack = &s->g->stack;
	uint64_t start = s->frame->sp, end = end_of_words(s->frame);
	struct gr_error *err = NULL;

	if (s->frame_index)
		start = end_of_words(s->frame - 1);

	if (!stack->host || !stack->live)
		return NULL;
	start = start < stack->start ? stack->start : start;
	end = end > stack->end ? stack->end : end;
	if (start >= end)
		return NULL;
	size_t first = (start - stack->start) / GR_WORD_BYTES;
	size_t last = (end - stack->start) / GR_WORD_BYTES;
	for (size_t i = gr_bitmap_next(stack->live, first, last);
	     !err && i < last; i = gr_bitmap_next(stack->live, i + 1, last))
		err = look(s, gr_load_u64(stack->host + i * GR_WORD_BYTES));
	return err ? err :
		     gr_runtime_step(&s->stop->program->rt,
				     1 + (last - first) / WORD_STEPS);
}

/* Package-level locks that the code of the frame names. */
static struct gr_error *look_at_code(struct gr_owner_search *s)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < s->code->nsites; i++) {
		const struct gr_lock_at at = s->code->sites[i].at;

		if (s->code->sites[i].class == GR_LOCK_SLOT) {
			if (at.addr)
				err = gr_owner_look_for_slots(
					s, at.addr, GR_LOCK_SLOT, false);
			continue;
		}
		struct gr_primitive *p =
			at.addr ? gr_wait_table_at(s->table, at.addr) : NULL;
		const struct gr_primitive *end =
			s->table->primitives + s->table->nprimitives;

		for (; !err && p && p < end && p->object == at.addr; p++)
			err = gr_owner_note_reach(s, p, &at, true);
	}
	return err;
}

static struct gr_error *count_word(struct gr_owner_search *s, uint64_t value)
{
	return value < GR_HEAP_PAGE_BYTES ? NULL :
					    gr_owner_count_closure(s, value);
}

/* Count the deferred calls of the frame that unlock. */
static struct gr_error *count_deferred(struct gr_owner_search *s)
{
	memset(s->ndeferred, 0, sizeof(s->ndeferred));
	return s->frame->func->deferreturn ? for_each_word(s, count_word) :
					     NULL;
}

static struct gr_error *look_at_frame(struct gr_owner_search *s)
{
	const char *name = s->frame->func->name;
	struct gr_error *err;

	s->ncalls = 0;
	if (gr_lock_is_internal(name))
		return !strncmp(name, once_prefix, sizeof(once_prefix) - 1) ?
			       for_each_word(s, note_once) :
			       gr_runtime_step(&s->stop->program->rt, 1);
	err = gr_lock_code_of(&s->codes, s->frame->func, 1, &s->code);
	if (!err)
		err = gr_owner_note_unlocks(s);
	if (!err)
		err = count_deferred(s);
	if (!err)
		err = look_at_code(s);
	return err ? err : for_each_word(s, look_at_word);
}

/* Registers of a goroutine that runs, and records of deferred calls. */
static struct gr_error *look_at_values(struct gr_owner_search *s)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < s->g->nvalues; i++) {
		const struct gr_value_root *value = &s->g->values[i];

		if (value->frame >= s->g->nframes)
			continue;
		s->frame_index = value->frame;
		s->frame = &s->g->frames[value->frame];
		s->ncalls = 0;
		if (gr_lock_is_internal(s->frame->func->name))
			continue;
		err = gr_lock_code_of(&s->codes, s->frame->func, 1, &s->code);
		// How many more the frame has is not known.
		memset(s->ndeferred, 0x7f, sizeof(s->ndeferred));
		if (!err && value->kind == GR_VALUE_DEFER)
			err = gr_owner_look_at_closure(s, value->value);
		else if (!err)
			err = match(s, value->value);
		if (!err)
			err = gr_runtime_step(&s->stop->program->rt, 1);
	}
	return err;
}

/* Note what the goroutine waits for. Cond.Wait has unlocked its lock, and may
 * be waiting to lock it again. */
static struct gr_error *look_at_waits(struct gr_owner_search *s)
{
	const struct gr_waits *waits = s->table->waits;
	struct gr_error *err = NULL;
	bool is_in_cond = false;

	for (size_t i = 0; !is_in_cond && i < s->g->nframes; i++) {
		is_in_cond = !strcmp(s->g->frames[i].func->name, cond_wait);
		s->cond_frame = is_in_cond ? i : UINT32_MAX;
	}
	is_in_cond &= s->cond_frame < s->user_frame;
	for (uint32_t i = waits->first[s->index];
	     !err && i < waits->first[s->index + 1]; i++) {
		const struct gr_wait *row = &waits->rows[i];

		if (s->table->of_row[i] != UINT32_MAX)
			s->table->primitives[s->table->of_row[i]].awaited =
				s->index + 1;
		if (row->kind == GR_WAIT_COND && row->object)
			err = gr_image_read_u64(s->stop->image,
						row->object + COND_LOCK,
						&s->let_go);
		else if (is_in_cond)
			s->let_go = row->object;
		if (gr_error_catch(&err, GR_ERROR_FAULT) ||
		    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
			s->let_go = 0;
	}
	return err;
}

/* Look at the primitives that the goroutine reaches in the graph. */
static struct gr_error *look_at_reach(struct gr_owner_search *s)
{
	const struct gr_reach_sets *reach = s->reach;
	uint32_t first = reach ? reach->first_of[s->index] : 0;
	uint32_t end = reach ? reach->first_of[s->index + 1] : 0;

	for (uint32_t i = first; i < end; i++) {
		const struct gr_reach *row = &reach->rows.data[reach->of[i]];
		// Others may have to call Done; it may not have to.
		bool is_alone = row->is_alone &&
				s->table->primitives[row->primitive].kind !=
					GR_WAIT_WAITGROUP;
		const struct gr_owner owner = {
			.goroutine = s->index,
			.frame = UINT32_MAX,
			.rank = is_alone ? GR_OWNER_ALONE : GR_OWNER_REACHES,
			.is_proven = is_alone,
		};
		if (!row->is_waiter)
			gr_owner_add(s->table,
				     &s->table->primitives[row->primitive],
				     &owner);
	}
	return gr_runtime_step(&s->stop->program->rt, end - first);
}

static struct gr_error *look_at_goroutine(struct gr_owner_search *s,
					  uint32_t index)
{
	struct gr_error *err;

	s->g = &s->stop->sched.goroutines[index];
	s->index = index;
	s->let_go = 0;
	s->has_pending = false;
	for (uint8_t class = 0; class < GR_NLOCK_CLASSES; class ++)
		s->unlocks_inside[class] = UINT32_MAX;
	s->user_frame = 0;
	while (s->user_frame < s->g->nframes &&
	       gr_lock_is_internal(s->g->frames[s->user_frame].func->name))
		s->user_frame++;
	err = look_at_waits(s);
	if (!err)
		err = look_at_reach(s);
	for (size_t i = 0; !err && i < s->g->nframes; i++) {
		s->frame_index = i;
		s->frame = &s->g->frames[i];
		err = look_at_frame(s);
	}
	return err ? err : look_at_values(s);
}

/* Whoever waits for the readers of a RWMutex has its mutex. */
static void note_writers(struct gr_wait_table *table)
{
	for (size_t i = 0; i < table->nprimitives; i++) {
		const struct gr_primitive *p = &table->primitives[i];

		if (p->kind != GR_WAIT_RWMUTEX_WRITE || p->nwaiters != 1)
			continue;
		const struct gr_owner owner = {
			.goroutine = table->waiters[p->first_waiter],
			.rank = GR_OWNER_EXACT,
			.is_pointer = true,
			.is_proven = true,
		};
		struct gr_primitive *mutex =
			gr_wait_table_find(table, p->object, GR_WAIT_MUTEX);
		struct gr_primitive *readers = gr_wait_table_find(
			table, p->object, GR_WAIT_RWMUTEX_READ);
		if (mutex)
			gr_owner_add(table, mutex, &owner);
		if (readers)
			gr_owner_add(table, readers, &owner);
	}
}

struct gr_error *gr_owners_find(struct gr_stop *stop,
				struct gr_wait_table *table,
				const struct gr_reach_sets *reach)
{
	_cleanup_(search_deinit) struct gr_owner_search s = {
		.stop = stop,
		.table = table,
		.reach = reach,
		.codes = { .rt = &stop->program->rt },
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->sched.ngoroutines; i++) {
		err = gr_runtime_step(&stop->program->rt, 4);
		if (!err && !stop->sched.goroutines[i].is_g0)
			err = look_at_goroutine(&s, i);
	}
	if (err)
		return err;
	note_writers(table);
	return gr_owners_settle(&stop->program->rt, table);
}
