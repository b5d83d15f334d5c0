// SPDX-License-Identifier: Apache-2.0
/* Roots of the runtime's lists, where these lead into each other. */
#include "goruntime/roots/roots.h"

#include "base/arena.h"
#include "heap_builder.h"
#include "stack_builder.h"

enum {
	SPECIAL_BYTES = 32,
	NRECORDS = 20000,
	NSPANS = 60,
	WEAK_KIND = 4,
	/* A list that ends in another one costs so many records (owned.c). */
	MARK_STEPS = 64,
};
#define RECORDS UINT64_C(0x2000000)
#define HANDLE UINT64_C(0xc000000010)

struct lists {
	struct fixture *f;
	struct gr_arena arena;
	struct gr_root_list roots;
	struct gr_sampled_vector sampled;
};

static struct lists *setup_lists(void)
{
	struct lists *l = suite_alloc(sizeof(*l));

	l->f = setup();
	l->f->rt.arena = &l->arena;
	struct gr_layout *layout = &l->f->rt.layout;
	layout->special.size_bytes = 24;
	layout->special.next = (struct gr_field){ 0, 8 };
	layout->special.offset = (struct gr_field){ 8, 8 };
	layout->special.kind = (struct gr_field){ 16, 1 };
	layout->special_weak_handle.handle = (struct gr_field){ 24, 8 };
	layout->consts.kind_weak_handle = WEAK_KIND;
	layout->has.kind_weak_handle = true;
	fake_add(&l->f->image, RECORDS, NRECORDS * SPECIAL_BYTES);
	return l;
}

static void teardown_lists(struct lists *l)
{
	gr_root_list_deinit(&l->roots);
	gr_sampled_vector_deinit(&l->sampled);
	gr_arena_deinit(&l->arena);
	teardown(l->f);
	free(l);
}

#undef FIXTURE
#define FIXTURE struct lists *l, setup_lists, teardown_lists

static uint64_t record_addr(uint64_t i)
{
	return RECORDS + i * SPECIAL_BYTES;
}

static void put_record(struct lists *l, uint64_t i, uint64_t next)
{
	uint64_t at = record_addr(i);

	fake_set(&l->f->image, at, next, 8);
	fake_set(&l->f->image, at + 16, WEAK_KIND, 1);
	fake_set(&l->f->image, at + 24, HANDLE, 8);
}

/* Records 0 to NRECORDS in a row; the last one leads to @p end. */
static void put_list(struct lists *l, uint64_t end)
{
	for (uint64_t i = 0; i < NRECORDS; i++)
		put_record(l, i, i + 1 < NRECORDS ? record_addr(i + 1) : end);
}

/* Spans, the specials of span i beginning with record first(i). */
static void put_spans(struct lists *l, uint64_t (*first)(uint64_t i))
{
	for (uint64_t i = 0; i < NSPANS; i++) {
		uint64_t mspan = MSPANS + l->f->nmspans * MSPAN_BYTES;

		put_span(l->f, SPAN(HEAP + i * PAGE, 1, 64, 128, 10));
		fake_set(&l->f->image, mspan + 48, record_addr(first(i)), 8);
	}
	read_heap(l->f);
	memset(&l->f->gaps, 0, sizeof(l->f->gaps));
}

static void read_lists(struct lists *l)
{
	assert_null(gr_roots_read_lists(l->f->heap, &l->f->sched, &l->roots,
					&l->sampled));
}

static uint64_t first_is_one(uint64_t i)
{
	(void)i;
	return 0;
}

static uint64_t first_is_own(uint64_t i)
{
	return i * 7;
}

static uint64_t first_is_apart(uint64_t i)
{
	return i * (NRECORDS / NSPANS);
}

/* Many spans whose specials lead into one long list: as many steps as there
 * are records, not as many for each span. */
TEST_F(one_list)
{
	put_list(l, 0);
	put_spans(l, first_is_one);
	read_lists(l);
	assert_in_range(l->roots.size, NRECORDS,
			NRECORDS + NSPANS * MARK_STEPS);
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], NSPANS - 1);
	assert_string_equal(l->f->gaps.broken_list, "specials of the heap");
}

/* Lists that begin apart and go on as one. */
TEST_F(common_end)
{
	put_list(l, 0);
	put_spans(l, first_is_own);
	read_lists(l);
	assert_in_range(l->roots.size, NRECORDS,
			NRECORDS + NSPANS * MARK_STEPS);
}

/* They all end in a loop. */
TEST_F(loop)
{
	put_list(l, record_addr(NRECORDS / 2));
	put_spans(l, first_is_own);
	read_lists(l);
	assert_in_range(l->roots.size, NRECORDS,
			NRECORDS + NSPANS * 2 * MARK_STEPS);
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], NSPANS);
}

