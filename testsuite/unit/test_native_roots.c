// SPDX-License-Identifier: Apache-2.0
/* c_roots: the roots of C beside a heap of glibc; stacks and their threads, as
 * they should be, and crafted. */
#include "native/c_roots.h"

#include "inferior/elf.h"

#include "native_builder.h"

/* Three stacks in one mapping: each ends with its thread. */
#define STACKS UINT64_C(0x7fffe0000000)

enum {
	STACK_BYTES = 0x4000,
	NSTACKS = 3,
	PTHREAD_BYTES = 0x800,
	STACKBLOCK = 0x690,
	LWP = 100,
	MOST_POLLS = 2000,
};

struct roots_world {
	struct native_world *n;
	struct gr_c_threads threads;
	struct gr_sys_memory sys_memory;
	struct gr_c_root_vector roots;
};

static uint64_t tcb_of(unsigned int stack)
{
	return STACKS + (stack + 1) * STACK_BYTES - PTHREAD_BYTES;
}

static void put_tcb(struct native_world *w, uint64_t tcb)
{
	put(w, tcb, tcb);
	put(w, tcb + 16, tcb);
}

/* The thread tells where its stack is. */
static void put_stack(struct native_world *w, uint64_t tcb, uint64_t stack)
{
	put(w, tcb + STACKBLOCK, stack);
	put(w, tcb + STACKBLOCK + 8, tcb + PTHREAD_BYTES - stack);
}

/* The first stack is in use from its stack pointer on; of the second one only
 * fs_base is known; the third one is kept for a new thread. */
static struct roots_world *setup(void)
{
	struct roots_world *w = suite_alloc(sizeof(*w));
	const struct gr_stack_pointer sp = { STACKS + 0x1238, LWP, 0, 0 };
	const struct gr_thread_base base = { tcb_of(1), LWP + 1 };

	w->n = native_create(true);
	native_map_anonymous(w->n, STACKS, NSTACKS * STACK_BYTES);
	for (unsigned int i = 0; i < NSTACKS; i++) {
		put_tcb(w->n, tcb_of(i));
		put_stack(w->n, tcb_of(i), STACKS + i * STACK_BYTES);
	}
	assert_true(gr_stack_pointer_vector_append(&w->threads.pointers, sp));
	assert_true(gr_thread_base_vector_append(&w->threads.bases, base));
	return w;
}

static void teardown(struct roots_world *w)
{
	gr_c_root_vector_deinit(&w->roots);
	gr_c_threads_deinit(&w->threads);
	native_destroy(w->n);
	free(w);
}

static struct gr_error *find_roots(struct roots_world *w, uint64_t last)
{
	struct native_world *n = w->n;
	const struct gr_c_roots_spec spec = { .rt = &n->rt,
					      .residency = &n->residency,
					      .go_arenas = &n->go_arenas,
					      .sys_memory = &w->sys_memory,
					      .native = &n->native,
					      .threads = &w->threads };

	gr_c_root_vector_deinit(&w->roots);
	polls_set(&n->polls, &n->rt, last);
	return gr_c_roots_find(&spec, &w->roots);
}

static bool may_hold(const struct native_world *w, uint64_t start, uint64_t end)
{
	const struct gr_mapping *m = gr_native_mapping_at(&w->residency, start);

	return m && end <= m->end &&
	       (gr_native_may_hold(m) || gr_native_may_differ(m));
}

/* Roots rise; they lie in mappings, and outside of blocks and of Go's heap. */
static void check_roots(const struct roots_world *w)
{
	const struct gr_native *native = &w->n->native;
	uint64_t end = 0;

	for (size_t i = 0; i < w->roots.size; i++) {
		const struct gr_c_root *root = &w->roots.data[i];

		assert_true(root->start >= end && root->start < root->end);
		end = root->end;
		assert_true(may_hold(w->n, root->start, end));
		assert_false(
			gr_heap_arenas_have(&w->n->go_arenas, root->start));
		for (size_t k = 0; k < native->memory.size; k++) {
			const struct gr_native_range *m =
				&native->memory.data[k];

			assert_true(!native->arenas.data[m->arena].is_checked ||
				    end <= m->start || m->end <= root->start);
		}
	}
}

/* Read the allocator and find the roots; each poll may end the search. */
static void check_all(struct roots_world *w)
{
	native_seal(w->n);
	assert_null(native_read(w->n, 0));
	assert_null(find_roots(w, 0));
	check_roots(w);
	uint64_t all = w->n->polls.seen;
	assert_in_range(all, 0, MOST_POLLS);
	for (uint64_t last = 1; last <= all; last += all / 16 + 1)
		polls_check_ended(&w->n->polls, find_roots(w, last));
	assert_null(find_roots(w, 0));
}

#define FIXTURE struct roots_world *w, setup, teardown

