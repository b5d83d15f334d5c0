// SPDX-License-Identifier: Apache-2.0
#include "goroutines/locks/lock_code.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "goroutines/lock_operation.h"
#include "goroutines/locks/lock_flow.h"
#include "goroutines/locks/locked_word.h"
#include "goruntime/layout/code.h"
#include "goruntime/layout/inline.h"

enum {
	MAX_SITES = 256,	  /* of a function */
	MAX_EFFECTS = 1024,	  /* of a function */
	MAX_CODE_BYTES = 1 << 22, /* of a function */
	A64_BYTES = 4,
};

GR_VECTOR(site_vector, struct gr_lock_site);

/** Reads the sites of one function. */
struct code_reader {
	struct gr_lock_codes *codes;
	const struct gr_func *func;
	const uint8_t *code; /* of [func->entry, func->end) */
	bool is_arm64;
	struct site_vector sites;
	struct gr_lock_effect_vector effects;
};

void gr_lock_codes_deinit(struct gr_lock_codes *codes)
{
	for (size_t i = 0; i < codes->all.size; i++) {
		gr_lock_flow_destroy(codes->all.data[i]->flow);
		free(codes->all.data[i]->sites);
		free(codes->all.data[i]);
	}
	gr_lock_code_vector_deinit(&codes->all);
	gr_keys_deinit(&codes->by_entry);
	gr_code_reader_deinit(&codes->reader);
}

// --------------------------------------------------------------------- sites

/* Is a site of the same call there already? Then it learns where the lock is.
 * An inlined call has several pieces. */
static bool is_known(struct code_reader *r, const struct gr_lock_site *site)
{
	for (size_t i = 0; i < r->sites.size; i++) {
		struct gr_lock_site *old = &r->sites.data[i];
		bool old_knows = old->at.addr ||
				 old->at.distance != GR_ANY_DISTANCE;
		bool site_knows = site->at.addr ||
				  site->at.distance != GR_ANY_DISTANCE;

		if (old->line != site->line || old->class != site->class ||
		    old->unlocks != site->unlocks ||
		    strcmp(old->function, site->function) != 0)
			continue;
		if (old_knows && site_knows &&
		    (old->at.addr != site->at.addr ||
		     old->at.distance != site->at.distance))
			continue;
		if (!old_knows)
			old->at = site->at;
		if (site->pc < old->pc)
			old->pc = site->pc;
		return true;
	}
	return false;
}

static struct gr_error *add_site(struct code_reader *r,
				 const struct gr_lock_site *site)
{
	if (r->sites.size >= MAX_SITES || is_known(r, site))
		return NULL;
	return site_vector_append(&r->sites, *site) ? NULL : &gr_enomem;
}

/* Add a site for each of the @p n calls around the operation, which are the
 * user's. */
static struct gr_error *add_callers(struct code_reader *r,
				    const struct gr_logical_frame *calls,
				    size_t n, struct gr_lock_site site)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		if (gr_lock_is_internal(calls[i].function))
			return NULL;
		site.function = calls[i].function;
		site.line = calls[i].line;
		err = add_site(r, &site);
	}
	return err;
}

/* Add an effect of an instruction of @p call. */
static struct gr_error *add_effect(struct code_reader *r,
				   const struct gr_logical_frame *call,
				   struct gr_lock_effect effect)
{
	if (gr_lock_is_internal(call->function) ||
	    r->effects.size > MAX_EFFECTS)
		return NULL;
	effect.function = call->function;
	effect.line = call->line;
	return gr_lock_effect_vector_append(&r->effects, effect) ? NULL :
								   &gr_enomem;
}

// ------------------------------------------------------------- inlined calls

/* Has the instruction at @p pc the line of the call around an inlined operation,
 * and is it no one of another inlined function? */
static struct gr_error *has_line(struct code_reader *r, uint64_t pc,
				 const struct gr_logical_frame *call, bool *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	size_t n;
	struct gr_error *err =
		gr_inline_frames(r->codes->rt, r->func, pc, calls, &n);

	*ret = !err && n && calls[0].line == call->line &&
	       !strcmp(calls[0].function, call->function);
	return err;
}

