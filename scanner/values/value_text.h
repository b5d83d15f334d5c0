/* SPDX-License-Identifier: Apache-2.0 */
/** value_text: a value as Delve prints it, for scripts. */
#ifndef GR_VALUE_TEXT_H
#define GR_VALUE_TEXT_H

#include "show/show.h"

struct gr_scan;

/**
 * Print a value, as gr_show_value() does.
 *
 * @param[out] ret For free().
 * @return GR_ERROR_ARGUMENT if there is no type with its id.
 */
struct gr_error *gr_scan_show(struct gr_scan *scan,
			      const struct gr_shown *value,
			      const struct gr_show_limits *limits,
			      char **ret) GR_MUST_CHECK;

#endif /* GR_VALUE_TEXT_H */
