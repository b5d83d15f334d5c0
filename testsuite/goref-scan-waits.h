/* SPDX-License-Identifier: Apache-2.0 */
// goref-scan-waits: what goroutines wait for, as goref-scan prints it.
#ifndef GR_GOREF_SCAN_WAITS_H
#define GR_GOREF_SCAN_WAITS_H

#include "scan/scan.h"

// Print a line for each wait: the goroutine's number, the kind, the addresses
// of the object, of what the runtime waits on, and of the sudog; of a channel,
// also how many elements it holds, how many it can hold, and whether it is
// closed.
struct gr_error *put_waits(struct gr_scan *scan) GR_MUST_CHECK;

#endif // GR_GOREF_SCAN_WAITS_H