/* Find the atomic instruction of an operation, which a run is a piece of.
 * *@p pc is 0 if there is none. */
static struct gr_error *find_atomic(struct code_reader *r,
				    const struct gr_pc_run *run,
				    const struct gr_logical_frame *call,
				    const struct gr_lock_operation *op,
				    uint64_t *pc, struct gr_lock_at *at)
{
	bool found = false;
	struct gr_error *err = NULL;

	*pc = 0;
	if (r->is_arm64 ||
	    gr_locked_word_find(r->func, r->code, run, op->word_off, pc, at))
		return NULL;
	if (gr_locked_word_before(r->func, r->code, run->start, op->word_off,
				  pc, at))
		err = has_line(r, *pc, call, &found);
	if (!found) {
		*pc = 0;
		*at = (struct gr_lock_at){ 0, GR_ANY_DISTANCE };
	}
	return err;
}

/* The atomic instruction of an inlined operation has its effect; the other
 * pieces have none. */
static struct gr_error *add_piece(struct code_reader *r,
				  const struct gr_pc_run *run, uint64_t atomic,
				  const struct gr_logical_frame *call,
				  const struct gr_lock_operation *op,
				  const struct gr_lock_at *at)
{
	const struct gr_lock_effect_vector *effects = &r->effects;

	// Another piece of the same call has found it.
	if (atomic && effects->size &&
	    effects->data[effects->size - 1].pc == atomic)
		return NULL;
	return add_effect(r, call,
			  (struct gr_lock_effect){
				  .pc = atomic ? atomic : run->start,
				  .class = op->class,
				  .unlocks = op->unlocks,
				  .is_try = gr_lock_operation_tries(op),
				  .is_slow = !atomic,
				  .at = *at,
			  });
}

static struct gr_error *add_run(struct code_reader *r,
				const struct gr_pc_run *run)
{
	struct gr_runtime *rt = r->codes->rt;
	struct gr_logical_frame calls[GR_MAX_INLINED];
	const char *name = gr_inline_name(rt, r->func, run->value);
	uint64_t atomic;
	size_t n, around;

	if (!name || !gr_lock_is_internal(name))
		return NULL;
	struct gr_error *err =
		gr_inline_frames(rt, r->func, run->start, calls, &n);
	const struct gr_lock_operation *op =
		err ? NULL : gr_lock_operation_around(calls, n, &around);
	if (!op || around == n)
		return err;
	struct gr_lock_site site = {
		.pc = run->start,
		.class = op->class,
		.unlocks = op->unlocks,
		.at = { 0, GR_ANY_DISTANCE },
	};
	err = find_atomic(r, run, &calls[around], op, &atomic, &site.at);
	if (!err)
		err = add_piece(r, run, atomic, &calls[around], op, &site.at);
	return err ? err : add_callers(r, calls + around, n - around, site);
}

static struct gr_error *add_inlined(struct code_reader *r)
{
	struct gr_pc_run run = { 0 };
	struct gr_error *err = NULL;

	while (!err && gr_func_next_run(r->codes->rt, r->func,
					GR_PCDATA_INL_TREE_INDEX, &run)) {
		err = gr_runtime_step(r->codes->rt, 1);
		if (!err && run.value >= 0)
			err = add_run(r, &run);
	}
	return err;
}

// --------------------------------------------------------------------- calls

/* The function that the instruction at @p pc calls; 0: it is no call. */
static uint64_t call_target(const struct code_reader *r, uint64_t pc)
{
	const uint8_t *p = r->code + (pc - r->func->entry);

	if (r->is_arm64) {
		uint32_t bl = gr_load_u32(p);
		int64_t words = (int64_t)(int32_t)(bl << 6) >> 6;

		return (bl & 0xfc000000) == 0x94000000 ?
			       pc + (uint64_t)(words * A64_BYTES) :
			       0;
	}
	return *p == 0xe8 ?
		       pc + GR_LOCK_CALL_BYTES +
			       (uint64_t)(int64_t)(int32_t)gr_load_u32(p + 1) :
		       0;
}

