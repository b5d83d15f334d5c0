/* SPDX-License-Identifier: Apache-2.0 */
/**
 * names: one table of every function, type and variable of Go's runtime and
 * library whose name has a meaning for the scanner. A renamed function needs a
 * new row. testsuite/layouts.txt has the names of each Go release.
 *
 * The fields of the runtime's structs are not here: layout.h has those.
 */
#ifndef GR_LAYOUT_NAMES_H
#define GR_LAYOUT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/** The meaning of the name of a function, type or variable. */
enum gr_name_trait {
	/** Function: leaves the goroutine's stack and returns to the same
	 * place, so that its tables are valid while SP is on that stack. */
	GR_NAME_LEAVES_STACK,
	/** Function: writes SP, but can be unwound. */
	GR_NAME_WRITES_SP_SAFELY,
	/** Function: an allocator, which may be between taking a slot and
	 * clearing it. */
	GR_NAME_ALLOCATES,
	/** Function: its call sites have no map of live words, or a map in which
	 * the arguments are dead. */
	GR_NAME_UNSAFE_POINT,
	/** Function: moves a goroutine to another stack. */
	GR_NAME_COPIES_STACK,
	/** Function of the runtime in which goroutines of the user begin. */
	GR_NAME_STARTS_USER_CODE,
	/** Function in which the runtime's own goroutine calls finalizers, until
	 * Go 1.24 also cleanups. */
	GR_NAME_CALLS_BACK,
	/** Function in which others of its goroutines call cleanups. */
	GR_NAME_RUNS_CLEANUPS,
	/** Function: made by reflect. The map of its arguments comes from the
	 * method value with which it was called. */
	GR_NAME_REFLECT_CALL,
	/** Function: a closure that has the text of a fatal error. */
	GR_NAME_FATAL_CLOSURE,
	/** Functions that the runtime also knows by a number (funcID). */
	GR_NAME_GOEXIT,
	GR_NAME_SIGPANIC,
	GR_NAME_ASYNC_PREEMPT,
	GR_NAME_DEBUG_CALL,
	/** Function that the thread without a P runs, which watches all. */
	GR_NAME_SYSTEM_MONITOR,
	/** Function that a thread runs to start others for locked ones. */
	GR_NAME_TEMPLATE_THREAD,
	/** Function in which a goroutine is while it runs C. */
	GR_NAME_CALLS_C,
	/** Function in which a goroutine sleeps until a signal comes. To the
	 * scheduler, it is in a system call. */
	GR_NAME_WAITS_FOR_SIGNAL,
	/** Functions that park a goroutine on a semaphore, or on the notify
	 * list of a sync.Cond. */
	GR_NAME_PARKS_ON_SEMAPHORE,
	GR_NAME_PARKS_ON_LIST,
	/** Methods that wait for the poller; their receiver is a poll.FD. */
	GR_NAME_WAITS_FOR_POLLER,
	/** Methods whose receiver is a net.netFD. */
	GR_NAME_OF_SOCKET,
	/** Function of the runtime in which the user's coroutines begin. */
	GR_NAME_STARTS_COROUTINE,
	/** Functions that wait for a semaphore of these types. */
	GR_NAME_LOCKS_MUTEX,
	GR_NAME_LOCKS_TO_READ,
	GR_NAME_LOCKS_TO_WRITE,
	GR_NAME_WAITS_FOR_GROUP,
	/** Function: with it, the runtime counts a sampled lock once. */
	GR_NAME_SCALES_MUTEXES,
	/** Function: a wrapper that calls it is part of a stack trace. */
	GR_NAME_SHOWS_WRAPPER,
	/** Function whose code refers to the two lists of all sync.Pools. */
	GR_NAME_POOL_CLEANUP,
	/** Function: it adds a value to the table of cgo.Handle. */
	GR_NAME_MAKES_HANDLE,
	/** Function: it is called for each allocation that is sampled. */
	GR_NAME_SAMPLES_MEMORY,
	/** Type of the scheduler: pointers to it are of no use to users. */
	GR_NAME_SCHEDULER_TYPE,
	/** Type: an atomic pointer; its type argument is the pointee. */
	GR_NAME_ATOMIC_POINTER,
	/** Type: a hash trie of its two arguments, or of weak pointers. */
	GR_NAME_HASH_TRIE,
	GR_NAME_CANON_MAP,
	GR_NAME_WEAK_POINTER,
	/** Type: no definition, only the shape of a generic's arguments. */
	GR_NAME_SHAPE,
	/** Types that hidden fields of others point to (mark/type_plan.c). */
	GR_NAME_TIME_TIMER,
	GR_NAME_TIME_TICKER,
	GR_NAME_CHANNEL_TIMER,
	GR_NAME_RUNTIME_TIMER,
	GR_NAME_TIMER_CHANNEL,
	GR_NAME_EMPTY_INTERFACE,
	GR_NAME_POOL_LOCAL,
	GR_NAME_WEAK_HANDLE,
	/** Types whose fields hide their content's type (mark/type_plan.c). */
	GR_NAME_MAP_ENTRY,
	GR_NAME_MAP_READ_ONLY,
	GR_NAME_SYNC_MAP,
	GR_NAME_POOL,
	GR_NAME_POOL_EFACE,
	GR_NAME_REFLECT_VALUE,
	/** Type: what g.labels points to. */
	GR_NAME_LABELS,
	/** Type: it has the references of a runtime.Pinner. */
	GR_NAME_PINNER,
	/** Variable: a list of all sync.Pools, which owns nothing. */
	GR_NAME_ALL_POOLS,
	GR_NAME_OLD_POOLS,
	/** Variable: the table of cgo.Handle, a sync.Map. */
	GR_NAME_CGO_HANDLES,
	GR_NAME_NTRAITS,
};

/** The kind of a row's name. */
enum gr_name_kind { GR_NAME_FUNCTION, GR_NAME_TYPE, GR_NAME_VARIABLE };

/** A row of the table. */
struct gr_name {
	const char *text;
	enum gr_name_trait trait;
	enum gr_name_kind kind;
	/** The row stands for all names with this prefix: instances of a
	 * generic type, variants of a function. */
	bool is_prefix;
};

/** The table. The rows of a trait are adjacent, newest spelling first. */
extern const struct gr_name gr_names[];
extern const size_t gr_nnames;

/** Does the row stand for @p name? */
bool gr_name_matches(const struct gr_name *row, const char *name);

/** Does @p name have the meaning @p trait? */
bool gr_name_has(const char *name, enum gr_name_trait trait);

/** The newest spelling of a trait that stands for a single name. */
const char *gr_name_of(enum gr_name_trait trait);

/** Do the runtime's own goroutines call user code in function @p name? */
bool gr_name_calls_back(const char *name);

/** Is @p name a function or variable of package runtime itself? */
bool gr_name_is_in_runtime(const char *name);

/**
 * Is @p name in the runtime, or in a package that only the runtime and the
 * library use: runtime, runtime/internal/..., internal/...?
 */
bool gr_name_is_internal(const char *name);

/** Is @p function in the runtime: runtime, internal/runtime/...? */
bool gr_name_is_runtime_frame(const char *function);

#endif /* GR_LAYOUT_NAMES_H */
