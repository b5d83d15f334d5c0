/* SPDX-License-Identifier: Apache-2.0 */
/**
 * store_check: whether the rows of a block make sense. Every value that could
 * lead out of a table is checked before use. A block may be large, so this
 * polls.
 */
#ifndef GR_STORE_CHECK_H
#define GR_STORE_CHECK_H

#include "dwarf/internal.h"

/** A check of a block. Zero-initialised, it does not poll. */
struct gr_store_check {
	struct gr_dwarf *dwarf; /**< It polls. */
	struct gr_error *err;	/**< Poll has refused: the check is not over. */
};

/** Account for steps; @p check may be NULL. False: poll has refused. */
bool gr_store_check_step(struct gr_store_check *check, uint64_t n);

/** Account for bytes. */
bool gr_store_check_bytes(struct gr_store_check *check, uint64_t bytes);

/** Types, fields, variables and constants. All of these are false, too, if poll
 * has refused. */
bool gr_store_check_types(struct gr_store_check *check,
			  const struct gr_dwarf *dwarf);

/** Answers, with their variables and captures. */
bool gr_store_check_answers(struct gr_store_check *check,
			    const struct gr_dwarf *dwarf);

/** A look-up ends at a free slot, so half of the slots must be free. */
bool gr_store_check_index(struct gr_store_check *check,
			  const struct gr_index *index, size_t nslots,
			  size_t nrows);

#endif /* GR_STORE_CHECK_H */
