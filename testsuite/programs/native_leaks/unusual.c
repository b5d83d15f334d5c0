// SPDX-License-Identifier: Apache-2.0

// Blocks that memory holds which threads and allocators use in unusual ways.
#define _GNU_SOURCE
#include "plant.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "record.h"
#include "threads.h"

enum {
	PAGE = 1 << 12,
	PART = 1 << 18,
	WORD = 9,
	LARGE = 100 << 10,
	MOST_LARGE = 8,
	WORDS = PART / sizeof(void *),
};

// Half of a mapping; the other half is a stack.
struct halves {
	void *volatile data[WORDS];
	char stack[PART];
};

static void *volatile *protected_mapping, *volatile *executable_mapping;
static void *volatile *protected_shared, *volatile *sealed_mapping;
static void *volatile *break_of_program, *volatile *pool;
// A page of its own, with data of the file.
static void *volatile protected_data[PAGE / sizeof(void *)]
	__attribute__((aligned(PAGE))) = { (void *)1 };
static struct halves *under_stack, *under_coroutine;
static ucontext_t thread_context, coroutine_context;
static int coroutines, red_zones;

static void *map_as(int how, size_t bytes, int access)
{
	void *area = mmap(NULL, bytes, access, how | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		abort();
	return area;
}

static void *map(size_t bytes, int access)
{
	return map_as(MAP_PRIVATE, bytes, access);
}

static void protect(void *volatile *area, size_t bytes, int access)
{
	if (mprotect((void *)area, bytes, access))
		abort();
}

static void hold_by_protected(void)
{
	protected_mapping = map(PART, PROT_READ | PROT_WRITE);
	protected_mapping[WORD] = take(HELD, "protected", 104);
	protect(protected_mapping, PART, PROT_READ);
	protected_data[WORD] = take(HELD, "protected data", 104);
	protect(protected_data, PAGE, PROT_READ);
	protected_shared = map_as(MAP_SHARED, PART, PROT_READ | PROT_WRITE);
	protected_shared[WORD] = take(HELD, "protected shared", 104);
	protect(protected_shared, PART, PROT_READ);
	sealed_mapping = map(PART, PROT_READ | PROT_WRITE);
	sealed_mapping[WORD] = take(HELD, "sealed", 104);
	protect(sealed_mapping, PART, PROT_NONE);
	executable_mapping = map(PART, PROT_READ | PROT_WRITE | PROT_EXEC);
	executable_mapping[WORD] = take(HELD, "executable", 104);
}

// The program itself moves the break, and malloc goes on behind its memory.
static void hold_by_break(void)
{
	void *more[MOST_LARGE];
	char *end;
	int n = 0;

	break_of_program = sbrk(PART);
	// That of musl moves nothing.
	if (break_of_program == (void *)-1)
		return;
	end = (char *)break_of_program + PART;
	break_of_program[WORD] = take(HELD, "break", 168);
	while (sbrk(0) == end && n < MOST_LARGE)
		more[n++] = malloc(LARGE);
	if (sbrk(0) == end && malloc_is_glibc())
		abort();
	while (n)
		free(more[--n]);
}

// A pool with the root of an empty tree or list, all of whose links lead to
// itself, as the first words of a thread do.
static void hold_by_pool(void)
{
	void *volatile *root;

	pool = map(PART, PROT_READ | PROT_WRITE);
	pool[WORD] = take(HELD, "pool", 184);
	root = pool + WORDS / 2;
	root[0] = root[1] = root[2] = (void *)root;
}

static void *stay(void *unused)
{
	thread_ready();
	for (;;)
		pause();
	return unused;
}

// A thread whose stack is the upper half of the program's own memory.
static void hold_under_stack(void)
{
	pthread_attr_t attr;

	under_stack = map(sizeof(*under_stack), PROT_READ | PROT_WRITE);
	under_stack->data[WORD] = take(HELD, "under a stack", 120);
	if (pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, under_stack->stack, PART))
		abort();
	thread_stays_with(&attr, stay);
	pthread_attr_destroy(&attr);
}

static void run_coroutine(void)
{
	__atomic_add_fetch(&coroutines, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

#ifdef __GLIBC__

// The thread waits on the upper half of the program's own memory. Its frame
// here is not above its stack pointer then.
void wait_in_coroutine(void)
{
	void *volatile block = take(HELD, "frame that was left", 136);

	under_coroutine = map(sizeof(*under_coroutine), PROT_READ | PROT_WRITE);
	under_coroutine->data[WORD] = take(HELD, "under a coroutine", 152);
	if (getcontext(&coroutine_context))
		abort();
	coroutine_context.uc_stack.ss_sp = under_coroutine->stack;
	coroutine_context.uc_stack.ss_size = PART;
	makecontext(&coroutine_context, run_coroutine, 0);
	while (block)
		swapcontext(&thread_context, &coroutine_context);
}

#else

// musl has no functions for coroutines.
void wait_in_coroutine(void)
{
	run_coroutine();
}

#endif

int waiting_coroutines(void)
{
	return __atomic_load_n(&coroutines, __ATOMIC_SEQ_CST);
}

// Wait with the block in nothing but the red zone, where a function that calls
// no other one has variables.
static void pause_with_red_zone(uintptr_t hidden)
{
#ifdef __x86_64__
	asm volatile("notq %%rdi\n\t"
		     "movq %%rdi, -104(%%rsp)\n\t"
		     "xorl %%edi, %%edi\n"
		     "1:\tmovl $34, %%eax\n\t" // pause()
		     "syscall\n\t"
		     "jmp 1b"
		     : "+D"(hidden)
		     :
		     : "rax", "rcx", "r11", "memory");
#else
	void *volatile block = (void *)~hidden;

	while (block)
		pause();
#endif
}

static void *stay_with_red_zone(void *unused)
{
	uintptr_t hidden = ~(uintptr_t)take(HELD, "red zone", 200);

	thread_ready();
	pause_with_red_zone(hidden);
	return unused;
}

void wait_with_red_zone(void)
{
	uintptr_t hidden = ~(uintptr_t)take(HELD, "red zone of caller", 232);

	__atomic_add_fetch(&red_zones, 1, __ATOMIC_SEQ_CST);
	pause_with_red_zone(hidden);
}

int waiting_red_zones(void)
{
	return __atomic_load_n(&red_zones, __ATOMIC_SEQ_CST);
}

void hold_unusually(void)
{
	hold_by_protected();
	hold_by_break();
	hold_by_pool();
	hold_under_stack();
	thread_stays_with(NULL, stay_with_red_zone);
}
