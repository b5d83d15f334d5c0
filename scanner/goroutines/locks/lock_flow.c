// SPDX-License-Identifier: Apache-2.0
#include "goroutines/locks/lock_flow.h"

#include "base/cleanup.h"

enum {
	MAX_ANSWERS = 64, /* of a function: one for each lock asked about */
	MAX_ROUNDS = 64,  /* over all blocks; loops in loops take more */
	BLOCK_STEPS = 64, /* blocks in the time of a step */
};

/*
 * The state of a way, as a set of bits: one for each number of Lock less Unlock
 * from -2 to 3, where numbers beyond are the last ones; none: no way leads
 * there.
 */
enum {
	BELOW = 0x03,
	NONE = 0x04,
	ABOVE = 0x38,
	LEAST = 0x01,
	MOST = 0x20,
	NUMBERS = BELOW | NONE | ABOVE,
	TRIED = 0x40,	 /* a TryLock whose result is not known yet */
	UNLOCKED = 0x80, /* there was an Unlock */
};

/* The things that may come next, as a set of bits. */
enum {
	NEXT_LOCK = 1,
	NEXT_UNLOCK = 2,
	NEXT_END = 4,
	NEXT_ALL = 7,
};

/** The sets of all blocks at their starts, for one lock. */
struct answer {
	uint8_t class;
	struct gr_lock_at at;
	uint8_t *before, *next; /* by block; NULL: too many rounds */
};

GR_VECTOR(answer_vector, struct answer);

struct gr_lock_flow {
	struct gr_code_blocks blocks;
	struct gr_lock_effect_vector effects; /* by pc */
	uint32_t *first; /* effects of block i: [first[i], first[i + 1]) */
	struct answer_vector answers;
};