/* Lists of their own, however long, are no damage. */
TEST_F(own_lists)
{
	put_list(l, 0);
	for (uint64_t i = 1; i < NSPANS; i++)
		put_record(l, first_is_apart(i) - 1, 0);
	put_spans(l, first_is_apart);
	read_lists(l);
	assert_int_equal(l->roots.size, NRECORDS);
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], 0);
}

/* Records of sampled objects lead to buckets, also where lists of many spans
 * run into one; a record of a slot behind the span's last one is none. An object
 * may begin behind a malloc header. */
TEST_F(sampled)
{
	enum { PROFILE_KIND = 9, SLOT = 64, BUCKET = 0x1230 };
	struct gr_layout *layout = &l->f->rt.layout;

	layout->special_profile.size_bytes = 32;
	layout->special_profile.bucket = (struct gr_field){ 24, 8 };
	layout->consts.kind_profile = PROFILE_KIND;
	layout->has.kind_profile = true;
	put_list(l, 0);
	for (uint64_t i = 0; i < NRECORDS; i++) {
		uint64_t at = record_addr(i);

		fake_set(&l->f->image, at + 8, i % 200 * SLOT + i % 2 * 8, 8);
		fake_set(&l->f->image, at + 16, PROFILE_KIND, 1);
		fake_set(&l->f->image, at + 24, BUCKET + i, 8);
	}
	put_spans(l, first_is_one);
	read_lists(l);
	assert_int_equal(l->roots.size, 0);
	// Spans have 128 slots.
	assert_in_range(l->sampled.size, NRECORDS / 200 * 128,
			NRECORDS / 200 * 128 + NSPANS * MARK_STEPS);
	for (uint64_t i = 0; i < 128; i++) {
		assert_int_equal(l->sampled.data[i].obj, i);
		assert_int_equal(l->sampled.data[i].offset, i % 2 * 8);
		assert_int_equal(l->sampled.data[i].bucket, BUCKET + i);
	}
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], NSPANS - 1);
}

/* The timers of all Ps, in one slice; @p timer is that of every slot. */
static void put_timers(struct lists *l, uint64_t nps, uint64_t count,
		       uint64_t timer)
{
	enum { P_BYTES = 64, STRIDE = 16 };
	const uint64_t ps = UINT64_C(0x4000000), slots = UINT64_C(0x5000000);
	struct gr_layout *layout = &l->f->rt.layout;

	layout->p.timer_heap = (struct gr_field){ 0, 24 };
	layout->p.mcache = (struct gr_field){ 24, 8 };
	layout->timer_when.size_bytes = STRIDE;
	layout->timer.size_bytes = 64;
	layout->timer.f = (struct gr_field){ 24, 8 };
	layout->timer.arg = (struct gr_field){ 32, 16 };
	fake_add(&l->f->image, ps, nps * P_BYTES);
	fake_add(&l->f->image, slots, count * STRIDE);
	for (uint64_t i = 0; i < count; i++)
		fake_set(&l->f->image, slots + i * STRIDE, timer, 8);
	l->f->sched.ps = calloc(nps, sizeof(*l->f->sched.ps));
	assert_non_null(l->f->sched.ps);
	l->f->sched.nps = nps;
	for (uint64_t i = 0; i < nps; i++) {
		l->f->sched.ps[i] = ps + i * P_BYTES;
		// Each P's slice begins a slot later than the one before.
		fake_words(&l->f->image, l->f->sched.ps[i], slots + i * STRIDE,
			   count - i, count - i);
	}
	read_heap(l->f);
	memset(&l->f->gaps, 0, sizeof(l->f->gaps));
}

/* Many Ps that have the same timers. */
TEST_F(timers_of_all)
{
	enum { NPS = 100, COUNT = 10000, ROOTS = 3 };

	put_timers(l, NPS, COUNT, HANDLE);
	read_lists(l);
	assert_in_range(l->roots.size, COUNT * ROOTS,
			(COUNT + NPS * MARK_STEPS) * ROOTS);
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], NPS - 1);
	free(l->f->sched.ps);
}

/* A timer whose fields lie at address 0 is none. */
TEST_F(timer_at_the_end)
{
	put_timers(l, 1, 1, -UINT64_C(24));
	read_lists(l);
	assert_int_equal(l->roots.size, 0);
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], 1);
	free(l->f->sched.ps);
}

