// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/names.h"

#include "base/base.h"
#include "base/text.h"

#include <string.h>

#define FUNCTION(text, trait)                                  \
	{                                                      \
		text, GR_NAME_##trait, GR_NAME_FUNCTION, false \
	}
#define FUNCTIONS(text, trait)                                \
	{                                                     \
		text, GR_NAME_##trait, GR_NAME_FUNCTION, true \
	}
#define TYPE(text, trait)                                  \
	{                                                  \
		text, GR_NAME_##trait, GR_NAME_TYPE, false \
	}
#define TYPES(text, trait)                                \
	{                                                 \
		text, GR_NAME_##trait, GR_NAME_TYPE, true \
	}
#define VARIABLE(text, trait)                                  \
	{                                                      \
		text, GR_NAME_##trait, GR_NAME_VARIABLE, false \
	}

const struct gr_name gr_names[] = {
	// runtime/asm_amd64.s, runtime/sys_linux_amd64.s, runtime/timestub.go
	FUNCTION("runtime.asmcgocall", LEAVES_STACK),
	FUNCTION("runtime.mcall", LEAVES_STACK),
	FUNCTION("runtime.morestack", LEAVES_STACK),
	FUNCTION("runtime.nanotime1", LEAVES_STACK),
	FUNCTION("runtime.systemstack", LEAVES_STACK),
	FUNCTION("runtime.walltime", LEAVES_STACK),
	FUNCTION("time.now", LEAVES_STACK),
	// runtime/traceback.go: (*unwinder).resolveInternal
	FUNCTION("runtime.cgocallback", WRITES_SP_SAFELY),
	// runtime/malloc.go: mallocgc, mallocgcSmallNoscan and the like
	FUNCTIONS("runtime.mallocgc", ALLOCATES),
	// cmd/compile/internal/liveness: hasStackMap
	FUNCTIONS("runtime.duffcopy", UNSAFE_POINT),
	FUNCTIONS("runtime.duffzero", UNSAFE_POINT),
	FUNCTION("gcWriteBarrier", UNSAFE_POINT),
	FUNCTIONS("runtime.gcWriteBarrier", UNSAFE_POINT),
	FUNCTIONS("runtime.typedmemclr", UNSAFE_POINT),
	FUNCTIONS("runtime.typedmemmove", UNSAFE_POINT),
	FUNCTIONS("runtime.wbMove", UNSAFE_POINT),
	FUNCTIONS("runtime.wbZero", UNSAFE_POINT),
	// runtime/asm_amd64.s: the frame that systemstack leaves behind; the
	// caller's map calls the closure dead that runs on the other stack
	FUNCTION("runtime.systemstack_switch", UNSAFE_POINT),
	// runtime/stack.go
	FUNCTION("runtime.copystack", COPIES_STACK),
	// runtime/traceback.go: isSystemGoroutine
	FUNCTION("runtime.main", STARTS_USER_CODE),
	FUNCTION("runtime.handleAsyncEvent", STARTS_USER_CODE),
	FUNCTION("runtime.corostart", STARTS_COROUTINE),
	FUNCTION("runtime.runFinalizers", CALLS_BACK),
	FUNCTION("runtime.runfinq", CALLS_BACK),
	FUNCTION("runtime.runCleanups", RUNS_CLEANUPS),
	// runtime/stkframe.go: (*stkframe).argMapInternal
	FUNCTION("reflect.makeFuncStub", REFLECT_CALL),
	FUNCTION("reflect.methodValueCall", REFLECT_CALL),
	// runtime/panic.go: throw, fatal
	FUNCTION("runtime.throw.func1", FATAL_CLOSURE),
	FUNCTION("runtime.fatal.func1", FATAL_CLOSURE),
	// internal/abi/symtab.go: FuncID
	FUNCTION("runtime.goexit", GOEXIT),
	FUNCTION("runtime.sigpanic", SIGPANIC),
	FUNCTION("runtime.asyncPreempt", ASYNC_PREEMPT),
	FUNCTION("runtime.debugCallV2", DEBUG_CALL),
	// runtime/proc.go
	FUNCTION("runtime.sysmon", SYSTEM_MONITOR),
	FUNCTION("runtime.templateThread", TEMPLATE_THREAD),
	// runtime/cgocall.go
	FUNCTION("runtime.cgocall", CALLS_C),
	// runtime/sigqueue.go
	FUNCTION("os/signal.signal_recv", WAITS_FOR_SIGNAL),
	// internal/poll/fd_unix.go, net/fd_posix.go, net/fd_unix.go
	FUNCTIONS("internal/poll.(*FD).", WAITS_FOR_POLLER),
	FUNCTIONS("net.(*netFD).", OF_SOCKET),
	// runtime/sema.go
	FUNCTION("runtime.semacquire1", PARKS_ON_SEMAPHORE),
	FUNCTION("sync.runtime_notifyListWait", PARKS_ON_LIST),
	// internal/sync/mutex.go, sync/mutex.go, sync/rwmutex.go,
	// sync/waitgroup.go
	FUNCTION("internal/sync.(*Mutex).lockSlow", LOCKS_MUTEX),
	FUNCTION("sync.(*Mutex).lockSlow", LOCKS_MUTEX),
	FUNCTION("sync.(*RWMutex).RLock", LOCKS_TO_READ),
	FUNCTION("sync.(*RWMutex).Lock", LOCKS_TO_WRITE),
	FUNCTION("sync.(*WaitGroup).Wait", WAITS_FOR_GROUP),
	// runtime/pprof/pprof.go; later, runtime/mprof.go scales
	FUNCTION("runtime/pprof.scaleMutexProfile", SCALES_MUTEXES),
	// runtime/traceback.go: elideWrapperCalling
	FUNCTION("runtime.gopanic", SHOWS_WRAPPER),
	FUNCTION("runtime.panicwrap", SHOWS_WRAPPER),
	// sync/pool.go
	FUNCTION("sync.poolCleanup", POOL_CLEANUP),
	// runtime/cgo/handle.go
	FUNCTION("runtime/cgo.NewHandle", MAKES_HANDLE),
	// runtime/mprof.go
	FUNCTION("runtime.mProf_Malloc", SAMPLES_MEMORY),
	// runtime/runtime2.go, runtime/mheap.go, runtime/mcache.go,
	// runtime/time.go
	TYPE("runtime.g", SCHEDULER_TYPE),
	TYPE("runtime.m", SCHEDULER_TYPE),
	TYPE("runtime.p", SCHEDULER_TYPE),
	TYPE("runtime.sudog", SCHEDULER_TYPE),
	TYPE("runtime.mcache", SCHEDULER_TYPE),
	TYPE("runtime.mspan", SCHEDULER_TYPE),
	TYPE("runtime.schedt", SCHEDULER_TYPE),
	TYPE("runtime.timers", SCHEDULER_TYPE),
	TYPES("sync/atomic.Pointer[", ATOMIC_POINTER),
	TYPES("internal/runtime/atomic.Pointer[", ATOMIC_POINTER),
	// internal/sync/hashtriemap.go, unique/handle.go, unique/canonmap.go
	TYPES("internal/sync.HashTrieMap[", HASH_TRIE),
	TYPES("internal/concurrent.HashTrieMap[", HASH_TRIE),
	TYPES("unique.canonMap[", CANON_MAP),
	TYPES("weak.Pointer[", WEAK_POINTER),
	TYPES("internal/weak.Pointer[", WEAK_POINTER),
	TYPES("go.shape.", SHAPE),
	TYPE("time.Timer", TIME_TIMER),
	TYPE("time.Ticker", TIME_TICKER),
	TYPE("runtime.timeTimer", CHANNEL_TIMER),
	TYPE("runtime.timer", RUNTIME_TIMER),
	TYPE("<-chan time.Time", TIMER_CHANNEL),
	TYPE("chan time.Time", TIMER_CHANNEL),
	TYPE("interface {}", EMPTY_INTERFACE),
	TYPE("sync.poolLocal", POOL_LOCAL),
	// runtime/mheap.go: specialWeakHandle.handle
	TYPE("internal/runtime/atomic.Uintptr", WEAK_HANDLE),
	TYPE("runtime/internal/atomic.Uintptr", WEAK_HANDLE),
	// sync/map.go, sync/pool.go, sync/poolqueue.go, reflect/value.go
	TYPE("sync.entry", MAP_ENTRY),
	TYPE("sync.readOnly", MAP_READ_ONLY),
	TYPE("sync.Map", SYNC_MAP),
	TYPE("sync.Pool", POOL),
	TYPE("sync.eface", POOL_EFACE),
	TYPE("reflect.Value", REFLECT_VALUE),
	// runtime/pprof/label.go
	TYPE("runtime/pprof.labelMap", LABELS),
	// runtime/pinner.go
	TYPE("runtime.pinner", PINNER),
	VARIABLE("sync.allPools", ALL_POOLS),
	VARIABLE("sync.oldPools", OLD_POOLS),
	VARIABLE("runtime/cgo.handles", CGO_HANDLES),
};
const size_t gr_nnames = GR_ARRAY_SIZE(gr_names);

