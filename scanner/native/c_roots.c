// SPDX-License-Identifier: Apache-2.0
#include "native/c_roots.h"

#include "inferior/elf.h"
#include "native/musl_threads.h"

enum {
	PTHREAD_SELF = 16,	    /* of tcbhead_t */
	LEAST_PTHREAD_BYTES = 1792, /* what lies above the start of it */
};

struct finder {
	const struct gr_c_roots_spec *spec;
	struct gr_view view;
	struct gr_c_root_vector *ret;
	struct gr_c_root like; /* the mapping that is looked at */
	bool is_first_stack;   /* that mapping */
};

const char *gr_c_root_kind_name(enum gr_c_root_kind kind)
{
	static const char *const names[] = {
#define X(id, name) [GR_C_ROOT_##id] = name,
		GR_C_ROOT_KINDS(X)
#undef X
	};

	return names[kind];
}

static struct gr_error *add(struct finder *f, enum gr_c_root_kind kind,
			    uint64_t start, uint64_t end, int32_t lwp)
{
	struct gr_c_root root = f->like;

	if (start >= end)
		return NULL;
	root.start = start;
	root.end = end;
	root.kind = kind;
	root.lwp = lwp;
	return gr_runtime_append(f->spec->rt, gr_c_root_vector, f->ret, root);
}

// -------------------------------------------------------------------- stacks

/* How far down [start, end) is in use as a stack. NULL: no thread says so. */
static const struct gr_stack_pointer *pointer_in(const struct finder *f,
						 uint64_t start, uint64_t end)
{
	const struct gr_stack_pointer_vector *list =
		&f->spec->threads->pointers;
	const struct gr_stack_pointer *best = NULL;

	// Bounded by the stack pointers, each of which lies in one range.
	for (size_t i =
		     gr_count_before(list->size, k, list->data[k].sp < start);
	     i < list->size && list->data[i].sp < end; i++)
		if (!best || list->data[i].rank < best->rank)
			best = &list->data[i];
	return best;
}

/* Add the part of the stack [start, end) that is in use. */
static struct gr_error *add_in_use(struct finder *f, uint64_t start,
				   uint64_t end,
				   const struct gr_stack_pointer *pointer)
{
	uint64_t from = pointer->sp - start > pointer->red_zone_bytes ?
				pointer->sp - pointer->red_zone_bytes :
				start;

	return add(f, GR_C_ROOT_STACK, from & ~UINT64_C(7), end, pointer->lwp);
}

/* The thread whose struct pthread is at @p tcb; NULL: none is known. */
static const struct gr_thread_base *thread_at(const struct finder *f,
					      uint64_t tcb)
{
	const struct gr_thread_base_vector *list = &f->spec->threads->bases;
	size_t n = gr_count_before(list->size, i, list->data[i].addr < tcb);

	return n < list->size && list->data[n].addr == tcb ? &list->data[n] :
							     NULL;
}

/* Has the struct pthread [tcb, end) a stack in a range from @p start on? Then
 * *@p ret is where it begins. Its address and size are neighbours (nptl/descr.h:
 * stackblock), and it has all of the struct; a program may give a part of its
 * own memory as a stack. A first thread has none, nor has memory that only looks
 * like a thread, such as the root of a tree whose links lead to itself. */
static bool find_stack(struct finder *f, uint64_t start, uint64_t tcb,
		       uint64_t end, uint64_t *ret)
{
	struct gr_recorder *recorder = f->spec->rt->recorder;
	uint64_t block, bytes;

	// Bounded by end_of_thread(): two pages.
	for (uint64_t at = tcb; at < end; at += GR_WORD_BYTES) {
		if (!gr_view_word(&f->view, at, &block) || !block ||
		    block >= tcb || block % GR_WORD_BYTES ||
		    !gr_view_word(&f->view, at + GR_WORD_BYTES, &bytes) ||
		    bytes < tcb - block + LEAST_PTHREAD_BYTES ||
		    bytes > end - block)
			continue;
		if (recorder)
			gr_recorder_add(recorder, at, 2 * GR_WORD_BYTES);
		*ret = block > start ? block : start;
		return true;
	}
	return false;
}

