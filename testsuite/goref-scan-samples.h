/* SPDX-License-Identifier: Apache-2.0 */
// goref-scan-samples: all that is asked of the runtime's own profiles.
#ifndef GR_GOREF_SCAN_SAMPLES_H
#define GR_GOREF_SCAN_SAMPLES_H

#include "scan.h"

// Ask for the heap, block and mutex profile, for the heap profile of now, for
// allocation sites, their roots and the view of both, and for the allocation of
// each sampled object. Print a line for each question: what was counted.
struct gr_error *put_samples(struct gr_scan *scan) GR_MUST_CHECK;

#endif // GR_GOREF_SCAN_SAMPLES_H
