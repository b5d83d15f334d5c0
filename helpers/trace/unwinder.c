// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/unwinder.h"

#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "helpers/trace/rules.h"

enum {
	MAX_GO_MODULES = 64,
	STACK_ALIGN = 16,
};

/**
 * Where runtime.asmcgocall has two words of its own while it calls C: in so many
 * bytes that it takes of the system stack, at these offsets. The releases of Go
 * differ.
 */
static const struct gr_call_words {
	uint32_t bytes, sp, g;
} call_words[] = { { 16, 0, 8 }, { 64, 40, 48 } };

GR_VECTOR(gr_tables_vector, struct gr_go_tables);

struct gr_unwinder {
	struct gr_code_maps *modules;
	struct gr_tables_vector go;
	struct gr_rules rules;
	uint64_t generation; /**< Rules and tables are this one's. */
};

/** A walk on its way. */
struct gr_walk {
	struct gr_unwinder *u;
	const struct gr_sample *sample;
	struct gr_walked *ret;
	struct gr_frame_regs regs;
	bool is_exact;	 /**< The pc is that of the next instruction. */
	bool is_resumed; /**< It is on the goroutine's own stack now. */
	bool is_inner;	 /**< C frames in the middle, to asmcgocall. */
	bool is_through; /**< They were found, all of them. */
	/** Where the last asmcgocall began on the system stack, or up to 15 bytes
	 * below; 0: not known. */
	uint64_t call_end;
	bool is_next; /**< The goroutine may be one that did not call. */
};

#ifdef __SANITIZE_ADDRESS__
/* Its shadow memory is larger than any limit. */
static const rlim_t max_data_bytes = RLIM_INFINITY;
#else
/* Tables of Go, and all of ours, have room in it. */
static const rlim_t max_data_bytes = (rlim_t)1 << 30;
#endif

void gr_unwinder_limit_memory(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur <= max_data_bytes)
		return;
	limit.rlim_cur = max_data_bytes;
	setrlimit(RLIMIT_DATA, &limit);
}

struct gr_error *gr_unwinder_new(pid_t pid, struct gr_unwinder **ret)
{
	struct gr_unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return &gr_enomem;
	struct gr_error *err = gr_code_maps_new(pid, &u->modules);
	if (err)
		free(u);
	else
		*ret = u;
	return err;
}

static void forget_go(struct gr_unwinder *u)
{
	for (size_t i = 0; i < u->go.size; i++)
		gr_go_tables_deinit(&u->go.data[i]);
	u->go.size = 0;
}

void gr_unwinder_destroy(struct gr_unwinder *u)
{
	if (!u)
		return;
	forget_go(u);
	gr_tables_vector_deinit(&u->go);
	gr_rules_deinit(&u->rules);
	gr_code_maps_destroy(u->modules);
	free(u);
}

void gr_unwinder_forget_maps(struct gr_unwinder *u)
{
	gr_code_maps_forget_maps(u->modules);
}

void gr_unwinder_prepare(struct gr_unwinder *u)
{
	struct gr_sigbus_guard guard;

	gr_code_maps_forget_maps(u->modules);
	gr_code_maps_refresh(u->modules);
	gr_sigbus_guard_begin(&guard);
	gr_code_maps_open_all(u->modules);
	gr_error_destroy(gr_sigbus_guard_end(&guard, NULL));
}

uint64_t gr_unwinder_generation(const struct gr_unwinder *u)
{
	return gr_code_maps_generation(u->modules);
}

// ----------------------------------------------------------------- Go modules

static bool read_memory(void *ctx, uint64_t addr, void *data, size_t bytes)
{
	const struct gr_unwinder *u = ctx;

	return gr_code_maps_read(u->modules, addr, data, bytes);
}

/* Are the tables still those of the process? Code of the module that has gone
 * may have made room for another one. */
