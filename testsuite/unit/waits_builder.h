/* SPDX-License-Identifier: Apache-2.0 */
/**
 * waits_builder: goroutines that wait, with made-up sudogs, channels and
 * semaphores. All of them share one stack.
 */
#pragma once

#include "goruntime/sched/waits.h"

#include "stack_builder.h"

enum {
	WAITS_STACK_BYTES = 1 << 14,
	SUDOG_BYTES = 64,
	NSUDOGS = 8192,
	CHAN_BYTES = 128,
	NCHANS = 16,
	FRAME_BYTES = 112,
	FRAME_WORDS = FRAME_BYTES / 8 - 1, /* that a map describes */
	NGOROUTINES = 3,
	SEMA_SLOTS = 4,
	SEMA_SLOT_BYTES = 64,
	ELEM_RECORD = 0x9000, /* address of a runtime type record */
};
#define SUDOGS UINT64_C(0x2000000)
#define CHANS UINT64_C(0x3000000)
#define G(i) (UINT64_C(0x4000000) + (i)*512)
#define SEMTABLE UINT64_C(0x5000000)
#define OBJECTS UINT64_C(0x6000000) /* room for Mutexes, Conds and the like */

/** Words of a sudog, in their order in the fixture. */
enum sudog_word {
	SUDOG_G,
	SUDOG_ELEM,
	SUDOG_CHAN,
	SUDOG_WAITLINK,
	SUDOG_NEXT,
	SUDOG_PREV,
	SUDOG_ELEM_TRUTH, /* in the layout of one test */
	SUDOG_TICKET,
};

/** Words of a channel. */
enum chan_word {
	CHAN_COUNT,
	CHAN_CAPACITY,
	CHAN_BUF,
	CHAN_ELEMTYPE,
	CHAN_RECVX,
	CHAN_SENDX,
	CHAN_RECVQ,
	CHAN_SENDQ,
	CHAN_CLOSED,
	CHAN_ELEMSIZE,
};

struct waits_fixture {
	struct stack_fixture *stack;
	struct gr_goroutine goroutines[NGOROUTINES];
	struct gr_waits *waits;
};

static inline void set_waits_layout(struct gr_layout *l)
{
	l->sudog.size_bytes = SUDOG_BYTES;
	l->sudog.g = (struct gr_field){ SUDOG_G * 8, 8 };
	l->sudog.elem = (struct gr_field){ SUDOG_ELEM * 8, 8 };
	l->sudog.chan = (struct gr_field){ SUDOG_CHAN * 8, 8 };
	l->sudog.waitlink = (struct gr_field){ SUDOG_WAITLINK * 8, 8 };
	l->sudog.next = (struct gr_field){ SUDOG_NEXT * 8, 8 };
	l->sudog.prev = (struct gr_field){ SUDOG_PREV * 8, 8 };
	l->sudog.ticket = (struct gr_field){ SUDOG_TICKET * 8, 4 };
	l->hchan.size_bytes = CHAN_BYTES;
	l->hchan.qcount = (struct gr_field){ CHAN_COUNT * 8, 8 };
	l->hchan.dataqsiz = (struct gr_field){ CHAN_CAPACITY * 8, 8 };
	l->hchan.buf = (struct gr_field){ CHAN_BUF * 8, 8 };
	l->hchan.elemtype = (struct gr_field){ CHAN_ELEMTYPE * 8, 8 };
	l->hchan.recvx = (struct gr_field){ CHAN_RECVX * 8, 8 };
	l->hchan.sendx = (struct gr_field){ CHAN_SENDX * 8, 8 };
	l->hchan.recvq_first = (struct gr_field){ CHAN_RECVQ * 8, 8 };
	l->hchan.sendq_first = (struct gr_field){ CHAN_SENDQ * 8, 8 };
	l->hchan.closed = (struct gr_field){ CHAN_CLOSED * 8, 4 };
	l->hchan.elemsize = (struct gr_field){ CHAN_ELEMSIZE * 8, 2 };
	l->vars.semtable = SEMTABLE;
	l->sema_table.size_bytes = SEMA_SLOTS * SEMA_SLOT_BYTES;
	l->sema_root.treap = (struct gr_field){ 8, 8 };
	l->notify_list.notify = (struct gr_field){ 4, 4 };
	l->notify_list.head = (struct gr_field){ 8, 8 };
	l->consts.sema_tab_size = SEMA_SLOTS;
	l->consts.grunnable = 1;
	l->consts.gsyscall = 3;
	l->consts.gwaiting = 4;
}

/** Three waiting goroutines. Their stack has no frame yet. */
static inline struct waits_fixture *waits_new(void)
{
	struct waits_fixture *w = suite_alloc(sizeof(*w));

	struct stack_fixture *f = w->stack = stack_new(WAITS_STACK_BYTES);
	set_waits_layout(&f->rt.layout);
	fake_add(&f->image, SUDOGS, NSUDOGS * SUDOG_BYTES);
	fake_add(&f->image, CHANS, NCHANS * CHAN_BYTES);
	fake_add(&f->image, SEMTABLE, SEMA_SLOTS * SEMA_SLOT_BYTES);
	fake_add(&f->image, OBJECTS, 1024);
	f->sched.readable_bytes = NSUDOGS * (SUDOG_BYTES + 1);
	return w;
}

