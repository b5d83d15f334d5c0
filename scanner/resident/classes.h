/* SPDX-License-Identifier: Apache-2.0 */
/** classes: which class of resident memory a mapping as a whole belongs to. */
#ifndef GR_RESIDENT_CLASSES_H
#define GR_RESIDENT_CLASSES_H

#include "inferior/residency.h"
#include "resident/rss.h"
#include "scan/stop.h"

/**
 * The class of each mapping of @p residency, for free(). It says nothing of the
 * parts of a mapping in arenas of the Go heap. pages.sys_memory is sorted.
 */
struct gr_error *gr_rss_classify(struct gr_stop *stop,
				 const struct gr_residency *residency,
				 uint8_t **ret) GR_MUST_CHECK;

#endif /* GR_RESIDENT_CLASSES_H */
