/* SPDX-License-Identifier: Apache-2.0 */
/** description: the record of a saved file that describes the target. */
#ifndef GR_DESCRIPTION_H
#define GR_DESCRIPTION_H

#include "inferior/saved_target.h"
#include "savedfile/coder.h"

/**
 * Write or read all of @p saved but memory, tables and the images of modules,
 * whose sizes are part of the record. What is read is checked with the coder:
 * gr_coder_is_done().
 */
void gr_code_description(struct gr_coder *coder, struct gr_saved *saved);

#endif /* GR_DESCRIPTION_H */