static bool is_unchanged(struct gr_unwinder *u, struct gr_go_tables *tables)
{
	struct gr_code_place place;
	struct gr_bytes now = { NULL, 0 };
	uint8_t header[64];

	if (!gr_code_maps_find(u->modules, tables->where.text, &place))
		return false;
	now = (struct gr_bytes){ tables->data, sizeof(header) };
	uint64_t before = tables->funcs.data - tables->data;
	return gr_code_maps_read(u->modules, tables->where.ftab - before,
				 header, sizeof(header)) &&
	       !memcmp(header, now.data, sizeof(header));
}

/* Begin a new generation, if addresses have got other meanings. */
static void catch_up(struct gr_unwinder *u)
{
	size_t kept = 0;

	if (u->generation == gr_code_maps_generation(u->modules))
		return;
	u->generation = gr_code_maps_generation(u->modules);
	gr_rules_clear(&u->rules);
	for (size_t i = 0; i < u->go.size; i++) {
		struct gr_go_tables *tables = &u->go.data[i];

		if (is_unchanged(u, tables))
			u->go.data[kept++] = *tables;
		else
			gr_go_tables_deinit(tables);
	}
	u->go.size = kept;
}

struct gr_error *gr_unwinder_add_go_module(struct gr_unwinder *u,
					   const struct gr_go_module *module)
{
	struct gr_go_tables tables;

	gr_code_maps_forget_maps(u->modules);
	gr_code_maps_refresh(u->modules);
	catch_up(u);
	if (u->go.size == MAX_GO_MODULES)
		return gr_error_format(GR_ERROR_LIMIT,
				       "more than %d modules of Go",
				       MAX_GO_MODULES);
	struct gr_error *err =
		gr_go_tables_read(module, read_memory, u, &tables);
	if (err)
		return err;
	if (!gr_tables_vector_append(&u->go, tables)) {
		gr_go_tables_deinit(&tables);
		return &gr_enomem;
	}
	gr_rules_clear(&u->rules);
	return NULL;
}

static const struct gr_go_tables *go_tables(const struct gr_unwinder *u,
					    uint64_t pc)
{
	for (size_t i = 0; i < u->go.size; i++)
		if (pc >= u->go.data[i].where.text &&
		    pc < u->go.data[i].where.etext)
			return &u->go.data[i];
	return NULL;
}

// ---------------------------------------------------------------------- rules

static void make_c_rule(struct gr_unwinder *u,
			const struct gr_code_place *place, struct gr_rule *rule)
{
	struct gr_sigbus_guard guard;
	bool found = false;
	uint64_t addr;

	if (!place->file)
		return;
	gr_sigbus_guard_begin(&guard);
	struct gr_elf_file *elf = gr_code_maps_open(u->modules, place->file);
	struct gr_rule made = *rule;
	if (elf && gr_elf_file_address(elf, place->off, &addr))
		found = gr_elf_file_rule(elf, addr, &u->rules, &made);
	struct gr_error *err = gr_sigbus_guard_end(&guard, NULL);
	if (!err && found)
		*rule = made;
	gr_error_destroy(err);
}

/* Read the code before a pc. The file has it also when the process has ended. */
static bool read_code_before(struct gr_unwinder *u, uint64_t pc,
			     const struct gr_code_place *place, uint8_t *code,
			     size_t bytes)
{
	struct gr_sigbus_guard guard;
	bool is_read = false;

	gr_sigbus_guard_begin(&guard);
	struct gr_elf_file *elf =
		place->file ? gr_code_maps_open(u->modules, place->file) : NULL;
	if (elf && place->off >= bytes)
		is_read =
			gr_elf_file_read(elf, place->off - bytes, code, bytes);
	struct gr_error *err = gr_sigbus_guard_end(&guard, NULL);
	if (!err && is_read)
		return true;
	gr_error_destroy(err);
	return gr_code_maps_read(u->modules, pc - bytes, code, bytes);
}

/* The bytes that the code before a pc takes of the stack: the constant of its
 * last sub $N,%rsp. Tables of Go do not count those of runtime.asmcgocall. */
