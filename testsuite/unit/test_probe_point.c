// SPDX-License-Identifier: Apache-2.0
/* probe_point and tls_g: functions that are assembled by hand, as compilers and
 * linkers write them. */
#include "growth/probe_point.h"

#include "growth/tls_g.h"
#include "suite.h"

enum { BASE = 0x401000, WORD = 0x500000 };

#define CHECK 0x49, 0x3b, 0x66, 0x10 /* cmp 0x10(%r14), %rsp */
#define DEEP_CHECK                                           \
	0x4c, 0x8d, 0xa4, 0x24, 0x10, 0xff, 0xff, 0xff, /**/ \
		0x4d, 0x3b, 0x66, 0x10
#define TO_GROW 0x76, 0x40	   /* jbe */
#define PUSH 0x55		   /* push %rbp */
#define PUSH_R12 0x41, 0x54	   /* push %r12 */
#define SUB 0x48, 0x83, 0xec, 0x70 /* sub $0x70, %rsp */
#define LOSE_RBX 0x31, 0xdb	   /* xor %ebx, %ebx */
#define LOSE_AL 0xb0, 0x01	   /* mov $1, %al */
#define KEEP 0x48, 0x89, 0xc7	   /* mov %rax, %rdi */
#define CALL 0xe8, 0, 0, 0x10, 0
#define CALL_COMPUTED 0xff, 0xd2 /* call *%rdx */
#define SLOW_NOP 0x66, 0x90	 /* xchg %ax, %ax */
#define RET 0xc3
#define INT3 0xcc
#define BACK(n) 0xeb, 256 - (n) /* jmp, from its own end */

/** A function, and where its probe is to be. */
struct row {
	const char *name;
	uint8_t code[40];
	uint8_t bytes;
	enum gr_probe_place place;
	uint8_t off;
};

#define CODE(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static const struct row probes[] = {
	{ "push", CODE(CHECK, TO_GROW, PUSH, RET), GR_PROBE_PAST_CHECK, 6 },
	{ "push_r12", CODE(CHECK, TO_GROW, SUB, PUSH_R12, RET),
	  GR_PROBE_PAST_CHECK, 10 },
	{ "call", CODE(DEEP_CHECK, TO_GROW, SUB, KEEP, SLOW_NOP, CALL, RET),
	  GR_PROBE_PAST_CHECK, 23 },
	{ "lost_before", CODE(CHECK, TO_GROW, SUB, LOSE_RBX, PUSH, RET),
	  GR_PROBE_AT_CHECK, 4 },
	{ "part_lost_before", CODE(CHECK, TO_GROW, SUB, LOSE_AL, PUSH, RET),
	  GR_PROBE_AT_CHECK, 4 },
	{ "computed_call", CODE(CHECK, TO_GROW, SUB, CALL_COMPUTED, PUSH, RET),
	  GR_PROBE_AT_CHECK, 4 },
	{ "returns", CODE(CHECK, TO_GROW, SUB, RET, PUSH), GR_PROBE_AT_CHECK,
	  4 },
	{ "loop", CODE(CHECK, TO_GROW, SUB, PUSH, BACK(3), RET),
	  GR_PROBE_AT_CHECK, 4 },
	{ "loop_before", CODE(CHECK, TO_GROW, SUB, KEEP, PUSH, BACK(6), RET),
	  GR_PROBE_AT_CHECK, 4 },
	{ "loop_behind", CODE(CHECK, TO_GROW, SUB, PUSH, KEEP, BACK(5), RET),
	  GR_PROBE_PAST_CHECK, 10 },
	{ "grows_and_comes_back",
	  CODE(CHECK, TO_GROW, PUSH, RET, CALL, BACK(15)), GR_PROBE_PAST_CHECK,
	  6 },
	{ "no_check", CODE(SUB, PUSH, RET), GR_PROBE_PAST_CHECK, 4 },
	{ "breakpoint_at_the_entry",
	  CODE(INT3, 0x3b, 0x66, 0x10, TO_GROW, PUSH), GR_PROBE_AT_ENTRY, 0 },
	{ "breakpoint_behind_the_check",
	  CODE(CHECK, TO_GROW, INT3, 0x83, 0xec, 0x70, PUSH, RET),
	  GR_PROBE_AT_CHECK, 4 },
	{ "nothing", CODE(SUB, RET), GR_PROBE_AT_ENTRY, 0 },
};

TEST_ROWS(probe, probes, row)
{
	static const uint8_t kept[] = { GR_REG_RAX, GR_REG_RBX };
	static const struct gr_probe_needs needs = { kept, 2, .is_go = true };
	enum gr_probe_place place;
	uint64_t addr;
	bool found;

	assert_null(gr_probe_point_find(row->code, row->bytes, BASE, &needs,
					&addr, &place, &found));
	assert_true(found);
	assert_int_equal(place, row->place);
	assert_int_equal(addr - BASE, row->off);
}

