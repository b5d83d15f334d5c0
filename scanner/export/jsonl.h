/* SPDX-License-Identifier: Apache-2.0 */
/**
 * jsonl: a line of JSON for each object, in the order of addresses: `address',
 * `type' (null: not known), `bytes' behind a malloc header, `slot_bytes',
 * `retained_bytes', `dominator' (the address of the object that alone keeps it
 * alive; null: no object does), and `references': `name' and `address' of each.
 */
#ifndef GR_EXPORT_JSONL_H
#define GR_EXPORT_JSONL_H

#include "export/stream.h"
#include "naming/shapes.h"

/** Write all objects. The graph has its dominators. */
struct gr_error *gr_export_jsonl(struct gr_shapes *shapes,
				 struct gr_stream *stream,
				 struct gr_exported *ret) GR_MUST_CHECK;

#endif /* GR_EXPORT_JSONL_H */
