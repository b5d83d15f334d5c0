/* SPDX-License-Identifier: Apache-2.0 */
// goref-scan-hung: all that is asked of a program that hangs or has ended.
#ifndef GR_GOREF_SCAN_HUNG_H
#define GR_GOREF_SCAN_HUNG_H

#include "scan.h"

// Ask what ended the program, for the list of goroutines in groups, what each
// of them waits for, who owns that, who waits for each other and who has leaked.
// Print a line for each question: what was counted.
struct gr_error *put_hung(struct gr_scan *scan) GR_MUST_CHECK;

#endif // GR_GOREF_SCAN_HUNG_H