/* The package-level lock whose address the instruction before the call at @p pc
 * loads. */
static struct gr_lock_at loaded_before(const struct code_reader *r, uint64_t pc)
{
	struct gr_lock_at at = { 0, GR_ANY_DISTANCE };
	uint64_t off = pc - r->func->entry;

	if (r->is_arm64 && off >= 2 * A64_BYTES)
		at.addr = gr_code_adrp_target(r->code + off - 2 * A64_BYTES,
					      pc - 2 * A64_BYTES);
	else if (!r->is_arm64 && off >= GR_RIP_BYTES)
		at.addr = gr_code_rip_target(r->code + off - GR_RIP_BYTES,
					     pc - GR_RIP_BYTES, GR_OP_LEA);
	return at;
}

enum { CHANNEL_WINDOW = 32 }; /* from the load of a channel to the call */

/* The package-level variable whose channel is loaded into the first argument
 * shortly before the call at @p pc: `mov var(%rip),%rax`. */
static struct gr_lock_at channel_before(const struct code_reader *r,
					uint64_t pc)
{
	struct gr_lock_at at = { 0, GR_ANY_DISTANCE };
	uint64_t off = pc - r->func->entry;

	for (uint64_t back = GR_RIP_BYTES;
	     !r->is_arm64 && !at.addr && back <= CHANNEL_WINDOW && back <= off;
	     back++) {
		const uint8_t *p = r->code + off - back;

		if (p[2] >> 3 == 0 && !(p[0] & 4))
			at.addr = gr_code_rip_target(p, pc - back, GR_OP_LOAD);
	}
	return at;
}

static struct gr_error *add_operation_call(struct code_reader *r, uint64_t pc,
					   const char *name)
{
	const struct gr_lock_operation *callee = gr_lock_operation_find(name);
	struct gr_logical_frame calls[GR_MAX_INLINED];
	size_t n, around;
	struct gr_error *err =
		gr_inline_frames(r->codes->rt, r->func, pc, calls, &n);

	if (err)
		return err;
	const struct gr_lock_operation *op =
		gr_lock_operation_around(calls, n, &around);
	if (!op) {
		op = callee;
		around = 0;
	}
	if (!op || around == n)
		return NULL;
	const struct gr_lock_site site = {
		.pc = pc,
		.class = op->class,
		.unlocks = op->unlocks,
		.at = op->class == GR_LOCK_SLOT ? channel_before(r, pc) :
						  loaded_before(r, pc),
	};
	const struct gr_lock_effect effect = {
		.pc = pc,
		.class = op->class,
		.unlocks = op->unlocks,
		.is_call = true,
		.is_try = gr_lock_operation_tries(op),
		.is_slow = around > 0,
		.is_whole = gr_lock_operation_has_name(op, name),
		.at = site.at,
	};
	err = add_effect(r, &calls[around], effect);
	return err ? err : add_callers(r, calls + around, n - around, site);
}

static uint32_t count_sites(const struct gr_lock_code *code, uint8_t class,
			    bool unlocks, struct gr_lock_at *at)
{
	uint32_t n = 0;

	for (size_t i = 0; i < code->nsites; i++) {
		const struct gr_lock_site *site = &code->sites[i];

		if (site->class != class || site->unlocks != unlocks)
			continue;
		*at = site->at;
		n++;
	}
	return n;
}

/* Sum up a function as a site of its caller. */
static bool sum_up(const struct gr_lock_code *code, uint8_t class,
		   struct gr_lock_site *ret)
{
	struct gr_lock_at locked, unlocked;
	uint32_t locks = count_sites(code, class, false, &locked);
	uint32_t unlocks = count_sites(code, class, true, &unlocked);

	if (!locks == !unlocks)
		return false;
	ret->class = class;
	ret->unlocks = unlocks;
	ret->at = unlocks ? unlocked : locked;
	// The caller's pointers are others.
	ret->at.distance = GR_ANY_DISTANCE;
	return true;
}

