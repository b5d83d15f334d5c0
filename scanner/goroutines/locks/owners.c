// SPDX-License-Identifier: Apache-2.0
/*
 * Who may own what others wait for.
 *
 * A sync.Mutex has no owner. Whoever will unlock it has a pointer to it, or to
 * what lies around it, in a frame that is between the lines of Lock and Unlock,
 * or in the closure of a deferred call. A package-level lock needs no pointer:
 * the code of the frame names it.
 */
#include "goroutines/wait_table.h"

#include "goroutines/deferred.h"
#include "goruntime/layout/inline.h"
#include "inferior/recorder.h"
#include "scan.h"

enum {
	MAX_AROUND = 4096, /* from a pointer to the lock that it is about */
	MAX_MATCHES = 8,   /* locks that one pointer may be about */
	CAPTURED_WORDS = 4,
	ONCE_MUTEX = 4,	 /* sync/once.go: Once.m, behind done */
	WORD_STEPS = 16, /* words in the time of a step */
	SITE_STEPS = 16, /* pairs of sites in the time of a step */
};

static const char once_prefix[] = "sync.(*Once).";

/** What is being looked at. */
struct finder {
	struct gr_scan *scan;
	struct gr_wait_table *table;
	struct gr_lock_codes codes;
	const struct gr_goroutine *g;
	uint32_t index;	     /* of g */
	uint32_t user_frame; /* the first one that is not the library's */
	const struct gr_frame *frame;
	uint32_t frame_index;
	const struct gr_lock_code *code; /* of the frame */
	struct gr_logical_frame calls[GR_MAX_INLINED];
	size_t ncalls;	   /* 0: not read yet */
	bool is_explained; /* A lock was found that the frame is between. */
	uint32_t *unknown;
};

static void finder_deinit(struct finder *f)
{
	gr_lock_codes_deinit(&f->codes);
}

// -------------------------------------------------------------------- owners

static bool is_likelier(const struct gr_owner *a, const struct gr_owner *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->is_pointer != b->is_pointer)
		return a->is_pointer;
	return a->goroutine < b->goroutine;
}

static void remove_owner(struct gr_primitive *p, uint32_t i)
{
	memmove(&p->owners[i], &p->owners[i + 1],
		(p->nowners - i - 1) * sizeof(*p->owners));
	p->nowners--;
}

/* Enter an owner in its place; a goroutine is entered once. */
static void add_owner(struct gr_primitive *p, const struct gr_owner *owner)
{
	uint32_t i = 0;

	if (p->seen != owner->goroutine + 1)
		p->nreaching++;
	p->seen = owner->goroutine + 1;
	while (i < p->nowners && p->owners[i].goroutine != owner->goroutine)
		i++;
	if (i < p->nowners) {
		if (!is_likelier(owner, &p->owners[i]))
			return;
		remove_owner(p, i);
	}
	for (i = p->nowners; i > 0 && is_likelier(owner, &p->owners[i - 1]);)
		i--;
	if (i == GR_MAX_OWNERS)
		return;
	if (p->nowners == GR_MAX_OWNERS)
		p->nowners--;
	memmove(&p->owners[i + 1], &p->owners[i],
		(p->nowners - i) * sizeof(*p->owners));
	p->owners[i] = *owner;
	p->nowners++;
}

// --------------------------------------------------------------------- lines

static struct gr_error *need_calls(struct finder *f)
{
	if (f->ncalls)
		return NULL;
	return gr_inline_frames(&f->scan->rt, f->frame->func,
				gr_frame_call_pc(f->frame), f->calls,
				&f->ncalls);
}

/* Is the frame's call one of package sync, in which the goroutine waits? */
static bool is_locking(const struct finder *f)
{
	const char *callee;

	if (f->frame_index != f->user_frame || !f->user_frame)
		return false;
	callee = f->g->frames[f->user_frame - 1].func->name;
	return !strncmp(callee, "sync.", 5) ||
	       !strncmp(callee, "internal/sync.", 14);
}

/* What the lines of the frame's calls say of a lock; the innermost call that is
 * between Lock and Unlock, else the innermost one that will lock. */
static struct gr_error *ask_lines(struct finder *f, uint8_t class,
				  const struct gr_lock_at *at,
				  struct gr_owner *ret)
{
	struct gr_error *err = need_calls(f);

	// Each line is summed up by all sites.
	if (!err)
		err = gr_runtime_step(&f->scan->rt, (uint64_t)f->code->nsites *
							    f->code->nsites /
							    SITE_STEPS);
	for (size_t i = 0; !err && i < f->ncalls; i++) {
		const struct gr_lock_question question = {
			.function = f->calls[i].function,
			.line = f->calls[i].line,
			.pc = gr_frame_call_pc(f->frame),
			.is_locking = is_locking(f),
			.class = class,
			.at = *at,
		};
		if (gr_lock_is_internal(question.function))
			continue;
		struct gr_lock_lines lines = gr_lock_ask(f->code, &question);
		if (!ret->function || lines.is_between ||
		    (lines.is_before && !ret->lines.is_before)) {
			ret->function = question.function;
			ret->line = question.line;
			ret->lines = lines;
		}
		if (lines.is_between)
			break;
	}
	return err;
}

