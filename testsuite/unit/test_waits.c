// SPDX-License-Identifier: Apache-2.0
/*
 * waits: goroutines wait for made-up sudogs, channels, semaphores and notify
 * lists: those that make sense, and those that lead into each other.
 */
#include "goruntime/sched/channel.h"
#include "goruntime/sched/semaphores.h"
#include "goruntime/sched/wait_kind.h"

#include "waits_builder.h"

// ----------------------------------------------------------------- channels

TEST_F(channel)
{
	put_sudog(w, 0, 0, chan_addr(1), 0x1234, 0);
	put_sudog(w, 1, 1, chan_addr(1), 0, 0);
	set_waiting(w, 0, "chan send", sudog_addr(0));
	set_waiting(w, 1, "chan receive (synctest)", sudog_addr(1));
	set_waiting(w, 2, "chan receive (nil chan)", 0);
	read_waits(w);
	const struct gr_wait *row = only_wait(w, 0);
	assert_int_equal(row->kind, GR_WAIT_CHAN_SEND);
	assert_int_equal(row->sudog, sudog_addr(0));
	assert_int_equal(row->key, chan_addr(1));
	assert_int_equal(row->object, chan_addr(1));
	assert_int_equal(row->elem, 0x1234);
	assert_int_equal(only_wait(w, 1)->kind, GR_WAIT_CHAN_RECEIVE);
	row = only_wait(w, 2);
	assert_int_equal(row->kind, GR_WAIT_NIL_CHAN);
	assert_int_equal(row->object, 0);
	assert_int_equal(w->waits->nsudogs, 2);
	assert_int_equal(broken_lists(w), 0);
}

TEST_F(header)
{
	struct gr_channel channel;

	set_chan(w, 0, CHAN_COUNT, 3);
	set_chan(w, 0, CHAN_CAPACITY, 8);
	set_chan(w, 0, CHAN_ELEMTYPE, ELEM_RECORD);
	set_chan(w, 0, CHAN_ELEMSIZE, 16);
	set_chan(w, 0, CHAN_CLOSED, 1);
	assert_null(gr_channel_read(&w->stack->rt, chan_addr(0), &channel));
	assert_int_equal(channel.count, 3);
	assert_int_equal(channel.capacity, 8);
	assert_int_equal(channel.elem_bytes, 16);
	assert_int_equal(channel.elem_type_addr, ELEM_RECORD);
	assert_true(channel.is_closed);
}

/* Three cases: the queues of the channels tell which one sends. */
TEST_F(select)
{
	static const uint8_t want[] = { GR_WAIT_SELECT_RECEIVE,
					GR_WAIT_SELECT_SEND,
					GR_WAIT_SELECT_RECEIVE };

	for (uint64_t i = 0; i < 3; i++)
		put_sudog(w, i, 0, chan_addr(i), 0,
			  i < 2 ? sudog_addr(i + 1) : 0);
	put_sudog(w, 3, 1, chan_addr(1), 0, 0);
	set_chan(w, 0, CHAN_RECVQ, sudog_addr(0));
	set_chan(w, 1, CHAN_SENDQ, sudog_addr(3));
	set_sudog(w, 3, SUDOG_NEXT, sudog_addr(1));
	set_chan(w, 2, CHAN_RECVQ, sudog_addr(2));
	set_waiting(w, 0, "select", sudog_addr(0));
	set_waiting(w, 1, "chan send", sudog_addr(3));
	set_waiting(w, 2, "select (no cases)", 0);
	read_waits(w);
	assert_int_equal(w->waits->first[1], 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(w->waits->rows[i].kind, want[i]);
		assert_int_equal(w->waits->rows[i].object, chan_addr(i));
	}
	assert_int_equal(only_wait(w, 1)->kind, GR_WAIT_CHAN_SEND);
	assert_int_equal(only_wait(w, 2)->kind, GR_WAIT_EMPTY_SELECT);
}

/* A select whose channels are all nil has no sudog; of another one, the sudog
 * is lost. */
TEST_F(select_of_nil)
{
	set_waiting(w, 0, "select", 0);
	set_waiting(w, 1, "select", UINT64_C(0xdead0000));
	read_waits(w);
	assert_int_equal(only_wait(w, 0)->kind, GR_WAIT_EMPTY_SELECT);
	assert_int_equal(only_wait(w, 1)->kind, GR_WAIT_SELECT_RECEIVE);
}

/* One that was woken has its sudogs still, but waits no more. */
TEST_F(woken)
{
	put_sudog(w, 0, 0, chan_addr(0), 0, 0);
	set_waiting(w, 0, "", sudog_addr(0));
	w->goroutines[0].status = w->stack->rt.layout.consts.grunnable;
	w->goroutines[1].status = w->stack->rt.layout.consts.gsyscall;
	set_waiting(w, 1, "", 0);
	set_waiting(w, 2, "sleep", 0);
	read_waits(w);
	assert_int_equal(w->waits->first[1], 0);
	assert_int_equal(w->waits->nsudogs, 1);
	assert_int_equal(w->waits->sudogs[0].addr, sudog_addr(0));
	assert_int_equal(w->waits->sudogs[0].goroutine, 0);
	assert_int_equal(only_wait(w, 1)->kind, GR_WAIT_SYSCALL);
	assert_int_equal(only_wait(w, 2)->kind, GR_WAIT_SLEEP);
}

