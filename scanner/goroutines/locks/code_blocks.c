// SPDX-License-Identifier: Apache-2.0
#include "goroutines/locks/code_blocks.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <capstone/capstone.h>

enum {
	MAX_FLOW_BYTES = 1 << 18, /* of a function; time is linear in it */
	MAX_TARGETS = 1 << 10,	  /* of a jump table */
	MAX_BLOCKS = 1 << 14,	  /* of a function */
	MAX_ALL_BLOCKS = 1 << 20, /* of all functions: 32 MB */
};

/** An instruction that does not go on to the next one, or not always. */
struct turn {
	uint64_t end;	 /* of the instruction */
	uint64_t target; /* 0: none in this function */
	uint64_t table;	 /* of targets; 0: none */
	size_t ntargets; /* in that */
	bool goes_on;	 /* to the next one, too */
	bool returns;
};

GR_VECTOR(turn_vector, struct turn);

/** The code that is being read. */
struct pass {
	struct gr_code_reader *reader;
	struct gr_code_blocks *blocks;
	struct turn_vector turns;
	uint64_t *leaders; /* a bit for each byte: blocks begin */
	bool is_clear;	   /* all has been understood so far */
	/* The register that the instruction before has loaded with an address;
	 * 0: none. */
	unsigned int loaded;
	uint64_t loaded_addr;
	size_t ntargets; /* of all tables */
};

static void pass_deinit(struct pass *pass)
{
	turn_vector_deinit(&pass->turns);
	free(pass->leaders);
}

void gr_code_reader_deinit(struct gr_code_reader *reader)
{
	if (reader->disassembler)
		cs_close(&reader->disassembler);
	reader->disassembler = 0;
}

void gr_code_blocks_deinit(struct gr_code_blocks *blocks)
{
	gr_code_block_vector_deinit(&blocks->all);
	free(blocks->starts);
	memset(blocks, 0, sizeof(*blocks));
}

bool gr_code_blocks_has(const struct gr_code_blocks *blocks, uint64_t addr)
{
	return addr - blocks->addr < blocks->nbytes &&
	       gr_bitmap_test(blocks->starts, addr - blocks->addr);
}

uint32_t gr_code_blocks_at(const struct gr_code_blocks *blocks, uint64_t addr)
{
	size_t i = gr_count_before(blocks->ncode, i,
				   blocks->all.data[i].end <= addr);

	return i < blocks->ncode && blocks->all.data[i].start <= addr ?
		       (uint32_t)i :
		       GR_NO_BLOCK;
}

static struct gr_error *open_disassembler(struct gr_code_reader *reader)
{
	if (reader->disassembler)
		return NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &reader->disassembler) !=
		    CS_ERR_OK ||
	    cs_option(reader->disassembler, CS_OPT_DETAIL, CS_OPT_ON) !=
		    CS_ERR_OK)
		return &gr_enomem;
	return NULL;
}

// -------------------------------------------------------------- instructions

/* The address that a jump or a call names; 0: it is computed. */
static uint64_t named_target(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	return x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM ?
		       (uint64_t)x86->operands[0].imm :
		       0;
}

static bool is_loop(unsigned int id)
{
	return id == X86_INS_LOOP || id == X86_INS_LOOPE ||
	       id == X86_INS_LOOPNE;
}

static bool is_end(unsigned int id)
{
	return id == X86_INS_UD2 || id == X86_INS_INT3 || id == X86_INS_HLT;
}

/* Note the register that `lea addr(%rip), reg` loads. */
static void note_loaded(struct pass *pass, const cs_insn *insn)
{
	const cs_x86_op *ops = insn->detail->x86.operands;

	if (insn->id == X86_INS_NOP)
		return;
	pass->loaded = 0;
	if (insn->id != X86_INS_LEA || ops[1].mem.base != X86_REG_RIP)
		return;
	pass->loaded = ops[0].reg;
	pass->loaded_addr =
		insn->address + insn->size + (uint64_t)ops[1].mem.disp;
}

/* The table of a jump `jmp *(reg,index,8)`, whose address the instruction before
 * has loaded; or 0. */
static uint64_t table_of(const struct pass *pass, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	return pass->loaded && pass->reader->read_word &&
			       op->type == X86_OP_MEM && op->mem.scale == 8 &&
			       !op->mem.disp && op->mem.base == pass->loaded ?
		       pass->loaded_addr :
		       0;
}

