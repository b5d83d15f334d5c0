// SPDX-License-Identifier: Apache-2.0
#include "goroutines/panic.h"

#include "base/chain.h"
#include "goroutines/deferred.h"
#include "goroutines/fatal_text.h"
#include "goroutines/goroutine_info.h"
#include "goruntime/layout/c_function.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/record.h"
#include "goruntime/sched/signal.h"
#include "scan/enter.h"

#include <inttypes.h>

enum {
	MAX_VALUES = 1 << 10,
	MAX_VALUE_BYTES = 1 << 16, /* text of one value */
	MAX_RECORD_BYTES = 256,
};

GR_VECTOR(value_vector, struct gr_panic_value);
GR_VECTOR(place_vector, struct gr_source_place);

/** The thread that ends the program, by its m. */
struct dying {
	uint64_t g, g0, gsignal; /**< Its goroutine, 0: none; its stacks. */
	const struct gr_target_thread *thread;
	bool is_signal, is_throw;
};

void gr_panic_destroy(struct gr_panic *panic)
{
	if (!panic)
		return;
	for (size_t i = 0; i < panic->nvalues; i++)
		free(panic->values[i].text);
	free(panic->values);
	free(panic->deferred);
	free(panic);
}
GR_DEFINE_CLEANUP(panic, struct gr_panic, gr_panic_destroy)

// -------------------------------------------------------------------- thread

static size_t index_of_thread(const struct gr_runtime *rt, uint64_t procid)
{
	size_t n, i = 0;
	const struct gr_target_thread *threads =
		gr_image_threads(rt->image, &n);

	while (i < n && (uint64_t)threads[i].lwp != procid)
		i++;
	return i < n ? i : SIZE_MAX;
}

/* The fields of an m that tell of the end of the program, and its thread. */
struct ending {
	uint64_t dying, procid, caughtsig, curg, g0, gsignal, throwing;
};

/* Read these fields and no others: an m has random numbers, too, and what is
 * read is in a saved file. */
static struct gr_error *read_ending(struct gr_runtime *rt, uint64_t m,
				    struct ending *ret)
{
	const typeof(rt->layout.m) *f = &rt->layout.m;
	const struct {
		struct gr_field field;
		uint64_t *value;
	} rows[] = {
		{ f->dying, &ret->dying },
		{ f->procid, &ret->procid },
		{ f->caughtsig, &ret->caughtsig },
		{ f->curg, &ret->curg },
		{ f->g0, &ret->g0 },
		{ f->gsignal, &ret->gsignal },
		{ f->throwing, &ret->throwing },
	};
	struct gr_error *err = NULL;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(rows); i++)
		if (rows[i].field.bytes && rows[i].field.bytes <= GR_WORD_BYTES)
			err = gr_image_read_uint(rt->image,
						 m + rows[i].field.off,
						 rows[i].field.bytes,
						 rows[i].value);
	return err;
}

static void fill_dying(const struct gr_runtime *rt, const struct ending *m,
		       size_t thread, struct dying *ret)
{
	size_t n;

	*ret = (struct dying){
		.g0 = m->g0,
		.gsignal = m->gsignal,
		.is_signal = m->caughtsig != 0,
		.is_throw = m->throwing != 0,
	};
	ret->g = m->caughtsig && m->caughtsig != m->g0 ? m->caughtsig : m->curg;
	ret->thread = &gr_image_threads(rt->image, &n)[thread];
}

/* Find the m that ends the program (runtime.startpanic_m). *@p found is false
 * if there is none. */
static struct gr_error *find_dying(struct gr_sched *sched, struct dying *ret,
				   bool *found)
{
	struct gr_error *err = NULL;
	size_t first = SIZE_MAX;
	struct ending m;

	*found = false;
	for (size_t i = 0; !err && i < sched->nms; i++) {
		err = gr_runtime_step(sched->rt, 8);
		if (!err)
			err = read_ending(sched->rt, sched->ms[i], &m);
		if (gr_error_catch(&err, GR_ERROR_FAULT) || err || !m.dying)
			continue;
		size_t thread = index_of_thread(sched->rt, m.procid);
		if (thread >= first)
			continue;
		first = thread;
		fill_dying(sched->rt, &m, thread, ret);
		*found = true;
	}
	return err;
}

static const struct gr_goroutine *find_goroutine(const struct gr_sched *sched,
						 uint64_t addr)
{
	for (size_t i = 0; addr && i < sched->ngoroutines; i++)
		if (sched->goroutines[i].addr == addr &&
		    !sched->goroutines[i].is_g0)
			return &sched->goroutines[i];
	return NULL;
}

