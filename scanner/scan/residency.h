/* SPDX-License-Identifier: Apache-2.0 */
/** residency: the resident pages of a stop, and what tells their purpose. */
#ifndef GR_SCAN_RESIDENCY_H
#define GR_SCAN_RESIDENCY_H

#include "inferior/residency.h"

struct gr_stop;

/**
 * The residency of the target: that of a core is read now, that of a process
 * was read with the extent GR_EXTENT_RESIDENCY.
 */
struct gr_error *
gr_stop_residency(struct gr_stop *stop,
		  const struct gr_residency **ret) GR_MUST_CHECK;

/**
 * The resident pages, if the target tells them: not if nothing was read of a
 * process in its stop, and not of a core that has all pages. NULL: not known.
 */
struct gr_error *
gr_stop_known_pages(struct gr_stop *stop,
		    const struct gr_residency **ret) GR_MUST_CHECK;

/** Read the pages alone, as gr_stop_read_residency() does. */
struct gr_error *gr_stop_read_pages(struct gr_stop *stop) GR_MUST_CHECK;

/** Read it in a stop, before anything else is read. Drops an earlier one. */
struct gr_error *gr_stop_read_residency(struct gr_stop *stop) GR_MUST_CHECK;
void gr_stop_drop_residency(struct gr_stop *stop);

#endif /* GR_SCAN_RESIDENCY_H */
