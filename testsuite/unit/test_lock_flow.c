// SPDX-License-Identifier: Apache-2.0
/* lock_flow: functions that are assembled by hand, and random ones against each
 * single way through their branches. */
#include "goroutines/locks/lock_flow.h"

#include "suite.h"

enum {
	BASE = 0x401000,
	LOCK_ADDR = 0x500040,
	OTHER_ADDR = 0x500080,
	SLOT = 6, /* bytes of each instruction of a function here */
	MAX_SLOTS = 24,
	MAX_EFFECTS = 6,
	NFUNCTIONS = 20000,
};

#define JUMP(n) 0xe9, (n), 0, 0, 0, 0x90
#define JUMP_BACK(n) 0xe9, 256 - (n), 0xff, 0xff, 0xff, 0x90
#define BRANCH(n) 0x0f, 0x84, (n), 0, 0, 0
#define PLAIN 0x66, 0x0f, 0x1f, 0x44, 0, 0
#define CALL 0xe8, 0, 0, 0x10, 0, 0x90
#define PANIC 0xe8, 0, 0, 0x20, 0, 0x90
#define RET 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc
#define UD2 0x0f, 0x0b, 0xcc, 0xcc, 0xcc, 0xcc
#define SWITCH 0xff, 0x24, 0xc8, 0x90, 0x90, 0x90  /* jmp *(%rax,%rcx,8) */
#define LEA_TABLE(way) 0x48, 0x8d, 0x05, way, 0, 0 /* lea way(%rip), %rax */
#define JUMP_TABLE 0, 0xff, 0x24, 0xc8, 0x90, 0x90 /* jmp *(%rax,%rcx,8) */
#define BAD 0x06, 0x06, 0x06, 0x06, 0x06, 0x06
#define INTO_MIDST 0xeb, 0x01, 0xe8, 0, 0, 0

enum what { LOCK = 1, UNLOCK, TRY, MAYBE_UNLOCK, SLOW };

/** An effect of a slot. */
struct at_slot {
	uint8_t slot, what;
	bool is_call;
	uint64_t other; /* the address, if it is not that of the question */
};

#define AT(slot, what)               \
	{                            \
		slot, what, false, 0 \
	}
#define CALLED(slot, what)          \
	{                           \
		slot, what, true, 0 \
	}
#define OTHER(slot, what, addr)         \
	{                               \
		slot, what, false, addr \
	}

/** The address is not known. */
#define ANY 1

/** A function, and what is known at a place in it. */
struct flow_row {
	const char *name;
	uint8_t code[MAX_SLOTS * SLOT];
	uint8_t nslots;
	struct at_slot effects[MAX_EFFECTS];
	uint8_t place; /* slot */
	struct gr_lock_ways want;
};