/* The bounds of the stack of the g at @p addr; empty if they make no sense. */
static struct gr_error *read_stack(struct gr_runtime *rt, uint64_t addr,
				   uint64_t *lo, uint64_t *hi)
{
	const typeof(rt->layout.g) *f = &rt->layout.g;
	struct gr_error *err =
		gr_image_read_u64(rt->image, addr + f->stack_lo.off, lo);

	if (!err)
		err = gr_image_read_u64(rt->image, addr + f->stack_hi.off, hi);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err || *lo > *hi)
		*lo = *hi = 0;
	return err;
}

// -------------------------------------------------------------------- signal

/* The signal that was made a panic (runtime.sigpanic). */
static struct gr_error *read_own_signal(struct gr_runtime *rt, uint64_t g,
					struct gr_panic *panic)
{
	const typeof(rt->layout.g) *f = &rt->layout.g;
	uint64_t number = 0;
	struct gr_error *err;

	if (!gr_field_is_present(f->sig) || !gr_field_is_present(f->sigpc) ||
	    !gr_field_is_present(f->sigcode0) ||
	    !gr_field_is_present(f->sigcode1))
		return NULL;
	err = gr_image_read_uint(rt->image, g + f->sig.off, f->sig.bytes,
				 &number);
	if (!err)
		err = gr_image_read_u64(rt->image, g + f->sigcode0.off,
					&panic->signal_code);
	if (!err)
		err = gr_image_read_u64(rt->image, g + f->sigcode1.off,
					&panic->signal_addr);
	if (!err)
		err = gr_image_read_u64(rt->image, g + f->sigpc.off,
					&panic->signal_pc);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	panic->signal = number;
	panic->has_signal_addr = number != 0;
	return NULL;
}

/* The signal that ended the program in its handler (runtime.sighandler). */
static struct gr_error *read_caught_signal(struct gr_runtime *rt,
					   const struct dying *dying,
					   struct gr_panic *panic)
{
	struct gr_siginfo info;
	uint64_t lo, hi;
	bool found = false;
	struct gr_error *err = read_stack(rt, dying->gsignal, &lo, &hi);

	if (!err)
		err = gr_signal_caught(rt, lo, hi, &dying->thread->regs, &info,
				       &found);
	if (err || !found)
		return err;
	panic->signal = info.number;
	panic->signal_code = (uint64_t)info.code;
	panic->signal_pc = info.pc;
	panic->signal_addr = info.addr;
	// Only the kernel's own signals have codes above 0, and only those for
	// faults have addresses.
	panic->has_signal_addr = info.code > 0 &&
				 (info.number == 11 || info.number == 7);
	return NULL;
}

/* Name what has the instruction, if that is C's. */
static struct gr_error *name_c_function(struct gr_stop *stop,
					struct gr_panic *panic)
{
	struct gr_c_function c;
	struct gr_func go;

	if (!panic->signal_pc ||
	    gr_func_find(&stop->program->rt, panic->signal_pc, &go))
		return NULL;
	struct gr_error *err =
		gr_c_function_find(&stop->program->rt, panic->signal_pc, &c);
	if (err || c.module == SIZE_MAX)
		return err;
	panic->signal_function = c.name;
	panic->signal_file =
		gr_target_module_name(&stop->target.modules[c.module]);
	return NULL;
}

// -------------------------------------------------------------------- values

static bool has_values(const struct gr_stop *stop,
		       const struct gr_panic_query *query)
{
	return !query->without_values && gr_stop_may_have_values(stop);
}

/* The type of a value, and its text, if values may be read. */
static struct gr_error *show_value(struct gr_stop *stop,
				   const struct gr_panic_query *query,
				   uint64_t eface, struct gr_panic_value *ret)
{
	_cleanup_free_ char *buf = malloc(MAX_VALUE_BYTES);
	struct gr_shown value = { .addr = eface + GR_WORD_BYTES };
	uint64_t type = 0;

	if (!buf)
		return &gr_enomem;
	struct gr_text text = gr_text_begin(buf, MAX_VALUE_BYTES);
	struct gr_error *err = gr_image_read_u64(stop->image, eface, &type);
	if (!err)
		err = gr_types_from_runtime(stop->program->types, type,
					    &value.type);
	if (!err && has_values(stop, query) && value.type != GR_TYPE_NONE &&
	    !gr_types_is_direct(stop->program->types, value.type))
		err = gr_image_read_u64(stop->image, value.addr, &value.addr);
	gr_error_catch(&err, GR_ERROR_FAULT);
	ret->type = "";
	if (!err && !type)
		gr_text_put(&text, "nil");
	else if (!err && value.type == GR_TYPE_NONE)
		gr_text_put(&text, "(unreadable type at 0x%" PRIx64 ")", type);
	else if (!err && has_values(stop, query))
		err = gr_show_value(stop->program->types, &query->limits,
				    &value, &text);
	if (err)
		return err;
	if (value.type != GR_TYPE_NONE && type)
		ret->type =
			gr_types_get(stop->program->types, value.type)->name;
	if (!has_values(stop, query) && *ret->type)
		return NULL;
	ret->text = strdup(text.data);
	return ret->text ? NULL : &gr_enomem;
}