/* A case is followed by the next one: anything else is damage. */
TEST_F(torn_select)
{
	put_sudog(w, 0, 0, chan_addr(0), 0, sudog_addr(1));
	put_sudog(w, 1, 1, chan_addr(1), 0, 0); // of another goroutine
	put_sudog(w, 2, 1, chan_addr(0), 0, sudog_addr(3));
	put_sudog(w, 3, 1, 0, OBJECT, 0); // not for a channel
	set_waiting(w, 0, "select", sudog_addr(0));
	set_waiting(w, 1, "select", sudog_addr(2));
	set_waiting(w, 2, "select", sudog_addr(3)); // not its own
	read_waits(w);
	assert_int_equal(only_wait(w, 0)->object, chan_addr(0));
	assert_int_equal(only_wait(w, 1)->object, chan_addr(0));
	assert_int_equal(only_wait(w, 2)->object, 0);
	assert_int_equal(broken_lists(w), 3);
}

/* Out of the queue, and not yet made runnable. */
TEST_F(about_to_run)
{
	put_sudog(w, 0, 0, chan_addr(0), 0, 0);
	put_sudog(w, 1, 1, 0, 0, 0);
	put_sudog(w, 2, 2, 0, OBJECT + 16, 0);
	w->goroutines[0].param = sudog_addr(0);
	set_waiting(w, 0, "chan receive", sudog_addr(0));
	set_waiting(w, 1, "sync.Mutex.Lock", sudog_addr(1));
	set_waiting(w, 2, "sync.Cond.Wait", sudog_addr(2));
	set_sudog(w, 2, SUDOG_TICKET, UINT32_MAX);
	fake_set(&w->stack->image, OBJECT + 16 + 4, 0, 4); // notify
	read_waits(w);
	for (int i = 0; i < NGOROUTINES; i++)
		assert_true(only_wait(w, i)->is_woken);
	w->goroutines[0].param = 0;
	set_sudog(w, 1, SUDOG_ELEM, OBJECT + 4);
	set_sudog(w, 2, SUDOG_TICKET, 0);
	read_waits(w);
	for (int i = 0; i < NGOROUTINES; i++)
		assert_false(only_wait(w, i)->is_woken);
}

/* A select with two cases of one channel is one waiter. */
TEST_F(counts)
{
	put_sudog(w, 0, 0, chan_addr(0), 0, sudog_addr(1));
	put_sudog(w, 1, 0, chan_addr(0), 0, sudog_addr(2));
	put_sudog(w, 2, 0, chan_addr(1), 0, 0);
	put_sudog(w, 3, 1, chan_addr(0), 0, 0);
	set_waiting(w, 0, "select", sudog_addr(0));
	set_waiting(w, 1, "chan receive", sudog_addr(3));
	set_waiting(w, 2, "sleep", 0);
	read_waits(w);
	w->stack->sched.waits = w->waits;
	assert_null(gr_waits_count(&w->stack->sched));
	static const uint32_t want[] = { 2, 2, 1, 2 };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w->waits->waiters[i], want[i]);
	w->stack->sched.waits = NULL;
}

/* If the record has the pointer twice, the second one is true. */
TEST_F(second_pointer)
{
	w->stack->rt.layout.sudog.elem_truth =
		(struct gr_field){ SUDOG_ELEM_TRUTH * 8, 8 };
	put_sudog(w, 0, 0, 0, 0, 0);
	set_sudog(w, 0, SUDOG_ELEM_TRUTH, OBJECT + 4);
	set_waiting(w, 0, "sync.Mutex.Lock", sudog_addr(0));
	read_waits(w);
	assert_int_equal(only_wait(w, 0)->object, OBJECT);
}

// ---------------------------------------------------------------- semaphores

struct lock_case {
	const char *name; /* also the reason */
	uint8_t kind;
	uint64_t offset; /* of the semaphore */
};

static const struct lock_case lock_cases[] = {
	{ "sync.Mutex.Lock", GR_WAIT_MUTEX, 4 },
	{ "sync.RWMutex.RLock", GR_WAIT_RWMUTEX_READ, 12 },
	{ "sync.RWMutex.Lock", GR_WAIT_RWMUTEX_WRITE, 8 },
	{ "sync.WaitGroup.Wait", GR_WAIT_WAITGROUP, 8 },
	{ "sync.WaitGroup.Wait (durable)", GR_WAIT_WAITGROUP, 8 },
	{ "sync.Cond.Wait", GR_WAIT_COND, 16 },
};

