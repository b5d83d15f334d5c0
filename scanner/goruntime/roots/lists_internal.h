/* SPDX-License-Identifier: Apache-2.0 */
/** lists_internal: what the files that read the runtime's lists share. */
#ifndef GR_LISTS_INTERNAL_H
#define GR_LISTS_INTERNAL_H

#include "base/number_set.h"
#include "goruntime/heap/heap.h"
#include "goruntime/roots/owned.h"
#include "goruntime/roots/roots.h"

/** The lists being read, and the roots found so far. */
struct gr_list_reader {
	const struct gr_heap *heap;
	struct gr_runtime *rt;
	struct gr_types *types;
	const struct gr_sched *sched;
	struct gr_root_list *list;
	struct gr_sampled_vector *sampled;
	/* Already read: each record, slot and block is in one list only. */
	struct gr_owned specials, timers;
	struct gr_number_set blocks;
	uint32_t queued;	/* finalizers and cleanups that were read */
	uint64_t timers_left;	/* that all Ps may still have */
	uint64_t unswept_bytes; /* of the largest span that is not swept */
	/* Types of runtime.timer and of its fields f and arg. */
	gr_type_id timer, timer_fields[2];
};

/** Append a root whose value is a pointer. A value of 0 is ignored. */
struct gr_error *gr_lists_add_value(struct gr_list_reader *r, const char *name,
				    enum gr_root_kind kind, enum gr_tier tier,
				    uint64_t value, bool is_func) GR_MUST_CHECK;

/** Add what a cleanup refers to: the fields of the record at @p record. */
struct gr_error *gr_lists_add_cleanup(struct gr_list_reader *r, uint64_t record,
				      struct gr_field call, struct gr_field fn,
				      struct gr_field arg) GR_MUST_CHECK;

/** Add the roots of all specials (root_specials.c). */
struct gr_error *gr_lists_read_specials(struct gr_list_reader *r) GR_MUST_CHECK;

#endif /* GR_LISTS_INTERNAL_H */
