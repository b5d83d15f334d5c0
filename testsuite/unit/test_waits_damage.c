// SPDX-License-Identifier: Apache-2.0
/*
 * waits: lists and trees of sudogs that are torn, lead into each other or are too
 * long; and how the table of semaphores is read.
 */
#include "goruntime/sched/semaphores.h"

#include "waits_builder.h"

// --------------------------------------------------------- table of semaphores

/* The word of the semaphore with that number, in slot number % SEMA_SLOTS. */
static uint64_t semaphore(uint64_t i)
{
	return OBJECTS + i * 8;
}

static void put_tree_node(struct waits_fixture *w, uint64_t i, uint64_t prev,
			  uint64_t next)
{
	put_sudog(w, i, 0, 0, semaphore(i), 0);
	set_sudog(w, i, SUDOG_PREV, prev ? sudog_addr(prev) : 0);
	set_sudog(w, i, SUDOG_NEXT, next ? sudog_addr(next) : 0);
}

static void put_tree(struct waits_fixture *w, uint64_t slot, uint64_t i)
{
	fake_set(&w->stack->image, SEMTABLE + slot * SEMA_SLOT_BYTES + 8,
		 sudog_addr(i), 8);
}

static struct gr_error *note_root(void *ctx, const struct gr_sudog *first)
{
	uint64_t *seen = ctx;

	*seen |= UINT64_C(1) << (first->addr - SUDOGS) / SUDOG_BYTES;
	return NULL;
}

/* The numbers of the semaphores that are found, as bits. */
static uint64_t walk_trees(struct waits_fixture *w)
{
	uint64_t seen = 0;
	assert_null(gr_semaphores_walk(&w->stack->sched, note_root, &seen));
	return seen;
}

TEST_F(trees)
{
	put_tree(w, 1, 9);
	put_tree_node(w, 9, 5, 17);
	put_tree_node(w, 5, 0, 0);
	put_tree_node(w, 17, 13, 0);
	put_tree_node(w, 13, 0, 0);
	put_tree(w, 3, 3);
	put_tree_node(w, 3, 0, 0);
	assert_int_equal(walk_trees(w),
			 1 << 9 | 1 << 5 | 1 << 17 | 1 << 13 | 1 << 3);
	assert_int_equal(broken_lists(w), 0);
	w->stack->rt.layout.vars.semtable = 0;
	assert_int_equal(walk_trees(w), 0);
}

/* A node that is its own child, one of another slot, one out of order, and one
 * that is not there. */
TEST_F(damaged_trees)
{
	put_tree(w, 1, 9);
	put_tree_node(w, 9, 9, 9);
	put_tree(w, 2, 3);
	put_tree_node(w, 3, 0, 0);
	put_tree(w, 3, 7);
	put_tree_node(w, 7, 11, 15);
	put_tree_node(w, 11, 0, 0);
	put_tree_node(w, 15, 0, NSUDOGS);
	assert_int_equal(walk_trees(w), 1 << 9 | 1 << 7 | 1 << 15);
	assert_int_equal(broken_lists(w), 5);
	w->stack->rt.layout.vars.semtable = UINT64_C(0xdead0000);
	assert_int_equal(walk_trees(w), 0);
	w->stack->rt.layout.consts.sema_tab_size = -1;
	assert_int_equal(walk_trees(w), 0);
}

/* The capture has the channels, and what lies around semaphores. */
TEST_F(plan)
{
	put_sudog(w, 0, 0, chan_addr(0), 0, 0);
	set_waiting(w, 0, "chan receive", sudog_addr(0));
	put_sudog(w, 1, 1, 0, OBJECT + 16, 0);
	set_waiting(w, 1, "sync.Cond.Wait", sudog_addr(1));
	set_waiting(w, 2, "sync.Mutex.Lock", sudog_addr(2));
	put_tree(w, 3, 3);
	put_tree_node(w, 3, 0, 0);
	w->stack->image.planned_bytes = 0;
	assert_null(gr_waits_plan(&w->stack->sched));
	assert_int_equal(w->stack->image.planned_bytes, CHAN_BYTES + 2 * 40);
}

// -------------------------------------------------------------------- damage

/* A list that leads into itself ends in proportion to its length. */
TEST_F(loop)
{
	for (uint64_t i = 0; i < 100; i++)
		put_sudog(w, i, 0, chan_addr(0), 0, sudog_addr((i + 1) % 100));
	set_waiting(w, 0, "select", sudog_addr(0));
	read_waits(w);
	assert_in_range(w->waits->nsudogs, 100, 1000);
	assert_int_equal(broken_lists(w), 1);
}

