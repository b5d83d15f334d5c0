/* SPDX-License-Identifier: Apache-2.0 */
/**
 * labels: the labels that runtime/pprof gives to goroutines, by g.labels.
 * Sources: runtime/pprof/label.go (labelMap), runtime/proflabel.go.
 */
#ifndef GR_LABELS_H
#define GR_LABELS_H

#include "goruntime/sched/goroutine.h"
#include "goruntime/types/types.h"

/** A label. Long texts are cut, and what is not printable is replaced. */
struct gr_label {
	const char *key, *value;
};

/** The labels of one goroutine, or of many. */
struct gr_label_set {
	size_t nlabels;
	struct gr_label labels[]; /**< By key. */
};

/**
 * Read the labels at @p addr, which g.labels of a goroutine was, into @p arena.
 * *@p ret is NULL if there are none. @p type is as of gr_labels_read().
 */
struct gr_error *
gr_labels_read_at(struct gr_types *types, gr_type_id type, uint64_t addr,
		  struct gr_arena *arena,
		  const struct gr_label_set **ret) GR_MUST_CHECK;

/** Has any goroutine something that may be labels? */
bool gr_labels_are_there(const struct gr_sched *sched);

/**
 * Read the labels of all goroutines into their `labels`. Goroutines that share
 * labels share the set. The image is lazy, because the memory of strings is
 * not captured. @p type is what g.labels points to, or GR_TYPE_NONE.
 *
 * Libraries may store other things in g.labels. What cannot be a set of labels
 * is none, and is no gap.
 */
struct gr_error *gr_labels_read(struct gr_types *types, gr_type_id type,
				struct gr_sched *sched) GR_MUST_CHECK;

#endif /* GR_LABELS_H */
