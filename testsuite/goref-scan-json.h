/* SPDX-License-Identifier: Apache-2.0 */
/* goref-scan's output for programs: the keys are those of goref's --json. */
#ifndef GOREF_SCAN_JSON_H
#define GOREF_SCAN_JSON_H

#include "scanner.h"

/** Print what a walk found, as `goref scan --json` does. */
void put_result(const struct gr_scan_info *info,
		const struct gr_result *result);

/** Print how a walk compares with the allocator, as `goref verify --json`. */
void put_verdict(const struct gr_scan_info *info, const struct gr_verdict *v);

#endif