static const struct flow_row rows[] = {
	{ "between",
	  { PLAIN, PLAIN, PLAIN, RET },
	  4,
	  { AT(0, LOCK), AT(2, UNLOCK) },
	  1,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "behind both",
	  { PLAIN, PLAIN, PLAIN, RET },
	  4,
	  { AT(0, LOCK), AT(1, UNLOCK) },
	  2,
	  { GR_LOCK_NOT, .unlocks_before = true } },
	// if lock { mu.Lock() }; f(); if lock { mu.Unlock() }
	{ "on one way",
	  { BRANCH(6), PLAIN, CALL, BRANCH(6), PLAIN, RET },
	  6,
	  { AT(1, LOCK), AT(4, UNLOCK) },
	  2,
	  { GR_LOCK_MAY, .unlocks_next = true } },
	// if bad { mu.Unlock(); f(); return }
	{ "unlocked in the branch of the place",
	  { PLAIN, BRANCH(18), PLAIN, CALL, RET, PLAIN, RET },
	  7,
	  { AT(0, LOCK), AT(2, UNLOCK), AT(5, UNLOCK) },
	  3,
	  { GR_LOCK_NOT, .unlocks_before = true } },
	{ "unlocked in another branch",
	  { PLAIN, BRANCH(18), PLAIN, CALL, RET, CALL, PLAIN, RET },
	  8,
	  { AT(0, LOCK), AT(2, UNLOCK), AT(6, UNLOCK) },
	  5,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	// for { mu.Lock(); if none { mu.Unlock(); f(); continue }; mu.Unlock() }
	{ "continue",
	  { PLAIN, BRANCH(18), PLAIN, CALL, JUMP_BACK(29), PLAIN,
	    JUMP_BACK(41) },
	  7,
	  { AT(0, LOCK), AT(2, UNLOCK), AT(5, UNLOCK) },
	  3,
	  { GR_LOCK_NOT, .unlocks_before = true, .locks_next = true,
	    .must_lock_next = true } },
	{ "cold part",
	  { PLAIN, BRANCH(18), CALL, PLAIN, RET, CALL, JUMP_BACK(29) },
	  7,
	  { AT(0, LOCK), AT(3, UNLOCK) },
	  5,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "in the midst of an inlined Lock",
	  { PLAIN, BRANCH(18), CALL, PLAIN, RET, CALL, JUMP_BACK(29) },
	  7,
	  { AT(0, LOCK), AT(3, UNLOCK), CALLED(5, SLOW) },
	  5,
	  { GR_LOCK_NOT, .unlocks_next = true } },
	{ "the call that locks has not returned",
	  { CALL, CALL, RET },
	  3,
	  { CALLED(0, LOCK), CALLED(1, UNLOCK) },
	  0,
	  { GR_LOCK_NOT, .unlocks_next = true } },
	{ "for a caller",
	  { PLAIN, CALL, PLAIN, RET },
	  4,
	  { AT(0, UNLOCK), AT(2, LOCK) },
	  1,
	  { GR_LOCK_NOT, .is_below = true, .unlocks_before = true,
	    .locks_next = true, .must_lock_next = true } },
	{ "never unlocked on one way",
	  { PLAIN, CALL, BRANCH(6), PLAIN, RET },
	  5,
	  { AT(0, LOCK), AT(3, UNLOCK) },
	  1,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "a panic does not return",
	  { BRANCH(12), PANIC, UD2, PLAIN, CALL, PLAIN, RET },
	  7,
	  { AT(1, UNLOCK), AT(3, LOCK), AT(5, UNLOCK) },
	  4,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "no way behind a panic",
	  { PANIC, CALL, RET },
	  3,
	  { AT(0, LOCK) },
	  1,
	  { GR_LOCK_UNKNOWN } },
	{ "another lock of that name",
	  { PLAIN, PLAIN, CALL, PLAIN, RET },
	  5,
	  { AT(0, LOCK), OTHER(1, UNLOCK, OTHER_ADDR), AT(3, UNLOCK) },
	  2,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "perhaps another lock unlocked",
	  { PLAIN, PLAIN, CALL, PLAIN, RET },
	  5,
	  { AT(0, LOCK), OTHER(0, LOCK, ANY), OTHER(1, UNLOCK, ANY),
	    AT(3, UNLOCK) },
	  2,
	  { GR_LOCK_HELD, .unlocks_before = true, .unlocks_next = true } },
	{ "tried",
	  { CALL, BRANCH(12), CALL, PLAIN, CALL, RET },
	  6,
	  { CALLED(0, TRY), AT(3, UNLOCK) },
	  2,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "tried and failed",
	  { CALL, BRANCH(12), CALL, RET, CALL, PLAIN, RET },
	  7,
	  { CALLED(0, TRY), AT(5, UNLOCK) },
	  2,
	  { .verdict = GR_LOCK_MAY } },
	{ "tried and unlocked",
	  { CALL, BRANCH(12), CALL, PLAIN, CALL, RET },
	  6,
	  { CALLED(0, TRY), AT(3, UNLOCK) },
	  4,
	  { GR_LOCK_MAY, .unlocks_before = true } },
	{ "a helper that perhaps unlocks",
	  { PLAIN, CALL, CALL, PLAIN, RET },
	  5,
	  { AT(0, LOCK), CALLED(1, MAYBE_UNLOCK), AT(3, UNLOCK) },
	  2,
	  { GR_LOCK_HELD, .unlocks_before = true, .unlocks_next = true } },
	{ "computed jump",
	  { PLAIN, CALL, SWITCH, PLAIN, RET },
	  5,
	  { AT(0, LOCK), AT(3, UNLOCK) },
	  1,
	  { GR_LOCK_UNKNOWN } },
	// switch x { case 0: mu.Unlock(); f(); case 1: f(); mu.Unlock() }
	{ "jump table, unlocked in the case",
	  { PLAIN, LEA_TABLE(0), JUMP_TABLE, PLAIN, CALL, RET, CALL, PLAIN,
	    RET },
	  9,
	  { AT(0, LOCK), AT(3, UNLOCK), AT(7, UNLOCK) },
	  4,
	  { GR_LOCK_NOT, .unlocks_before = true } },
	{ "jump table, not yet unlocked",
	  { PLAIN, LEA_TABLE(0), JUMP_TABLE, PLAIN, CALL, RET, CALL, PLAIN,
	    RET },
	  9,
	  { AT(0, LOCK), AT(3, UNLOCK), AT(7, UNLOCK) },
	  6,
	  { GR_LOCK_HELD, .unlocks_next = true } },
	{ "jump table without targets",
	  { PLAIN, LEA_TABLE(16), JUMP_TABLE, PLAIN, CALL, RET, CALL, PLAIN,
	    RET },
	  9,
	  { AT(0, LOCK), AT(3, UNLOCK), AT(7, UNLOCK) },
	  6,
	  { GR_LOCK_UNKNOWN } },
	{ "no instruction",
	  { PLAIN, CALL, PLAIN, RET, BAD },
	  5,
	  { AT(0, LOCK), AT(2, UNLOCK) },
	  1,
	  { GR_LOCK_UNKNOWN } },
	{ "into the midst of an instruction",
	  { PLAIN, CALL, PLAIN, INTO_MIDST, RET },
	  5,
	  { AT(0, LOCK), AT(2, UNLOCK) },
	  1,
	  { GR_LOCK_UNKNOWN } },
};

static const char function[] = "main.f";

static bool never_returns(void *ctx, uint64_t target)
{
	const uint64_t *base = ctx;

	return target - *base > 0x180000;
}

/* A table of two targets, which the instruction in slot 1 loads. */
static bool read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	const uint64_t *base = ctx;
	uint64_t i = (addr - (*base + SLOT + 7)) / 8;

	*ret = *base + (i ? 6 : 3) * SLOT;
	return i < 2 && addr == *base + SLOT + 7 + i * 8;
}