#define ENDBR 0xf3, 0x0f, 0x1e, 0xfa   /* endbr64 */
#define TEST_RDI 0x48, 0x85, 0xff      /* test %rdi, %rdi */
#define COMPARE 0x48, 0x3b, 0x77, 0x10 /* cmp 0x10(%rdi), %rsi */
#define JE 0x74, 0x08
#define JE_FAR 0x0f, 0x84, 0, 1, 0, 0
#define JMP 0xeb, 0x10
#define JMP_COMPUTED 0xff, 0xe0		/* jmp *%rax */
#define LONG_NOP 0x0f, 0x1f, 0x44, 0, 0 /* nopl 0x0(%rax, %rax) */
#define NOP 0x90
#define LOSE_RDI 0x31, 0xff		     /* xor %edi, %edi */
#define LOSE_DIL 0x40, 0xb7, 1		     /* mov $1, %dil */
#define LOSE_ESI 0xbe, 1, 0, 0, 0	     /* mov $1, %esi */
#define LOSE_SI 0x66, 0xbe, 1, 0	     /* mov $1, %si */
#define LOSE_RDX 0x48, 0x89, 0xf2	     /* mov %rsi, %rdx */
#define LOSE_RAX 0x31, 0xc0		     /* xor %eax, %eax */
#define LOSE_RCX_TOO 0xb9, 1, 0, 0, 0	     /* mov $1, %ecx */
#define LEA_RSP 0x48, 0x8d, 0x64, 0x24, 0xd8 /* lea -0x28(%rsp), %rsp */
#define ALIGN_ESP 0x83, 0xe4, 0xf0	     /* and $-16, %esp */
#define POP 0x58
#define SYSCALL 0x0f, 0x05
#define PUSH_MEMORY 0xff, 0x37		   /* push (%rdi) */
#define STORE 0x48, 0x89, 0x7c, 0x24, 0xf8 /* mov %rdi, -8(%rsp) */