/* Is the mapping the stack of the first thread, which has nothing else in it? A
 * thread may also run on memory that a program has for coroutines or signal
 * handlers, and the kernel joins that with its neighbours. */
static bool is_first_stack(const struct gr_mapping *m)
{
	return m->path && !strcmp(m->path, GR_FIRST_STACK);
}

/* The end of the struct pthread at @p tcb, which ends a stack, and so a page. */
static uint64_t end_of_thread(uint64_t tcb, uint64_t end)
{
	uint64_t bytes = GR_PAGE_BYTES - tcb % GR_PAGE_BYTES;

	if (bytes < LEAST_PTHREAD_BYTES)
		bytes += GR_PAGE_BYTES;
	return bytes < end - tcb ? tcb + bytes : end;
}

/* Add the stack [start, tcb), and the thread above it up to @p end. Where no
 * thread says where its struct pthread is, as on arm64, it may be in use. */
static struct gr_error *add_stack(struct finder *f, uint64_t start,
				  uint64_t tcb, uint64_t end)
{
	const struct gr_stack_pointer *pointer = pointer_in(f, start, end);
	const struct gr_thread_base *thread = thread_at(f, tcb);
	bool may_be_in_use = thread || !f->spec->threads->bases.size;

	if (pointer)
		return add_in_use(f, start, end, pointer);
	return add(f, GR_C_ROOT_THREAD, may_be_in_use ? start : tcb, end,
		   thread ? thread->lwp : 0);
}

/* May the word at @p at, which has its own address, be the first one of a struct
 * pthread? */
static bool may_be_thread(struct finder *f, uint64_t at)
{
	struct gr_musl_thread thread;

	return gr_view_has(&f->view, at + PTHREAD_SELF, at) ||
	       gr_musl_thread_at(&f->view, at, &thread);
}

/* The first address in [start, end) that may be that of a struct pthread, or
 * 0. */
static struct gr_error *find_thread(struct finder *f, uint64_t start,
				    uint64_t end, uint64_t *ret)
{
	struct gr_error *err = NULL;
	struct gr_range piece;

	*ret = 0;
	while (!err && start < end &&
	       gr_view_part(&f->view, start, end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; i < n; i++) {
			uint64_t at = piece.start + i * GR_WORD_BYTES;

			if (gr_load_u64(piece.host + i * GR_WORD_BYTES) == at &&
			    may_be_thread(f, at)) {
				*ret = at;
				return NULL;
			}
		}
		err = gr_runtime_step(f->spec->rt, n / 16 + 1);
		start = piece.end;
	}
	return err;
}

/* Record what tells that a thread is there. */
static void record_thread(struct finder *f, uint64_t tcb)
{
	struct gr_recorder *recorder = f->spec->rt->recorder;

	if (recorder) {
		gr_recorder_add(recorder, tcb, GR_WORD_BYTES);
		gr_recorder_add(recorder, tcb + PTHREAD_SELF, GR_WORD_BYTES);
	}
}

/* Add the thread [tcb, end), which lies in a range from *@p start on, and what
 * lies before it; *@p start is then its end. Nothing is added if there is none.
 * Only a stack that is known has dead slots. */
static struct gr_error *add_thread(struct finder *f, uint64_t *start,
				   uint64_t tcb, uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t low = *start;
	bool has_stack = find_stack(f, *start, tcb, end, &low);
	const struct gr_thread_base *thread = thread_at(f, tcb);

	if (!has_stack && !thread)
		return NULL;
	record_thread(f, tcb);
	if (has_stack)
		err = add(f, GR_C_ROOT_MEMORY, *start, low, 0);
	if (!err)
		err = has_stack ?
			      add_stack(f, low, tcb, end) :
			      add(f, GR_C_ROOT_THREAD, low, end, thread->lwp);
	*start = end;
	return err;
}

/* add_thread() of musl. False in *@p ret: it has none at @p tcb. */
static struct gr_error *add_musl_thread(struct finder *f, uint64_t *start,
					uint64_t tcb, uint64_t end, bool *ret)
{
	struct gr_view view = f->view;
	struct gr_musl_thread thread;

	*ret = gr_musl_thread_at(&f->view, tcb, &thread);
	if (!*ret)
		return NULL;
	view.is_recording = true;
	*ret = gr_musl_thread_at(&view, tcb, &thread);
	uint64_t low = thread.start > *start ? thread.start : *start;
	uint64_t stop = thread.end < end ? thread.end : end;
	struct gr_error *err = add(f, GR_C_ROOT_MEMORY, *start, low, 0);

	*start = stop;
	return err ? err : add_stack(f, low, tcb, stop);
}