static void add(struct gr_lock_effect_vector *effects,
		const struct at_slot *slot)
{
	const uint64_t other = slot->other == ANY ? 0 : slot->other;
	const struct gr_lock_effect effect = {
		.pc = BASE + slot->slot * SLOT,
		.function = function,
		.line = slot->slot,
		.class = GR_LOCK_MUTEX,
		.unlocks = slot->what == UNLOCK || slot->what == MAYBE_UNLOCK,
		.is_call = slot->is_call,
		.is_maybe = slot->what == MAYBE_UNLOCK,
		.is_try = slot->what == TRY,
		.is_slow = slot->what == SLOW,
		.at = { slot->other ? other : LOCK_ADDR, GR_ANY_DISTANCE },
	};

	assert_true(gr_lock_effect_vector_append(effects, effect));
	// An inlined call has one line.
	if (slot->what == SLOW)
		effects->data[effects->size - 1].line = 0;
}

static struct gr_lock_flow *read_flow(const uint8_t *code, uint8_t nslots,
				      struct gr_lock_effect_vector *effects)
{
	const uint64_t base = BASE;
	struct gr_code_reader reader = {
		.never_returns = never_returns,
		.read_word = read_word,
		.ctx = (void *)&base,
	};
	struct gr_lock_flow *flow;

	assert_null(gr_lock_flow_create(&reader, code, nslots * SLOT, BASE,
					effects, &flow));
	gr_lock_effect_vector_deinit(effects);
	gr_code_reader_deinit(&reader);
	return flow;
}

static struct gr_lock_ways ask(struct gr_lock_flow *flow, uint64_t pc)
{
	struct gr_runtime rt = { 0 };
	const struct gr_lock_question q = {
		.function = function,
		.pc = pc,
		.class = GR_LOCK_MUTEX,
		.at = { LOCK_ADDR, GR_ANY_DISTANCE },
	};
	struct gr_lock_ways ways;

