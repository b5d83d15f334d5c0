/* SPDX-License-Identifier: Apache-2.0 */
/**
 * roots: where the collector starts, with names. Stack maps and module masks
 * say what is live (the areas' live bits); DWARF only names and types it.
 * Source: runtime/mgcmark.go (markroot), runtime/mheap.go (specials),
 * runtime/mfinal.go, runtime/mcleanup.go, runtime/time.go.
 */
#ifndef GR_ROOTS_H
#define GR_ROOTS_H

#include "base/vector.h"
#include "goruntime/goroutine.h"
#include "goruntime/types.h"
#include "scanner.h"

/** Strata of the walk, each finished before the next (see mark/walk.h). */
enum gr_stratum {
	GR_STRATUM_USER = 1, /**< Package variables, user frames. */
	GR_STRATUM_DEFERRED, /**< Timers, finalizers, cleanups, runtime frames
				   of user goroutines. */
	GR_STRATUM_RUNTIME,  /**< The runtime's own roots. */
};

/** Where a root's pointers lie. */
enum gr_root_form {
	GR_ROOT_REGION, /**< Words of an area, or of `bytes_at`. */
	GR_ROOT_VALUE,	/**< `addr` itself is the pointer. */
	/**
	 * What an object holds, but not the object: of finalizers, whose
	 * object must stay collectable. `addr` is the object.
	 */
	GR_ROOT_CONTENTS,
};

struct gr_root {
	const char *name;	     /**< Interned. */
	const char *goroutine_state; /**< Interned, or NULL. */
	const char *file;
	uint32_t line;
	uint32_t goroutine; /**< Index, or UINT32_MAX. */
	uint8_t kind;	    /**< enum gr_root_kind */
	uint8_t stratum;
	uint8_t form;
	bool is_conservative;
	bool is_func; /**< Value: `addr` points to a funcval. */
	/** Of gr_roots_name_word(): a word that a variable's type missed. */
	bool is_sub_object;
	gr_type_id type;    /**< Of the region or of what `addr` points to. */
	uint64_t type_addr; /**< Runtime record of a type still to be found. */
	uint64_t addr;	    /**< Region: run-time address, or pointer value. */
	uint64_t bytes;	    /**< Region: its length. */
	/**
	 * A variable that lies in pieces or registers, put together: its
	 * bytes, in the arena, and which of its words are live pointers.
	 */
	const uint8_t *bytes_at;
	uint64_t live; /**< A bit a word of bytes_at (64 at most). */
};

GR_VECTOR(gr_root_list, struct gr_root);

/** Memory outside the heap, with the words that the roots begin from. */
struct gr_area_list {
	struct gr_area *areas; /**< Sorted by address. */
	/** Goroutine index of a stack, UINT32_MAX - module of data and bss. */
	uint32_t *owners;
	size_t count;
};

struct gr_roots {
	struct gr_root_list list; /**< In the order in which they are billed. */
	struct gr_area_list areas;
};

/**
 * Read the runtime's lists (specials, queued finalizers and cleanups, timers,
 * tiny blocks, values offered to channels) as roots. Lazy image: these lists are not captured.
 */
struct gr_error *gr_roots_read_lists(struct gr_runtime *rt,
				     struct gr_root_list *ret) GR_MUST_CHECK;

/**
 * Put everything together: areas, package variables, frames, and @p lists
 * (from gr_roots_read_lists()). The image may be sealed.
 */
struct gr_error *gr_roots_collect(struct gr_runtime *rt,
				  const struct gr_root_list *lists,
				  struct gr_roots *ret) GR_MUST_CHECK;
void gr_roots_deinit(struct gr_roots *roots);

/** Append the roots of all frames and registers. */
struct gr_error *
gr_roots_add_goroutines(struct gr_runtime *rt,
			struct gr_root_list *ret) GR_MUST_CHECK;

/**
 * Append what blocked goroutines offer to channels, where that lies on their
 * stacks: regions that have a type_addr, and no name yet. Lazy image.
 */
struct gr_error *gr_roots_read_waits(struct gr_runtime *rt,
				     struct gr_root_list *list) GR_MUST_CHECK;

/**
 * Complete one of these: `main.f.$send`, of the channel's element type.
 * *@p is_live is false if no live word lies there. Goroutines are unwound.
 */
struct gr_error *gr_roots_place_wait(struct gr_runtime *rt,
				     struct gr_root *root,
				     bool *is_live) GR_MUST_CHECK;

/** The stratum of a function's frames or of a package's variables. */
enum gr_stratum gr_roots_frame_stratum(const struct gr_goroutine *g,
				       const char *function);

/**
 * Name a live word of an area that no variable covers (`$data+0x1f40`,
 * `main.f.$stack+0x18`): fills name, kind, stratum, state, goroutine.
 */
struct gr_error *gr_roots_name_word(struct gr_runtime *rt,
				    const struct gr_roots *roots, size_t area,
				    uint64_t addr,
				    struct gr_root *ret) GR_MUST_CHECK;

#endif /* GR_ROOTS_H */