static uint32_t find_taken_bytes(struct gr_unwinder *u, uint64_t pc,
				 const struct gr_code_place *place)
{
	static const uint8_t sub_rsp[] = { 0x48, 0x83, 0xec };
	uint8_t code[64];

	if (!read_code_before(u, pc, place, code, sizeof(code)))
		return 0;
	for (size_t i = sizeof(code) - sizeof(sub_rsp); i-- > 0;)
		if (!memcmp(code + i, sub_rsp, sizeof(sub_rsp)))
			return code[i + sizeof(sub_rsp)];
	return 0;
}

/* Return the rule of a pc; NULL if the pc lies in no code. */
static const struct gr_rule *make_rule(struct gr_unwinder *u, uint64_t pc)
{
	struct gr_rule rule = { .pc = pc, .role = GR_ROLE_UNKNOWN };
	struct gr_code_place place;

	bool is_code = gr_code_maps_find(u->modules, pc, &place);
	catch_up(u);
	if (!is_code)
		return NULL;
	gr_rules_make_room(&u->rules);
	const struct gr_go_tables *go = go_tables(u, pc);
	if (!go)
		make_c_rule(u, &place, &rule);
	else if (!gr_go_rule(go, pc, &rule))
		rule.role = GR_ROLE_UNKNOWN;
	else if (rule.role == GR_ROLE_CALL_C)
		rule.taken_bytes = find_taken_bytes(u, pc, &place);
	return gr_rules_add(&u->rules, &rule);
}

// --------------------------------------------------------------------- frames

static bool emit(struct gr_walk *w, uint64_t pc)
{
	if (w->ret->count == GR_MAX_FRAMES)
		return false;
	w->ret->pc[w->ret->count++] = pc;
	return true;
}

/* Find the caller's registers. */
static bool apply(struct gr_walk *w, const struct gr_rule *rule)
{
	const struct gr_operation *ops = w->u->rules.operations.data;
	struct gr_frame_regs next = w->regs;
	uint64_t cfa, value;

	if (rule->cfa_reg != GR_CFA_EXPRESSION) {
		if (!gr_regs_get(&w->regs, rule->cfa_reg, &cfa))
			return false;
		cfa += (int64_t)rule->cfa_off;
	} else if (!gr_expression_evaluate(ops + rule->cfa_off, &w->regs, 0,
					   w->sample, true, &cfa)) {
		return false;
	}
	next.known &= ~rule->lost;
	gr_regs_set(&next, GR_REG_RSP, cfa);
	for (uint32_t left = rule->saved | rule->expressed; left;
	     left &= left - 1) {
		int reg = __builtin_ctz(left);
		bool ok = rule->saved >> reg & 1 ?
				  gr_sample_word(w->sample,
						 cfa + (int64_t)rule->off[reg],
						 &value) :
				  gr_expression_evaluate(ops + rule->off[reg],
							 &w->regs, cfa,
							 w->sample, false,
							 &value);
		if (ok)
			gr_regs_set(&next, reg, value);
		else
			next.known &= ~(UINT32_C(1) << reg);
	}
	// Callers lie further up, so that no walk comes back.
	uint64_t sp = w->regs.values[GR_REG_RSP];
	w->regs = next;
	return next.known >> GR_REG_RIP & 1 && next.known >> GR_REG_RSP & 1 &&
	       next.values[GR_REG_RSP] > sp;
}

/* Go on with the goroutine that waits for its system stack. */
static bool resume(struct gr_walk *w)
{
	const struct gr_sample *s = w->sample;

	if (!s->resume_pc || w->is_resumed)
		return false;
	w->is_resumed = true;
	w->is_exact = true;
	w->regs.known = 0;
	gr_regs_set(&w->regs, GR_REG_RIP, s->resume_pc);
	gr_regs_set(&w->regs, GR_REG_RSP, s->resume_sp);
	gr_regs_set(&w->regs, GR_REG_RBP, s->resume_bp);
	return true;
}