TEST_F(healthy)
{
	const struct gr_c_root want[] = {
		{ STACKS + 0x1238, STACKS + STACK_BYTES, GR_C_ROOT_STACK, LWP,
		  NULL },
		{ STACKS + STACK_BYTES, STACKS + 2 * STACK_BYTES,
		  GR_C_ROOT_THREAD, LWP + 1, NULL },
		{ tcb_of(2), STACKS + 3 * STACK_BYTES, GR_C_ROOT_THREAD, 0,
		  NULL },
		{ TLS, TLS + TLS_PAGE_BYTES, GR_C_ROOT_MEMORY, 0, NULL },
		{ LIBC_DATA, MAIN_ARENA, GR_C_ROOT_DATA, 0, "/lib/libc.so.6" },
		{ MAIN_ARENA + GR_GLIBC_STATE_BYTES, LIBC_DATA + LIBC_BYTES,
		  GR_C_ROOT_DATA, 0, "/lib/libc.so.6" },
	};

	check_all(w);
	assert_int_equal(w->roots.size, GR_ARRAY_SIZE(want));
	for (size_t i = 0; i < GR_ARRAY_SIZE(want); i++) {
		const struct gr_c_root *root = &w->roots.data[i];

		assert_int_equal(root->start, want[i].start);
		assert_int_equal(root->end, want[i].end);
		assert_int_equal(root->kind, want[i].kind);
		assert_int_equal(root->lwp, want[i].lwp);
		assert_string_equal(root->path ? root->path : "",
				    want[i].path ? want[i].path : "");
	}
}

static const struct gr_c_root *root_at(const struct roots_world *w,
				       uint64_t addr)
{
	for (size_t i = 0; i < w->roots.size; i++)
		if (w->roots.data[i].start <= addr &&
		    addr < w->roots.data[i].end)
			return &w->roots.data[i];
	return NULL;
}

static void check_whole(struct roots_world *w, uint64_t start, uint64_t end,
			enum gr_c_root_kind kind)
{
	check_all(w);
	const struct gr_c_root *root = root_at(w, start);

	assert_non_null(root);
	assert_int_equal(root->start, start);
	assert_int_equal(root->end, end);
	assert_int_equal(root->kind, kind);
}

/* A function that calls no other one has variables below its stack pointer; the
 * stack may begin there. */
TEST_F(red_zone)
{
	struct gr_stack_pointer *sp = &w->threads.pointers.data[0];

	sp->red_zone_bytes = 128;
	check_whole(w, STACKS + 0x1238 - 128, STACKS + STACK_BYTES,
		    GR_C_ROOT_STACK);
	sp->sp = STACKS + 100;
	assert_null(find_roots(w, 0));
	assert_int_equal(w->roots.data[0].start, STACKS);
}

#define POOL UINT64_C(0x7fffd0000000)
#define POOL_END (POOL + 2 * STACK_BYTES)

/* Memory with the root of an empty tree, whose links lead to itself. Its size
 * is that of a stack, but nothing says so. Part of it may be a stack in use. */
TEST_F(tree)
{
	const struct gr_stack_pointer sp = { POOL + 0x1000, LWP, 0, 128 };

	native_map_anonymous(w->n, POOL, 2 * STACK_BYTES);
	put_tcb(w->n, POOL + STACK_BYTES);
	w->threads.pointers.data[0] = sp;
	check_whole(w, POOL, POOL_END, GR_C_ROOT_MEMORY);
}

/* A child of fork() does not have the first thread, which has no stack there:
 * its variables, and those before them. */
TEST_F(gone_first_thread)
{
	native_map_anonymous(w->n, POOL, 2 * STACK_BYTES);
	put_tcb(w->n, POOL_END - PTHREAD_BYTES);
	check_whole(w, POOL, POOL_END, GR_C_ROOT_MEMORY);
}

TEST_F(first_thread)
{
	native_map_anonymous(w->n, POOL, 2 * STACK_BYTES);
	put_tcb(w->n, POOL_END - PTHREAD_BYTES);
	w->threads.bases.data[0].addr = POOL_END - PTHREAD_BYTES;
	check_whole(w, POOL, POOL_END, GR_C_ROOT_THREAD);
}

struct protected_case {
	const char *name, *path;
	uint32_t flags;
	int kind; /* -1: it holds nothing */
};

/* Memory that was written before it was protected. */
static const struct protected_case protected_cases[] = {
	{ "data of a file", "/lib/a.so", PF_R, GR_C_ROOT_DATA },
	{ "text of a file", "/lib/a.so", PF_R | PF_X, -1 },
	{ "a file that is shared", "/a", PF_R | GR_MAPPING_SHARED, -1 },
	{ "data without access", "/lib/a.so", 0, GR_C_ROOT_DATA },
	{ "anonymous", NULL, PF_R, GR_C_ROOT_MEMORY },
	{ "anonymous, without access", NULL, 0, GR_C_ROOT_MEMORY },
	{ "with a name", "[anon:pool]", 0, GR_C_ROOT_MEMORY },
	{ "the break", "[heap]", PF_R, GR_C_ROOT_MEMORY },
	{ "of the kernel", "[vvar]", PF_R, -1 },
	{ "shared memory", "/dev/zero", PF_R | GR_MAPPING_SHARED,
	  GR_C_ROOT_MEMORY },
};

