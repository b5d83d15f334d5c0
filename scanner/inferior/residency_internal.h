/* SPDX-License-Identifier: Apache-2.0 */
/** The inside of residency, shared by residency.c and residency_process.c. */
#ifndef GR_RESIDENCY_INTERNAL_H
#define GR_RESIDENCY_INTERNAL_H

#include "inferior/residency.h"

/** Append a range, or join it with the one before. The memory limit of the
 * target is checked. */
struct gr_error *gr_residency_add(const struct gr_target *target,
				  struct gr_residency *r,
				  struct gr_resident range) GR_MUST_CHECK;

/** gr_residency_add() for pages in swap. */
struct gr_error *
gr_residency_add_swapped(const struct gr_target *target, struct gr_residency *r,
			 struct gr_resident range) GR_MUST_CHECK;

/** The pages of a process on this machine. */
struct gr_error *
gr_residency_read_process(const struct gr_image *image,
			  struct gr_residency *r) GR_MUST_CHECK;

/**
 * The pages that a process had when it was forked. fork() copies its anonymous
 * pages. Pages of files and of shared memory are those that the process has now.
 */
struct gr_error *
gr_residency_read_snapshot(const struct gr_image *image,
			   struct gr_residency *r) GR_MUST_CHECK;

#endif /* GR_RESIDENCY_INTERNAL_H */
