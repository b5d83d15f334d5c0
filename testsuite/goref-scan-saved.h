/* SPDX-License-Identifier: Apache-2.0 */
// goref-scan-saved: what a saved file lacks of what questions read.
#ifndef GR_GOREF_SCAN_SAVED_H
#define GR_GOREF_SCAN_SAVED_H

#include "scan.h"

// After gr_scan_save(), ask all questions that read memory. Print a line for
// each word that they read and the file lacks, and for each module whose tables
// lack an answer. The last line has both numbers.
struct gr_error *put_unsaved(struct gr_scan *scan) GR_MUST_CHECK;

#endif // GR_GOREF_SCAN_SAVED_H