TEST_F_ROWS(lock, lock_cases, c)
{
	put_sudog(w, 0, 0, 0, OBJECT + c->offset, 0);
	set_waiting(w, 0, c->name, sudog_addr(0));
	read_waits(w);
	const struct gr_wait *row = only_wait(w, 0);
	assert_int_equal(row->kind, c->kind);
	assert_int_equal(row->key, OBJECT + c->offset);
	assert_int_equal(row->object, OBJECT);
	assert_int_equal(row->elem, 0);
}

/* All sudogs in one list, each of another goroutine, as on a lock: each
 * goroutine takes its own, whatever follows. */
TEST_F(list_of_others)
{
	for (int i = 0; i < NGOROUTINES; i++) {
		put_sudog(w, i, i, 0, OBJECT + 4,
			  i + 1 < NGOROUTINES ? sudog_addr(i + 1) : 0);
		set_waiting(w, i, "sync.Mutex.Lock", sudog_addr(i));
	}
	read_waits(w);
	assert_int_equal(w->waits->nsudogs, NGOROUTINES);
	for (int i = 0; i < NGOROUTINES; i++)
		assert_int_equal(only_wait(w, i)->sudog, sudog_addr(i));
	assert_int_equal(broken_lists(w), 0);
}

struct caller_case {
	const char *name; /* of the function that waits */
	uint8_t kind;
	uint64_t offset;
};

static const struct caller_case caller_cases[] = {
	{ "sync.(*Mutex).lockSlow", GR_WAIT_MUTEX, 4 },
	{ "internal/sync.(*Mutex).lockSlow", GR_WAIT_MUTEX, 4 },
	{ "sync.(*RWMutex).RLock", GR_WAIT_RWMUTEX_READ, 12 },
	{ "sync.(*RWMutex).Lock", GR_WAIT_RWMUTEX_WRITE, 8 },
	{ "sync.(*WaitGroup).Wait", GR_WAIT_WAITGROUP, 8 },
	{ "internal/poll.(*fdMutex).rwlock", GR_WAIT_SEMAPHORE, 0 },
};

/* Where the runtime says no more than `semacquire`, and no g leads to the
 * sudog: both are found in the frames. */
TEST_ROWS(caller, caller_cases, c)
{
	struct waits_fixture *w = waits_below(c->name, "runtime.semacquire1");

	put_sudog(w, 3, 0, 0, OBJECT + c->offset, 0);
	put_sudog(w, 4, 1, 0, OBJECT + c->offset, 0);
	put_live_word(w, 0, 0, sudog_addr(4));
	put_live_word(w, 0, 1, sudog_addr(3));
	for (int i = 0; i < NGOROUTINES; i++)
		set_waiting(w, i, "semacquire", 0);
	read_waits(w);
	for (int i = 0; i < NGOROUTINES; i++) {
		const struct gr_wait *row = only_wait(w, i);
		assert_int_equal(row->kind, c->kind);
		assert_int_equal(row->sudog, i < 2 ? sudog_addr(3 + i) : 0);
		assert_int_equal(row->key, i < 2 ? OBJECT + c->offset : 0);
		assert_int_equal(row->object, i < 2 && c->offset ? OBJECT : 0);
	}
	waits_free(w);
}

/* The notify list of a Cond is known to none of its waiters: it is found where
 * a live word of the caller leads to a list with them. */
static struct waits_fixture *cond_waiters(void)
{
	struct waits_fixture *w =
		waits_below("sync.(*Cond).Wait", "sync.runtime_notifyListWait");

	for (int i = 0; i < 2; i++) {
		put_sudog(w, i, i, 0, 0, 0);
		put_live_word(w, 0, i, sudog_addr(i));
		set_waiting(w, i, "sync.Cond.Wait", 0);
	}
	set_waiting(w, 2, "sync.Cond.Wait", 0);
	fake_set(&w->stack->image, OBJECT + 16 + 8, sudog_addr(1), 8);
	set_sudog(w, 1, SUDOG_NEXT, sudog_addr(0));
	put_live_word(w, 1, 1, OBJECT);
	return w;
}

TEST(cond)
{
	struct waits_fixture *w = cond_waiters();

	read_waits(w);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(only_wait(w, i)->sudog, sudog_addr(i));
		assert_int_equal(only_wait(w, i)->key, OBJECT + 16);
		assert_int_equal(only_wait(w, i)->object, OBJECT);
	}
	assert_int_equal(only_wait(w, 2)->object, 0);
	waits_free(w);
}

TEST(cond_in_a_loop)
{
	struct waits_fixture *w = cond_waiters();

	set_sudog(w, 0, SUDOG_NEXT, sudog_addr(1));
	read_waits(w);
	assert_int_equal(only_wait(w, 0)->object, OBJECT);
	assert_int_equal(only_wait(w, 1)->object, OBJECT);
	waits_free(w);
}

GR_SUITE("waits")
