/* SPDX-License-Identifier: Apache-2.0 */
/**
 * heapsnapshot: the heap as a snapshot of V8, for Chrome's DevTools and memlab.
 * Format: v8/src/profiler/heap-snapshot-generator.cc (HeapSnapshotJSONSerializer).
 *
 * A vertex of the graph is a node: the top, objects, roots, groups. Roots and
 * groups are synthetic. Fields are properties, array elements are elements.
 * The readers take numbers of 32 bits.
 *
 * A graph with more vertices than GR_SNAPSHOT_MAX_NODES, with which the readers
 * cannot deal, is merged: one node has all objects of a type, one all goroutines
 * of a function. Sizes of types are right then, what they retain is a bound.
 */
#ifndef GR_EXPORT_HEAPSNAPSHOT_H
#define GR_EXPORT_HEAPSNAPSHOT_H

#include "export/stream.h"
#include "naming/shapes.h"

enum { GR_SNAPSHOT_MAX_NODES = 1000000 };

/** Write the graph, which has been made. */
struct gr_error *gr_export_heapsnapshot(struct gr_shapes *shapes,
					struct gr_stream *stream,
					struct gr_exported *ret) GR_MUST_CHECK;

#endif /* GR_EXPORT_HEAPSNAPSHOT_H */
