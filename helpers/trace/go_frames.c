// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/go_frames.h"

#include <inttypes.h>

#include "base/cleanup.h"

enum {
	// The header and its fields (runtime.pcHeader).
	HEADER_BYTES = 72,
	NAMES_OFF = 32,
	FILES_OFF = 40, // Where the names end.
	PCS_OFF = 56,
	FUNCS_OFF = 64,
	FTAB_ENTRY_BYTES = 8,
	// Fields of _func that all versions of the tables have, and its flags.
	FUNC_NAME = 4,
	FUNC_PCSP = 16,
	TOP_FRAME = 1,
	SP_WRITE = 2,
	// The header lies so far before the functions, and begins at a multiple.
	PIECE_BYTES = 1 << 20,
	HEADER_ALIGN = 8,
	// Bytes after which all prologues of assembly functions have ended.
	PROLOGUE_BYTES = 8,
	KEPT_BYTES = 256,
	MAX_FRAME_BYTES = 1 << 28,
	MAX_STEPS = 1 << 20, // of a look-up
};

/* The tables of a program of a few million functions. */
static const uint64_t max_bytes = UINT64_C(512) << 20;

/** A version of the tables, by the magic number of their header. */
static const struct {
	uint32_t magic, flag_off;
} versions[] = { { 0xfffffff0, 37 }, { 0xfffffff1, 41 } };

/**
 * The roles of functions of the runtime; others have that of their flags. Those
 * that go to another stack write SP: a wrapper of the same name does not, and is
 * a plain call. The frame of cgocallback is valid on both of its stacks. Those of
 * SIGNAL were called by nobody, so that the pc of their caller is exact.
 */
static const struct {
	const char *name;
	enum gr_role role;
	bool writes_sp;
} roles[] = {
	{ "crosscall2", GR_ROLE_FROM_C, false },
	{ "runtime.asmcgocall", GR_ROLE_CALL_C, true },
	{ "runtime.asyncPreempt", GR_ROLE_SIGNAL, false },
	{ "runtime.callCgoMmap", GR_ROLE_ALIGNS, true },
	{ "runtime.callCgoMunmap", GR_ROLE_ALIGNS, true },
	{ "runtime.callCgoSigaction", GR_ROLE_ALIGNS, true },
	{ "runtime.cgocallback", GR_ROLE_CALL_BACK, true },
	{ "runtime.coroswitch_m", GR_ROLE_SCHEDULE, false },
	{ "runtime.debugCallV2", GR_ROLE_SIGNAL, false },
	{ "runtime.execute", GR_ROLE_SCHEDULE, false },
	{ "runtime.mcall", GR_ROLE_LEAVE, true },
	{ "runtime.morestack", GR_ROLE_LEAVE, true },
	{ "runtime.sigpanic", GR_ROLE_SIGNAL, false },
	// Go 1.19 calls it a top frame, but it interrupts another stack.
	{ "runtime.sigtramp", GR_ROLE_LOSES_STACK, false },
	{ "runtime.systemstack", GR_ROLE_SWITCH, true },
	{ "runtime.systemstack_switch", GR_ROLE_SWITCHED, false },
};

/** A function. */
struct gr_go_func {
	uint64_t entry, end;
	uint32_t pcsp;
	uint8_t flag;
	const char *name;
};

// --------------------------------------------------------------------- tables

/* Is there a header at @p p, which lies @p before bytes before the functions?
 * Return the index of its version, or -1. */
static int header_version(const uint8_t *p, uint64_t before)
{
	uint64_t names = gr_load_u64(p + NAMES_OFF);
	uint64_t files = gr_load_u64(p + FILES_OFF);
	uint64_t pcs = gr_load_u64(p + PCS_OFF);

	if (p[4] || p[5] || p[6] != 1 || p[7] != GR_WORD_BYTES ||
	    gr_load_u64(p + FUNCS_OFF) != before || names < HEADER_BYTES ||
	    files < names || pcs < files || pcs > before)
		return -1;
	for (size_t i = 0; i < GR_ARRAY_SIZE(versions); i++)
		if (gr_load_u32(p) == versions[i].magic)
			return i;
	return -1;
}

/* Search a piece of memory, which begins @p before bytes before the functions,
 * for the header. Return the bytes between it and them; 0: it is not there. */
