// SPDX-License-Identifier: Apache-2.0
#include "goroutines/locks/locked_word.h"

#include "goruntime/layout/code.h"

enum {
	BASE_WINDOW = 32, /* from the load of its operand to the instruction */
	BACK_WINDOW = 48, /* from the instruction to what follows it */
};

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
static uint64_t find_base(const struct gr_func *func, const uint8_t *code,
			  uint64_t pc, uint8_t base)
{
	uint64_t off = pc - func->entry;

	for (uint64_t back = 3; back <= BASE_WINDOW && back <= off; back++) {
		const uint8_t *p = code + off - back;
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

/* Which lock the atomic instruction at @p pc is about. */
static struct gr_lock_at lock_of(const struct gr_func *func,
				 const uint8_t *code, uint64_t pc,
				 const struct operand *operand,
				 uint8_t word_off)
{
	int64_t displacement = (int64_t)operand->displacement - word_off;
	uint64_t base = find_base(func, code, pc, operand->base);
	struct gr_lock_at at = { 0, GR_ANY_DISTANCE };

	if (operand->addr)
		at.addr = operand->addr - word_off;
	else if (base)
		at.addr = base + (uint64_t)displacement;
	else
		at.distance = displacement;
	return at;
}

bool gr_locked_word_find(const struct gr_func *func, const uint8_t *code,
			 const struct gr_pc_run *run, uint8_t word_off,
			 uint64_t *pc, struct gr_lock_at *at)
{
	struct operand operand;

	if (run->end > func->end)
		return false;
	// Bounded by the function's bytes, which its caller pays for.
	for (uint64_t p = run->start; p < run->end; p++) {
		if (!decode_locked(code + (p - func->entry), func->end - p, p,
				   &operand))
			continue;
		*pc = p;
		*at = lock_of(func, code, p, &operand, word_off);
		return true;
	}
	return false;
}

bool gr_locked_word_before(const struct gr_func *func, const uint8_t *code,
			   uint64_t addr, uint8_t word_off, uint64_t *pc,
			   struct gr_lock_at *at)
{
	uint64_t off = addr - func->entry;
	struct operand operand;

	if (addr > func->end)
		return false;
	for (uint64_t back = 1; back <= BACK_WINDOW && back <= off; back++) {
		uint64_t p = addr - back;

		if (!decode_locked(code + off - back, func->end - p, p,
				   &operand))
			continue;
		*pc = p;
		*at = lock_of(func, code, p, &operand, word_off);
		return true;
	}
	return false;
}
