// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/calibrate.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

enum {
	MOST_FAULTS = 4096,
	MOST_CALLS = 1 << 20,
	PAGE = 4096,
	DEPTHS = 24,
	GROUP = 16,	       // faults with warm caches
	SWEPT_BYTES = 2 << 20, // between two groups
	LINE = 64,
};

/** A task of the child. */
struct ask {
	uint32_t faults, calls;
};

struct gr_calibration {
	pid_t pid;
	int asks, answers; /* pipes */
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Touch a byte from some depth of the stack. */
static __attribute__((noinline)) void touch(volatile char *at, unsigned depth)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	if (depth)
		touch(at, depth - 1);
	else
		*at = frame[0];
	frame[1] = *at;
}

/* Fill the caches of the processor with something else, as a program does
 * between its faults. */
static void sweep(volatile char *swept)
{
	for (size_t i = 0; i < SWEPT_BYTES; i += LINE)
		swept[i]++;
}

static uint64_t cause(char *memory, uint32_t faults)
{
	static char swept[SWEPT_BYTES];
	uint64_t took = 0;

	// Neither the addresses nor the stacks follow each other.
	for (uint32_t i = 0; i < faults;) {
		sweep(swept);
		uint64_t begin = cpu_ns();
		for (uint32_t n = 0; n < GROUP && i < faults; n++, i++)
			touch(memory +
				      (uint64_t)(i * 1543 % MOST_FAULTS) * PAGE,
			      i % DEPTHS);
		took += cpu_ns() - begin;
	}
	madvise(memory, (size_t)MOST_FAULTS * PAGE, MADV_DONTNEED);
	return took;
}

/* Where a probe is, the kernel emulates the push. */
__asm__(".pushsection .text\n"
	".globl gr_calibration_called\n"
	".type gr_calibration_called, @function\n"
	"gr_calibration_called:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	mov %rdi, %rax\n"
	"	ret\n"
	".size gr_calibration_called, . - gr_calibration_called\n"
	".popsection\n");

/* Call it from some depth of the stack. */
static __attribute__((noinline)) uint64_t call(uint64_t value, unsigned depth)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	if (depth)
		return call(value, depth - 1) + (uint64_t)!frame[0];
	return gr_calibration_called(value);
}

static uint64_t call_often(uint32_t calls)
{
	uint64_t begin = cpu_ns(), sum = 0;

	for (uint32_t i = 0; i < calls; i++)
		sum += call(i + 1, i % DEPTHS);
	uint64_t took = cpu_ns() - begin;
	return sum ? took : 0;
}

static void serve(int asks, int answers)
{
	struct ask ask;
	char *memory = mmap(NULL, (size_t)MOST_FAULTS * PAGE,
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (memory == MAP_FAILED)
		_exit(1);
	madvise(memory, (size_t)MOST_FAULTS * PAGE, MADV_NOHUGEPAGE);
	while (read(asks, &ask, sizeof(ask)) == sizeof(ask)) {
		uint64_t took = ask.calls ? call_often(ask.calls) :
					    cause(memory, ask.faults);
		if (write(answers, &took, sizeof(took)) != sizeof(took))
			break;
	}
	_exit(0);
}

struct gr_calibration *gr_calibration_new(void)
{
	struct gr_calibration *c = calloc(1, sizeof(*c));
	int asks[2], answers[2];

	if (!c || pipe2(asks, O_CLOEXEC)) {
		free(c);
		return NULL;
	}
	if (pipe2(answers, O_CLOEXEC)) {
		close(asks[0]), close(asks[1]);
		free(c);
		return NULL;
	}
	c->pid = fork();
	if (!c->pid) {
		close(asks[1]);
		serve(asks[0], answers[1]);
	}
	close(asks[0]);
	close(answers[1]);
	c->asks = asks[1];
	c->answers = answers[0];
	if (c->pid > 0)
		return c;
	gr_calibration_destroy(c);
	return NULL;
}

void gr_calibration_destroy(struct gr_calibration *c)
{
	if (!c)
		return;
	close(c->asks);
	close(c->answers);
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	free(c);
}

pid_t gr_calibration_pid(const struct gr_calibration *c)
{
	return c->pid;
}

static uint64_t ask_child(struct gr_calibration *c, struct ask ask)
{
	uint64_t took;

	if (write(c->asks, &ask, sizeof(ask)) != sizeof(ask) ||
	    read(c->answers, &took, sizeof(took)) != sizeof(took))
		return 0;
	return took;
}

uint64_t gr_calibration_run(struct gr_calibration *c, uint32_t faults)
{
	return ask_child(c, (struct ask){ .faults = faults < MOST_FAULTS ?
							    faults :
							    MOST_FAULTS });
}

uint64_t gr_calibration_calls(struct gr_calibration *c, uint32_t calls)
{
	return ask_child(c, (struct ask){ .calls = calls < MOST_CALLS ?
							   calls :
							   MOST_CALLS });
}