static int compare_effects(const void *a, const void *b)
{
	const struct gr_lock_effect *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Effects whose bytes are no instruction are none. */
static void drop_false_effects(struct gr_lock_flow *flow)
{
	struct gr_lock_effect_vector *effects = &flow->effects;
	size_t n = 0;

	for (size_t i = 0; i < effects->size; i++)
		if (gr_code_blocks_has(&flow->blocks, effects->data[i].pc))
			effects->data[n++] = effects->data[i];
	effects->size = n;
}

static struct gr_error *index_effects(struct gr_lock_flow *flow)
{
	const struct gr_code_block_vector *blocks = &flow->blocks.all;
	struct gr_lock_effect_vector *effects = &flow->effects;
	uint32_t n = 0;

	drop_false_effects(flow);
	if (effects->size)
		qsort(effects->data, effects->size, sizeof(*effects->data),
		      compare_effects);
	flow->first = calloc(blocks->size + 1, sizeof(*flow->first));
	if (!flow->first)
		return &gr_enomem;
	for (size_t i = 0; i < blocks->size; i++) {
		while (n < effects->size &&
		       effects->data[n].pc < blocks->data[i].end)
			n++;
		flow->first[i + 1] = n;
	}
	return NULL;
}

static void destroy_cleanup(struct gr_lock_flow **flow)
{
	gr_lock_flow_destroy(*flow);
}

struct gr_error *gr_lock_flow_create(struct gr_code_reader *reader,
				     const uint8_t *code, uint64_t nbytes,
				     uint64_t addr,
				     struct gr_lock_effect_vector *effects,
				     struct gr_lock_flow **ret)
{
	_cleanup_(destroy_cleanup) struct gr_lock_flow *flow =
		calloc(1, sizeof(*flow));
	bool found;

	*ret = NULL;
	if (!flow)
		return &gr_enomem;
	struct gr_error *err = gr_code_blocks_read(reader, code, nbytes, addr,
						   &flow->blocks, &found);
	if (err || !found)
		return err;
	flow->effects = *effects;
	memset(effects, 0, sizeof(*effects));
	err = index_effects(flow);
	if (!err)
		*ret = steal_ptr(flow);
	return err;
}

void gr_lock_flow_destroy(struct gr_lock_flow *flow)
{
	if (!flow)
		return;
	for (size_t i = 0; i < flow->answers.size; i++) {
		free(flow->answers.data[i].before);
		free(flow->answers.data[i].next);
	}
	answer_vector_deinit(&flow->answers);
	gr_code_blocks_deinit(&flow->blocks);
	gr_lock_effect_vector_deinit(&flow->effects);
	free(flow->first);
	free(flow);
}

// ------------------------------------------------------------------- effects

/** Deeds of an effect on the lock of an answer. */
enum deed { NOTHING, LOCKS, TRIES, MAY_LOCK, UNLOCKS, MAY_UNLOCK };

static enum deed deed_of(const struct answer *answer,
			 const struct gr_lock_effect *effect)
{
	bool is_maybe = effect->is_maybe;

	if (effect->is_slow || !gr_lock_is_about(effect->class, &effect->at,
						 answer->class, &answer->at))
		return NOTHING;
	if (effect->unlocks)
		return is_maybe ? MAY_UNLOCK : UNLOCKS;
	return effect->is_try ? TRIES : is_maybe ? MAY_LOCK : LOCKS;
}

static uint8_t one_more(uint8_t set)
{
	return (set & ~NUMBERS) | ((set << 1 | (set & MOST)) & NUMBERS);
}

static uint8_t one_less(uint8_t set)
{
	uint8_t numbers = set & NUMBERS;

	return (set & ~NUMBERS) | numbers >> 1 | (numbers & LEAST);
}

/* Whoever unlocks behind a TryLock does so because that has succeeded. */
static uint8_t unlock(uint8_t set)
{
	if ((set & TRIED) && (set & ABOVE))
		set &= ~(BELOW | NONE | TRIED);
	return one_less(set) | UNLOCKED;
}

static uint8_t apply(uint8_t set, enum deed deed)
{
	if (!(set & NUMBERS))
		return set;
	switch (deed) {
	case NOTHING:
		return set;
	case LOCKS:
		return one_more(set);
	case TRIES:
		return set | one_more(set) | TRIED;
	case MAY_LOCK:
		return set | one_more(set);
	case UNLOCKS:
		return unlock(set);
	case MAY_UNLOCK:
		return set | unlock(set);
	}
	return set;
}

/* The things that come next before an effect, if @p next do behind it. */
static uint8_t put_before(uint8_t next, enum deed deed)
{
	switch (deed) {
	case NOTHING:
		return next;
	case LOCKS:
		return NEXT_LOCK;
	case TRIES:
	case MAY_LOCK:
		return next | NEXT_LOCK;
	case UNLOCKS:
		return NEXT_UNLOCK;
	case MAY_UNLOCK:
		return next | NEXT_UNLOCK;
	}
	return next;
}

// -------------------------------------------------------------------- blocks

/* The set at the end of a block. */
static uint8_t pass_block(const struct gr_lock_flow *flow,
			  const struct answer *answer, size_t block)
{
	uint8_t set = answer->before[block];

	for (uint32_t i = flow->first[block]; i < flow->first[block + 1]; i++)
		set = apply(set, deed_of(answer, &flow->effects.data[i]));
	return set;
}

/* The things that come next at the end of a block. */
static uint8_t next_behind(const struct gr_lock_flow *flow,
			   const struct answer *answer, size_t block)
{
	const struct gr_code_block *b = &flow->blocks.all.data[block];
	uint8_t next = b->returns ? NEXT_END : 0;

	for (int i = 0; i < 2; i++)
		if (b->next[i] != GR_NO_BLOCK)
			next |= answer->next[b->next[i]];
	return next;
}

static uint8_t next_at(const struct gr_lock_flow *flow,
		       const struct answer *answer, size_t block)
{
	uint8_t next = next_behind(flow, answer, block);

	for (uint32_t i = flow->first[block + 1]; i > flow->first[block]; i--)
		next = put_before(next,
				  deed_of(answer, &flow->effects.data[i - 1]));
	return next;
}

/* One round over all blocks. Has something changed? */
static bool go_forward(const struct gr_lock_flow *flow, struct answer *answer)
{
	bool changed = false;

	for (size_t i = 0; i < flow->blocks.all.size; i++) {
		const uint32_t *next = flow->blocks.all.data[i].next;
		uint8_t set = pass_block(flow, answer, i);

		for (int j = 0; j < 2; j++) {
			if (next[j] == GR_NO_BLOCK)
				continue;
			changed |= set & ~answer->before[next[j]];
			answer->before[next[j]] |= set;
		}
	}
	return changed;
}

static bool go_backward(const struct gr_lock_flow *flow, struct answer *answer)
{
	bool changed = false;

	for (size_t i = flow->blocks.all.size; i > 0; i--) {
		uint8_t next = next_at(flow, answer, i - 1);

		changed |= next & ~answer->next[i - 1];
		answer->next[i - 1] |= next;
	}
	return changed;
}

static void forget(struct answer *answer)
{
	free(answer->before);
	free(answer->next);
	answer->before = answer->next = NULL;
}

static struct gr_error *solve(struct gr_runtime *rt,
			      const struct gr_lock_flow *flow,
			      struct answer *answer)
{
	size_t n = flow->blocks.all.size;
	struct gr_error *err = NULL;
	bool changed = true;

	answer->before = calloc(n, 1);
	answer->next = calloc(n, 1);
	if (!answer->before || !answer->next)
		return &gr_enomem;
	answer->before[0] = NONE;
	for (int i = 0; !err && changed && i < MAX_ROUNDS; i++) {
		changed = go_forward(flow, answer);
		changed |= go_backward(flow, answer);
		err = gr_runtime_step(rt, 1 + (n + flow->effects.size) /
							  BLOCK_STEPS);
	}
	if (changed)
		forget(answer);
	return err;
}

// ------------------------------------------------------------------- answers

/* Locks that no effect names have the same answer. */
static struct gr_lock_at named_at(const struct gr_lock_flow *flow,
				  const struct gr_lock_at *at)
{
	const struct gr_lock_at other_addr = { 1, GR_ANY_DISTANCE };
	const struct gr_lock_at other_distance = { 0, GR_ANY_DISTANCE + 1 };

	if (!at->addr && at->distance == GR_ANY_DISTANCE)
		return *at;
	for (size_t i = 0; i < flow->effects.size; i++) {
		const struct gr_lock_at *known = &flow->effects.data[i].at;

		if (at->addr ? known->addr == at->addr :
			       !known->addr && known->distance == at->distance)
			return at->addr ?
				       (struct gr_lock_at){ at->addr,
							    GR_ANY_DISTANCE } :
				       *at;
	}
	return at->addr ? other_addr : other_distance;
}

/* The answer on a lock; *@p ret is NULL if it is not known. It is valid until
 * the next one is asked for. */
static struct gr_error *answer_on(struct gr_runtime *rt,
				  struct gr_lock_flow *flow, uint8_t class,
				  const struct gr_lock_at *at,
				  const struct answer **ret)
{
	struct answer_vector *answers = &flow->answers;
	const struct gr_lock_at named = named_at(flow, at);
	struct answer *answer;
	size_t i = 0;

	while (i < answers->size &&
	       (answers->data[i].class != class ||
		answers->data[i].at.addr != named.addr ||
		answers->data[i].at.distance != named.distance))
		i++;
	*ret = NULL;
	if (i == MAX_ANSWERS)
		return NULL;
	if (i == answers->size) {
		answer = answer_vector_append_entry(answers);
		if (!answer)
			return &gr_enomem;
		*answer = (struct answer){ class, named, NULL, NULL };
		struct gr_error *err = solve(rt, flow, answer);
		if (err)
			return err;
	}
	answer = &answers->data[i];
	*ret = answer->before ? answer : NULL;
	return NULL;
}

/* Has the instruction of the effect not done its work yet at the place? */
static bool is_ahead(const struct gr_lock_effect *effect,
		     const struct gr_lock_question *q)
{
	return effect->pc >= q->pc ||
	       (effect->is_call && q->pc - effect->pc < GR_LOCK_CALL_BYTES);
}

/* The set at the place. */
static uint8_t set_at(const struct gr_lock_flow *flow,
		      const struct answer *answer, uint32_t block, uint64_t pc,
		      const struct gr_lock_question *q)
{
	uint8_t set = answer->before[block];

	for (uint32_t i = flow->first[block]; i < flow->first[block + 1]; i++) {
		const struct gr_lock_effect *effect = &flow->effects.data[i];

		if (effect->pc >= pc || (q && is_ahead(effect, q)))
			break;
		set = apply(set, deed_of(answer, effect));
	}
	return set;
}

static uint8_t next_from(const struct gr_lock_flow *flow,
			 const struct answer *answer, uint32_t block,
			 uint64_t pc)
{
	uint8_t next = next_behind(flow, answer, block);

	for (uint32_t i = flow->first[block + 1]; i > flow->first[block]; i--) {
		const struct gr_lock_effect *effect =
			&flow->effects.data[i - 1];

		if (effect->pc <= pc)
			break;
		next = put_before(next, deed_of(answer, effect));
	}
	return next;
}

/* The place is in the midst of an inlined Lock: what that has done already does
 * not count. *@p set becomes that before its atomic instructions. */
static void undo_inlined(const struct gr_lock_flow *flow,
			 const struct answer *answer,
			 const struct gr_lock_effect *slow, uint8_t *set)
{
	uint8_t before = 0;

	for (size_t i = 0; i < flow->effects.size; i++) {
		const struct gr_lock_effect *effect = &flow->effects.data[i];
		uint32_t block;

		if (effect->is_slow || effect->is_call || effect->unlocks ||
		    effect->class != slow->class ||
		    effect->line != slow->line ||
		    strcmp(effect->function, slow->function) != 0 ||
		    deed_of(answer, effect) == NOTHING)
			continue;
		block = gr_code_blocks_at(&flow->blocks, effect->pc);
		before |= set_at(flow, answer, block, effect->pc, NULL);
	}
	if (before)
		*set = before;
}

/* The call at the place, if it is one of an inlined Lock. */
static const struct gr_lock_effect *slow_call(const struct gr_lock_flow *flow,
					      const struct gr_lock_question *q)
{
	size_t i = gr_count_before(flow->effects.size, i,
				   flow->effects.data[i].pc <= q->pc);
	const struct gr_lock_effect *effect = i ? &flow->effects.data[i - 1] :
						  NULL;

	return effect && effect->is_slow && !effect->unlocks &&
			       q->pc - effect->pc < GR_LOCK_CALL_BYTES ?
		       effect :
		       NULL;
}

/* A program that unlocks what is not locked ends: where each way on unlocks, as
 * behind a TryLock that has succeeded, it is locked. */
static enum gr_lock_verdict judge_both(enum gr_lock_verdict before,
				       uint8_t next)
{
	return before == GR_LOCK_MAY && next == NEXT_UNLOCK ? GR_LOCK_HELD :
							      before;
}

static enum gr_lock_verdict judge(uint8_t set)
{
	if (!(set & NUMBERS))
		return GR_LOCK_UNKNOWN;
	if (!(set & ABOVE))
		return GR_LOCK_NOT;
	return set & (BELOW | NONE) ? GR_LOCK_MAY : GR_LOCK_HELD;
}

/* The sets before the place and of what comes next. */
static struct gr_error *look(struct gr_runtime *rt, struct gr_lock_flow *flow,
			     const struct gr_lock_question *q, uint8_t *set,
			     uint8_t *next)
{
	uint32_t block = gr_code_blocks_at(&flow->blocks, q->pc);
	const struct gr_lock_effect *slow = slow_call(flow, q);
	const struct answer *answer;
	struct gr_error *err = answer_on(rt, flow, q->class, &q->at, &answer);

	*set = 0;
	*next = NEXT_ALL;
	if (err || !answer || block == GR_NO_BLOCK)
		return err;
	*set = set_at(flow, answer, block, UINT64_MAX, q);
	*next = next_from(flow, answer, block, q->pc);
	if (slow)
		undo_inlined(flow, answer, slow, set);
	return NULL;
}

struct gr_error *gr_lock_flow_ask(struct gr_runtime *rt,
				  struct gr_lock_flow *flow,
				  const struct gr_lock_question *q,
				  struct gr_lock_ways *ret)
{
	uint8_t set = 0, next;
	struct gr_error *err = NULL;

	*ret = (struct gr_lock_ways){ 0 };
	// Done() needs no call before it.
	if (flow && q->class != GR_LOCK_GROUP)
		err = look(rt, flow, q, &set, &next);
	if (err || !set)
		return err;
	*ret = (struct gr_lock_ways){
		.verdict = judge_both(judge(set), next),
		.is_below = set & BELOW,
		.unlocks_before = set & UNLOCKED,
		.unlocks_next = next & NEXT_UNLOCK,
		.locks_next = next & NEXT_LOCK,
		.must_lock_next = next == NEXT_LOCK,
	};
	return NULL;
}

struct gr_error *gr_lock_flow_always(struct gr_runtime *rt,
				     struct gr_lock_flow *flow, uint8_t class,
				     const struct gr_lock_at *at, bool unlocks,
				     bool *ret)
{
	const struct answer *answer;
	uint8_t set = 0;

	*ret = false;
	if (!flow)
		return NULL;
	struct gr_error *err = answer_on(rt, flow, class, at, &answer);
	if (err || !answer)
		return err;
	for (size_t i = 0; i < flow->blocks.all.size; i++)
		if (flow->blocks.all.data[i].returns)
			set |= pass_block(flow, answer, i);
	set &= NUMBERS;
	*ret = set && (unlocks ? !(set & ~BELOW) : !(set & ~ABOVE));
	return NULL;
}