/* Add the threads in [*@p start, end); *@p start is then the end of the last
 * one. */
static struct gr_error *add_threads(struct finder *f, uint64_t *start,
				    uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t tcb, stop;
	bool is_musl;

	for (uint64_t at = *start; !err && at < end; at = stop) {
		err = find_thread(f, at, end, &tcb);
		if (err || !tcb)
			return err;
		err = add_musl_thread(f, start, tcb, end, &is_musl);
		stop = is_musl ? *start : end_of_thread(tcb, end);
		if (!err && !is_musl)
			err = add_thread(f, start, tcb, stop);
		// A crafted one may be on each page.
		if (!err)
			err = gr_runtime_step(f->spec->rt,
					      64 + (tcb - at) / 128);
	}
	return err;
}

/* Add anonymous memory that no allocator has. */
static struct gr_error *add_memory(struct finder *f, uint64_t start,
				   uint64_t end)
{
	struct gr_error *err = add_threads(f, &start, end);
	const struct gr_stack_pointer *pointer =
		!err && start < end && f->is_first_stack ?
			pointer_in(f, start, end) :
			NULL;
	if (err)
		return err;
	return pointer ? add_in_use(f, start, end, pointer) :
			 add(f, GR_C_ROOT_MEMORY, start, end, 0);
}

// ------------------------------------------------------------------ mappings

/* Add the part of [start, end) that is not the Go runtime's. */
static struct gr_error *add_foreign(struct finder *f, uint64_t start,
				    uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t stop;

	for (; !err && start < end; start = stop) {
		if (gr_sys_memory_at(f->spec->sys_memory, start, end, &stop) ==
		    GR_SYS_NONE)
			err = add_memory(f, start, stop);
		if (!err)
			err = gr_runtime_step(f->spec->rt, 4);
	}
	return err;
}

/* Add what the program itself has of [start, end), the memory of an arena. */
static struct gr_error *add_inside(struct finder *f, uint32_t arena,
				   uint64_t start, uint64_t end)
{
	const struct gr_native *native = f->spec->native;
	const struct gr_native_range_vector *list = &native->foreign;
	size_t i = gr_count_before(list->size, k, list->data[k].end <= start);
	struct gr_error *err = NULL;

	if (!native->arenas.data[arena].is_checked)
		return add(f, GR_C_ROOT_UNCHECKED, start, end, 0);
	for (; !err && i < list->size && list->data[i].start < end; i++) {
		const struct gr_native_range *range = &list->data[i];
		uint64_t from = range->start > start ? range->start : start;
		uint64_t to = range->end < end ? range->end : end;

		err = add(f, GR_C_ROOT_MEMORY, from, to, 0);
		if (!err)
			err = gr_runtime_step(f->spec->rt, 1);
	}
	return err;
}

/* Add [start, end): by @p add_rest what no arena of C has, and the program's own
 * in arenas. Arenas may be in data of files, too: musl takes the rest of pages. */
static struct gr_error *
add_outside(struct finder *f, uint64_t start, uint64_t end,
	    struct gr_error *(*add_rest)(struct finder *f, uint64_t start,
					 uint64_t end))
{
	const struct gr_native_range_vector *list = &f->spec->native->memory;
	size_t i = gr_count_before(list->size, k, list->data[k].end <= start);
	struct gr_error *err = NULL;

	for (; !err && i < list->size && list->data[i].start < end; i++) {
		const struct gr_native_range *range = &list->data[i];
		uint64_t from = range->start > start ? range->start : start;
		uint64_t to = range->end < end ? range->end : end;

		err = add_rest(f, start, from);
		if (!err)
			err = add_inside(f, range->arena, from, to);
		start = to;
		if (!err)
			err = gr_runtime_step(f->spec->rt, 1);
	}
	return err ? err : add_rest(f, start, end);
}

