/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_list: a list of goroutines, with filters and groups. */
#ifndef GR_GOROUTINE_LIST_H
#define GR_GOROUTINE_LIST_H

#include "base/base.h"
#include "base/error.h"
#include "goroutines/wait_key.h"
#include "goruntime/sched/labels.h"

struct gr_answers;
struct gr_scan;

/** A place in the source. Strings belong to the scan and are never NULL. */
struct gr_source_place {
	uint64_t pc;	      /**< 0: there is none. */
	const char *function; /**< "" if it is not known. */
	const char *file;     /**< "" if it is not known. */
	uint32_t line;
};

/** A goroutine. Strings belong to the scan. */
struct gr_goroutine_info {
	uint64_t id;
	const char *state;	  /**< "waiting", "running" ... */
	const char *wait_reason;  /**< "chan receive" ..., or "" */
	bool is_system;		  /**< The runtime's own. */
	int32_t thread_id;	  /**< The thread that runs it, or 0. */
	int64_t m_id;		  /**< m.id of that thread, or -1. */
	int32_t locked_thread_id; /**< LockOSThread(): its thread, or 0. */
	uint64_t creator_id;	  /**< 0: not known. */
	uint64_t waited_ns;	  /**< At least, by gr_moments; 0: not known. */
	struct gr_source_place current; /**< Innermost call. */
	/** Innermost call that is the user's: gr_is_user_call(). */
	struct gr_source_place user;
	struct gr_source_place go; /**< The go statement. */
	/** The goroutine's function, without a wrapper that `go' may need. */
	struct gr_source_place start;
	uint64_t stack_bytes; /**< In use. */
	uint64_t stack_size;  /**< Bytes of its stack, used or not. */
	/** It alone keeps these alive, and the part of them in blocks of C; if
	 * asked. */
	uint64_t exclusive_bytes, exclusive_c_bytes;
	const struct gr_label *labels; /**< The profiler's, by key. */
	size_t nlabels;
	/** It may have labels, which a file without values does not have. */
	bool has_unsaved_labels;
};

#define GR_GOROUTINE_FIELDS(X)  \
	X(USERLOC, "userloc")   \
	X(CURLOC, "curloc")     \
	X(GOLOC, "goloc")       \
	X(STARTLOC, "startloc") \
	X(STATE, "state")       \
	X(WAITING, "waiting")   \
	X(RUNNING, "running")   \
	X(USER, "user")         \
	X(LABEL, "label")       \
	X(CALL, "call")         \
	X(STACK, "stack")       \
	X(WAIT, "wait")         \
	X(WAITING_ON, "waiting-on")

/** Fields by which goroutines are filtered and grouped. */
enum gr_goroutine_field {
#define X(id, name) GR_BY_##id,
	GR_GOROUTINE_FIELDS(X)
#undef X
		GR_BY_NOTHING,
};

/** The field of a name; GR_BY_NOTHING if there is none. */
enum gr_goroutine_field gr_goroutine_field_of(const char *name);

/**
 * A condition: a place's `FILE:LINE in FUNCTION` contains @p text; the wait
 * reason (waiting) or the state contains it; a thread runs it (running); it is
 * not the runtime's own (user); a label's key or `KEY=VALUE` is the text; the
 * function of a call of its stack, inlined or not, contains it (call).
 */
struct gr_goroutine_filter {
	enum gr_goroutine_field field;
	bool is_negated;
	const char *text;
};

struct gr_goroutine_query {
	const struct gr_goroutine_filter *filters; /**< All must hold. */
	size_t nfilters;
	bool with_system; /**< The runtime's own, too. */
	/** Address of a channel: only goroutines that wait for it, in a select
	 * too. 0: all. */
	uint64_t channel;
	bool with_bytes; /**< Fill bytes kept alive; makes the object graph. */
	/** GR_BY_NOTHING: no groups. Not GR_BY_CALL. */
	enum gr_goroutine_field group;
	const char *group_label; /**< Only this label counts; or NULL. */
	/** Goroutines of the list, or of each group; 0: no limit. */
	uint32_t max_rows;
};

/** Goroutines that have a place, a state or all calls in common. */
struct gr_goroutine_group {
	/** `FILE:LINE in FUNCTION`; a state; all calls, with `; ` between;
	 * labels, with `, ` between; for "wait" a state and @ref at; what they
	 * wait for: `Mutex main.shop.mu`, `channel receive main.conn.ctx`. */
	const char *key;
	/** For "wait": the innermost call that is the user's. Else pc is 0. */
	struct gr_source_place at;
	uint64_t goroutines;
	size_t first, nrows; /**< Its rows: [first, first + nrows). */
	uint64_t stack_size;
	/** Only they keep these alive, and the part of them in blocks of C. */
	uint64_t exclusive_bytes, exclusive_c_bytes;
	struct gr_awaited_things awaited; /**< For "waiting-on". */
};

/** The answer. Belongs to the caller. */
struct gr_goroutine_list {
	uint64_t total; /**< Goroutines that the filters let through. */
	uint64_t stack_size;
	/** Bytes that they keep alive: each goroutine or group for itself, and
	 * those that several of them share and nothing else leads to. And the
	 * parts of these in blocks of C. */
	uint64_t exclusive_bytes, shared_bytes;
	uint64_t exclusive_c_bytes, shared_c_bytes;
	bool knows_c; /**< Blocks of C were read, and are counted in these. */
	struct gr_goroutine_info *rows; /**< By id; by group if there are. */
	size_t nrows;
	struct gr_goroutine_group *groups; /**< The largest first. */
	size_t ngroups;
};

/**
 * List goroutines. This takes time in proportion to the number of goroutines
 * and frames, and needs no walk of the heap. The heap is read if the query has a
 * channel or is for bytes or GR_BY_WAITING_ON.
 */
struct gr_error *
gr_scan_list_goroutines(struct gr_scan *scan,
			const struct gr_goroutine_query *query,
			struct gr_goroutine_list **ret) GR_MUST_CHECK;
/** The same for a question that has entered and read what the query needs. */
struct gr_error *
gr_goroutine_list_make(struct gr_answers *answers,
		       const struct gr_goroutine_query *query,
		       struct gr_goroutine_list **ret) GR_MUST_CHECK;
void gr_goroutine_list_destroy(struct gr_goroutine_list *list);

#endif /* GR_GOROUTINE_LIST_H */