static bool return_to(struct gr_walk *w, uint64_t addr)
{
	uint64_t pc;

	if (!gr_sample_word(w->sample, addr, &pc))
		return false;
	w->regs.known = 0;
	gr_regs_set(&w->regs, GR_REG_RSP, addr + GR_WORD_BYTES);
	gr_regs_set(&w->regs, GR_REG_RIP, pc);
	w->is_exact = false;
	return true;
}

/* The words of the release, by the bytes that runtime.asmcgocall takes. */
static const struct gr_call_words *words_of(const struct gr_rule *rule)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(call_words); i++)
		if (call_words[i].bytes == rule->taken_bytes)
			return &call_words[i];
	return NULL;
}

/* Leave runtime.asmcgocall. If it was on the system stack already, it keeps the
 * stack pointer and zero. Otherwise, it went there for the goroutine. */
static bool leave_call_of_c(struct gr_walk *w, const struct gr_rule *rule)
{
	uint64_t sp = w->regs.values[GR_REG_RSP], kept, g;
	const struct gr_call_words *words = words_of(rule);

	if (!words || !gr_sample_word(w->sample, sp + words->sp, &kept) ||
	    !gr_sample_word(w->sample, sp + words->g, &g))
		return false;
	if (!g && kept > sp &&
	    ((kept - words->bytes) & -(uint64_t)STACK_ALIGN) == sp)
		return return_to(w, kept + rule->body_bytes);
	if (w->is_inner)
		w->is_through = true;
	else if (!resume(w))
		return false;
	w->call_end = sp + words->bytes;
	return !w->is_inner;
}

static const struct gr_rule *rule_of(struct gr_unwinder *u, uint64_t pc)
{
	const struct gr_rule *rule = gr_rules_find(&u->rules, pc);

	return rule ? rule : make_rule(u, pc);
}

/* Find the frame of cgocallback on the system stack: asmcgocall, which was called
 * later, began just below it. It returns to crosscall2, and no two places do. */
static bool find_call_back(struct gr_walk *w, int32_t cfa_off,
			   struct gr_frame_regs *ret)
{
	size_t found = 0;
	uint64_t pc;

	for (size_t i = 0; w->call_end && i < STACK_ALIGN; i += GR_WORD_BYTES) {
		uint64_t cfa = w->call_end + i + (int64_t)cfa_off;

		if (!gr_sample_word(w->sample, cfa - GR_WORD_BYTES, &pc))
			continue;
		const struct gr_rule *rule = rule_of(w->u, pc - 1);
		if (!rule || rule->role != GR_ROLE_FROM_C)
			continue;
		found++;
		ret->known = 0;
		gr_regs_set(ret, GR_REG_RSP, cfa);
		gr_regs_set(ret, GR_REG_RIP, pc);
	}
	return found == 1;
}

static bool step(struct gr_walk *w);

/* Leave runtime.cgocallback on the goroutine's stack. If the C functions that
 * called back can be found on the system stack, all of them, add them. */
static bool leave_call_back(struct gr_walk *w, const struct gr_rule *rule)
{
	int32_t cfa_off = rule->cfa_off;
	struct gr_walk c = *w;
	size_t count = w->ret->count;

	w->is_exact = true;
	if (!apply(w, rule))
		return false;
	if (w->is_inner || !find_call_back(w, cfa_off, &c.regs))
		return true;
	c.is_inner = true;
	c.is_exact = false;
	for (size_t i = 0; i < GR_MAX_FRAMES && step(&c); i++)
		continue;
	w->call_end = c.is_through ? c.call_end : 0;
	// A thread of C has its start there.
	if (!c.is_through && !w->ret->is_finished)
		w->ret->count = count;
	return !w->ret->is_finished;
}

/* Leave a function that called C after it had aligned the stack pointer. */
static bool leave_aligned(struct gr_walk *w, const struct gr_rule *rule)
{
	uint64_t kept;

	if (!gr_regs_get(&w->regs, GR_REG_RBX, &kept) ||
	    (kept & -(uint64_t)STACK_ALIGN) != w->regs.values[GR_REG_RSP])
		return false;
	gr_regs_set(&w->regs, GR_REG_RSP, kept);
	w->is_exact = false;
	return apply(w, rule);
}