/* Has the frame locked something of the class of a primitive before? */
static struct gr_error *has_locked(struct finder *f, uint8_t class, bool *ret)
{
	const struct gr_lock_at any = { 0, GR_ANY_DISTANCE };
	struct gr_owner owner = { 0 };
	struct gr_error *err = ask_lines(f, class, &any, &owner);

	*ret = owner.lines.locked;
	return err;
}

/* The goroutine has a pointer to the primitive, or its code names it. */
static struct gr_error *note_reach(struct finder *f, struct gr_primitive *p,
				   const struct gr_lock_at *at, bool is_pointer)
{
	uint8_t class = gr_wait_kind_class(p->kind);
	bool is_own = p->awaited == f->index + 1;
	struct gr_owner owner = {
		.goroutine = f->index,
		.frame = f->frame_index,
		.rank = GR_OWNER_REACHES,
		.is_pointer = is_pointer,
	};
	struct gr_error *err = NULL;

	if (is_own && f->frame_index <= f->user_frame)
		return NULL;
	if (class == GR_NLOCK_CLASSES) {
		if (!is_own)
			add_owner(p, &owner);
		return NULL;
	}
	err = ask_lines(f, class, at, &owner);
	if (err)
		return err;
	if (owner.lines.is_between)
		owner.rank = GR_OWNER_BETWEEN;
	else if (owner.lines.is_before)
		owner.rank = GR_OWNER_LATER;
	f->is_explained |= owner.lines.is_between;
	if (!is_own || owner.lines.is_between)
		add_owner(p, &owner);
	return NULL;
}

/** A pointer that was found, and what is to be done for each primitive that it
 * may be about. */
typedef struct gr_error *note_fn(struct finder *f, struct gr_primitive *p,
				 const struct gr_lock_at *at, bool is_pointer);

/* Call @p note for the primitives that a pointer is about. */
static struct gr_error *match(struct finder *f, uint64_t value, note_fn *note)
{
	const struct gr_wait_table *t = f->table;
	size_t i = gr_count_before(t->nprimitives, i,
				   t->primitives[i].object < value);
	struct gr_error *err = NULL;

	for (size_t n = 0; !err && i < t->nprimitives && n < MAX_MATCHES;
	     i++, n++) {
		struct gr_primitive *p = &t->primitives[i];

		if (p->object - value >= MAX_AROUND || value < p->around)
			break;
		const struct gr_lock_at at = { .distance = (int64_t)(p->object -
								     value) };
		err = note(f, p, &at, p->object == value);
	}
	return err;
}

// ------------------------------------------------------------ deferred calls

static struct gr_error *note_defer(struct finder *f, struct gr_primitive *p,
				   uint8_t class, bool is_pointer)
{
	bool is_own = p->awaited == f->index + 1, counts = true;
	const struct gr_owner owner = {
		.goroutine = f->index,
		.frame = f->frame_index,
		.rank = GR_OWNER_DEFERS,
		.is_pointer = is_pointer,
	};
	struct gr_error *err = NULL;

	// `defer mu.Unlock(); mu.Lock()` does not own it yet.
	if (is_own && f->frame_index == f->user_frame)
		err = has_locked(f, class, &counts);
	if (is_own && f->frame_index < f->user_frame)
		counts = false;
	if (!err && counts) {
		f->is_explained = true;
		add_owner(p, &owner);
	}
	return err;
}

/* A captured word of a deferred call that unlocks. */
static struct gr_error *match_captured(struct finder *f, uint64_t value,
				       uint8_t class,
				       const struct gr_lock_at *at)
{
	const struct gr_wait_table *t = f->table;
	size_t i = gr_count_before(t->nprimitives, i,
				   t->primitives[i].object < value);
	struct gr_error *err = NULL;

	for (size_t n = 0; !err && i < t->nprimitives && n < MAX_MATCHES;
	     i++, n++) {
		struct gr_primitive *p = &t->primitives[i];
		int64_t distance = (int64_t)(p->object - value);

		if (distance >= MAX_AROUND || value < p->around)
			break;
		if (gr_wait_kind_class(p->kind) == class &&
		    (at->distance == GR_ANY_DISTANCE ||
		     at->distance == distance))
			err = note_defer(f, p, class,
					 !distance || at->distance == distance);
	}
	return err;
}

