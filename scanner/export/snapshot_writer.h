/* SPDX-License-Identifier: Apache-2.0 */
/** snapshot_writer: the text of a snapshot of V8, in its order. */
#ifndef GR_EXPORT_SNAPSHOT_WRITER_H
#define GR_EXPORT_SNAPSHOT_WRITER_H

#include "base/vector.h"
#include "export/stream.h"
#include "graph/keys.h"

GR_VECTOR(gr_snapshot_text_vector, const char *);

/** Indexes in the list of node types and of edge types. */
enum {
	GR_SNAPSHOT_OBJECT = 3,
	GR_SNAPSHOT_NATIVE = 8,
	GR_SNAPSHOT_SYNTHETIC = 9,
	GR_SNAPSHOT_ELEMENT = 1,
	GR_SNAPSHOT_PROPERTY = 2,
};

/** Zero-initialised with a stream is ready. */
struct gr_snapshot_writer {
	struct gr_stream *out;
	struct gr_keys keys; /**< Numbers of texts, by their addresses. */
	struct gr_snapshot_text_vector texts;
	uint32_t nnodes; /**< That were put. */
	bool has_row;	 /**< The list that is being written has one. */
};

void gr_snapshot_writer_deinit(struct gr_snapshot_writer *writer);

/** The number of a text, which lives as long as the scan. */
struct gr_error *gr_snapshot_text(struct gr_snapshot_writer *writer,
				  const char *text,
				  uint32_t *ret) GR_MUST_CHECK;

/** Begin the file, and the list of nodes. */
void gr_snapshot_begin(struct gr_snapshot_writer *writer, uint32_t nnodes,
		       uint64_t nedges);
void gr_snapshot_put_node(struct gr_snapshot_writer *writer, unsigned int type,
			  uint32_t name, uint64_t bytes, uint32_t nedges);
/** End the nodes; their edges follow, in the order of nodes. */
void gr_snapshot_begin_edges(struct gr_snapshot_writer *writer);
/** An edge to node number @p to. */
void gr_snapshot_put_edge(struct gr_snapshot_writer *writer, unsigned int type,
			  uint32_t name_or_index, uint32_t to);
/** End the file: texts. */
void gr_snapshot_end(struct gr_snapshot_writer *writer);

#endif /* GR_EXPORT_SNAPSHOT_WRITER_H */