static struct gr_lock_effect helper_effect(const struct gr_lock_site *site,
					   bool is_maybe)
{
	return (struct gr_lock_effect){
		.pc = site->pc,
		.class = site->class,
		.unlocks = site->unlocks,
		.is_call = true,
		.is_maybe = is_maybe,
		.at = site->at,
	};
}

static struct gr_error *add_helper_call(struct code_reader *r, uint64_t pc,
					const struct gr_func *callee,
					uint32_t depth)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	const struct gr_lock_code *code;
	struct gr_lock_site site;
	bool always;
	size_t n;
	struct gr_error *err = gr_lock_code_of(r->codes, callee, depth, &code);

	for (uint8_t class = 0; !err && class < GR_NLOCK_CLASSES; class ++) {
		// One of its deferred calls unlocks what it locks.
		if (!sum_up(code, class, &site) ||
		    (!site.unlocks && callee->deferreturn))
			continue;
		site.pc = pc;
		err = gr_inline_frames(r->codes->rt, r->func, pc, calls, &n);
		if (!err)
			err = gr_lock_flow_always(r->codes->rt, code->flow,
						  class, &site.at, site.unlocks,
						  &always);
		if (!err && n)
			err = add_effect(r, &calls[0],
					 helper_effect(&site, !always));
		if (!err)
			err = add_callers(r, calls, n, site);
	}
	return err;
}

static struct gr_error *add_call(struct code_reader *r, uint64_t pc,
				 uint64_t target, uint32_t depth)
{
	struct gr_func callee;

	if (!gr_func_find(r->codes->rt, target, &callee) ||
	    callee.entry != target || target == r->func->entry)
		return NULL;
	if (gr_has_prefix(callee.name, "sync.") ||
	    gr_has_prefix(callee.name, "internal/sync.") ||
	    gr_lock_operation_find(callee.name))
		return add_operation_call(r, pc, callee.name);
	if (!depth || gr_lock_is_internal(callee.name))
		return NULL;
	return add_helper_call(r, pc, &callee, depth - 1);
}

static struct gr_error *add_calls(struct code_reader *r, uint32_t depth)
{
	uint64_t width = r->is_arm64 ? A64_BYTES : GR_LOCK_CALL_BYTES;
	uint64_t step = r->is_arm64 ? A64_BYTES : 1;
	struct gr_error *err = NULL;

	for (uint64_t pc = r->func->entry;
	     !err && pc < r->func->end && r->func->end - pc >= width;
	     pc += step) {
		uint64_t target = call_target(r, pc);

		if (target)
			err = add_call(r, pc, target, depth);
	}
	return err ? err :
		     gr_runtime_step(r->codes->rt,
				     (r->func->end - r->func->entry) / 64);
}

// ---------------------------------------------------------------------- code

/* Functions of the runtime that end the goroutine, or a call of it by a panic. */
static bool never_returns(void *ctx, uint64_t target)
{
	static const char *const prefixes[] = {
		"runtime.gopanic", "runtime.goPanic",	 "runtime.panic",
		"runtime.throw",   "runtime.fatalthrow", "runtime.block",
	};
	const struct gr_lock_codes *codes = ctx;
	struct gr_func func;

	if (!gr_func_find(codes->rt, target, &func) || func.entry != target)
		return false;
	for (size_t i = 0; i < GR_ARRAY_SIZE(prefixes); i++)
		if (gr_has_prefix(func.name, prefixes[i]))
			return true;
	return false;
}

static bool read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	const struct gr_lock_codes *codes = ctx;
	struct gr_error *err = gr_image_read_u64(codes->rt->image, addr, ret);
	bool is_read = !err;

	gr_error_destroy(err);
	return is_read;
}

/* Is there an instruction that has the effect of the inlined operation that the
 * piece belongs to: an atomic one, or a call of the same method? */
static bool has_effect(const struct code_reader *r,
		       const struct gr_lock_effect *piece, bool is_atomic)
{
	for (size_t i = 0; i < r->effects.size; i++) {
		const struct gr_lock_effect *effect = &r->effects.data[i];
		bool has = is_atomic ? !effect->is_slow && !effect->is_call :
				       effect->is_whole;

		if (has && effect->line == piece->line &&
		    effect->class == piece->class &&
		    effect->unlocks == piece->unlocks &&
		    !strcmp(effect->function, piece->function))
			return true;
	}
	return false;
}

