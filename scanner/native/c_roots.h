/* SPDX-License-Identifier: Apache-2.0 */
/**
 * c_roots: the memory in which references to blocks begin, beside Go's own
 * roots: data of files, stacks in use, what belongs to threads, and anonymous
 * or shared memory that no allocator has and that is not Go's; also where this
 * was protected after it was written.
 *
 * A stack of glibc ends with its thread's variables and its struct pthread
 * (nptl/allocatestack.c), whose first word is its own address, and which tells
 * where the stack is. So the stacks of one mapping are told apart, and those that
 * are kept for new threads: of these only what belongs to the thread counts. Dead
 * slots of stacks hold nothing. musl has other fields (native/musl_threads.h) and
 * keeps no stacks, but those of threads that nobody has joined. A program may also
 * run threads on memory of its own, as stacks of coroutines or signal handlers:
 * that counts whole.
 */
#ifndef GR_C_ROOTS_H
#define GR_C_ROOTS_H

#include "goruntime/memory/sys_memory.h"
#include "native/c_threads.h"
#include "native/native.h"

/** X(id, name) */
#define GR_C_ROOT_KINDS(X)              \
	X(DATA, "C data")               \
	X(STACK, "C stack")             \
	X(THREAD, "C thread")           \
	X(MEMORY, "C memory")           \
	X(UNCHECKED, "unchecked arena") \
	X(GOROUTINE, "Go frames")

/** GR_C_ROOT_GOROUTINE: the stack of a goroutine, whose words may be addresses
 * that are no pointers of Go; gr_c_roots_find() has none. */
enum gr_c_root_kind {
#define X(id, name) GR_C_ROOT_##id,
	GR_C_ROOT_KINDS(X)
#undef X
};

/** Memory [start, end). */
struct gr_c_root {
	uint64_t start, end;
	enum gr_c_root_kind kind;
	int32_t lwp; /**< The thread of a stack in use; 0: not known. */
	/** The file whose data it is, or the name of shared memory; or NULL. */
	const char *path;
};
GR_VECTOR(gr_c_root_vector, struct gr_c_root);

/** The input of gr_c_roots_find(). */
struct gr_c_roots_spec {
	struct gr_runtime *rt;
	const struct gr_residency *residency;
	const struct gr_heap_arenas *go_arenas;
	const struct gr_sys_memory *sys_memory; /**< Sorted. */
	const struct gr_native *native;
	const struct gr_c_threads *threads;
};

/** Append them, in the order of the mappings. */
struct gr_error *gr_c_roots_find(const struct gr_c_roots_spec *spec,
				 struct gr_c_root_vector *ret) GR_MUST_CHECK;

/** "C stack" and so on. */
const char *gr_c_root_kind_name(enum gr_c_root_kind kind);

#endif /* GR_C_ROOTS_H */