/* A jump to the function itself, or out of it. */
static void note_jump(struct pass *pass, const cs_insn *insn, struct turn *turn)
{
	uint64_t target = named_target(insn);

	turn->goes_on = insn->id != X86_INS_JMP;
	if (target - pass->blocks->addr < pass->blocks->nbytes)
		turn->target = target;
	else
		turn->returns = target;
	turn->table = target ? 0 : table_of(pass, insn);
	pass->is_clear &= target || turn->table;
}

/* Does the instruction turn? */
static bool read_turn(struct pass *pass, const cs_insn *insn, struct turn *ret)
{
	const struct gr_code_reader *reader = pass->reader;

	*ret = (struct turn){ .end = insn->address + insn->size };
	if (cs_insn_group(reader->disassembler, insn, CS_GRP_JUMP) ||
	    is_loop(insn->id)) {
		note_jump(pass, insn, ret);
		return true;
	}
	if (insn->id == X86_INS_CALL)
		return named_target(insn) && reader->never_returns &&
		       reader->never_returns(reader->ctx, named_target(insn));
	ret->returns = cs_insn_group(reader->disassembler, insn, CS_GRP_RET) ||
		       insn->id == X86_INS_RET;
	return ret->returns || is_end(insn->id);
}

static struct gr_error *read_instructions(struct pass *pass, cs_insn *insn,
					  const uint8_t *code)
{
	const struct gr_code_blocks *blocks = pass->blocks;
	uint64_t addr = blocks->addr;
	size_t left = blocks->nbytes;
	struct turn turn;

	// Bounded by the code's bytes: each instruction has some.
	while (left && cs_disasm_iter(pass->reader->disassembler, &code, &left,
				      &addr, insn)) {
		gr_bitmap_set(blocks->starts, insn->address - blocks->addr);
		if (read_turn(pass, insn, &turn) &&
		    !turn_vector_append(&pass->turns, turn))
			return &gr_enomem;
		note_loaded(pass, insn);
	}
	pass->is_clear &= !left;
	return NULL;
}

// -------------------------------------------------------------------- blocks

/* The target in place @p i of a table; 0: the table ends before. Words behind it
 * that look like targets are those of another table of the function. */
static uint64_t target_in(const struct pass *pass, uint64_t table, size_t i)
{
	const struct gr_code_reader *reader = pass->reader;
	uint64_t target;

	return i < MAX_TARGETS &&
			       reader->read_word(reader->ctx,
						 table + i * sizeof(target),
						 &target) &&
			       gr_code_blocks_has(pass->blocks, target) ?
		       target :
		       0;
}

static void mark_targets(struct pass *pass, struct turn *turn)
{
	uint64_t target;

	// Bounded by MAX_TARGETS, which target_in() knows.
	while ((target = target_in(pass, turn->table, turn->ntargets))) {
		gr_bitmap_set(pass->leaders, target - pass->blocks->addr);
		turn->ntargets++;
	}
	pass->ntargets += turn->ntargets;
	// A table that goes on would have more ways.
	pass->is_clear &= turn->ntargets > 0 && turn->ntargets < MAX_TARGETS &&
			  pass->ntargets < MAX_BLOCKS;
}

/* Blocks begin where a turn leads to, and behind it. */
static void mark_leaders(struct pass *pass)
{
	const struct gr_code_blocks *blocks = pass->blocks;

	gr_bitmap_set(pass->leaders, 0);
	for (size_t i = 0; pass->is_clear && i < pass->turns.size; i++) {
		struct turn *turn = &pass->turns.data[i];
		uint64_t behind = turn->end - blocks->addr;

		if (turn->table)
			mark_targets(pass, turn);
		if (behind < blocks->nbytes)
			gr_bitmap_set(pass->leaders, behind);
		if (!turn->target)
			continue;
		gr_bitmap_set(pass->leaders, turn->target - blocks->addr);
		pass->is_clear &= gr_code_blocks_has(blocks, turn->target);
	}
}