/* Blocks of queued finalizers that overlap are no more than one. */
TEST_F(blocks_overlap)
{
	enum { BLOCK = 4096, COUNT = 1000, ENTRY = 40 };
	const uint64_t head = UINT64_C(0x4000000), blocks = head + BLOCK;
	struct gr_layout *layout = &l->f->rt.layout;

	layout->finalizer.size_bytes = ENTRY;
	layout->finalizer.arg = (struct gr_field){ 8, 8 };
	layout->finblock.size_bytes = BLOCK;
	layout->finblock.alllink = (struct gr_field){ 0, 8 };
	layout->finblock.cnt = (struct gr_field){ 16, 4 };
	layout->finblock.fin = (struct gr_field){ 32, 4000 };
	layout->vars.allfin = head;
	fake_add(&l->f->image, head, BLOCK + COUNT * 64 + BLOCK);
	fake_set(&l->f->image, head, blocks, 8);
	// A list of blocks, 64 bytes apart, all full of functions.
	for (uint64_t at = 0; at < COUNT * 64 + BLOCK - 8; at += 8)
		fake_set(&l->f->image, blocks + at, HANDLE, 8);
	for (uint64_t i = 0; i < COUNT; i++) {
		fake_set(&l->f->image, blocks + i * 64, blocks + (i + 1) * 64,
			 8);
		fake_set(&l->f->image, blocks + i * 64 + 16, 100, 4);
	}
	read_heap(l->f);
	memset(&l->f->gaps, 0, sizeof(l->f->gaps));
	read_lists(l);
	assert_in_range(l->roots.size, 1, (COUNT * 64 / BLOCK + 2) * 200);
	assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], 1);
}

/* A queue of which a search has found three words: those that may be finq and
 * finc lead to later blocks by now, or nowhere. */
TEST_F(words_that_were_equal)
{
	enum { BLOCK = 4096, COUNT = 3, ENTRY = 40 };
	static const struct {
		const char *name;
		unsigned int first[3]; /* blocks of allfin, finq, finc */
	} cases[] = {
		{ "still equal", { 1, 1, 1 } },
		{ "allfin is the first", { 1, 2, 3 } },
		{ "allfin is the second", { 3, 1, 2 } },
		{ "allfin is the last", { 0, 2, 1 } },
		{ "the others are empty", { 1, 0, 0 } },
	};
	const uint64_t head = UINT64_C(0x4000000), blocks = head + BLOCK;
	struct gr_layout *layout = &l->f->rt.layout;
	uint64_t *vars[] = { &layout->vars.allfin, &layout->vars.finq,
			     &layout->vars.finc };

	layout->finalizer.size_bytes = ENTRY;
	layout->finalizer.arg = (struct gr_field){ 8, 8 };
	layout->finblock.size_bytes = BLOCK;
	layout->finblock.alllink = (struct gr_field){ 0, 8 };
	layout->finblock.cnt = (struct gr_field){ 16, 4 };
	layout->finblock.fin = (struct gr_field){ 32, 4000 };
	fake_add(&l->f->image, head, BLOCK + (COUNT + 1) * BLOCK);
	for (uint64_t i = 1; i <= COUNT; i++) {
		uint64_t next = i < COUNT ? blocks + (i + 1) * BLOCK : 0;
		fake_set(&l->f->image, blocks + i * BLOCK, next, 8);
		fake_set(&l->f->image, blocks + i * BLOCK + 16, 1, 4);
		fake_set(&l->f->image, blocks + i * BLOCK + 32 + 8, HANDLE, 8);
	}
	read_heap(l->f);
	for (size_t i = 0; i < GR_ARRAY_SIZE(cases); i++) {
		for (unsigned int j = 0; j < 3; j++) {
			unsigned int block = cases[i].first[j];
			*vars[j] = head + 8 * j;
			fake_set(&l->f->image, *vars[j],
				 block ? blocks + block * BLOCK : 0, 8);
		}
		memset(&l->f->gaps, 0, sizeof(l->f->gaps));
		l->roots.size = 0;
		read_lists(l);
		if (l->roots.size != COUNT)
			print_error("%s\n", cases[i].name);
		assert_int_equal(l->roots.size, COUNT);
		assert_int_equal(l->f->gaps.count[GR_GAP_BROKEN_LISTS], 0);
	}
}

struct held_case {
	const char *name;
	uint8_t kind;
	uint64_t in_register, on_stack; /* what the thread has there */
	uint64_t place;			/* of that word on the stack */
	bool is_swept;
	uint64_t offset; /* of the object in its span */
	uint64_t code;	 /* of the closure */
	size_t nroots;
};

enum { FINALIZER = 1, CLEANUP = 5, STACK_BYTES = 1024 };
#define STACK UINT64_C(0x6000000)
#define CLOSURE UINT64_C(0x6800000)
#define ASKEW (RECORDS + SPECIAL_BYTES + 4)