/* The same of the queue of a channel. */
TEST_F(queue_in_a_loop)
{
	for (uint64_t i = 0; i < 100; i++) {
		put_sudog(w, i, 0, chan_addr(0), 0,
			  i < 99 ? sudog_addr(i + 1) : 0);
		set_sudog(w, i, SUDOG_NEXT, sudog_addr((i + 1) % 100));
	}
	set_chan(w, 0, CHAN_SENDQ, sudog_addr(0));
	set_waiting(w, 0, "select", sudog_addr(0));
	w->stack->npolls = w->stack->rt.steps = 0;
	read_waits(w);
	assert_int_equal(broken_lists(w), 1);
	assert_int_equal(w->waits->nrows, 100 + 2);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(w->waits->rows[i].kind, GR_WAIT_SELECT_SEND);
	assert_true(w->stack->npolls < 10);
}

/* A queue with a sudog of another channel ends there. */
TEST_F(queue_of_another)
{
	for (uint64_t i = 0; i < 2; i++)
		put_sudog(w, i, 0, chan_addr(i), 0,
			  i < 1 ? sudog_addr(i + 1) : 0);
	set_chan(w, 0, CHAN_SENDQ, sudog_addr(0));
	set_sudog(w, 0, SUDOG_NEXT, sudog_addr(1));
	set_waiting(w, 0, "select", sudog_addr(0));
	read_waits(w);
	assert_int_equal(w->waits->rows[0].kind, GR_WAIT_SELECT_SEND);
	assert_int_equal(w->waits->rows[1].kind, GR_WAIT_SELECT_RECEIVE);
	assert_int_equal(broken_lists(w), 1);
}

/* Records that are not there end a list; the others remain. */
TEST_F(torn)
{
	put_sudog(w, 0, 0, chan_addr(0), 0, sudog_addr(NSUDOGS));
	set_waiting(w, 0, "chan send", sudog_addr(0));
	set_waiting(w, 1, "chan receive", UINT64_C(0xdead0000));
	put_sudog(w, 2, 2, chan_addr(NCHANS), 0, 0);
	set_waiting(w, 2, "select", sudog_addr(2));
	read_waits(w);
	assert_int_equal(only_wait(w, 0)->object, chan_addr(0));
	assert_int_equal(only_wait(w, 1)->kind, GR_WAIT_CHAN_RECEIVE);
	assert_int_equal(only_wait(w, 1)->object, 0);
	assert_int_equal(only_wait(w, 2)->object, chan_addr(NCHANS));
	assert_int_equal(w->waits->nsudogs, 2);
	assert_int_equal(broken_lists(w), 3);
}

/* Lists may have as many records as the heap has slots, and no more. */
TEST_F(too_many)
{
	enum { SPARE = 1 << 16, MANY = 200 }; // SPARE: of sudog.c
	struct gr_goroutine *many = calloc(MANY, sizeof(*many));

	assert_non_null(many);
	for (uint64_t i = 0; i < NSUDOGS; i++)
		put_sudog(w, i, 0, chan_addr(0), 0,
			  i + 1 < NSUDOGS ? sudog_addr(i + 1) : 0);
	set_waiting(w, 0, "chan receive", sudog_addr(0));
	for (int i = 0; i < MANY; i++)
		many[i] = w->goroutines[0];
	w->stack->sched.goroutines = many;
	w->stack->sched.ngoroutines = MANY;
	read_waits(w);
	assert_int_equal(w->waits->nsudogs, NSUDOGS + SPARE);
	assert_true(broken_lists(w) > 0);
	w->stack->sched.ngoroutines = 0;
	free(many);
}

TEST_F(interrupted)
{
	for (uint64_t i = 0; i < NSUDOGS; i++)
		put_sudog(w, i, 0, chan_addr(0), 0,
			  i + 1 < NSUDOGS ? sudog_addr(i + 1) : 0);
	set_waiting(w, 0, "chan receive", sudog_addr(0));
	w->stack->rt.steps = 0;
	w->stack->polls_left = 1;
	assert_fails(gr_waits_read(&w->stack->sched, &w->waits),
		     GR_ERROR_INTERRUPTED, NULL);
	assert_null(w->waits);
}

GR_SUITE("waits damage")