static struct gr_error *add_block(struct pass *pass,
				  const struct gr_code_block *block)
{
	struct gr_code_block_vector *all = &pass->blocks->all;

	pass->is_clear = all->size < MAX_BLOCKS &&
			 pass->reader->nblocks++ < MAX_ALL_BLOCKS;
	return !pass->is_clear || gr_code_block_vector_append(all, *block) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *add_blocks(struct pass *pass)
{
	struct gr_code_blocks *blocks = pass->blocks;
	struct gr_error *err = NULL;
	size_t start = 0;

	// Bounded by the code's bytes: each block has some.
	while (!err && pass->is_clear && start < blocks->nbytes) {
		size_t end = gr_bitmap_next(pass->leaders, start + 1,
					    blocks->nbytes);
		const struct gr_code_block block = {
			.start = blocks->addr + start,
			.end = blocks->addr + end,
			.next = { GR_NO_BLOCK, GR_NO_BLOCK },
		};

		err = add_block(pass, &block);
		start = end;
	}
	blocks->ncode = blocks->all.size;
	return err;
}

/* A chain of empty blocks leads from block @p i to the targets of a table. */
static struct gr_error *link_targets(struct pass *pass, size_t i,
				     const struct turn *turn)
{
	struct gr_code_blocks *blocks = pass->blocks;
	const struct gr_code_block empty = {
		.start = turn->end,
		.end = turn->end,
		.next = { GR_NO_BLOCK, GR_NO_BLOCK },
	};
	struct gr_error *err = NULL;

	for (size_t n = 0; !err && n < turn->ntargets; n++) {
		uint64_t target = target_in(pass, turn->table, n);

		blocks->all.data[i].next[0] = gr_code_blocks_at(blocks, target);
		if (n + 1 == turn->ntargets)
			break;
		err = add_block(pass, &empty);
		if (err || !pass->is_clear)
			break;
		blocks->all.data[i].next[1] = blocks->all.size - 1;
		i = blocks->all.size - 1;
	}
	return err;
}

/* Tell each block which ones follow. */
static struct gr_error *link_blocks(struct pass *pass)
{
	struct gr_code_block_vector *all = &pass->blocks->all;
	struct gr_error *err = NULL;
	size_t t = 0;

	for (size_t i = 0; !err && i < pass->blocks->ncode; i++) {
		struct gr_code_block *block = &all->data[i];
		uint32_t behind = i + 1 < pass->blocks->ncode ? i + 1 :
								GR_NO_BLOCK;
		const struct turn *turn = &pass->turns.data[t];

		if (t == pass->turns.size || turn->end != block->end) {
			block->next[0] = behind;
			continue;
		}
		t++;
		block->returns = turn->returns;
		if (turn->goes_on)
			block->next[0] = behind;
		if (turn->target)
			block->next[1] =
				gr_code_blocks_at(pass->blocks, turn->target);
		if (turn->table)
			err = link_targets(pass, i, turn);
	}
	return err;
}

static struct gr_error *read_blocks(struct pass *pass, const uint8_t *code)
{
	cs_insn *insn = cs_malloc(pass->reader->disassembler);
	struct gr_error *err;

	if (!insn)
		return &gr_enomem;
	err = read_instructions(pass, insn, code);
	cs_free(insn, 1);
	if (err || !pass->is_clear)
		return err;
	mark_leaders(pass);
	if (!pass->is_clear)
		return NULL;
	err = add_blocks(pass);
	return err || !pass->is_clear ? err : link_blocks(pass);
}

struct gr_error *gr_code_blocks_read(struct gr_code_reader *reader,
				     const uint8_t *code, uint64_t nbytes,
				     uint64_t addr, struct gr_code_blocks *ret,
				     bool *found)
{
	_cleanup_(pass_deinit) struct pass pass = {
		.reader = reader,
		.blocks = ret,
		.is_clear = true,
	};

	*found = false;
	*ret = (struct gr_code_blocks){ .addr = addr, .nbytes = nbytes };
	if (!nbytes || nbytes > MAX_FLOW_BYTES)
		return NULL;
	ret->starts = gr_bitmap_alloc(nbytes);
	pass.leaders = gr_bitmap_alloc(nbytes);
	if (!ret->starts || !pass.leaders)
		return &gr_enomem;
	struct gr_error *err = open_disassembler(reader);
	if (!err)
		err = read_blocks(&pass, code);
	*found = !err && pass.is_clear;
	return err;
}
