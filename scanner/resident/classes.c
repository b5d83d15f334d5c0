// SPDX-License-Identifier: Apache-2.0
#include "resident/classes.h"

#include "inferior/elf.h"
#include "inferior/recorder.h"

enum { NO_CLASS = GR_NRSS_CLASSES };

/** The mappings of a target, sorted by address, and their classes. */
struct table {
	struct gr_stop *stop;
	const struct gr_mappings *mappings;
	const struct gr_mapping *list; /* of them */
	size_t size;
	uint8_t *classes;
};

/* The index of the mapping at @p addr; SIZE_MAX: none. */
static size_t find(const struct table *t, uint64_t addr)
{
	size_t n = gr_count_before(t->size, i, t->list[i].end <= addr);

	return n < t->size && t->list[n].start <= addr ? n : SIZE_MAX;
}

/* Give the mapping at @p addr a class, unless it has one. */
static void claim(struct table *t, uint64_t addr, enum gr_rss_class class)
{
	size_t i = find(t, addr);

	if (i != SIZE_MAX && t->classes[i] == NO_CLASS)
		t->classes[i] = class;
}

// --------------------------------------------------------------------- names

static uint8_t class_of_name(const char *path)
{
	if (!strcmp(path, "[heap]") || strstr(path, "malloc"))
		return GR_RSS_C_HEAP;
	if (!strncmp(path, "[stack", 6))
		return GR_RSS_THREAD_STACKS;
	if (!strncmp(path, "[anon: Go", 9))
		return GR_RSS_RUNTIME;
	if (!strncmp(path, "[v", 2))
		return GR_RSS_MODULES; // vdso, vvar, vsyscall
	return GR_RSS_OTHER;	       // the program has named it
}

static bool is_shared_name(const char *path)
{
	return !strncmp(path, "/dev/shm/", 9) ||
	       !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/memfd:", 7) ||
	       !strncmp(path, "/SYSV", 5);
}

/* Files with code are modules with all their mappings, which lie together. */
static void class_files(struct table *t)
{
	for (size_t i = 0, end; i < t->size; i = end) {
		const char *path = t->list[i].path;
		bool has_code = t->list[i].flags & PF_X;

		end = i + 1;
		if (!path)
			continue;
		if (*path != '/') {
			t->classes[i] = class_of_name(path);
			continue;
		}
		for (; end < t->size && t->list[end].path &&
		       !strcmp(t->list[end].path, path);
		     end++)
			has_code |= t->list[end].flags & PF_X;
		memset(t->classes + i,
		       is_shared_name(path) ? GR_RSS_SHARED :
		       has_code		    ? GR_RSS_MODULES :
					      GR_RSS_FILES,
		       end - i);
	}
}

// ----------------------------------------------------------------- anonymous

/* The bss of the executable and of libraries follows their files. */
static struct gr_error *class_bss(struct table *t)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < t->size; i++) {
		if (t->classes[i] == NO_CLASS &&
		    gr_image_module_at(t->stop->image, t->list[i].start) !=
			    SIZE_MAX)
			t->classes[i] = GR_RSS_MODULES;
		err = gr_runtime_step(&t->stop->program->rt, 64);
	}
	return err;
}

/* Is there the header of an arena of glibc at @p addr: {arena, previous heap,
 * bytes, ...}? Anything else may be a value. */
static struct gr_error *is_c_arena(const struct table *t, uint64_t addr,
				   bool *ret)
{
	struct gr_recorder *recorder = t->stop->program->rt.recorder;
	size_t mark = gr_recorder_search(recorder);
	uint64_t header[3] = { 0 };
	struct gr_error *err = gr_image_read_late(t->stop->image, addr, header,
						  sizeof(header));

	*ret = !err && gr_is_c_arena_pointer(header[0]) && header[2] &&
	       header[2] % GR_PAGE_BYTES == 0 &&
	       header[2] <= GR_C_ARENA_BYTES && find(t, header[0]) != SIZE_MAX;
	gr_recorder_end_search(recorder, mark, *ret);
	gr_error_catch(&err, GR_ERROR_FAULT);
	gr_error_catch(&err, GR_ERROR_NOT_SAVED);
	return err;
}

static struct gr_error *class_c_arenas(struct table *t)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < t->size; i++) {
		const struct gr_mapping *m = &t->list[i];
		bool is_arena;

		if (t->classes[i] != NO_CLASS || m->start % GR_C_ARENA_BYTES ||
		    !(m->flags & PF_W))
			continue;
		err = is_c_arena(t, m->start, &is_arena);
		if (!err && is_arena)
			t->classes[i] = GR_RSS_C_HEAP;
	}
	return err;
}

/* Is there memory of the runtime in [start, end)? */
static bool has_runtime(const struct table *t, uint64_t start, uint64_t end)
{
	uint64_t stop = end;

	return start < end &&
	       (gr_sys_memory_at(&t->stop->pages.sys_memory, start, end,
				 &stop) != GR_SYS_NONE ||
		stop < end);
}

