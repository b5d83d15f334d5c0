// SPDX-License-Identifier: Apache-2.0
#include "goroutines/locks/lock_code.h"

#include "base/cleanup.h"
#include "goruntime/layout/code.h"
#include "goruntime/layout/inline.h"

enum {
	MAX_SITES = 256,	  /* of a function */
	MAX_CODE_BYTES = 1 << 22, /* of a function */
	A64_BYTES = 4,
	FETCH_WINDOW = 48, /* an inlined Lock up to its atomic instruction */
	BASE_WINDOW = 32,  /* from the load of its operand to that */
};

GR_VECTOR(site_vector, struct gr_lock_site);

/** What a method of package sync does. */
struct operation {
	const char *name;
	uint8_t class;
	bool unlocks;
	/** From the lock to the word that its inlined code changes. */
	uint8_t word_off;
};

/* Exported methods: these names stay. */
static const struct operation operations[] = {
	{ "sync.(*Mutex).Lock", GR_LOCK_MUTEX, false, 0 },
	{ "sync.(*Mutex).TryLock", GR_LOCK_MUTEX, false, 0 },
	{ "sync.(*Mutex).Unlock", GR_LOCK_MUTEX, true, 0 },
	{ "sync.(*RWMutex).Lock", GR_LOCK_WRITE, false, 0 },
	{ "sync.(*RWMutex).TryLock", GR_LOCK_WRITE, false, 0 },
	{ "sync.(*RWMutex).Unlock", GR_LOCK_WRITE, true, 0 },
	{ "sync.(*RWMutex).RLock", GR_LOCK_READ, false, 16 },
	{ "sync.(*RWMutex).TryRLock", GR_LOCK_READ, false, 16 },
	{ "sync.(*RWMutex).RUnlock", GR_LOCK_READ, true, 16 },
	{ "sync.(*WaitGroup).Done", GR_LOCK_GROUP, true, 0 },
};

/** Reads the sites of one function. */
struct code_reader {
	struct gr_lock_codes *codes;
	const struct gr_func *func;
	const uint8_t *code; /* of [func->entry, func->end) */
	bool is_arm64;
	struct site_vector sites;
};

void gr_lock_codes_deinit(struct gr_lock_codes *codes)
{
	for (size_t i = 0; i < codes->all.size; i++) {
		free(codes->all.data[i]->sites);
		free(codes->all.data[i]);
	}
	gr_lock_code_vector_deinit(&codes->all);
	gr_keys_deinit(&codes->by_entry);
}

