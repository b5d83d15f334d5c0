/* SPDX-License-Identifier: Apache-2.0 */
/** record: reads records of the runtime of which only some fields matter. */
#ifndef GR_RECORD_H
#define GR_RECORD_H

#include "goruntime/layout/runtime.h"

/**
 * Read the fields of the layout from the record at @p addr into @p ret, each at
 * its place; all other bytes are 0. What is read is in a saved file, and must be
 * no value of the program: a P has vector registers of preempted goroutines
 * (runtime.p.xRegs), an M has random numbers (runtime.m.chacha8). A record in a
 * frame, as of a deferred call, has in its padding what was there before.
 * GR_ERROR_FAULT if a field cannot be read.
 *
 * @param section  A struct of gr_layout, such as `layout.p`, of @p section_bytes.
 * @param ret      As many bytes as the section's size_bytes says.
 */
struct gr_error *gr_record_read(struct gr_runtime *rt, uint64_t addr,
				const void *section, size_t section_bytes,
				uint8_t *ret) GR_MUST_CHECK;

#endif /* GR_RECORD_H */
