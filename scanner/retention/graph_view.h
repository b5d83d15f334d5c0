/* SPDX-License-Identifier: Apache-2.0 */
/**
 * graph_view: the object graph for scripts. Vertices are numbers; the same
 * number is the same vertex as long as the scan lives, even if the graph was
 * dropped and made again in between. Each function makes what it needs.
 */
#ifndef GR_GRAPH_VIEW_H
#define GR_GRAPH_VIEW_H

#include "base/base.h"
#include "base/error.h"
#include "naming/vertex.h"

struct gr_scan;

/** Objects are [0, objects), roots [objects, roots_end). */
struct gr_graph_size {
	uint32_t objects;
	uint32_t roots_end;
	uint32_t vertices;
};

struct gr_error *gr_scan_graph_size(struct gr_scan *scan,
				    struct gr_graph_size *ret) GR_MUST_CHECK;

/** gr_vertex_describe(); @p with_retained makes the dominators. */
struct gr_error *gr_scan_view_vertex(struct gr_scan *scan, uint32_t vertex,
				     bool with_retained,
				     struct gr_vertex_info *ret) GR_MUST_CHECK;

/**
 * The first bytes of the object @p vertex, without any header: *@p bytes are
 * @p max_bytes at most. No others are read. The caller frees *@p ret with
 * free(). GR_ERROR_NOT_SAVED: the file has no values.
 */
struct gr_error *gr_scan_object_content(struct gr_scan *scan, uint32_t vertex,
					uint64_t max_bytes, uint8_t **ret,
					uint64_t *bytes) GR_MUST_CHECK;

/** gr_vertex_find() in the graph, which is made. */
struct gr_error *gr_scan_view_find(struct gr_scan *scan,
				   const struct gr_place *place,
				   uint32_t *ret) GR_MUST_CHECK;

/** An enumeration of objects in the order of addresses. */
struct gr_object_cursor;

/**
 * @param type Only objects whose type has this name (naming/type_filter.h);
 *	NULL: all.
 * @param min_bytes Only objects of at least so many bytes.
 */
struct gr_error *
gr_object_cursor_create(const char *type, uint64_t min_bytes,
			struct gr_object_cursor **ret) GR_MUST_CHECK;
void gr_object_cursor_destroy(struct gr_object_cursor *cursor);

/** The next object; @p ret is UINT32_MAX behind the last one. If there is no
 * object at all, and no type has the cursor's name: GR_ERROR_NOT_FOUND, which
 * names the near ones. */
struct gr_error *gr_scan_next_object(struct gr_scan *scan,
				     struct gr_object_cursor *cursor,
				     uint32_t *ret) GR_MUST_CHECK;

enum gr_neighbours {
	GR_REFERENCES, /**< Vertices that it points to. */
	GR_REFERRERS,  /**< Vertices that point to it. */
	GR_DOMINATED,  /**< Vertices whose immediate dominator it is. */
};

/** Neighbour number @p i of a vertex; @p ret is UINT32_MAX if it has fewer. */
struct gr_error *gr_scan_neighbour(struct gr_scan *scan, uint32_t vertex,
				   enum gr_neighbours which, uint32_t i,
				   uint32_t *ret) GR_MUST_CHECK;

/** The immediate dominator; the top is its own; UINT32_MAX: nothing holds the
 * vertex, which is a block of C. */
struct gr_error *gr_view_dominator(struct gr_scan *scan, uint32_t vertex,
				   uint32_t *ret) GR_MUST_CHECK;

/** Bytes that vertices keep alive together, and the part of them in blocks of C;
 * the same vertex may come twice. */
struct gr_error *gr_view_retained(struct gr_scan *scan,
				  const uint32_t *vertices, uint32_t count,
				  uint64_t *bytes,
				  uint64_t *c_bytes) GR_MUST_CHECK;

/** A shortest chain from one root, root first. */
struct gr_vertex_path {
	uint32_t *vertices;
	uint32_t count;
};

/** Chains from distinct roots, by the tiers of these (mark/walk.h), then by
 * length. For the caller to free. */
struct gr_vertex_paths {
	struct gr_vertex_path *paths;
	uint32_t count;
};

/** The @p max_paths shortest chains to @p vertex. */
struct gr_error *
gr_scan_vertex_paths(struct gr_scan *scan, uint32_t vertex, uint32_t max_paths,
		     struct gr_vertex_paths *ret) GR_MUST_CHECK;
void gr_vertex_paths_deinit(struct gr_vertex_paths *paths);

/** Is there a graph with retained sizes? Nothing is made. */
bool gr_scan_has_retained(struct gr_scan *scan);

#endif /* GR_GRAPH_VIEW_H */