static const struct operation *find_operation(const char *name)
{
	if (strncmp(name, "sync.(", 6) != 0)
		return NULL;
	for (size_t i = 0; i < GR_ARRAY_SIZE(operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	return NULL;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool gr_lock_is_internal(const char *function)
{
	return has_prefix(function, "runtime.") ||
	       has_prefix(function, "sync/") ||
	       has_prefix(function, "internal/") ||
	       (has_prefix(function, "sync.") &&
		// It calls the user's function, and Done behind it.
		!has_prefix(function, "sync.(*WaitGroup).Go"));
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

/* The outermost operation among calls, and the calls around it. */
static const struct operation *outermost(const struct gr_logical_frame *calls,
					 size_t n, size_t *around)
{
	for (size_t i = n; i > 0; i--) {
		const struct operation *op =
			find_operation(calls[i - 1].function);

		*around = i;
		if (op)
			return op;
	}
	return NULL;
}

// ------------------------------------------------------------- inlined calls

/** The operand of an atomic instruction. */
struct operand {
	uint64_t addr; /* relative to the instruction pointer; else 0 */
	int32_t displacement;
	uint8_t base; /* register */
};

/* Decode the operand of `lock cmpxchg` or `lock xadd` of x86-64 at @p p, which
 * has @p n bytes. */
static bool decode_locked(const uint8_t *p, size_t n, uint64_t addr,
			  struct operand *ret)
{
	size_t i = 1;
	uint8_t rex = 0;

	if (n < 10 || p[0] != 0xf0)
		return false;
	if ((p[i] & 0xf0) == 0x40)
		rex = p[i++];
	if (p[i] != 0x0f || (p[i + 1] != 0xb1 && p[i + 1] != 0xc1))
		return false;
	i += 2;
	uint8_t mod = p[i] >> 6, rm = p[i] & 7;
	*ret = (struct operand){ .base = rm | (rex & 1) << 3 };
	i += rm == 4 ? 2 : 1; // SIB
	if (mod == 1)
		ret->displacement = (int8_t)p[i];
	else if ((mod == 2 || (mod == 0 && rm == 5)) && n >= i + 4)
		ret->displacement = (int32_t)gr_load_u32(p + i);
	else if (mod != 0)
		return false;
	if (mod == 0 && rm == 5)
		ret->addr = addr + i + 4 + (uint64_t)(int64_t)ret->displacement;
	return true;
}

/* Does the instruction at @p p give a register another value: `mov` to it from
 * memory or from a register, or a call? */
static bool overwrites(const uint8_t *p, uint8_t base)
{
	uint8_t reg = (p[2] >> 3 & 7) | (p[0] & 4) << 1;
	uint8_t rm = (p[2] & 7) | (p[0] & 1) << 3;

	if (p[0] == 0xe8)
		return true;
	return (p[0] & 0xf8) == 0x48 &&
	       ((p[1] == GR_OP_LOAD && reg == base) ||
		(p[1] == 0x89 && p[2] >> 6 == 3 && rm == base));
}

/* The address that was loaded into the base register of the instruction at @p
 * pc shortly before; 0: none was, it seems. */
static uint64_t find_base(const struct code_reader *r, uint64_t pc,
			  uint8_t base)
{
	uint64_t off = pc - r->func->entry;

	for (uint64_t back = 3; back <= BASE_WINDOW && back <= off; back++) {
		const uint8_t *p = r->code + off - back;
		uint64_t addr =
			back < GR_RIP_BYTES ?
				0 :
				gr_code_rip_target(p, pc - back, GR_OP_LEA);

		if (addr && ((p[2] >> 3 & 7) | (p[0] & 4) << 1) == base)
			return addr;
		if (overwrites(p, base))
			return 0;
	}
	return 0;
}

/* Which lock the atomic instruction in [start, end) changes. */
static struct gr_lock_at find_locked(const struct code_reader *r,
				     uint64_t start, uint64_t end,
				     uint8_t word_off)
{
	struct gr_lock_at at = { 0, GR_ANY_DISTANCE };
	uint64_t last = end - start > FETCH_WINDOW ? start + FETCH_WINDOW : end;
	struct operand operand;

	if (r->is_arm64 || end > r->func->end)
		return at;
	while (start < last &&
	       !decode_locked(r->code + (start - r->func->entry),
			      r->func->end - start, start, &operand))
		start++;
	if (start >= last)
		return at;
	int64_t displacement = (int64_t)operand.displacement - word_off;
	uint64_t base = find_base(r, start, operand.base);
	if (operand.addr)
		at.addr = operand.addr - word_off;
	else if (base)
		at.addr = base + (uint64_t)displacement;
	else
		at.distance = displacement;
	return at;
}

static struct gr_error *add_run(struct code_reader *r,
				const struct gr_pc_run *run)
{
	struct gr_runtime *rt = r->codes->rt;
	struct gr_logical_frame calls[GR_MAX_INLINED];
	const char *name = gr_inline_name(rt, r->func, run->value);
	size_t n, around;

	if (!name || !gr_lock_is_internal(name))
		return NULL;
	struct gr_error *err =
		gr_inline_frames(rt, r->func, run->start, calls, &n);
	const struct operation *op = err ? NULL : outermost(calls, n, &around);
	if (!op)
		return err;
	const struct gr_lock_site site = {
		.pc = run->start,
		.class = op->class,
		.unlocks = op->unlocks,
		.at = find_locked(r, run->start, run->end, op->word_off),
	};
	return add_callers(r, calls + around, n - around, site);
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

static struct gr_error *add_operation_call(struct code_reader *r, uint64_t pc,
					   const struct operation *callee)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	size_t n, around;
	struct gr_error *err =
		gr_inline_frames(r->codes->rt, r->func, pc, calls, &n);

	if (err)
		return err;
	const struct operation *op = outermost(calls, n, &around);
	if (!op) {
		op = callee;
		around = 0;
	}
	if (!op)
		return NULL;
	const struct gr_lock_site site = {
		.pc = pc,
		.class = op->class,
		.unlocks = op->unlocks,
		.at = loaded_before(r, pc),
	};
	return add_callers(r, calls + around, n - around, site);
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

/* What a function does on the whole, as a site of its caller. */
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

static struct gr_error *add_helper_call(struct code_reader *r, uint64_t pc,
					const struct gr_func *callee,
					uint32_t depth)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	const struct gr_lock_code *code;
	struct gr_lock_site site;
	size_t n;
	struct gr_error *err = gr_lock_code_of(r->codes, callee, depth, &code);

	for (uint8_t class = 0; !err && class < GR_NLOCK_CLASSES; class ++) {
		// What it locks, one of its deferred calls unlocks.
		if (!sum_up(code, class, &site) ||
		    (!site.unlocks && callee->deferreturn))
			continue;
		site.pc = pc;
		err = gr_inline_frames(r->codes->rt, r->func, pc, calls, &n);
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
	if (has_prefix(callee.name, "sync.") ||
	    has_prefix(callee.name, "internal/sync."))
		return add_operation_call(r, pc, find_operation(callee.name));
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
static struct gr_error *keep_code(struct gr_lock_codes *codes,
				  struct site_vector *sites, uint64_t entry,
				  uint32_t depth)
{
	uint32_t i = codes->all.size;
	struct gr_lock_code *code = calloc(1, sizeof(*code));

	if (!code || !gr_lock_code_vector_append(&codes->all, code)) {
		free(code);
		return &gr_enomem;
	}
	*code = (struct gr_lock_code){ sites->data, sites->size };
	memset(sites, 0, sizeof(*sites));
	return gr_keys_add(&codes->by_entry, entry, depth, i) ? NULL :
								&gr_enomem;
}

struct gr_error *gr_lock_code_of(struct gr_lock_codes *codes,
				 const struct gr_func *func, uint32_t depth,
				 const struct gr_lock_code **ret)
{
	uint32_t i = gr_keys_find(&codes->by_entry, func->entry, depth);
	struct code_reader r = {
		.codes = codes,
		.func = func,
		.is_arm64 = codes->rt->arch == &gr_arch_arm64,
	};
	struct gr_error *err = NULL;

	if (i == UINT32_MAX) {
		err = read_code(&r, depth);
		i = codes->all.size;
		if (!err)
			err = keep_code(codes, &r.sites, func->entry, depth);
		site_vector_deinit(&r.sites);
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