static struct gr_error *add_value(struct gr_stop *stop,
				  const struct gr_panic_query *query,
				  uint64_t addr, const uint8_t *record,
				  struct value_vector *ret)
{
	const typeof(stop->program->rt.layout.panic) *f =
		&stop->program->rt.layout.panic;
	struct gr_panic_value value = {
		.is_recovered = gr_field_uint(record, f->recovered),
		.is_repanicked = gr_field_uint(record, f->repanicked),
	};
	struct gr_error *err;

	// runtime.Goexit has a record, too, but no value.
	if (gr_field_uint(record, f->goexit))
		return NULL;
	err = show_value(stop, query, addr + f->arg.off, &value);
	if (err)
		return err;
	if (value_vector_append(ret, value))
		return NULL;
	free(value.text);
	return &gr_enomem;
}

/* Records lie on the goroutine's own stack, the newest first in their list. */
static struct gr_error *read_values(struct gr_stop *stop,
				    const struct gr_panic_query *query,
				    const struct gr_goroutine *g,
				    struct value_vector *ret)
{
	const typeof(stop->program->rt.layout.panic) *f =
		&stop->program->rt.layout.panic;
	struct gr_chain chain = { .limit = MAX_VALUES };
	uint8_t record[MAX_RECORD_BYTES];
	struct gr_error *err = NULL;
	uint64_t addr = g->panic_addr;

	if (!f->size_bytes || f->size_bytes > sizeof(record))
		return NULL;
	while (!err && addr >= g->stack_lo && addr < g->stack_hi &&
	       gr_chain_step(&chain, addr)) {
		err = gr_runtime_step(&stop->program->rt, 4);
		if (!err)
			err = gr_record_read(&stop->program->rt, addr, f,
					     sizeof(*f), record);
		if (!err)
			err = add_value(stop, query, addr, record, ret);
		addr = gr_field_uint(record, f->link);
	}
	gr_error_catch(&err, GR_ERROR_FAULT);
	for (size_t i = 0; !err && i < ret->size / 2; i++) {
		struct gr_panic_value *other = &ret->data[ret->size - 1 - i];
		struct gr_panic_value first = ret->data[i];

		ret->data[i] = *other;
		*other = first;
	}
	return err;
}

static struct gr_error *fill_values(struct gr_stop *stop,
				    const struct gr_panic_query *query,
				    const struct gr_goroutine *g,
				    struct gr_panic *panic)
{
	struct value_vector values = { 0 };
	struct gr_error *err = read_values(stop, query, g, &values);

	panic->values = values.data;
	panic->nvalues = values.size;
	return err;
}

// ------------------------------------------------------------ deferred calls

static struct gr_error *fill_deferred(struct gr_sched *sched,
				      const struct gr_goroutine *g,
				      struct gr_panic *panic)
{
	_cleanup_(gr_u64_vector_deinit) struct gr_u64_vector entries = { 0 };
	struct place_vector places = { 0 };
	struct gr_error *err = gr_deferred_find(sched, g, &entries);
	struct gr_func func;

	for (size_t i = 0; !err && i < entries.size; i++) {
		struct gr_source_place at = { .pc = entries.data[i],
					      .file = "" };

		if (!gr_func_find(sched->rt, at.pc, &func) ||
		    gr_name_is_in_runtime(func.name))
			continue;
		at.function = func.name;
		if (!gr_func_line(&func, at.pc, &at.file, &at.line))
			at.file = "";
		if (!place_vector_append(&places, at))
			err = &gr_enomem;
	}
	panic->deferred = places.data;
	panic->ndeferred = places.size;
	return err;
}

// -------------------------------------------------------------------- answer

/* Where the thread is on its own stack [lo, hi), from which crash() may have
 * sent it a signal; 0: it is on another one. */
static struct gr_error *find_sp(struct gr_runtime *rt,
				const struct dying *dying, uint64_t lo,
				uint64_t hi, uint64_t *ret)
{
	unsigned int sp = rt->arch->sp;
	const struct gr_regs *thread = &dying->thread->regs;
	struct gr_regs regs = *thread;
	struct gr_error *err = NULL;
	uint64_t start, end;
	bool found = true;

	if (thread->value[sp] < lo || thread->value[sp] >= hi) {
		err = read_stack(rt, dying->gsignal, &start, &end);
		if (!err)
			err = gr_signal_interrupted(rt, start, end, thread,
						    &regs, &found);
	}
	*ret = !err && found && regs.value[sp] >= lo && regs.value[sp] < hi ?
		       regs.value[sp] & ~UINT64_C(7) :
		       0;
	return err;
}