static struct gr_error *note_named_defer(struct finder *f, uint8_t class,
					 uint64_t addr)
{
	struct gr_primitive *p = gr_wait_table_at(f->table, addr);
	const struct gr_primitive *end =
		f->table->primitives + f->table->nprimitives;
	struct gr_error *err = NULL;

	for (; !err && p && p < end && p->object == addr; p++)
		if (gr_wait_kind_class(p->kind) == class)
			err = note_defer(f, p, class, true);
	return err;
}

/* How many words of a closure may be captured: as the debug information has it,
 * else one, the receiver of a deferred method. */
static struct gr_error *count_captured(struct finder *f, uint64_t pc,
				       size_t *ret)
{
	gr_type_id type = GR_TYPE_NONE;
	struct gr_error *err = gr_types_closure(f->scan->types, pc, &type);
	uint64_t bytes = type == GR_TYPE_NONE ?
				 0 :
				 gr_types_get(f->scan->types, type)->size_bytes;
	uint64_t n = bytes / GR_WORD_BYTES;

	*ret = n < 2 ? 1 : n > CAPTURED_WORDS ? CAPTURED_WORDS : n - 1;
	return err;
}

/* Read a word that a closure has captured. A file without values has it only if
 * it is an address; 0 is no lock. */
static struct gr_error *read_captured(struct finder *f, uint64_t addr,
				      uint64_t *ret)
{
	struct gr_recorder *recorder = f->scan->rt.recorder;
	size_t mark = gr_recorder_search(recorder);
	struct gr_error *err = gr_image_read_u64(f->scan->image, addr, ret);

	gr_recorder_end_search(
		recorder, mark,
		recorder && !err && gr_image_is_mapped(f->scan->image, *ret));
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

/* Note the locks of a class that the closure at @p addr unlocks. */
static struct gr_error *match_closure(struct finder *f, uint64_t addr,
				      uint64_t pc, uint8_t class,
				      const struct gr_lock_at *at)
{
	struct gr_error *err = NULL;
	uint64_t value;
	size_t n;

	if (at->addr)
		return note_named_defer(f, class, at->addr);
	err = count_captured(f, pc, &n);
	for (size_t i = 1; !err && i <= n; i++) {
		err = gr_runtime_step(&f->scan->rt, 1);
		if (!err)
			err = read_captured(f, addr + i * GR_WORD_BYTES,
					    &value);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			return NULL;
		if (!err)
			err = match_captured(f, value, class, at);
	}
	return err;
}

/* If there is a closure at @p addr that unlocks, note the locks that it is
 * about. */
static struct gr_error *look_at_closure(struct finder *f, uint64_t addr)
{
	const struct gr_lock_code *code;
	struct gr_lock_at at;
	struct gr_func func;
	bool found;
	struct gr_error *err =
		gr_scan_read_closure(f->scan, addr, &func, &found);

	if (err || !found || gr_lock_is_internal(func.name))
		return err;
	err = gr_lock_code_of(&f->codes, &func, 1, &code);
	for (uint8_t class = 0; !err && class < GR_NLOCK_CLASSES; class ++)
		if (code->nsites && gr_lock_code_unlocks(code, class, &at))
			err = match_closure(f, addr, func.entry, class, &at);
	return err;
}

// -------------------------------------------------------------------- frames

/* The holder of a Once is inside the call that it makes. */
static void note_once(struct finder *f, uint64_t value)
{
	const struct gr_owner owner = {
		.goroutine = f->index,
		.frame = f->frame_index,
		.rank = GR_OWNER_EXACT,
		.is_pointer = true,
		.function = f->frame->func->name,
	};
	struct gr_primitive *p =
		gr_wait_table_find(f->table, value, GR_WAIT_MUTEX);

	if (!p)
		p = gr_wait_table_find(f->table, value + ONCE_MUTEX,
				       GR_WAIT_MUTEX);
	if (p && f->frame_index > f->user_frame)
		add_owner(p, &owner);
}

static struct gr_error *look_at_word(struct finder *f, uint64_t value,
				     bool is_internal)
{
	struct gr_error *err = NULL;

	if (value < GR_HEAP_PAGE_BYTES)
		return NULL;
	if (is_internal) {
		note_once(f, value);
		return NULL;
	}
	err = match(f, value, note_reach);
	if (!err && f->frame->func->deferreturn)
		err = look_at_closure(f, value);
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

/* Look at the live words of the frame. */
static struct gr_error *look_at_words(struct finder *f, bool is_internal)
{
	const struct gr_area *stack = &f->g->stack;
	uint64_t start = f->frame->sp, end = end_of_words(f->frame);
	struct gr_error *err = NULL;

	if (f->frame_index)
		start = end_of_words(f->frame - 1);

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
		err = look_at_word(f,
				   gr_load_u64(stack->host + i * GR_WORD_BYTES),
				   is_internal);
	return err ? err :
		     gr_runtime_step(&f->scan->rt,
				     1 + (last - first) / WORD_STEPS);
}

/* Package-level locks that the code of the frame names. */
static struct gr_error *look_at_code(struct finder *f)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < f->code->nsites; i++) {
		const struct gr_lock_at at = f->code->sites[i].at;
		struct gr_primitive *p =
			at.addr ? gr_wait_table_at(f->table, at.addr) : NULL;
		const struct gr_primitive *end =
			f->table->primitives + f->table->nprimitives;

		for (; !err && p && p < end && p->object == at.addr; p++)
			err = note_reach(f, p, &at, true);
	}
	return err;
}