/** A function with that many live words in the middle of its frame. */
static inline size_t put_waiting_func(struct waits_fixture *w, const char *name,
				      unsigned int nwords)
{
	struct stack_fixture *f = w->stack;
	size_t func =
		put_func(f, (struct func_shape){ .name = name,
						 .frame_bytes = FRAME_BYTES });

	put_map(f, func, GR_FUNCDATA_LOCALS_POINTER_MAPS, FRAME_WORDS,
		((1u << nwords) - 1) << (FRAME_WORDS - nwords));
	return func;
}

/** Unwind the stack of these functions, the outermost first, for all. */
static inline void unwind_waits(struct waits_fixture *w, const size_t *funcs,
				size_t n)
{
	struct stack_fixture *f = w->stack;

	put_frames(f, funcs, n, NULL);
	f->g.status = 4;
	f->g.state = "waiting";
	run_stack_well(f);
	for (int i = 0; i < NGOROUTINES; i++) {
		w->goroutines[i] = f->g;
		w->goroutines[i].addr = G(i);
		w->goroutines[i].goid = i + 1;
	}
	f->sched.goroutines = w->goroutines;
	f->sched.ngoroutines = NGOROUTINES;
}

static inline void waits_free(struct waits_fixture *w)
{
	gr_waits_destroy(w->waits);
	stack_free(w->stack);
	free(w);
}

/** Live word @p i of frame @p frame, 0 is the innermost one. */
static inline uint64_t live_word(const struct waits_fixture *w, size_t frame,
				 unsigned int i)
{
	return w->goroutines[0].frames[frame].fp - 24 - i * 8;
}

static inline void put_live_word(struct waits_fixture *w, size_t frame,
				 unsigned int i, uint64_t value)
{
	fake_set(&w->stack->image, live_word(w, frame, i), value, 8);
}

static inline uint64_t sudog_addr(uint64_t i)
{
	return SUDOGS + i * SUDOG_BYTES;
}

static inline void set_sudog(struct waits_fixture *w, uint64_t i,
			     enum sudog_word word, uint64_t value)
{
	fake_set(&w->stack->image, sudog_addr(i) + word * 8, value, 8);
}

static inline uint64_t chan_addr(uint64_t i)
{
	return CHANS + i * CHAN_BYTES;
}

static inline void set_chan(struct waits_fixture *w, uint64_t i,
			    enum chan_word word, uint64_t value)
{
	fake_set(&w->stack->image, chan_addr(i) + word * 8, value, 8);
}

/** Sudog @p i of goroutine @p g, of a channel (or 0) with a value. */
static inline void put_sudog(struct waits_fixture *w, uint64_t i, uint64_t g,
			     uint64_t chan, uint64_t elem, uint64_t waitlink)
{
	set_sudog(w, i, SUDOG_G, G(g));
	set_sudog(w, i, SUDOG_CHAN, chan);
	set_sudog(w, i, SUDOG_ELEM, elem);
	set_sudog(w, i, SUDOG_WAITLINK, waitlink);
}

/** Goroutine @p g waits, for that reason, with a first sudog. */
static inline void set_waiting(struct waits_fixture *w, uint64_t g,
			       const char *reason, uint64_t sudog)
{
	w->goroutines[g].wait_reason = reason;
	w->goroutines[g].waiting_addr = sudog;
}

static inline void read_waits(struct waits_fixture *w)
{
	gr_waits_destroy(w->waits);
	w->waits = NULL;
	assert_null(gr_waits_read(&w->stack->sched, &w->waits));
}

/** The only thing that goroutine @p g waits for. */
static inline const struct gr_wait *only_wait(const struct waits_fixture *w,
					      uint64_t g)
{
	assert_int_equal(w->waits->first[g + 1] - w->waits->first[g], 1);
	const struct gr_wait *row = &w->waits->rows[w->waits->first[g]];
	assert_int_equal(row->goroutine, g);
	return row;
}

static inline uint64_t broken_lists(const struct waits_fixture *w)
{
	return w->stack->gaps.count[GR_GAP_BROKEN_LISTS];
}

/** An object that goroutines wait for. */
#define OBJECT (OBJECTS + 64)

/** Goroutines whose stack is main.main and these two calls, innermost last. */
static inline struct waits_fixture *waits_below(const char *caller,
						const char *callee)
{
	struct waits_fixture *w = waits_new();
	size_t goexit = put_func(
		w->stack, (struct func_shape){ .name = "runtime.goexit",
					       .flag = GR_FUNC_TOP_FRAME });
	const size_t calls[] = { goexit, put_waiting_func(w, "main.main", 1),
				 put_waiting_func(w, caller, 2),
				 put_waiting_func(w, callee, 2) };

	unwind_waits(w, calls, 4);
	return w;
}

static inline struct waits_fixture *make_waits(void)
{
	return waits_below("main.f", "runtime.gopark");
}

/** A test with such goroutines, below main.f and runtime.gopark. */
#define FIXTURE struct waits_fixture *w, make_waits, waits_free
