// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

static const char *const names[GR_NREGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

const char *gr_reg_name(enum gr_reg reg)
{
	return names[reg];
}
