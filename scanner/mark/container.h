/* SPDX-License-Identifier: Apache-2.0 */
/**
 * container: what the files for maps, channels and tries share. All that a
 * container consists of is billed to its own node; keys, values and elements
 * have nodes below it.
 */
#ifndef GR_CONTAINER_H
#define GR_CONTAINER_H

#include "mark/walk.h"

/** A container at work: its type, its scope, names of keys and values. */
struct gr_container {
	struct gr_walk *w;
	struct gr_scope *scope;	   /**< The container's own node. */
	struct gr_scope parts;	   /**< `$mapkey.` is 0, `$mapval.` is 1. */
	struct gr_scope values[2]; /**< Below them; without program: not yet. */
	size_t first_note;	   /**< In w->masked, of those made for it. */
	gr_type_id type;
	const struct gr_type *info; /**< Of `type`; refreshed after visits. */
};

/** A piece of memory that belongs to the container. */
struct gr_piece {
	const uint8_t *host; /**< NULL: nothing there to look at. */
	uint64_t word;
	uint64_t bytes;
};

/**
 * Follow the pointer in word @p off_bytes of a piece: take its todo bit and
 * count the object behind it for the container.
 *
 * @return the pointer; 0 if it is none by the masks or was taken before.
 */
uint64_t gr_container_take(struct gr_container *c, const struct gr_piece *from,
			   uint64_t off_bytes);

/** gr_container_take(), and the memory that the pointer points to. */
struct gr_piece gr_container_follow(struct gr_container *c,
				    const struct gr_piece *from,
				    uint64_t off_bytes);

/** gr_walk_drop_done() of the first @p nwords words of a piece. */
void gr_container_drop_done(struct gr_container *c,
			    const struct gr_piece *piece, uint64_t nwords);

/**
 * The same of a whole object that was gone through. If nothing is left of it,
 * and it was the last that was noted, it need not be.
 */
void gr_container_finish(struct gr_container *c, const struct gr_piece *piece);

/** The names below keys (part 0) or values (1) of @p type, for all of them. */
struct gr_scope *gr_container_scope(struct gr_container *c, gr_type_id type,
				    uint32_t part);

/** runtime/map.go: hmap and its buckets. */
void gr_map_run_buckets(struct gr_container *c, const struct gr_piece *header);
/** internal/runtime/maps: Map, tables, groups. */
void gr_map_run_groups(struct gr_container *c, const struct gr_piece *header);

#endif /* GR_CONTAINER_H */
