// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/wait_kind.h"

#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"

/* Calls between a lock and gopark: goparkunlock, semacquire1,
 * runtime_SemacquireMutex, lockSlow, and some to spare. */
enum { MAX_PARK_FRAMES = 12 };

const char *gr_wait_kind_name(enum gr_wait_kind kind)
{
	static const char *const names[] = {
#define X(id, name) name,
		GR_WAIT_KINDS(X)
#undef X
	};

	return names[kind];
}

enum gr_wait_kind gr_wait_kind_of_reason(const char *reason)
{
	// The text is followed by nothing, or by a remark in parentheses; a
	// text that includes its remark comes first.
	static const struct {
		const char *text;
		enum gr_wait_kind kind;
	} texts[] = {
		{ "", GR_WAIT_UNKNOWN },
		{ "chan receive (nil chan)", GR_WAIT_NIL_CHAN },
		{ "chan send (nil chan)", GR_WAIT_NIL_CHAN },
		{ "select (no cases)", GR_WAIT_EMPTY_SELECT },
		{ "chan receive", GR_WAIT_CHAN_RECEIVE },
		{ "chan send", GR_WAIT_CHAN_SEND },
		{ "select", GR_WAIT_SELECT_RECEIVE },
		{ "sync.Mutex.Lock", GR_WAIT_MUTEX },
		{ "sync.RWMutex.RLock", GR_WAIT_RWMUTEX_READ },
		{ "sync.RWMutex.Lock", GR_WAIT_RWMUTEX_WRITE },
		{ "sync.WaitGroup.Wait", GR_WAIT_WAITGROUP },
		{ "sync.Cond.Wait", GR_WAIT_COND },
		{ "semacquire", GR_WAIT_SEMAPHORE },
		{ "sleep", GR_WAIT_SLEEP },
		{ "IO wait", GR_WAIT_NETWORK },
		{ "coroutine", GR_WAIT_COROUTINE },
		{ "synctest.Run", GR_WAIT_SYNCTEST },
		{ "synctest.Wait", GR_WAIT_SYNCTEST },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(texts); i++) {
		size_t len = strlen(texts[i].text);

		if (strncmp(reason, texts[i].text, len) == 0 &&
		    (!reason[len] ||
		     (len && strncmp(reason + len, " (", 2) == 0)))
			return texts[i].kind;
	}
	return GR_WAIT_RUNTIME;
}

static enum gr_wait_kind kind_of_function(const char *name)
{
	static const struct {
		enum gr_name_trait trait;
		enum gr_wait_kind kind;
	} callers[] = {
		{ GR_NAME_LOCKS_MUTEX, GR_WAIT_MUTEX },
		{ GR_NAME_LOCKS_TO_READ, GR_WAIT_RWMUTEX_READ },
		{ GR_NAME_LOCKS_TO_WRITE, GR_WAIT_RWMUTEX_WRITE },
		{ GR_NAME_WAITS_FOR_GROUP, GR_WAIT_WAITGROUP },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(callers); i++)
		if (gr_name_has(name, callers[i].trait))
			return callers[i].kind;
	return GR_WAIT_UNKNOWN;
}

/* The kind that a frame tells; GR_WAIT_UNKNOWN if none of its calls, inlined
 * ones included, is a lock. */
static struct gr_error *kind_of_frame(struct gr_runtime *rt,
				      const struct gr_frame *frame,
				      struct gr_callers *callers,
				      enum gr_wait_kind *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	typeof(callers->seen[0]) *seen =
		&callers->seen[frame->pc % GR_ARRAY_SIZE(callers->seen)];
	size_t n = 0;

	*ret = seen->kind;
	if (seen->pc == frame->pc)
		return NULL;
	*ret = GR_WAIT_UNKNOWN;
	struct gr_error *err = gr_inline_frames(
		rt, frame->func, gr_frame_call_pc(frame), calls, &n);
	for (size_t i = 0; i < n && *ret == GR_WAIT_UNKNOWN; i++)
		*ret = kind_of_function(calls[i].function);
	seen->pc = frame->pc;
	seen->kind = *ret;
	return err;
}

struct gr_error *gr_wait_kind_of_semaphore(struct gr_runtime *rt,
					   const struct gr_goroutine *g,
					   struct gr_callers *callers,
					   enum gr_wait_kind *ret)
{
	struct gr_error *err = NULL;

	*ret = GR_WAIT_UNKNOWN;
	for (size_t i = 0; !err && i < g->nframes && i < MAX_PARK_FRAMES &&
			   *ret == GR_WAIT_UNKNOWN;
	     i++)
		err = kind_of_frame(rt, &g->frames[i], callers, ret);
	if (*ret == GR_WAIT_UNKNOWN)
		*ret = GR_WAIT_SEMAPHORE;
	return err;
}

bool gr_wait_kind_is_semaphore(enum gr_wait_kind kind)
{
	return kind == GR_WAIT_MUTEX || kind == GR_WAIT_RWMUTEX_READ ||
	       kind == GR_WAIT_RWMUTEX_WRITE || kind == GR_WAIT_WAITGROUP ||
	       kind == GR_WAIT_SEMAPHORE;
}

bool gr_waits_for_signal(const struct gr_layout *layout,
			 const struct gr_goroutine *g)
{
	// signal_recv and what it calls of runtime/lock_futex.go.
	enum { MAX_SLEEP_FRAMES = 4 };

	if (g->status != layout->consts.gsyscall)
		return false;
	for (size_t i = 0; i < g->nframes && i < MAX_SLEEP_FRAMES; i++)
		if (gr_name_has(g->frames[i].func->name,
				GR_NAME_WAITS_FOR_SIGNAL))
			return true;
	return false;
}

const char *gr_goroutine_wait_reason(const struct gr_runtime *rt,
				     const struct gr_goroutine *g)
{
	static const char signal[] = "signal wait";

	return gr_waits_for_signal(&rt->layout, g) ? signal : g->wait_reason;
}

uint64_t gr_wait_key_offset(const struct gr_layout *layout,
			    enum gr_wait_kind kind)
{
	// These offsets are the same in all releases: sync/mutex.go,
	// sync/rwmutex.go, sync/waitgroup.go, sync/cond.go.
	static const uint8_t offsets[GR_NWAIT_KINDS] = {
		[GR_WAIT_MUTEX] = 4,	     // sema, behind state
		[GR_WAIT_RWMUTEX_READ] = 12, // readerSem, behind writerSem
		[GR_WAIT_RWMUTEX_WRITE] = 8, // writerSem, behind w
		[GR_WAIT_WAITGROUP] = 8,     // sema, behind state
		[GR_WAIT_COND] = 16,	     // notify, behind L
	};

	if (kind == GR_WAIT_COND && gr_field_is_present(layout->cond.notify))
		return layout->cond.notify.off;
	return offsets[kind] ? offsets[kind] : UINT64_MAX;
}