static const struct held_case held_cases[] = {
	{ "in a register", CLEANUP, RECORDS, 0, 0, false, 64, TEXT, 1 },
	{ "on the stack", CLEANUP, 0, RECORDS, 0, false, 64, TEXT, 1 },
	{ "in the last word that is looked at", CLEANUP, 0, RECORDS, 504, false,
	  64, TEXT, 1 },
	{ "behind it", CLEANUP, 0, RECORDS, 512, false, 64, TEXT, 0 },
	{ "of a finalizer", FINALIZER, RECORDS, 0, 0, false, 64, TEXT, 1 },
	{ "of another kind", WEAK_KIND, RECORDS, 0, 0, false, 64, TEXT, 0 },
	{ "no span is being swept", CLEANUP, RECORDS, RECORDS, 0, true, 64,
	  TEXT, 0 },
	{ "not aligned", CLEANUP, ASKEW, ASKEW, 0, false, 64, TEXT, 0 },
	{ "not readable", CLEANUP, 64, 64, 0, false, 64, TEXT, 0 },
	{ "in the heap", CLEANUP, HEAP, 0, 0, false, 64, TEXT, 0 },
	{ "of an object past all spans", CLEANUP, RECORDS, 0, 0, false,
	  4 * PAGE, TEXT, 0 },
	{ "without a function", CLEANUP, RECORDS, 0, 0, false, 64, TEXT + 8,
	  0 },
};

/* Records that are on no list any more: only a thread leads to them. */
static void put_held(struct lists *l, const struct held_case *c)
{
	static const uint64_t records[] = { RECORDS, HEAP, ASKEW };
	struct gr_image *image = &l->f->image;

	fake_add(image, HEAP, PAGE);
	fake_add(image, CLOSURE, 8);
	fake_set(image, CLOSURE, c->code, 8);
	fake_add(image, STACK, STACK_BYTES);
	fake_set(image, STACK + c->place, c->on_stack, 8);
	for (size_t i = 0; i < GR_ARRAY_SIZE(records); i++) {
		fake_set(image, records[i] + 8, c->offset, 8);
		fake_set(image, records[i] + 16, c->kind, 1);
		fake_set(image, records[i] + 24, CLOSURE, 8);
	}
	put_span(l->f, SPAN(HEAP, 1, 64, 128, 10,
			    .sweepgen = c->is_swept ? SWEEPGEN : SWEEPGEN - 1));
	read_heap(l->f);
}

static void set_held_layout(struct gr_layout *layout)
{
	layout->special_cleanup.fn = (struct gr_field){ 24, 8 };
	layout->consts.kind_cleanup = CLEANUP;
	layout->has.kind_cleanup = true;
	layout->special_finalizer.fn = (struct gr_field){ 24, 8 };
	layout->consts.kind_finalizer = FINALIZER;
	layout->has.kind_finalizer = true;
}

TEST_F_ROWS(held, held_cases, c)
{
	struct gr_regs regs = { .value[0] = c->in_register };
	struct gr_goroutine g = {
		.regs = &regs,
		.stack = { .start = STACK, .end = STACK + STACK_BYTES },
	};

	struct stack_fixture *code = stack_new(STACK_BYTES);

	put_func(code, (struct func_shape){ .name = "main.main.func1" });
	set_held_layout(&l->f->rt.layout);
	l->f->rt.layout.func = code->rt.layout.func;
	l->f->rt.modules = &code->module;
	l->f->rt.nmodules = 1;
	l->f->rt.arch = &gr_arch_x86_64;
	l->f->sched.goroutines = &g;
	l->f->sched.ngoroutines = 1;
	put_held(l, c);
	read_lists(l);
	assert_int_equal(l->roots.size, c->nroots);
	for (size_t i = 0; i < c->nroots; i++) {
		assert_int_equal(l->roots.data[i].addr, CLOSURE);
		assert_true(l->roots.data[i].is_conservative);
	}
	stack_free(code);
}

/* A poll that refuses ends it, within the next steps. */
TEST_F(interrupted)
{
	uint64_t left = 1;

	put_list(l, 0);
	put_spans(l, first_is_own);
	l->f->rt.poll = suite_refuse;
	l->f->rt.poll_ctx = &left;
	l->f->rt.steps = 0;
	assert_fails(gr_roots_read_lists(l->f->heap, &l->f->sched, &l->roots,
					 &l->sampled),
		     GR_ERROR_INTERRUPTED, NULL);
	assert_in_range(l->roots.size, 1, 3 * GR_POLL_STEPS);
}

GR_SUITE("root lists")