/*
 * Libc keeps what is a thread's own at the top of the thread's stack, above a
 * guard without access. So the stack is found although the thread is in a
 * signal handler and on another one. What is the main thread's own is not on its
 * stack: memory of the runtime may be below, above reserved address space.
 */
static void claim_own_stack(struct table *t, uint64_t fs_base)
{
	size_t i = fs_base ? find(t, fs_base) : SIZE_MAX;

	if (i != SIZE_MAX && i > 0 && !t->list[i].path &&
	    t->list[i - 1].end == t->list[i].start &&
	    !(t->list[i - 1].flags & (PF_R | PF_W | PF_X)) &&
	    !has_runtime(t, t->list[i].start, fs_base))
		claim(t, fs_base, GR_RSS_THREAD_STACKS);
}

static void class_own_stacks(struct table *t)
{
	size_t nthreads;
	const struct gr_target_thread *threads =
		gr_image_threads(t->stop->image, &nthreads);

	for (size_t i = 0; i < nthreads; i++)
		claim_own_stack(t, threads[i].regs.fs_base);
}

/* The system stacks of threads, outside of the heap's spans. */
static struct gr_error *class_thread_stacks(struct table *t)
{
	const struct gr_sched *sched = &t->stop->sched;
	const struct gr_layout *layout = &sched->rt->layout;
	struct gr_error *err = NULL;

	size_t nthreads;
	const struct gr_target_thread *threads =
		gr_image_threads(sched->rt->image, &nthreads);

	for (size_t i = 0; i < nthreads; i++)
		claim(t, threads[i].regs.value[sched->rt->arch->sp],
		      GR_RSS_THREAD_STACKS);
	for (size_t i = 0; !err && i < sched->nms; i++) {
		uint64_t g0, hi;

		err = gr_runtime_step(&t->stop->program->rt, 8);
		if (!err)
			err = gr_image_read_u64(sched->rt->image,
						sched->ms[i] + layout->m.g0.off,
						&g0);
		if (!err)
			err = gr_image_read_u64(sched->rt->image,
						g0 + layout->g.stack_hi.off,
						&hi);
		if (!gr_error_catch(&err, GR_ERROR_FAULT) && !err && hi)
			claim(t, hi - 1, GR_RSS_THREAD_STACKS);
	}
	return err;
}

/* The tables that the heap was read from. */
static struct gr_error *class_runtime(struct table *t)
{
	const struct gr_heap *heap = t->stop->heap;
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && i < heap->nchunks; i++) {
		claim(t, heap->chunks[i]->arena, GR_RSS_RUNTIME);
		err = gr_runtime_step(heap->rt, 1);
	}
	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		claim(t, heap->spans[i].mspan_addr, GR_RSS_RUNTIME);
		err = gr_runtime_step(heap->rt, 1);
	}
	return err;
}

/* In a core nothing is named. The main heap of glibc follows the executable
 * after a random gap. */
static void class_main_heap(struct table *t)
{
	size_t last = SIZE_MAX;

	if (gr_stop_origin_kind(t->stop) != GR_TARGET_CORE ||
	    !gr_mappings_may_have_c(t->mappings))
		return;
	for (size_t i = 0; i < t->size; i++)
		if (gr_image_module_at(t->stop->image, t->list[i].start) == 0)
			last = i;
	if (last < t->size - 1 && t->classes[last + 1] == NO_CLASS &&
	    t->list[last + 1].start - t->list[last].end < 1 << 30)
		t->classes[last + 1] = GR_RSS_C_HEAP;
}

/* The class of a mapping that nothing explains. The kernel names all mappings of
 * a process but those of private anonymous memory. A core may not have them. */
static uint8_t class_of_rest(const struct table *t, size_t i)
{
	return gr_stop_origin_kind(t->stop) != GR_TARGET_CORE &&
			       !t->list[i].path ?
		       GR_RSS_ANONYMOUS :
		       GR_RSS_UNKNOWN;
}

struct gr_error *gr_rss_classify(struct gr_stop *stop,
				 const struct gr_residency *residency,
				 uint8_t **ret)
{
	size_t size = residency->mappings.list.size;
	_cleanup_free_ uint8_t *classes = malloc(size + 1);
	struct table t = { stop, &residency->mappings,
			   residency->mappings.list.data, size, classes };
	struct gr_error *err = NULL;

	if (!classes)
		return &gr_enomem;
	memset(classes, NO_CLASS, size);
	class_files(&t);
	err = class_bss(&t);
	class_main_heap(&t);
	if (!err)
		err = class_c_arenas(&t);
	if (!err)
		err = class_thread_stacks(&t);
	// With debug information, the runtime's own records say more.
	if (!err && !stop->pages.sys_memory.is_known)
		err = class_runtime(&t);
	if (err)
		return err;
	class_own_stacks(&t);
	for (size_t i = 0; i < size; i++)
		if (classes[i] == NO_CLASS)
			classes[i] = class_of_rest(&t, i);
	*ret = steal_ptr(classes);
	return NULL;
}