bool gr_name_matches(const struct gr_name *row, const char *name)
{
	return row->is_prefix ? gr_has_prefix(name, row->text) :
				!strcmp(name, row->text);
}

bool gr_name_has(const char *name, enum gr_name_trait trait)
{
	for (size_t i = 0; i < gr_nnames; i++)
		if (gr_names[i].trait == trait &&
		    gr_name_matches(&gr_names[i], name))
			return true;
	return false;
}

const char *gr_name_of(enum gr_name_trait trait)
{
	size_t i = 0;

	while (gr_names[i].trait != trait)
		i++;
	return gr_names[i].text;
}

bool gr_name_calls_back(const char *name)
{
	return gr_name_has(name, GR_NAME_CALLS_BACK) ||
	       gr_name_has(name, GR_NAME_RUNS_CLEANUPS);
}

bool gr_name_is_in_runtime(const char *name)
{
	return gr_has_prefix(name, "runtime.");
}

bool gr_name_is_internal(const char *name)
{
	return gr_name_is_in_runtime(name) ||
	       gr_has_prefix(name, "internal/") ||
	       gr_has_prefix(name, "runtime/internal/");
}

bool gr_name_is_runtime_frame(const char *function)
{
	return gr_name_is_in_runtime(function) ||
	       gr_has_prefix(function, "internal/runtime/");
}