/* Add the part of a mapping that is not in the Go heap. */
static struct gr_error *add_mapping(struct finder *f,
				    const struct gr_mapping *m)
{
	struct gr_error *err = NULL;
	uint64_t stop, next;

	// Bounded by the arenas of Go, not by the mapping, which may be huge.
	for (uint64_t at = m->start; !err && at < m->end; at = next) {
		gr_heap_arenas_before(f->spec->go_arenas, at, m->end, &stop,
				      &next);
		err = add_outside(f, at, stop, add_foreign);
		if (!err)
			err = gr_runtime_step(f->spec->rt, 1);
	}
	return err;
}

/* The file whose data or bss a mapping has; or NULL. */
static const char *data_of(const struct finder *f, size_t i)
{
	const struct gr_mapping *list = f->spec->residency->mappings.list.data;
	const struct gr_mapping *m = &list[i];

	if (m->path)
		return *m->path == '/' ? m->path : NULL;
	if (gr_image_module_at(f->spec->rt->image, m->start) == SIZE_MAX)
		return NULL;
	// Bss follows data.
	return i && list[i - 1].end == m->start && list[i - 1].path ?
		       list[i - 1].path :
		       "";
}

/* Is the mapping at @p addr shared memory? shm_open() gives it a file. */
static bool is_shared_memory(const struct finder *f, const char *path,
			     uint64_t addr)
{
	return (gr_native_is_shared_memory(path) ||
		!strncmp(path, "/dev/shm/", strlen("/dev/shm/"))) &&
	       gr_image_module_at(f->spec->rt->image, addr) == SIZE_MAX;
}

/* Add data of files, but not the structures of allocators in it. */
static struct gr_error *add_data(struct finder *f, uint64_t start, uint64_t end)
{
	const struct gr_native_range_vector *list =
		&f->spec->native->structures;
	struct gr_error *err = NULL;

	// Bounded by the allocators.
	for (size_t i = 0; !err && i < list->size; i++) {
		uint64_t from = list->data[i].start, to = list->data[i].end;

		if (from < start || from >= end)
			continue;
		err = add(f, GR_C_ROOT_DATA, start, from, 0);
		start = to;
	}
	return err ? err : add(f, GR_C_ROOT_DATA, start, end, 0);
}

/* Add a mapping that begins with data of the file @p path, or with none. */
static struct gr_error *add_whole(struct finder *f, struct gr_mapping m,
				  const char *path)
{
	uint64_t end = path ? m.end : m.start;
	struct gr_error *err = NULL;

	f->like = (struct gr_c_root){ .path = path };
	if (path && !m.path)
		err = gr_native_module_end(f->spec->rt, m.start, m.end, &end);
	if (!err && path && is_shared_memory(f, path, m.start))
		err = add(f, GR_C_ROOT_MEMORY, m.start, end, 0);
	else if (!err)
		err = add_outside(f, m.start, end, add_data);
	f->like = (struct gr_c_root){ 0 };
	f->is_first_stack = is_first_stack(&m);
	m.start = end;
	return err ? err : add_mapping(f, &m);
}

/* Add data of a file that was protected. Only what was written is at hand: what
 * files say is known of segments that nobody writes. */
static struct gr_error *add_protected(struct finder *f,
				      const struct gr_mapping *m)
{
	if (gr_image_is_constant(f->spec->rt->image, m->start))
		return NULL;
	f->like = (struct gr_c_root){ .path = m->path };
	return add_outside(f, m->start, m->end, add_data);
}

struct gr_error *gr_c_roots_find(const struct gr_c_roots_spec *spec,
				 struct gr_c_root_vector *ret)
{
	const struct gr_mapping_vector *list = &spec->residency->mappings.list;
	struct finder f = { .spec = spec,
			    .view = gr_view_of(spec->rt),
			    .ret = ret };
	struct gr_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_mapping m = list->data[i];

		if (!gr_mapping_begin_at(&m, &end))
			continue;
		if (gr_native_may_hold(&m))
			err = add_whole(&f, m, data_of(&f, i));
		else if (gr_native_may_differ(&m))
			err = add_protected(&f, &m);
		if (!err)
			err = gr_runtime_step(spec->rt, 1);
	}
	return err;
}
