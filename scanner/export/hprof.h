/* SPDX-License-Identifier: Apache-2.0 */
/**
 * hprof: the heap as a Java heap dump, for Eclipse MAT, VisualVM, JProfiler,
 * Perfetto. Format: JAVA PROFILE 1.0.2 (OpenJDK, heapDumper.cpp).
 *
 * Types are classes with named reference fields; other words are padding, so
 * that shallow sizes are those of the slots where the readers' object headers
 * leave room. Packages are classes, and package variables their static fields.
 * Arrays are object arrays of their references, or primitive arrays. Goroutines
 * are threads, and what their frames hold are local variables.
 *
 * Other roots have kinds of their own: what a goroutine holds elsewhere than in
 * a frame is "JNI local", finalizers and cleanups are "JNI global", timers
 * "monitor used", words of the runtime "unknown".
 *
 * All numbers of objects are their addresses. What Java's tools demand beside
 * these has numbers from GR_HPROF_FIRST_ID on.
 */
#ifndef GR_EXPORT_HPROF_H
#define GR_EXPORT_HPROF_H

#include "export/stream.h"
#include "naming/shapes.h"

/** Write the graph, which has been made. */
struct gr_error *gr_export_hprof(struct gr_shapes *shapes,
				 struct gr_stream *stream,
				 struct gr_exported *ret) GR_MUST_CHECK;

#endif /* GR_EXPORT_HPROF_H */
