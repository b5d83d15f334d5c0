/* SPDX-License-Identifier: Apache-2.0 */
/* goref-scan's variables of calls. */
#ifndef GOREF_SCAN_LOCALS_H
#define GOREF_SCAN_LOCALS_H

#include "scanner.h"

/**
 * Print the variables of all calls of all goroutines, one a line: the number of
 * the goroutine, function, name, type, value. Tabs separate them.
 */
struct gr_error *put_locals(struct gr_scan *scan) GR_MUST_CHECK;

#endif
