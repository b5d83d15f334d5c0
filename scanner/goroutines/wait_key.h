/* SPDX-License-Identifier: Apache-2.0 */
/** wait_key: what goroutines are grouped by that wait for the same thing. */
#ifndef GR_WAIT_KEY_H
#define GR_WAIT_KEY_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

/** A hash of what the goroutine of that index waits for: of all cases of a
 * select. The waits are read. */
uint64_t gr_wait_key(const struct gr_scan *scan, size_t index);

/** The same as text, which belongs to the scan: `Mutex main.mu at 0x4d9080`;
 * the cases of a select with `; ` between. */
struct gr_error *gr_wait_key_text(struct gr_scan *scan, size_t index,
				  const char **ret) GR_MUST_CHECK;

/** Does the goroutine of that index wait for the channel at @p chan, also in a
 * select? */
bool gr_awaits_channel(const struct gr_scan *scan, size_t index, uint64_t chan);

#endif /* GR_WAIT_KEY_H */
