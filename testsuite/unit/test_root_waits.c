// SPDX-License-Identifier: Apache-2.0
/* Roots for the values on stacks that senders offer to channels. */
#include "goruntime/roots/roots.h"

#include "goruntime/types/types_internal.h"

#include "waits_builder.h"

#define HEAP_ADDR UINT64_C(0xc000001000)

struct offers {
	struct waits_fixture *w;
	struct gr_types types;
	struct gr_heap heap;
	struct gr_root_list roots;
};

/* Three goroutines on one stack, in a frame of main.main with a live word. */
static struct offers *make_offers(void)
{
	struct offers *o = suite_alloc(sizeof(*o));

	struct waits_fixture *w = o->w = waits_new();
	size_t goexit = put_func(
		w->stack, (struct func_shape){ .name = "runtime.goexit",
					       .flag = GR_FUNC_TOP_FRAME });
	const size_t calls[] = { goexit, put_waiting_func(w, "main.main", 1) };

	unwind_waits(w, calls, 2);
	set_chan(w, 0, CHAN_ELEMTYPE, ELEM_RECORD);
	o->types.rt = &w->stack->rt;
	o->heap.rt = &w->stack->rt;
	o->heap.types = &o->types;
	o->heap.nobjs = NSUDOGS;
	return o;
}

static void free_offers(struct offers *o)
{
	struct gr_type_ref *ref, *next;

	HASH_ITER(hh, o->types.refs, ref, next) {
		HASH_DEL(o->types.refs, ref);
		free(ref);
	}
	gr_type_vector_deinit(&o->types.types);
	gr_root_list_deinit(&o->roots);
	waits_free(o->w);
	free(o);
}

#undef FIXTURE
#define FIXTURE struct offers *o, make_offers, free_offers

static gr_type_id add_type(struct offers *o, uint64_t bytes)
{
	struct gr_type type = { .name = "main.T", .size_bytes = bytes };

	assert_true(gr_type_vector_append(&o->types.types, type));
	assert_null(gr_type_ref_add(&o->types, GR_REF_RUNTIME, ELEM_RECORD,
				    o->types.types.size - 1));
	return o->types.types.size - 1;
}

static void add_offers(struct offers *o)
{
	read_waits(o->w);
	o->w->stack->sched.waits = o->w->waits;
	struct gr_error *err =
		gr_roots_add_offers(&o->heap, &o->w->stack->sched, &o->roots);
	o->w->stack->sched.waits = NULL;
	assert_null(err);
}

/* A goroutine that offers the value at that address. */
static void offer(struct offers *o, uint64_t g, uint64_t elem)
{
	put_sudog(o->w, g, g, chan_addr(0), elem, 0);
	set_waiting(o->w, g, "chan send", sudog_addr(g));
}

TEST_F(sender)
{
	gr_type_id type = add_type(o, 16);

	offer(o, 1, live_word(o->w, 0, 0));
	add_offers(o);
	assert_int_equal(o->roots.size, 1);
	const struct gr_root *root = &o->roots.data[0];
	assert_string_equal(root->name, "main.main.$send");
	assert_string_equal(root->goroutine_state, "waiting");
	assert_int_equal(root->goroutine, 1);
	assert_int_equal(root->form, GR_ROOT_REGION);
	assert_int_equal(root->addr, live_word(o->w, 0, 0));
	assert_int_equal(root->type, type);
	assert_int_equal(root->bytes, 16);
	assert_int_equal(root->kind, GR_ROOT_LOCAL);
	assert_int_equal(root->tier, GR_TIER_USER);
	assert_false(root->is_conservative);
}

/* The live word is the second one of the value, or lies behind it. */
TEST_F(live_word)
{
	uint64_t live = live_word(o->w, 0, 0);

	add_type(o, 16);
	offer(o, 0, live - 8);
	offer(o, 1, live - 16);
	offer(o, 2, live + 8);
	add_offers(o);
	assert_int_equal(o->roots.size, 1);
	assert_int_equal(o->roots.data[0].goroutine, 0);
}

TEST_F(system_goroutine)
{
	add_type(o, 16);
	offer(o, 0, live_word(o->w, 0, 0));
	o->w->goroutines[0].is_system = true;
	add_offers(o);
	assert_int_equal(o->roots.size, 1);
	assert_int_equal(o->roots.data[0].tier, GR_TIER_RUNTIME);
	assert_int_equal(o->roots.data[0].kind, GR_ROOT_RUNTIME);
}

/* A value in the heap, none at all, one on a part of the stack that is not in
 * use, and one that belongs to no channel: these sudogs offer nothing. */
TEST_F(no_offers)
{
	const uint64_t elems[] = { HEAP_ADDR, 0, STACK_HI - WAITS_STACK_BYTES,
				   STACK_HI, live_word(o->w, 0, 0) };
	const uint64_t n = GR_ARRAY_SIZE(elems);

	add_type(o, 16);
	for (uint64_t i = 0; i + 1 < n; i++)
		put_sudog(o->w, i, 0, chan_addr(0), elems[i],
			  i + 2 < n ? sudog_addr(i + 1) : 0);
	put_sudog(o->w, n - 1, 1, 0, elems[n - 1], 0);
	set_waiting(o->w, 0, "select", sudog_addr(0));
	set_waiting(o->w, 1, "sync.Mutex.Lock", sudog_addr(n - 1));
	add_offers(o);
	assert_int_equal(o->w->waits->nsudogs, n);
	assert_int_equal(o->roots.size, 0);
}

/* Those that receive or wait for locks, and a channel that is not there. */
TEST_F(others)
{
	add_type(o, 16);
	for (int i = 0; i < NGOROUTINES; i++)
		offer(o, i, live_word(o->w, 0, 0));
	o->w->goroutines[0].wait_reason = "chan receive";
	o->w->goroutines[1].wait_reason = "sync.Mutex.Lock";
	set_sudog(o->w, 2, SUDOG_CHAN, chan_addr(NCHANS));
	add_offers(o);
	assert_int_equal(o->roots.size, 0);
}

/* A channel whose element type nobody knows. */
TEST_F(untyped)
{
	assert_null(gr_type_ref_add(&o->types, GR_REF_RUNTIME, ELEM_RECORD,
				    GR_TYPE_NONE));
	offer(o, 0, live_word(o->w, 0, 0));
	add_offers(o);
	assert_int_equal(o->roots.size, 0);
}

GR_SUITE("root waits")