/* A fatal error is on the stack of the goroutine, or on the thread's own if the
 * runtime's scheduler has found it. */
static struct gr_error *find_text(struct gr_runtime *rt,
				  const struct dying *dying,
				  const struct gr_goroutine *g,
				  struct gr_panic *panic)
{
	const char *text = NULL;
	uint64_t lo, hi, sp;
	struct gr_error *err = read_stack(rt, dying->g0, &lo, &hi);

	if (!err)
		err = find_sp(rt, dying, lo, hi, &sp);
	if (!err && g)
		err = gr_fatal_text_find(rt, g->stack.start, g->stack_hi,
					 &text);
	if (!err && !text && sp)
		err = gr_fatal_text_find(rt, sp, hi, &text);
	panic->fatal_text = text ? text : "";
	return err;
}

static struct gr_error *fill_goroutine(struct gr_stop *stop,
				       const struct gr_panic_query *query,
				       const struct gr_goroutine *g,
				       struct gr_panic *panic)
{
	struct gr_error *err =
		gr_goroutine_info_read(stop, g, &panic->goroutine);

	panic->has_goroutine = !err;
	if (!err)
		err = fill_values(stop, query, g, panic);
	if (!err)
		err = fill_deferred(&stop->sched, g, panic);
	return err;
}

static struct gr_error *answer_dying(struct gr_stop *stop,
				     const struct gr_panic_query *query,
				     const struct dying *dying,
				     struct gr_panic *panic)
{
	const struct gr_goroutine *g = find_goroutine(&stop->sched, dying->g);
	struct gr_error *err = NULL;

	panic->kind = dying->is_signal ? "signal" :
		      dying->is_throw  ? "fatal error" :
					 "panic";
	panic->thread_id = dying->thread->lwp;
	if (g)
		err = fill_goroutine(stop, query, g, panic);
	if (!err && dying->is_signal)
		err = read_caught_signal(&stop->program->rt, dying, panic);
	else if (!err && g)
		err = read_own_signal(&stop->program->rt, g->addr, panic);
	// A fault in C, or in the runtime itself, ends the program on the
	// thread's own stack (runtime.sigpanic).
	if (!err && dying->is_throw && !panic->signal && dying->g0)
		err = read_own_signal(&stop->program->rt, dying->g0, panic);
	if (!err && dying->is_throw && !dying->is_signal &&
	    has_values(stop, query))
		err = find_text(&stop->program->rt, dying, g, panic);
	return err;
}

/* A goroutine whose deferred calls run because it panics. */
static struct gr_error *answer_panicking(struct gr_stop *stop,
					 const struct gr_panic_query *query,
					 struct gr_panic *panic)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->sched.ngoroutines; i++) {
		const struct gr_goroutine *g = &stop->sched.goroutines[i];

		err = gr_runtime_step(&stop->program->rt, 1);
		if (err || !g->panic_addr || g->is_g0)
			continue;
		err = fill_values(stop, query, g, panic);
		if (err || !panic->nvalues)
			continue;
		panic->kind = "panicking";
		err = gr_goroutine_info_read(stop, g, &panic->goroutine);
		panic->has_goroutine = !err;
		panic->thread_id = panic->goroutine.thread_id;
		if (!err)
			err = read_own_signal(&stop->program->rt, g->addr,
					      panic);
		return err ? err : fill_deferred(&stop->sched, g, panic);
	}
	return err;
}

struct gr_error *gr_scan_panic(struct gr_scan *scan,
			       const struct gr_panic_query *query,
			       struct gr_panic **ret)
{
	struct gr_stop *stop;
	_cleanup_(gr_cleanup_panic) struct gr_panic *panic =
		calloc(1, sizeof(*panic));
	struct gr_sigbus_guard guard;
	struct dying dying = { .g = 0 };
	struct gr_error *err;
	bool found;

	if (!panic)
		return &gr_enomem;
	panic->kind = panic->fatal_text = "";
	panic->signal_function = panic->signal_file = "";
	err = gr_scan_enter_goroutines(scan, &guard, &stop);
	if (!err)
		err = find_dying(&stop->sched, &dying, &found);
	if (!err)
		err = found ? answer_dying(stop, query, &dying, panic) :
			      answer_panicking(stop, query, panic);
	if (!err)
		err = name_c_function(stop, panic);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(panic);
	return err;
}