static uint64_t search_piece(const uint8_t *piece, size_t bytes,
			     uint64_t before, int *version)
{
	for (size_t off = 0; off < bytes; off += HEADER_ALIGN) {
		*version = header_version(piece + off, before - off);
		if (*version >= 0)
			return before - off;
	}
	return 0;
}

/* Pieces overlap by a header, so that none is cut. */
static uint64_t search_header(const struct gr_go_module *where,
			      gr_go_read *read, void *ctx, int *version)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES + HEADER_BYTES);
	uint64_t start = where->ftab, found = 0;
	size_t bytes = PIECE_BYTES;

	if (!piece || start % HEADER_ALIGN)
		return 0;
	while (!found && bytes && where->ftab - start < max_bytes) {
		// Bounded by max_bytes: each piece lies before the last one.
		if (start < bytes ||
		    !read(ctx, start - bytes, piece, bytes + HEADER_BYTES)) {
			// A smaller piece may still be there.
			bytes = bytes > HEADER_ALIGN ?
					bytes / 2 / HEADER_ALIGN *
						HEADER_ALIGN :
					0;
			continue;
		}
		start -= bytes;
		found = search_piece(piece, bytes, where->ftab - start,
				     version);
	}
	return found;
}

static bool is_plausible(const struct gr_go_module *where)
{
	return where->text < where->etext && where->text_start <= where->text &&
	       where->ftab >= where->pclntable && where->ftab_count >= 2 &&
	       where->pclntable_bytes <= max_bytes &&
	       where->ftab - where->pclntable <= where->pclntable_bytes &&
	       where->ftab_count <= (where->pclntable_bytes -
				     (where->ftab - where->pclntable)) /
					    FTAB_ENTRY_BYTES;
}

struct gr_error *gr_go_tables_read(const struct gr_go_module *where,
				   gr_go_read *read, void *ctx,
				   struct gr_go_tables *ret)
{
	int version = -1;

	uint64_t before = is_plausible(where) ?
				  search_header(where, read, ctx, &version) :
				  0;
	if (!before)
		return gr_error_format(
			GR_ERROR_FORMAT,
			"no tables of Go functions at 0x%" PRIx64, where->ftab);
	size_t bytes = before + where->pclntable_bytes -
		       (where->ftab - where->pclntable);
	_cleanup_free_ uint8_t *data = malloc(bytes);
	if (!data)
		return &gr_enomem;
	if (!read(ctx, where->ftab - before, data, bytes) ||
	    header_version(data, before) != version)
		return gr_error_fault(where->ftab - before, bytes);
	struct gr_bytes all = { data, bytes };
	uint64_t names = gr_load_u64(data + NAMES_OFF);
	uint64_t pcs = gr_load_u64(data + PCS_OFF);
	*ret = (struct gr_go_tables){
		.where = *where,
		.data = data,
		.names = gr_bytes_slice(all, names,
					gr_load_u64(data + FILES_OFF) - names),
		.pcs = gr_bytes_slice(all, pcs, before - pcs),
		.funcs = gr_bytes_slice(all, before, bytes - before),
		.flag_off = versions[version].flag_off,
	};
	(void)steal_ptr(data);
	return NULL;
}

void gr_go_tables_deinit(struct gr_go_tables *tables)
{
	free(tables->data);
	memset(tables, 0, sizeof(*tables));
}

// ------------------------------------------------------------------ functions

static uint64_t entry_of(const struct gr_go_tables *tables, uint64_t i)
{
	return tables->where.text_start +
	       gr_load_u32(tables->funcs.data + i * FTAB_ENTRY_BYTES);
}

/* The last entry of the table is the end of the last function. */
static bool find_func(const struct gr_go_tables *tables, uint64_t pc,
		      struct gr_go_func *ret)
{
	uint32_t name, func;

	if (pc < tables->where.text || pc >= tables->where.etext)
		return false;
	size_t end = gr_count_before(tables->where.ftab_count, i,
				     entry_of(tables, i) <= pc);
	if (!end || end >= tables->where.ftab_count)
		return false;
	ret->entry = entry_of(tables, end - 1);
	ret->end = entry_of(tables, end);
	func = gr_load_u32(tables->funcs.data + (end - 1) * FTAB_ENTRY_BYTES +
			   sizeof(uint32_t));
	if (ret->entry > pc || ret->end <= pc ||
	    !gr_bytes_get(tables->funcs, (uint64_t)func + FUNC_PCSP, &ret->pcsp,
			  sizeof(ret->pcsp)) ||
	    !gr_bytes_get(tables->funcs, (uint64_t)func + tables->flag_off,
			  &ret->flag, sizeof(ret->flag)) ||
	    !gr_bytes_get(tables->funcs, (uint64_t)func + FUNC_NAME, &name,
			  sizeof(name)))
		return false;
	ret->name = gr_bytes_name(tables->names, name);
	return true;
}

