/* SPDX-License-Identifier: Apache-2.0 */
/**
 * roots: the GC roots, with names. Stack maps and module masks determine the
 * live words (the areas' live bits). DWARF only gives names and types.
 * Source: runtime/mgcmark.go (markroot), runtime/mheap.go (specials),
 * runtime/mfinal.go, runtime/mcleanup.go, runtime/time.go.
 */
#ifndef GR_ROOTS_H
#define GR_ROOTS_H

#include "base/vector.h"
#include "goruntime/heap/heap.h"
#include "goruntime/roots/root_kinds.h"
#include "goruntime/sched/goroutine.h"
#include "goruntime/types/types.h"

/** Tiers of the walk. Each is finished before the next (see mark/walk.h). */
enum gr_tier {
	GR_TIER_USER = 1, /**< Package variables, user frames. */
	GR_TIER_DEFERRED, /**< Timers, finalizers, cleanups, runtime frames
				   of user goroutines. */
	GR_TIER_RUNTIME,  /**< The runtime's own roots. */
};

/** The place of a root's pointers. */
enum gr_root_form {
	GR_ROOT_REGION, /**< In words of an area or of `bytes_at`. */
	GR_ROOT_VALUE,	/**< `addr` itself is the pointer. */
	/**
	 * The pointers lie in the object at `addr`, but the object itself is
	 * not reached. Finalizers have this form, because their object must
	 * stay collectable.
	 */
	GR_ROOT_CONTENTS,
};

struct gr_root {
	const char *name;	     /**< Interned. */
	const char *goroutine_state; /**< gr_goroutine.state, or NULL. */
	const char *file;
	uint32_t line;
	uint32_t goroutine; /**< Index, or UINT32_MAX. */
	uint8_t kind;	    /**< enum gr_root_kind */
	uint8_t tier;
	uint8_t form;
	bool is_conservative;
	bool is_func; /**< For a value: `addr` points to a funcval. */
	/** Set by gr_roots_name_word(): the variable's type has no pointer
	 * at this word. */
	bool is_sub_object;
	gr_type_id type; /**< Type of the region or of the target of `addr`. */
	uint64_t type_addr; /**< Runtime type record; sets type later. */
	uint64_t addr;	/**< Run-time address of a region, or pointer value. */
	uint64_t bytes; /**< Length of a region. */
	/** Stack pointer of the frame that holds it, wherever it lies; else 0.
	 */
	uint64_t frame_sp;
	/** The object that a finalizer, cleanup or weak pointer belongs to,
	 * while it is reached or not collected yet; else 0. */
	uint64_t object_addr;
	/** The number, from 1 on, of the finalizer or cleanup that is queued to
	 * run and holds this; else 0. */
	uint32_t queue_entry;
	/**
	 * The assembled bytes of a variable that lies in pieces or registers,
	 * in the arena. `live` tells which of its words are live pointers.
	 */
	const uint8_t *bytes_at;
	uint64_t live; /**< One bit per word of bytes_at (64 at most). */
};

GR_VECTOR(gr_root_list, struct gr_root);

/** Memory outside the heap that contains root words. */
struct gr_area_list {
	struct gr_area *areas; /**< Sorted by address. */
	/**
	 * The goroutine's index for a stack, UINT32_MAX - module index for
	 * data and bss.
	 */
	uint32_t *owners;
	size_t count;
};

/**
 * An object that the runtime has sampled for its heap profile, by the special
 * of its span. This is no root, but it is in the same lists.
 */
struct gr_sampled {
	gr_obj obj;	 /**< Its slot, in use or not. */
	uint32_t offset; /**< From its slot to it, as of the special. */
	uint64_t bucket; /**< Address of the runtime.bucket of its stack. */
};
GR_VECTOR(gr_sampled_vector, struct gr_sampled);

struct gr_roots {
	struct gr_root_list list; /**< Earlier roots claim objects first. */
	struct gr_area_list areas;
};

/**
 * Read the runtime's lists (specials, queued finalizers and cleanups, timers,
 * tiny blocks, values offered to channels) as roots. The image is lazy,
 * because these lists are not captured.
 *
 * @param sampled Gets the sampled objects, in the order of spans.
 */
struct gr_error *
gr_roots_read_lists(const struct gr_heap *heap, struct gr_sched *sched,
		    struct gr_root_list *ret,
		    struct gr_sampled_vector *sampled) GR_MUST_CHECK;

/**
 * Collect all roots: areas, package variables, frames, and @p lists (from
 * gr_roots_read_lists()). The image may be sealed.
 */
struct gr_error *gr_roots_collect(const struct gr_heap *heap,
				  struct gr_sched *sched,
				  const struct gr_root_list *lists,
				  struct gr_roots *ret) GR_MUST_CHECK;
void gr_roots_deinit(struct gr_roots *roots);

/** Append the roots of all frames and registers. */
struct gr_error *
gr_roots_add_goroutines(const struct gr_heap *heap,
			const struct gr_sched *sched,
			struct gr_root_list *ret) GR_MUST_CHECK;

/**
 * Append the values on the stacks of blocked goroutines that they offer to
 * channels: `main.f.$send`, of the channel's element type. Such a value often
 * is a temporary of the compiler that no variable names. The waits of @p sched
 * are known.
 */
struct gr_error *gr_roots_add_offers(const struct gr_heap *heap,
				     const struct gr_sched *sched,
				     struct gr_root_list *ret) GR_MUST_CHECK;

/** Return the tier of @p function's frames on the stack of @p g. */
enum gr_tier gr_roots_frame_tier(const struct gr_goroutine *g,
				 const char *function);

/** Return the tier of a word of the stack of goroutine @p index. */
enum gr_tier gr_roots_stack_tier(const struct gr_sched *sched, uint32_t index,
				 uint64_t addr);

/**
 * Name a live word of an area that no variable covers (`$data+0x1f40`,
 * `main.f.$stack+0x18`). This sets name, kind, tier, state and goroutine.
 */
struct gr_error *gr_roots_name_word(const struct gr_sched *sched,
				    const struct gr_roots *roots, size_t area,
				    uint64_t addr,
				    struct gr_root *ret) GR_MUST_CHECK;

#endif /* GR_ROOTS_H */
