/* SPDX-License-Identifier: Apache-2.0 */
/** reached: every object that the walk reached. */
#ifndef GR_REACHED_H
#define GR_REACHED_H

#include "base/base.h"
#include "base/error.h"
#include "mark/marking.h"
#include "mark/node.h"

struct gr_answers;
struct gr_scan;
struct gr_ledger;

/** Walk from all roots; @p ledger gets the gaps of the walk and of the target. */
struct gr_error *gr_reached_mark(struct gr_answers *answers,
				 struct gr_ledger *ledger,
				 struct gr_marking *ret) GR_MUST_CHECK;

/**
 * Call @p emit for every reached object, in the order of addresses. The range
 * [addr, addr + bytes) is its slot without the malloc header. An error of
 * @p emit ends the enumeration.
 */
struct gr_error *gr_scan_each_reached(struct gr_scan *scan,
				      struct gr_error *(*emit)(void *ctx,
							       uint64_t addr,
							       uint64_t bytes),
				      void *ctx) GR_MUST_CHECK;

/**
 * Write the same as text, one line for each object: the address in hexadecimal,
 * a blank, the bytes. @p write gets pieces of whole lines; its error ends the
 * list.
 *
 * @param total the objects that were written, even if an error ended the list.
 */
struct gr_error *gr_scan_write_reached(
	struct gr_scan *scan,
	struct gr_error *(*write)(void *ctx, const char *text, size_t bytes),
	void *ctx, struct gr_total *total) GR_MUST_CHECK;

#endif /* GR_REACHED_H */