/* Which instruction has the effect of each inlined operation: false if that is
 * not known of all of them. */
static bool settle_pieces(struct code_reader *r)
{
	for (size_t i = 0; i < r->effects.size; i++) {
		struct gr_lock_effect *effect = &r->effects.data[i];

		if (!effect->is_slow || has_effect(r, effect, true))
			continue;
		if (!has_effect(r, effect, false))
			return false;
		effect->is_slow = !effect->is_whole;
	}
	return true;
}

/* Follow the branches of the function, if it locks anything. */
static struct gr_error *read_flow(struct code_reader *r,
				  struct gr_lock_flow **ret)
{
	struct gr_lock_codes *codes = r->codes;
	uint64_t nbytes = r->func->end - r->func->entry;
	size_t n = r->effects.size;

	*ret = NULL;
	if (!n || n > MAX_EFFECTS || r->is_arm64)
		return NULL;
	codes->reader.never_returns = never_returns;
	codes->reader.read_word = read_word;
	codes->reader.ctx = codes;
	struct gr_error *err = gr_runtime_step(codes->rt, n * n / 64);
	if (!err)
		err = gr_runtime_step(codes->rt, nbytes / 16);
	return err || !settle_pieces(r) ?
		       err :
		       gr_lock_flow_create(&codes->reader, r->code, nbytes,
					   r->func->entry, &r->effects, ret);
}

/* Read the sites of the function; none if its code is not there. */
static struct gr_error *read_code(struct code_reader *r, uint32_t depth)
{
	struct gr_runtime *rt = r->codes->rt;
	uint64_t bytes = r->func->end - r->func->entry;
	struct gr_error *err;

	if (bytes > MAX_CODE_BYTES)
		return NULL;
	err = gr_image_map(rt->image, r->func->entry, bytes, &r->code);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (!err)
		err = add_inlined(r);
	return err ? err : add_calls(r, depth);
}

/* Enter what was read; the sites belong to the table then. */
static struct gr_error *keep_code(struct code_reader *r, uint32_t depth)
{
	struct gr_lock_codes *codes = r->codes;
	uint32_t i = codes->all.size;
	struct gr_lock_code *code = calloc(1, sizeof(*code));

	if (!code || !gr_lock_code_vector_append(&codes->all, code)) {
		free(code);
		return &gr_enomem;
	}
	code->sites = r->sites.data;
	code->nsites = r->sites.size;
	memset(&r->sites, 0, sizeof(r->sites));
	struct gr_error *err = read_flow(r, &code->flow);
	if (err)
		return err;
	return gr_keys_add(&codes->by_entry, r->func->entry, depth, i) ?
		       NULL :
		       &gr_enomem;
}

static void code_reader_deinit(struct code_reader *r)
{
	site_vector_deinit(&r->sites);
	gr_lock_effect_vector_deinit(&r->effects);
}

/* Recursion: each function once a level; two levels. */
struct gr_error *gr_lock_code_of(struct gr_lock_codes *codes,
				 const struct gr_func *func, uint32_t depth,
				 const struct gr_lock_code **ret)
{
	uint32_t i = gr_keys_find(&codes->by_entry, func->entry, depth);
	_cleanup_(code_reader_deinit) struct code_reader r = {
		.codes = codes,
		.func = func,
		.is_arm64 = codes->rt->arch == &gr_arch_arm64,
	};
	struct gr_error *err = NULL;

	if (i == UINT32_MAX) {
		err = read_code(&r, depth);
		i = codes->all.size;
		if (!err)
			err = keep_code(&r, depth);
	}
	if (!err)
		*ret = codes->all.data[i];
	return err;
}

bool gr_lock_code_unlocks(const struct gr_lock_code *code, uint8_t class,
			  struct gr_lock_at *at)
{
	struct gr_lock_at locked;
	bool unlocks = count_sites(code, class, true, at);

	return unlocks && !count_sites(code, class, false, &locked);
}
