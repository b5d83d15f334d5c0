/* SPDX-License-Identifier: Apache-2.0 */
/**
 * wait_key: the keys that group goroutines which wait for the same thing, or
 * each for a thing of its own that is like those of the others.
 *
 * A thing has a name if one path of variables and fields leads to it alone:
 * `main.shop.mu`. Without a name, it goes by the type and the field that have
 * it: `main.session.lock`. If many things of one type and field have names,
 * these are the steps of a list, and they go by type and field, too.
 */
#ifndef GR_WAIT_KEY_H
#define GR_WAIT_KEY_H

#include "base/error.h"
#include "base/vector.h"
#include "graph/keys.h"

struct gr_answers;
struct gr_sched;

GR_VECTOR(gr_label_vector, const char *);

/** The labels of all that goroutines wait for. */
struct gr_wait_keys {
	struct gr_sched *sched;
	/** By row of sched.waits: `Mutex main.shop.mu`. Equal texts have
	 * one address; they belong to the scan. */
	const char **of_row;
	struct gr_label_vector scratch;
	struct gr_keys counted; /**< (address, group) */
};

enum { GR_MAX_AWAITED = 8 };

/** The different things that a group waits for. */
struct gr_awaited_things {
	uint64_t count;
	/** The first [min(count, GR_MAX_AWAITED)] ones, in the scan's arena. */
	uint64_t *addrs;
};

/** Name everything that is waited for. Linear in the waits, and in the names.
 * The heap has been read. */
struct gr_error *gr_wait_keys_make(struct gr_answers *answers,
				   struct gr_wait_keys *ret) GR_MUST_CHECK;
void gr_wait_keys_deinit(struct gr_wait_keys *keys);

/** A hash of what the goroutine of that index waits for: of the different labels
 * of a select, in any order. */
struct gr_error *gr_wait_key(struct gr_wait_keys *keys, size_t index,
			     uint64_t *ret) GR_MUST_CHECK;

/** The same as text, which belongs to the scan; the labels of a select with `; `
 * between. */
struct gr_error *gr_wait_key_text(struct gr_wait_keys *keys, size_t index,
				  const char **ret) GR_MUST_CHECK;

/** Count what the goroutine of that index waits for, unless another one of the
 * group with that number waits for it, too. */
struct gr_error *gr_wait_key_count(struct gr_wait_keys *keys, size_t index,
				   uint32_t group,
				   struct gr_awaited_things *ret) GR_MUST_CHECK;

/** Does the goroutine of that index wait for the channel at @p chan, also in a
 * select? */
bool gr_awaits_channel(const struct gr_sched *sched, size_t index,
		       uint64_t chan);

#endif /* GR_WAIT_KEY_H */
