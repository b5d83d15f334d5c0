/* SPDX-License-Identifier: Apache-2.0 */
/** snapshot_merged: a snapshot with a node for each type, not each object. */
#ifndef GR_EXPORT_SNAPSHOT_MERGED_H
#define GR_EXPORT_SNAPSHOT_MERGED_H

#include "export/snapshot_writer.h"
#include "naming/shapes.h"

/** Make the number of a shape that of its name. */
struct gr_error *
gr_snapshot_name_shapes(struct gr_snapshot_writer *writer,
			struct gr_shapes *shapes) GR_MUST_CHECK;

/** Write the whole file. Shapes have their names. */
struct gr_error *gr_snapshot_put_merged(struct gr_snapshot_writer *writer,
					struct gr_shapes *shapes,
					struct gr_exported *ret) GR_MUST_CHECK;

#endif /* GR_EXPORT_SNAPSHOT_MERGED_H */
