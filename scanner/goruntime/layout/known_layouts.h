/* SPDX-License-Identifier: Apache-2.0 */
/**
 * known_layouts: the layouts of the known Go releases, for programs without
 * debug information. It knows nothing about a target: search/search.c finds
 * the layout that applies.
 */
#ifndef GR_KNOWN_LAYOUTS_H
#define GR_KNOWN_LAYOUTS_H

#include "goruntime/layout/layout.h"

/** A row of gr_layout_text() with one answer per layout, separated by '|'. An
 * empty answer repeats the one before it. */
struct gr_known_row {
	const char *key;
	const char *values;
};

/**
 * The releases that have a layout: "go1.24", "go1.24-noswissmap",
 * "go1.22, go1.22-x".
 */
extern const char *const gr_known_layout_names[];
extern const size_t gr_nknown_layouts;
extern const struct gr_known_row gr_known_rows[];
extern const size_t gr_nknown_rows;

/**
 * Get known layout @p i; variables stay 0. GR_ERROR_LAYOUT if a required row
 * has no answer.
 */
struct gr_error *gr_known_layout_get(size_t i,
				     struct gr_layout *ret) GR_MUST_CHECK;

#endif /* GR_KNOWN_LAYOUTS_H */
