/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of the test itself, and the truth about them: what the unwinder of
 * libgcc says at the same moment. */
#pragma once

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "helpers/trace/unwinder.h"

enum {
	SELF_STACK_BYTES = 128 << 10,
	SELF_FRAMES = 128,
	/* The handler itself, in front of what it interrupted. */
	SELF_OWN_FRAMES = 8,
};

/** The registers of the kernel's signal frame, by DWARF number. */
static const int self_registers[GR_SAMPLE_REGS] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
	REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
	REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};

static struct self_sample {
	volatile sig_atomic_t is_wanted, is_taken;
	struct gr_sample sample;
	uint8_t stack[SELF_STACK_BYTES] __attribute__((aligned(8)));
	void *truth[SELF_FRAMES];
	int count;
	void *trampoline; /* to which the handler returns */
} self;

/** The end of the stack of this thread. */
static inline uint64_t self_stack_end(void)
{
	static __thread uint64_t end;
	pthread_attr_t attr;
	void *start;
	size_t bytes;

	if (end)
		return end;
	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &start, &bytes), 0);
	pthread_attr_destroy(&attr);
	return end = (uint64_t)start + bytes;
}

/* AddressSanitizer would object to the space between variables. */
__attribute__((no_sanitize("address"))) static inline void
self_copy(uint8_t *to, uint64_t from, uint64_t bytes)
{
	for (uint64_t i = 0; i + 8 <= bytes; i += 8)
		*(volatile uint64_t *)(to + i) =
			*(const volatile uint64_t *)(from + i);
}

/** The handler of a signal: take a sample of what it interrupts, if wanted. */
static inline void self_take(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	struct gr_sample *s = &self.sample;

	(void)signal;
	(void)info;
	if (!self.is_wanted)
		return;
	self.is_wanted = 0;
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < GR_SAMPLE_REGS; i++)
		s->regs[i] = uc->uc_mcontext.gregs[self_registers[i]];
	uint64_t sp = s->regs[GR_REG_RSP] - GR_RED_ZONE_BYTES;
	uint64_t bytes = self_stack_end() - sp;
	if (bytes > SELF_STACK_BYTES)
		bytes = SELF_STACK_BYTES;
	self_copy(self.stack, sp, bytes);
	s->chunks[0] = (struct gr_sample_chunk){ sp, self.stack, bytes };
	self.count = backtrace(self.truth, SELF_FRAMES);
	self.trampoline = __builtin_return_address(0);
	self.is_taken = 1;
}

static inline void self_start(void)
{
	struct sigaction action = { .sa_sigaction = self_take,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	void *first[1];

	backtrace(first, 1); /* loads libgcc, which no handler may do */
	self_stack_end();
	assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
}

/** Take a sample here. */
static inline void self_sample_now(void)
{
	self.is_taken = 0;
	self.is_wanted = 1;
	raise(SIGPROF);
}

/** The frames of the truth from the interrupted one on: the one behind the
 * trampoline of the signal. The trampoline of an earlier signal may be
 * interrupted itself. */
static inline int self_truth_start(void)
{
	int i = 0;

	while (i < self.count && self.truth[i] != self.trampoline)
		i++;
	assert_true(++i < self.count && i < SELF_OWN_FRAMES);
	assert_int_equal((uint64_t)self.truth[i], self.sample.regs[GR_REG_RIP]);
	return i;
}

/** Is a walk the truth? All of it, or (if @p is_part) its beginning. */
static inline bool self_is_true(const struct gr_walked *walked, bool is_part)
{
	int start = self_truth_start();
	size_t count = self.count - start;

	if (walked->count > count || (!is_part && walked->count != count))
		return false;
	for (size_t i = 0; i < walked->count; i++) {
		uint64_t pc = (uint64_t)self.truth[start + i];

		if (walked->pc[i] != pc && walked->pc[i] != pc - 1)
			return false;
	}
	return true;
}

static inline void self_print(const struct gr_walked *walked)
{
	int start = self_truth_start();

	for (int i = 0; i < self.count - start || (size_t)i < walked->count;
	     i++)
		print_message(
			"%2d %#18jx %p\n", i,
			(size_t)i < walked->count ? (uintmax_t)walked->pc[i] :
						    0,
			i < self.count - start ? self.truth[start + i] : NULL);
}
