// SPDX-License-Identifier: Apache-2.0
#include "growth/tls_g.h"

#include "base/cleanup.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "growth/disassembler.h"
#include "inferior/elf.h"

enum {
	MAX_CODE_BYTES = 4096, /* of a function of assembly */
	MAX_TLS_BYTES = 1 << 24,
};

/** The register that was loaded last, as far as its value is known. */
struct loaded {
	unsigned int reg; /* 0: none */
	int64_t value;
};

/* Note what `mov $value, reg` or `mov disp(%rip), reg` has loaded: the linker
 * writes the offset into the code, or into a word of the program. */
static void note_loaded(const struct gr_disassembler *d, gr_tls_word_fn *read,
			void *ctx, struct loaded *loaded)
{
	const cs_x86_op *ops = d->insn->detail->x86.operands;
	uint64_t word;

	if (loaded->reg && gr_disassembler_writes(d, loaded->reg))
		loaded->reg = 0;
	if ((d->insn->id != X86_INS_MOV && d->insn->id != X86_INS_MOVABS) ||
	    ops[0].type != X86_OP_REG || ops[0].size != GR_WORD_BYTES)
		return;
	if (ops[1].type == X86_OP_IMM)
		*loaded = (struct loaded){ ops[0].reg, ops[1].imm };
	else if (ops[1].type == X86_OP_MEM && ops[1].mem.base == X86_REG_RIP &&
		 ops[1].mem.segment == X86_REG_INVALID &&
		 read(ctx,
		      d->insn->address + d->insn->size +
			      (uint64_t)ops[1].mem.disp,
		      &word))
		*loaded = (struct loaded){ ops[0].reg, (int64_t)word };
}

/* The offset of an operand from fs_base; 0: it is none, or not known. */
static int64_t offset_of(const cs_x86_op *op, const struct loaded *loaded)
{
	if (op->type != X86_OP_MEM || op->mem.segment != X86_REG_FS ||
	    op->mem.index != X86_REG_INVALID)
		return 0;
	if (op->mem.base == X86_REG_INVALID)
		return (int32_t)op->mem.disp;
	return op->mem.base == loaded->reg ? loaded->value + op->mem.disp : 0;
}

struct gr_error *gr_tls_g_in_code(const uint8_t *code, size_t bytes,
				  uint64_t addr, gr_tls_word_fn *read,
				  void *ctx, int64_t *ret)
{
	_cleanup_(gr_disassembler_deinit) struct gr_disassembler d = { 0 };
	struct gr_error *err = gr_disassembler_begin(&d, code, bytes, addr);
	struct loaded loaded = { 0 };

	*ret = INT64_MIN;
	// Bounded by the bytes of the function.
	while (!err && gr_disassembler_next(&d)) {
		const cs_x86 *x86 = &d.insn->detail->x86;

		for (size_t i = 0; i < x86->op_count; i++) {
			int64_t off = offset_of(&x86->operands[i], &loaded);

			// The words of the compiler of C are above.
			if (off < 0 && off > -MAX_TLS_BYTES &&
			    off % GR_WORD_BYTES == 0) {
				*ret = off;
				return NULL;
			}
		}
		note_loaded(&d, read, ctx, &loaded);
	}
	return err;
}

static bool read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct gr_runtime *rt = ctx;
	struct gr_error *err = gr_image_read_u64(rt->image, addr, ret);
	bool is_read = !err;

	gr_error_destroy(err);
	return is_read;
}

static struct gr_error *look_at(struct gr_runtime *rt, const char *name,
				int64_t *ret)
{
	uint8_t code[MAX_CODE_BYTES];
	struct gr_func func;
	bool found;
	struct gr_error *err = gr_func_find_named(rt, name, &func, &found);

	if (err || !found)
		return err;
	size_t bytes = func.end - func.entry < sizeof(code) ?
			       func.end - func.entry :
			       sizeof(code);
	err = gr_image_read(rt->image, func.entry, code, bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	return gr_tls_g_in_code(code, bytes, func.entry, read_word, rt, ret);
}

struct gr_error *gr_tls_g_find(struct gr_runtime *rt, int64_t *ret)
{
	struct gr_error *err = NULL;

	*ret = INT64_MIN;
	if (rt->arch->machine != EM_X86_64)
		return NULL;
	// Who leaves the stack of a goroutine makes another g the thread's.
	for (size_t i = 0; !err && *ret == INT64_MIN && i < gr_nnames; i++)
		if (gr_names[i].trait == GR_NAME_LEAVES_STACK)
			err = look_at(rt, gr_names[i].text, ret);
	return err;
}