static bool leave(struct gr_walk *w, const struct gr_rule *rule)
{
	bool is_innermost = w->ret->count == 1;

	switch (rule->role) {
	case GR_ROLE_SCHEDULE:
		w->is_next = true;
		/* fall through */
	case GR_ROLE_CALL_BACK:
		return leave_call_back(w, rule);
	case GR_ROLE_FROM_C:
	case GR_ROLE_CALL:
	case GR_ROLE_SWITCHED:
	case GR_ROLE_SIGNAL:
		w->is_exact = rule->role == GR_ROLE_SIGNAL;
		return apply(w, rule);
	case GR_ROLE_ALIGNS:
		return !is_innermost && leave_aligned(w, rule);
	case GR_ROLE_CALL_C:
		// Before and after the call the words are not there.
		return !is_innermost && leave_call_of_c(w, rule);
	case GR_ROLE_SWITCH:
		return !is_innermost && resume(w);
	case GR_ROLE_LEAVE:
		// The goroutine has been left if the thread has none, or looks
		// for the next one: then the thread's own work begins here.
		if (!is_innermost && !w->is_next && resume(w))
			return true;
		w->ret->is_finished = !is_innermost && !w->is_resumed;
		return false;
	case GR_ROLE_START:
		w->ret->is_finished = true;
		return false;
	default:
		return false;
	}
}

/* Add the frame of the pc, and go to its caller. Recursion: once, for is_inner. */
static bool step(struct gr_walk *w)
{
	uint64_t pc = w->regs.values[GR_REG_RIP];

	if (!w->is_exact)
		pc--;
	const struct gr_rule *rule = rule_of(w->u, pc);
	if (!rule)
		return false;
	// Where a goroutine waits for its system stack, it is in no function.
	if (rule->role != GR_ROLE_SWITCHED && !emit(w, pc))
		return false;
	return leave(w, rule);
}

void gr_unwinder_walk(struct gr_unwinder *u, const struct gr_sample *sample,
		      struct gr_walked *ret)
{
	struct gr_walk w = { .u = u, .sample = sample, .ret = ret };

	gr_code_maps_refresh(u->modules);
	catch_up(u);
	memcpy(w.regs.values, sample->regs, sizeof(sample->regs));
	w.regs.known = (UINT32_C(1) << GR_SAMPLE_REGS) - 1;
	w.is_exact = true;
	ret->count = 0;
	ret->is_finished = false;
	// The stack pointer grows; frames without a place in it have a limit.
	for (size_t i = 0; i < 2 * GR_MAX_FRAMES && step(&w); i++)
		continue;
	ret->generation = u->generation;
}

// ---------------------------------------------------------------------- names

bool gr_unwinder_find(struct gr_unwinder *u, uint64_t pc,
		      struct gr_code_place *ret)
{
	bool found = gr_code_maps_find(u->modules, pc, ret);

	catch_up(u);
	return found;
}

void gr_unwinder_name(struct gr_unwinder *u, uint64_t pc,
		      const struct gr_code_place *place, char *name,
		      size_t name_bytes)
{
	const struct gr_go_tables *go = go_tables(u, pc);
	struct gr_sigbus_guard guard;
	uint64_t addr;

	name[0] = '\0';
	if (go) {
		const char *found = gr_go_name(go, pc);

		snprintf(name, name_bytes, "%s", found ? found : "");
		gr_text_make_printable(name, strlen(name));
		return;
	}
	if (!place->file)
		return;
	gr_sigbus_guard_begin(&guard);
	struct gr_elf_file *elf = gr_code_maps_open(u->modules, place->file);
	if (elf && gr_elf_file_address(elf, place->off, &addr))
		gr_elf_file_name(elf, addr, name, name_bytes);
	struct gr_error *err = gr_sigbus_guard_end(&guard, NULL);
	if (err)
		name[0] = '\0';
	gr_error_destroy(err);
}