	assert_null(gr_lock_flow_ask(&rt, flow, &q, &ways));
	return ways;
}

static void check(const struct gr_lock_ways *found,
		  const struct gr_lock_ways *want)
{
	assert_int_equal(found->verdict, want->verdict);
	assert_int_equal(found->is_below, want->is_below);
	assert_int_equal(found->unlocks_before, want->unlocks_before);
	assert_int_equal(found->unlocks_next, want->unlocks_next);
	assert_int_equal(found->locks_next, want->locks_next);
	assert_int_equal(found->must_lock_next, want->must_lock_next);
}

TEST_ROWS(row, rows, row)
{
	struct gr_lock_effect_vector effects = { 0 };

	for (size_t i = 0; i < MAX_EFFECTS && row->effects[i].what; i++)
		add(&effects, &row->effects[i]);
	struct gr_lock_flow *flow = read_flow(row->code, row->nslots, &effects);
	// The place is in the call: what that does, it has not done yet.
	struct gr_lock_ways found = ask(flow, BASE + row->place * SLOT + 4);
	check(&found, &row->want);
	gr_lock_flow_destroy(flow);
}

// ---------------------------------------------------------- random functions

enum kind { IS_PLAIN, IS_JUMP, IS_BRANCH, IS_RET, IS_END, NKINDS };

struct slot {
	uint8_t kind, target, what;
};

struct function {
	struct slot slots[MAX_SLOTS];
	uint8_t n, place;
	/* (slot, number, unlocked before) that some way leads to */
	bool seen[MAX_SLOTS][6][2];
	bool is_behind[MAX_SLOTS];
	struct gr_lock_ways want;
	bool may_end;
};

/* Go each way on from a slot. */
static void walk(struct function *f, uint8_t i, int number, bool unlocked)
{
	const struct slot *slot = &f->slots[i];

	if (i >= f->n || f->seen[i][number + 2][unlocked])
		return;
	f->seen[i][number + 2][unlocked] = true;
	if (slot->what == LOCK && number < 3)
		number++;
	if (slot->what == UNLOCK && number > -2)
		number--;
	unlocked |= slot->what == UNLOCK;
	if (slot->kind == IS_JUMP || slot->kind == IS_BRANCH)
		walk(f, slot->target, number, unlocked);
	if (slot->kind == IS_PLAIN || slot->kind == IS_BRANCH)
		walk(f, i + 1, number, unlocked);
}

/* Look for the next Lock or Unlock on each way on from behind a slot. */
static void look_behind(struct function *f, uint8_t i)
{
	const struct slot *slot = &f->slots[i];
	uint8_t next[2] = { f->n, f->n };

	if (slot->kind == IS_RET)
		f->may_end = true;
	if (slot->kind == IS_JUMP || slot->kind == IS_BRANCH)
		next[0] = slot->target;
	if (slot->kind == IS_PLAIN || slot->kind == IS_BRANCH)
		next[1] = i + 1;
	for (int j = 0; j < 2; j++) {
		if (next[j] >= f->n || f->is_behind[next[j]])
			continue;
		f->is_behind[next[j]] = true;
		if (f->slots[next[j]].what == LOCK)
			f->want.locks_next = true;
		else if (f->slots[next[j]].what == UNLOCK)
			f->want.unlocks_next = true;
		else
			look_behind(f, next[j]);
	}
}

static void sum_up(struct function *f)
{
	bool above = false, none = false;

	for (int number = -2; number <= 3; number++)
		for (int unlocked = 0; unlocked < 2; unlocked++) {
			if (!f->seen[f->place][number + 2][unlocked])
				continue;
			f->want.unlocks_before |= unlocked;
			f->want.is_below |= number < 0;
			above |= number > 0;
			none |= number <= 0;
		}
	f->want.verdict = !above && !none ? GR_LOCK_UNKNOWN :
			  !above	  ? GR_LOCK_NOT :
			  none		  ? GR_LOCK_MAY :
					    GR_LOCK_HELD;
	if (f->want.verdict == GR_LOCK_MAY && f->want.unlocks_next &&
	    !f->want.locks_next && !f->may_end)
		f->want.verdict = GR_LOCK_HELD;
	f->want.must_lock_next = f->want.locks_next && !f->want.unlocks_next &&
				 !f->may_end;
	if (f->want.verdict == GR_LOCK_UNKNOWN)
		f->want = (struct gr_lock_ways){ 0 };
}

