/* SPDX-License-Identifier: Apache-2.0 */
/**
 * lock_code: where the code of a function locks and unlocks.
 *
 * A site is a call of Lock, Unlock and the like: one that the compiler inlined,
 * a call instruction, or a call of a small function that does only one of these
 * itself. What is between a Lock and an Unlock is told by the branches of the
 * function (lock_flow.h), or, where these are not known, by the order of lines.
 */
#ifndef GR_LOCK_CODE_H
#define GR_LOCK_CODE_H

#include "goroutines/lock_operation.h"
#include "goroutines/locks/code_blocks.h"
#include "goruntime/layout/pclntab.h"
#include "graph/keys.h"

enum { GR_LOCK_CALL_BYTES = 5 }; /**< e8 rel32 of x86-64: the longest. */

/** The distance is not known. */
#define GR_ANY_DISTANCE INT64_MIN
/** A question is about all locks, those that the code names included. */
#define GR_ANY_ADDR UINT64_MAX

/** Which lock a site is about, as far as the code tells. */
struct gr_lock_at {
	/** A package-level lock's, or that of the variable that has the
	 * channel; or 0. */
	uint64_t addr;
	/** From a pointer that the code has in a register to the lock. */
	int64_t distance;
};

struct gr_lock_site {
	const char *function; /**< The caller, perhaps itself inlined. */
	uint64_t pc;	      /**< The first instruction. */
	uint32_t line;
	uint8_t class; /**< enum gr_lock_class */
	bool unlocks;
	struct gr_lock_at at;
};

struct gr_lock_code {
	struct gr_lock_site *sites;
	size_t nsites;
	struct gr_lock_flow *flow; /**< NULL: its branches are not known. */
};

GR_VECTOR(gr_lock_code_vector, struct gr_lock_code *);

/** The code of functions, each read once. Owner sets rt. */
struct gr_lock_codes {
	struct gr_runtime *rt;
	struct gr_keys by_entry; /**< (entry, depth) -> index in all. */
	struct gr_lock_code_vector all;
	struct gr_code_reader reader;
};

void gr_lock_codes_deinit(struct gr_lock_codes *codes);

/**
 * The sites of a function. The pointer is valid as long as @p codes.
 *
 * @param depth Calls of small functions to look into: 0 to 2.
 */
struct gr_error *gr_lock_code_of(struct gr_lock_codes *codes,
				 const struct gr_func *func, uint32_t depth,
				 const struct gr_lock_code **ret) GR_MUST_CHECK;

/** A place in a function, and a lock. */
struct gr_lock_question {
	const char *function;
	uint32_t line;
	uint64_t pc;
	bool is_locking; /**< Its own call at that place is one of sync. */
	/** A call at that place has not returned: what it locks on the whole is
	 * not locked yet. */
	bool is_in_call;
	uint8_t class;
	struct gr_lock_at at;
};

struct gr_lock_lines gr_lock_ask(const struct gr_lock_code *code,
				 const struct gr_lock_question *question);

struct gr_lock_ways;

/** Put what the branches say of the place into what its lines say. */
void gr_lock_lines_follow(struct gr_lock_lines *lines,
			  const struct gr_lock_code *code,
			  const struct gr_lock_question *question,
			  const struct gr_lock_ways *ways);

/** Is a site of @p class that knows @p at perhaps about the lock that is known by
 * the other two? */
bool gr_lock_is_about(uint8_t site_class, const struct gr_lock_at *site_at,
		      uint8_t class, const struct gr_lock_at *at);

/** Does a function on the whole unlock a lock of @p class? The lock it is about
 * is *@p at. */
bool gr_lock_code_unlocks(const struct gr_lock_code *code, uint8_t class,
			  struct gr_lock_at *at);

#endif /* GR_LOCK_CODE_H */
