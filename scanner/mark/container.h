/* SPDX-License-Identifier: Apache-2.0 */
/**
 * container: the shared part of the files for maps, channels and tries. All
 * pieces of a container are billed to its own node; keys, values and elements
 * have nodes below it.
 */
#ifndef GR_CONTAINER_H
#define GR_CONTAINER_H

#include "mark/walk.h"

/** A container during its walk: type, scope, names of keys and values. */
struct gr_container {
	struct gr_walk *w;
	const struct gr_origin *origin;
	struct gr_scope *scope;	   /**< The container's own node. */
	struct gr_scope parts;	   /**< `$mapkey.` is 0, `$mapval.` is 1. */
	struct gr_scope values[2]; /**< Below them; no plan: not opened yet. */
	size_t first_note;	   /**< Its first entry in w->masked. */
	gr_type_id type;
	const struct gr_type *info; /**< Refreshed after visits. */
};

/** A piece of memory that belongs to the container. */
struct gr_container_part {
	const uint8_t *host; /**< NULL: no memory to read. */
	uint64_t word;
	uint64_t bytes;
};

/**
 * Follow the pointer in word @p off_bytes of a piece: clear its pending bit and
 * count the object behind it for the container.
 *
 * @return the pointer; 0 if the masks say that it is none, or if it was taken
 * before.
 */
uint64_t gr_container_take(struct gr_container *c,
			   const struct gr_container_part *from,
			   uint64_t off_bytes);

/** Like gr_container_take(), but return the memory behind the pointer. */
struct gr_container_part
gr_container_follow(struct gr_container *c,
		    const struct gr_container_part *from, uint64_t off_bytes);

/** gr_walk_drop_done() for the first @p nwords words of a piece. */
void gr_container_drop_done(struct gr_container *c,
			    const struct gr_container_part *piece,
			    uint64_t nwords);

/**
 * The same for a whole object that was walked. If none of its words are pending
 * and it is the last noted object, the note is removed.
 */
void gr_container_finish(struct gr_container *c,
			 const struct gr_container_part *piece);

/** The scope of all keys (part 0) or all values (part 1), of @p type. */
struct gr_scope *gr_container_scope(struct gr_container *c, gr_type_id type,
				    uint32_t part);

/**
 * Offsets in the nodes of hash tries. Source: internal/sync/hashtriemap.go,
 * unique/canonmap.go (node, indirect, entry).
 */
enum {
	GR_TRIE_IS_ENTRY = 0,
	GR_TRIE_CHILDREN = 16, /**< How many an indirect node has. */
	GR_TRIE_INDIRECT_CHILDREN = 24,
	GR_TRIE_INDIRECT_BYTES =
		GR_TRIE_INDIRECT_CHILDREN + GR_TRIE_CHILDREN * GR_WORD_BYTES,
	GR_TRIE_ENTRY_OVERFLOW = 8,
	GR_TRIE_ENTRY_KEY = 16, /**< The value follows, word-aligned. */
};

/** The offset of the value in an entry of a trie with keys of type @p key. */
uint64_t gr_trie_value_off(const struct gr_types *types, gr_type_id key);

/** runtime/map.go: hmap and its buckets. */
void gr_map_run_buckets(struct gr_container *c,
			const struct gr_container_part *header);
/** internal/runtime/maps: Map, tables, groups. */
void gr_map_run_groups(struct gr_container *c,
		       const struct gr_container_part *header);

#endif /* GR_CONTAINER_H */