/* Count a frame that has locked what nothing was found for. */
static struct gr_error *count_unknown(struct finder *f)
{
	const struct gr_lock_at any = { 0, GR_ANY_DISTANCE };
	struct gr_error *err = NULL;

	for (uint8_t class = 0;
	     !err && f->code->nsites && class < GR_NLOCK_CLASSES; class ++) {
		struct gr_owner owner = { 0 };

		err = ask_lines(f, class, &any, &owner);
		f->unknown[class] += owner.lines.is_between;
	}
	return err;
}

static struct gr_error *look_at_frame(struct finder *f)
{
	const char *name = f->frame->func->name;
	struct gr_error *err;

	f->ncalls = 0;
	f->is_explained = false;
	if (gr_lock_is_internal(name))
		return !strncmp(name, once_prefix, sizeof(once_prefix) - 1) ?
			       look_at_words(f, true) :
			       gr_runtime_step(&f->scan->rt, 1);
	err = gr_lock_code_of(&f->codes, f->frame->func, 1, &f->code);
	if (!err)
		err = look_at_code(f);
	if (!err)
		err = look_at_words(f, false);
	if (!err && !f->is_explained)
		err = count_unknown(f);
	return err;
}

/* Registers of a goroutine that runs, and records of deferred calls. */
static struct gr_error *look_at_values(struct finder *f)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < f->g->nvalues; i++) {
		const struct gr_value_root *value = &f->g->values[i];

		if (value->frame >= f->g->nframes)
			continue;
		f->frame_index = value->frame;
		f->frame = &f->g->frames[value->frame];
		f->ncalls = 0;
		if (gr_lock_is_internal(f->frame->func->name))
			continue;
		err = gr_lock_code_of(&f->codes, f->frame->func, 1, &f->code);
		if (!err && value->kind == GR_VALUE_DEFER)
			err = look_at_closure(f, value->value);
		else if (!err)
			err = match(f, value->value, note_reach);
		if (!err)
			err = gr_runtime_step(&f->scan->rt, 1);
	}
	return err;
}

static struct gr_error *look_at_goroutine(struct finder *f, uint32_t index)
{
	const struct gr_waits *waits = f->table->waits;
	struct gr_error *err = NULL;

	f->g = &f->scan->sched.goroutines[index];
	f->index = index;
	for (uint32_t i = waits->first[index]; i < waits->first[index + 1]; i++)
		if (f->table->of_row[i] != UINT32_MAX)
			f->table->primitives[f->table->of_row[i]].awaited =
				index + 1;
	f->user_frame = 0;
	while (f->user_frame < f->g->nframes &&
	       gr_lock_is_internal(f->g->frames[f->user_frame].func->name))
		f->user_frame++;
	for (size_t i = 0; !err && i < f->g->nframes; i++) {
		f->frame_index = i;
		f->frame = &f->g->frames[i];
		err = look_at_frame(f);
	}
	return err ? err : look_at_values(f);
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
		};
		struct gr_primitive *mutex =
			gr_wait_table_find(table, p->object, GR_WAIT_MUTEX);
		struct gr_primitive *readers = gr_wait_table_find(
			table, p->object, GR_WAIT_RWMUTEX_READ);
		if (mutex)
			add_owner(mutex, &owner);
		if (readers)
			add_owner(readers, &owner);
	}
}

struct gr_error *gr_owners_find(struct gr_scan *scan,
				struct gr_wait_table *table,
				uint32_t unknown[GR_NLOCK_CLASSES])
{
	_cleanup_(finder_deinit) struct finder f = {
		.scan = scan,
		.table = table,
		.codes = { .rt = &scan->rt },
		.unknown = unknown,
	};
	struct gr_error *err = NULL;

	memset(unknown, 0, GR_NLOCK_CLASSES * sizeof(*unknown));
	for (size_t i = 0; !err && i < scan->sched.ngoroutines; i++) {
		err = gr_runtime_step(&scan->rt, 4);
		if (!err && !scan->sched.goroutines[i].is_g0)
			err = look_at_goroutine(&f, i);
	}
	if (!err)
		note_writers(table);
	return err;
}
