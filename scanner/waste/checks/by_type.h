/* SPDX-License-Identifier: Apache-2.0 */
/**
 * by_type: what a check knows of types. An entry of the table is made when the
 * first kind with its type is looked at, and freed with the table.
 */
#ifndef GR_WASTE_BY_TYPE_H
#define GR_WASTE_BY_TYPE_H

#include "waste/objects/check.h"

struct gr_by_type {
	void **of;    /**< By type id; NULL: there is no entry. */
	size_t count; /**< Types that were known at the beginning. */
	/** Make the entry of a type; *@p ret stays NULL if there is nothing to
	 * know of it. */
	struct gr_error *(*make)(struct gr_waste_run *run,
				 const struct gr_waste_kind *kind,
				 gr_type_id id, void **ret);
	void (*destroy)(void *entry);
	/** Why an entry could not be made; no further one is made then. For
	 * gr_check.reached(). */
	struct gr_error *err;
};

/** Fill @p table, which has its functions and else zeros. It needs
 * gr_by_type_deinit() even if this fails. */
struct gr_error *gr_by_type_init(struct gr_by_type *table,
				 const struct gr_types *types) GR_MUST_CHECK;
void gr_by_type_deinit(struct gr_by_type *table);

/** Make a copy of @p table the state of a check that needs no other, and
 * initialise it: for gr_check.begin(). */
struct gr_error *gr_by_type_begin(struct gr_waste_run *run,
				  enum gr_waste_check check,
				  struct gr_by_type table) GR_MUST_CHECK;

/** Free it: for gr_check.end(). */
void gr_by_type_end(struct gr_waste_run *run, enum gr_waste_check check);

/** The entry of a type, which is made if it is new: for gr_check.applies().
 * NULL: there is none, or gr_by_type.err says why. */
void *gr_by_type_need(struct gr_by_type *table, struct gr_waste_run *run,
		      const struct gr_waste_kind *kind, gr_type_id id);

/** The entry of a type, or NULL. */
static inline void *gr_by_type_get(const struct gr_by_type *table,
				   gr_type_id id)
{
	return id < table->count ? table->of[id] : NULL;
}

#endif /* GR_WASTE_BY_TYPE_H */