static void assemble(const struct function *f, uint8_t *code)
{
	static const uint8_t bytes[NKINDS][SLOT] = {
		{ PLAIN }, { JUMP(0) }, { BRANCH(0) }, { RET }, { UD2 },
	};

	for (uint8_t i = 0; i < f->n; i++, code += SLOT) {
		const struct slot *slot = &f->slots[i];
		uint8_t size = slot->kind == IS_JUMP ? 5 : SLOT;
		int32_t way = (slot->target - i) * SLOT - size;

		memcpy(code, bytes[slot->kind], SLOT);
		if (slot->kind == IS_JUMP || slot->kind == IS_BRANCH)
			memcpy(code + size - 4, &way, sizeof(way));
	}
}

static void make_function(struct function *f)
{
	memset(f, 0, sizeof(*f));
	f->n = 2 + rand() % (MAX_SLOTS - 1);
	f->place = rand() % f->n;
	for (uint8_t i = 0; i < f->n; i++) {
		struct slot *slot = &f->slots[i];
		int kind = rand() % 12;

		slot->kind = kind < 6  ? IS_PLAIN :
			     kind < 7  ? IS_JUMP :
			     kind < 10 ? IS_BRANCH :
			     kind < 11 ? IS_RET :
					 IS_END;
		slot->target = rand() % f->n;
		if (slot->kind == IS_PLAIN && rand() % 3 == 0)
			slot->what = 1 + rand() % 2;
	}
}

TEST(random)
{
	struct function *f = calloc(1, sizeof(*f));
	uint8_t code[MAX_SLOTS * SLOT];

	srand(1);
	for (int i = 0; i < NFUNCTIONS; i++) {
		struct gr_lock_effect_vector effects = { 0 };

		make_function(f);
		assemble(f, code);
		for (uint8_t j = 0; j < f->n; j++)
			if (f->slots[j].what)
				add(&effects,
				    &(struct at_slot)AT(j, f->slots[j].what));
		walk(f, 0, 0, false);
		look_behind(f, f->place);
		sum_up(f);
		struct gr_lock_flow *flow = read_flow(code, f->n, &effects);
		// It is about to run the instruction of the place.
		f->slots[f->place].what = 0;
		struct gr_lock_ways found = ask(flow, BASE + f->place * SLOT);
		check(&found, &f->want);
		gr_lock_flow_destroy(flow);
	}
	free(f);
}

// -------------------------------------------------------------------- limits

enum { MOST_BYTES = 1 << 18 };

/** Code with a branch 128 bytes ahead at each so many bytes. */
struct limit_row {
	const char *name;
	uint32_t nbytes, step;
	bool is_read;
};

static const struct limit_row limit_rows[] = {
	{ "the most code", MOST_BYTES, 64, true },
	{ "too much code", MOST_BYTES + 1, 64, false },
	{ "too many blocks", MOST_BYTES, 2, false },
};

TEST_ROWS(limit, limit_rows, row)
{
	struct gr_lock_effect_vector effects = { 0 };
	struct gr_code_reader reader = { 0 };
	struct gr_lock_flow *flow;
	uint8_t *code = malloc(row->nbytes);

	memset(code, 0x90, row->nbytes);
	for (size_t i = 0; i < row->nbytes - 200; i += row->step) {
		code[i] = 0x74;
		code[i + 1] = 0x7e;
	}
	add(&effects, &(struct at_slot)AT(0, LOCK));
	assert_null(gr_lock_flow_create(&reader, code, row->nbytes, BASE,
					&effects, &flow));
	gr_lock_effect_vector_deinit(&effects);
	gr_code_reader_deinit(&reader);
	assert_int_equal(flow != NULL, row->is_read);
	if (flow)
		assert_int_equal(ask(flow, BASE + row->nbytes - 1).verdict,
				 GR_LOCK_HELD);
	gr_lock_flow_destroy(flow);
	free(code);
}

GR_SUITE("lock flow")