/** The arguments of functions of C are in %rdi, %rsi, %rdx. */
static const struct row c_probes[] = {
	{ "push", CODE(PUSH, RET), GR_PROBE_EMULATED, 0 },
	{ "push_behind_endbr64", CODE(ENDBR, PUSH_R12, RET), GR_PROBE_EMULATED,
	  4 },
	{ "jump_from_the_entry", CODE(TEST_RDI, JE, PUSH, RET),
	  GR_PROBE_EMULATED, 3 },
	{ "far_jump_from_the_entry", CODE(TEST_RDI, JE_FAR, RET),
	  GR_PROBE_EMULATED, 3 },
	{ "no_check_of_a_stack", CODE(COMPARE, JE, LOSE_RDI, PUSH, RET),
	  GR_PROBE_EMULATED, 4 },
	{ "unconditional_jump", CODE(LOSE_RAX, JMP, PUSH), GR_PROBE_EMULATED,
	  2 },
	{ "call", CODE(STORE, CALL, RET), GR_PROBE_EMULATED, 5 },
	{ "nop", CODE(ENDBR, NOP, SUB, RET), GR_PROBE_EMULATED, 4 },
	{ "long_nop", CODE(LONG_NOP, PUSH, RET), GR_PROBE_EMULATED, 5 },
	{ "other_registers", CODE(LOSE_RAX, LOSE_RCX_TOO, PUSH, RET),
	  GR_PROBE_EMULATED, 7 },
	{ "system_call", CODE(LOSE_RAX, SYSCALL, JE, RET), GR_PROBE_AT_ENTRY,
	  0 },
	{ "computed_jump", CODE(LOSE_RAX, JMP_COMPUTED, PUSH),
	  GR_PROBE_AT_ENTRY, 0 },
	{ "rdi_lost", CODE(LOSE_RDI, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "dil_lost", CODE(LOSE_DIL, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "esi_lost", CODE(LOSE_ESI, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "si_lost", CODE(LOSE_SI, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "rdx_lost", CODE(LOSE_RDX, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "stack_moved", CODE(SUB, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "stack_moved_by_lea", CODE(LEA_RSP, PUSH, RET), GR_PROBE_AT_ENTRY,
	  0 },
	{ "stack_moved_by_its_half", CODE(ALIGN_ESP, PUSH, RET),
	  GR_PROBE_AT_ENTRY, 0 },
	{ "stack_moved_by_pop", CODE(POP, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "stack_moved_by_a_push_that_is_not_emulated",
	  CODE(PUSH_MEMORY, PUSH, RET), GR_PROBE_AT_ENTRY, 0 },
	{ "loop_before", CODE(STORE, TEST_RDI, JE, BACK(7), RET),
	  GR_PROBE_AT_ENTRY, 0 },
	{ "loop_to_the_jump", CODE(TEST_RDI, JE, LOSE_RAX, BACK(6), RET),
	  GR_PROBE_AT_ENTRY, 0 },
	{ "loop_behind", CODE(TEST_RDI, JE, LOSE_RAX, BACK(4), RET),
	  GR_PROBE_EMULATED, 3 },
	{ "returns", CODE(LOSE_RAX, RET, PUSH), GR_PROBE_AT_ENTRY, 0 },
	{ "breakpoint_at_the_entry", CODE(INT3, 0x54, PUSH, RET), // push %r12
	  GR_PROBE_AT_ENTRY, 0 },
	{ "breakpoint", CODE(ENDBR, INT3, 0x54, PUSH, RET), GR_PROBE_AT_ENTRY,
	  0 },
};

TEST_ROWS(c_probe, c_probes, row)
{
	static const uint8_t kept[] = { GR_REG_RDI, GR_REG_RSI, GR_REG_RDX,
					GR_REG_RSP };
	static const struct gr_probe_needs needs = { kept, 4, .is_go = false };
	enum gr_probe_place place;
	uint64_t addr;
	bool found;

	assert_null(gr_probe_point_find(row->code, row->bytes, BASE, &needs,
					&addr, &place, &found));
	assert_true(found);
	assert_int_equal(place, row->place);
	assert_int_equal(addr - BASE, row->off);
}

/* Without a probe of the return, and with one argument, more may change. */
TEST(c_probe_of_a_call_only)
{
	static const uint8_t code[] = { LOSE_ESI, SUB, CALL },
			     kept[] = { GR_REG_RDI };
	static const struct gr_probe_needs needs = { kept, 1, .is_go = false };
	enum gr_probe_place place;
	uint64_t addr;
	bool found;

	assert_null(gr_probe_point_find(code, sizeof(code), BASE, &needs, &addr,
					&place, &found));
	assert_int_equal(place, GR_PROBE_EMULATED);
	assert_int_equal(addr - BASE, 9);
}

TEST(no_code_has_no_probe)
{
	static const uint8_t bad[] = { 0x06, 0x06 }, kept[] = { GR_REG_RAX };
	enum gr_probe_place place;
	uint64_t addr;
	bool found;

	for (int is_go = 0; is_go < 2; is_go++) {
		const struct gr_probe_needs needs = { kept, 1, is_go };

		assert_null(gr_probe_point_find(bad, sizeof(bad), BASE, &needs,
						&addr, &place, &found));
		assert_false(found);
	}
}

/** A function, and the offset that it tells. */
struct tls_row {
	const char *name;
	uint8_t code[32];
	uint8_t bytes;
	int64_t off;
};

#define AT_ONCE 0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff
#define GUARD 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0
#define BY_RCX 0x64, 0x48, 0x89, 0x11 /* mov %rdx, %fs:(%rcx) */
#define BY_RCX_LESS 0x64, 0x48, 0x89, 0x51, 0xf8
#define SET_RCX 0x48, 0xc7, 0xc1, 0xe8, 0xff, 0xff, 0xff /* mov $-24, %rcx */
#define LOAD_RCX                                           \
	0x48, 0x8b, 0x0d, (uint8_t)(WORD - BASE - 7), /**/ \
		(uint8_t)((WORD - BASE - 7) >> 8),    /**/ \
		(uint8_t)((WORD - BASE - 7) >> 16), 0
#define LOSE_RCX 0x31, 0xc9 /* xor %ecx, %ecx */

static const struct tls_row offsets[] = {
	{ "in_the_instruction", CODE(SUB, AT_ONCE, RET), -8 },
	{ "in_a_register", CODE(SET_RCX, SUB, BY_RCX, RET), -24 },
	{ "in_both", CODE(SET_RCX, BY_RCX_LESS, RET), -32 },
	{ "in_a_word", CODE(LOAD_RCX, BY_RCX, RET), -4096 },
	{ "lost", CODE(SET_RCX, LOSE_RCX, BY_RCX, RET), INT64_MIN },
	{ "not_set", CODE(BY_RCX, RET), INT64_MIN },
	{ "behind_that_of_c", CODE(GUARD, AT_ONCE, RET), -8 },
	{ "none", CODE(SUB, RET), INT64_MIN },
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	(void)ctx;
	*ret = (uint64_t)-4096;
	return addr == WORD;
}

TEST_ROWS(tls, offsets, row)
{
	int64_t off;

	assert_null(gr_tls_g_in_code(row->code, row->bytes, BASE, read_word,
				     NULL, &off));
	assert_int_equal(off, row->off);
}

GR_SUITE("the code that is probed")