TEST_F_ROWS(protected, protected_cases, c)
{
	native_map(w->n, POOL, STACK_BYTES, c->flags, c->path);
	if (c->kind >= 0) {
		check_whole(w, POOL, POOL + STACK_BYTES, c->kind);
		return;
	}
	check_all(w);
	assert_null(root_at(w, POOL));
}

/* All memory of an arena that is not checked is a root. */
TEST_F(unchecked)
{
	bool is_found = false;

	put(w->n, A1 + 8, 0);
	check_all(w);
	for (size_t i = 0; i < w->roots.size; i++)
		is_found |= w->roots.data[i].kind == GR_C_ROOT_UNCHECKED &&
			    w->roots.data[i].start == BREAK &&
			    w->roots.data[i].end == BREAK_END;
	assert_true(is_found);
}

// ------------------------------------------------------------------- crafted

struct crafted_case {
	const char *name;
	void (*craft)(struct roots_world *w);
	uint64_t nroots; /* 0: many */
};

/* Each word is its own address, and so is the one that a thread has there. */
static void all_lead_to_themselves(struct roots_world *w)
{
	for (uint64_t at = STACKS; at < STACKS + NSTACKS * STACK_BYTES; at += 8)
		put(w->n, at, at);
	for (uint64_t at = STACKS; at < STACKS + NSTACKS * STACK_BYTES; at += 8)
		if (at % 32 < 8)
			put_tcb(w->n, at);
}

static void thread_on_each_page(struct roots_world *w)
{
	enum { PAGES = 4096 };
	native_map_anonymous(w->n, POOL, PAGES * GR_PAGE_BYTES);
	for (uint64_t i = 0; i < PAGES; i++) {
		uint64_t page = POOL + i * GR_PAGE_BYTES;

		put_tcb(w->n, page + 0x800);
		put_stack(w->n, page + 0x800, page);
	}
}

static void tree_on_each_page(struct roots_world *w)
{
	enum { PAGES = 4096 };

	native_map_anonymous(w->n, POOL, PAGES * GR_PAGE_BYTES);
	for (uint64_t i = 0; i < PAGES; i++)
		put_tcb(w->n, POOL + i * GR_PAGE_BYTES + 0x800);
}

static void thread_at_end(struct roots_world *w)
{
	uint64_t end = STACKS + NSTACKS * STACK_BYTES;

	for (unsigned int i = 0; i < NSTACKS; i++)
		put(w->n, tcb_of(i), 0);
	put(w->n, end - 8, end - 8);
	put_tcb(w->n, end - 24);
}

static void threads_lead_to_each_other(struct roots_world *w)
{
	for (unsigned int i = 0; i < NSTACKS; i++) {
		put(w->n, tcb_of(i), tcb_of((i + 1) % NSTACKS));
		put(w->n, tcb_of(i) + 16, tcb_of((i + 2) % NSTACKS));
	}
}

static void pointers_everywhere(struct roots_world *w)
{
	enum { POINTERS = 100000 };

	for (uint64_t i = 0; i < POINTERS; i++) {
		struct gr_stack_pointer p = { STACKS + 0x1239, i, i % 3, 0 };

		assert_true(gr_stack_pointer_vector_append(&w->threads.pointers,
							   p));
	}
	const struct gr_stack_pointer last = { UINT64_MAX, 7, 0, 128 };
	assert_true(gr_stack_pointer_vector_append(&w->threads.pointers, last));
}

static void stacks_in_go(struct roots_world *w)
{
	w->n->go.index = STACKS >> GR_ARENA_SHIFT;
}

static const struct crafted_case crafted_cases[] = {
	{ "words that lead to themselves", all_lead_to_themselves, 0 },
	{ "a thread on each page", thread_on_each_page, 4096 + 6 },
	{ "the root of a tree on each page", tree_on_each_page, 1 + 6 },
	{ "a thread at the end of a mapping", thread_at_end, 4 },
	{ "threads that lead to each other", threads_lead_to_each_other, 4 },
	{ "many stack pointers in one stack", pointers_everywhere, 6 },
	{ "stacks in the heap of Go", stacks_in_go, 0 },
};

TEST_F_ROWS(crafted, crafted_cases, c)
{
	c->craft(w);
	check_all(w);
	if (c->nroots)
		assert_int_equal(w->roots.size, c->nroots);
}

GR_SUITE_WITH("roots of C", polls_set_alarm, NULL)