/* Find the bytes from SP to the return address at a pc (runtime.pcvalue). */
static bool find_delta(const struct gr_go_tables *tables,
		       const struct gr_go_func *func, uint64_t pc, int32_t *ret)
{
	uint64_t off = func->pcsp, at = func->entry, change, bytes;
	uint32_t value = UINT32_MAX;

	for (uint32_t n = 0; func->pcsp && n < MAX_STEPS; n++) {
		if (!gr_bytes_uvarint(tables->pcs, &off, &change) ||
		    (!change && n) || change > UINT32_MAX ||
		    !gr_bytes_uvarint(tables->pcs, &off, &bytes) ||
		    bytes > UINT32_MAX)
			return false;
		value += -(uint32_t)(change & 1) ^ (uint32_t)(change >> 1);
		at += bytes;
		if (pc < at)
			break;
	}
	*ret = (int32_t)value;
	return pc < at && value < MAX_FRAME_BYTES && !(value % GR_WORD_BYTES);
}

/**
 * The registers that crosscall2 keeps for C (PUSH_REGS_HOST_TO_ABI0), from its
 * CFA, while it takes KEPT_BYTES of the stack.
 */
static const struct {
	uint8_t reg;
	int32_t off;
} kept_for_c[] = {
	{ GR_REG_RBP, -224 }, { GR_REG_RBX, -216 }, { GR_REG_R12, -208 },
	{ GR_REG_R13, -200 }, { GR_REG_R14, -192 }, { GR_REG_R15, -184 },
};

static void set_kept(struct gr_rule *rule)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(kept_for_c); i++) {
		uint32_t bit = UINT32_C(1) << kept_for_c[i].reg;

		rule->lost &= ~bit;
		rule->saved |= bit;
		rule->off[kept_for_c[i].reg] = kept_for_c[i].off;
	}
}

static enum gr_role role_of(const struct gr_go_func *func)
{
	for (size_t i = 0; func->name && i < GR_ARRAY_SIZE(roles); i++)
		if (!strcmp(func->name, roles[i].name) &&
		    (!roles[i].writes_sp || func->flag & SP_WRITE))
			return roles[i].role;
	if (func->flag & TOP_FRAME)
		return GR_ROLE_START;
	return func->flag & SP_WRITE ? GR_ROLE_LOSES_STACK : GR_ROLE_CALL;
}

bool gr_go_rule(const struct gr_go_tables *tables, uint64_t pc,
		struct gr_rule *rule)
{
	struct gr_go_func func;
	int32_t delta, body;

	if (!find_func(tables, pc, &func))
		return false;
	rule->role = role_of(&func);
	if (rule->role == GR_ROLE_START)
		return true;
	if (!find_delta(tables, &func, pc, &delta))
		return false;
	rule->cfa_reg = GR_REG_RSP;
	rule->cfa_off = delta + GR_WORD_BYTES;
	rule->saved = UINT32_C(1) << GR_REG_RIP;
	rule->off[GR_REG_RIP] = -GR_WORD_BYTES;
	// A caller's registers are lost: in Go, a call keeps none.
	rule->lost = (UINT32_C(1) << GR_SAMPLE_REGS) - 1 - rule->saved -
		     (UINT32_C(1) << GR_REG_RSP);
	if (rule->role == GR_ROLE_FROM_C && delta == KEPT_BYTES)
		set_kept(rule);
	if (rule->role != GR_ROLE_CALL_C)
		return true;
	if (!find_delta(tables, &func, func.entry + PROLOGUE_BYTES, &body))
		return false;
	rule->body_bytes = body;
	return true;
}

const char *gr_go_name(const struct gr_go_tables *tables, uint64_t pc)
{
	struct gr_go_func func;

	return find_func(tables, pc, &func) ? func.name : NULL;
}
