/* SPDX-License-Identifier: Apache-2.0 */
/**
 * walk: the two-phase walk of the heap. The walk knows the rebuilt runtime
 * (spans, types, roots) and the tree; it knows no debugger and no file.
 *
 * `pending` has one bit for each word. The bit is set while the word is a live
 * pointer, by the collector's own masks, that nothing has followed yet. The
 * typed phase runs type plans over regions and clears bits; the mask phase
 * follows the remaining words. Masks decide which words are pointers, and types
 * only name them. The walk therefore reaches the same objects as the collector,
 * whatever the types say.
 *
 * Regions are taken from a FIFO queue: the walk is breadth-first, and an
 * object is billed to the nearest root. Tiers of roots are finished one after
 * another. The walk does not enter objects of the scheduler before the last
 * tier.
 */
#ifndef GR_WALK_H
#define GR_WALK_H

#include "base/cleanup.h"
#include "base/huge.h"
#include "goruntime/heap/heap.h"
#include "goruntime/roots/roots.h"
#include "goruntime/types/map_shape.h"
#include "inferior/recorder.h"
#include "mark/marking.h"
#include "mark/options.h"
#include "mark/tree.h"
#include "mark/type_plan.h"

/** Flags of a key of child tables, beside a type id. */
enum {
	GR_KEY_ELEMENTS = 0x80000000,  /**< `[0].` to `[9].`, `[10+].` */
	GR_KEY_CONTAINER = 0x40000000, /**< `$mapkey.`, `$mapval.` */
	GR_KEY_SUB_OBJECTS = 0x3fffffff,
};

/** Names of elements: ten by number, one for the rest. */
enum { GR_NELEMENT_NAMES = 11 };

/** A typed piece of memory to run a plan over. */
struct gr_region {
	const uint8_t *host;
	/**
	 * Bits 0 to 47: the bit of the first word in `pending`. Bits 48 to 63:
	 * the number of words if the region covers a new object, else 0. The
	 * mask phase follows those words that the type does not explain.
	 * These are not bit-fields, because writing one would first read the
	 * new memory.
	 */
	uint64_t place;
	gr_type_id type;
	uint32_t node;
	uint32_t count; /**< 0: one value; else that many elements. */
	gr_obj from;	/**< The object it lies in; GR_OBJ_NONE: a root. */
};

/** The two parts of gr_region.place. */
static inline uint64_t gr_region_word(const struct gr_region *region)
{
	return region->place & ((UINT64_C(1) << 48) - 1);
}
static inline uint64_t gr_region_object_words(const struct gr_region *region)
{
	return region->place >> 48;
}

/** Offset of the region's last word; also 0 if the region covers no object. */
static inline uint64_t gr_region_last_off(const struct gr_region *region)
{
	uint64_t words = gr_region_object_words(region);

	return (words - !!words) * GR_WORD_BYTES;
}

/** A piece of the queue: 64 KiB, or a huge page if the queue is long. */
struct gr_region_chunk {
	struct gr_region_chunk *next, *prev;
	uint32_t first, end; /**< [first, end) wait. */
	uint32_t capacity;
	bool is_huge; /**< From gr_huge_alloc(). */
	struct gr_region regions[];
};

/**
 * A FIFO queue of regions in chunks. One empty chunk is kept for reuse. A
 * depth-first walk takes regions from the end of the queue.
 */
struct gr_region_queue {
	struct gr_region_chunk *head, *tail, *spare;
	struct gr_huge_next next; /**< The next chunk of a long queue. */
	uint64_t size;
};

/**
 * A counted object that types may not explain in full. The mask phase follows
 * those of its words that are still pending.
 */
struct gr_masked_object {
	uint64_t word; /**< Bit of one of its words in `pending`. */
	uint32_t node;
};
GR_VECTOR(gr_masked_vector, struct gr_masked_object);

/**
 * A counted object with a known pointer to its first field. The type of that
 * field names the object, unless another pointer gives the type of the whole.
 */
struct gr_part {
	gr_obj obj;
	gr_type_id label;
	uint64_t bytes; /**< Size of the object, as totals count it. */
};
GR_VECTOR(gr_part_vector, struct gr_part);

/** A visit of an object of the scheduler, kept for the last tier. */
struct gr_deferred_visit {
	uint64_t addr;
	uint32_t node;
	gr_obj from; /**< As gr_region.from. */
};
GR_VECTOR(gr_deferred_vector, struct gr_deferred_visit);

/** The type found at an address; `to` is NULL while the entry is unused. */
struct gr_cached_type {
	uint64_t addr;
	const struct gr_referent *to;
};

enum { GR_TYPE_CACHE = 4096 };

struct gr_walk {
	struct gr_runtime *rt;
	struct gr_types *types;
	const struct gr_sched *sched;
	const struct gr_heap *heap;
	const struct gr_roots *roots;
	struct gr_marking m; /**< The result of the walk. */
	struct gr_type_plans plans;
	uint64_t *pending;
	/** Pointer bits as they were before the walk, if totals have the words
	 * that the collector scans; else NULL. */
	uint64_t *scanned;
	uint64_t *area_word; /**< First bit in pending of each area. */
	uint64_t extra_word; /**< Next free bit behind the areas. */
	uint64_t total_words;
	struct gr_region_queue queue;
	struct gr_masked_vector masked;
	struct gr_part_vector parts;
	struct gr_deferred_vector deferred;
	struct gr_ledger *ledger;
	bool is_first_root; /**< GR_ATTRIBUTION_FIRST. */
	bool per_goroutine;
	bool precise_only; /**< Conservative words are left out. */
	/** The state of an object that the quick way may count. */
	uint8_t quick_state;
	/** The shape of map_shape_type; its `bytes` are 0 if there is none. */
	struct gr_map_shape map_shape;
	gr_type_id map_shape_type;
	uint64_t nsteps;
	/**
	 * The number of sudogs that the walk may still meet. Each sudog is in
	 * one queue, which is read twice.
	 */
	uint64_t waiters_left;
	struct gr_error *err; /**< Sticky: out of memory, interrupted. */
	struct gr_cached_type type_cache[GR_TYPE_CACHE];
};

/** The origin of the pointers that are being followed. */
struct gr_origin {
	const struct gr_root *root; /**< NULL: memory that a root led to. */
	struct gr_total *row;	    /**< Ledger row for objects with a type. */
	gr_obj from;		    /**< The object they lie in, or NONE. */
	uint8_t tier;		    /**< enum gr_tier */
	/**
	 * The state of an object that the quick way counts. No object has
	 * GR_STATE_NONE, which is that of conservative words: they may not be
	 * pointers.
	 */
	uint8_t quick_state;
};

enum {
	GR_STATE_NONE = UINT8_MAX,
	GR_STATE_SLOW = GR_STATE_NONE - 1, /**< No object has this, either. */
};

static inline bool gr_origin_is_doubtful(const struct gr_origin *o)
{
	return o->quick_state == GR_STATE_NONE;
}

/** The origin of pointers in an object or in other memory that was reached. */
static inline struct gr_origin gr_origin_of(const struct gr_walk *w,
					    gr_obj from, enum gr_tier tier)
{
	return (struct gr_origin){
		.row = &w->ledger->typed,
		.from = from,
		.tier = tier,
		.quick_state = w->quick_state,
	};
}

/** The origin of a root's words; @p is_doubtful: they may not be pointers. */
static inline struct gr_origin gr_origin_of_root(const struct gr_walk *w,
						 const struct gr_root *root,
						 enum gr_tier tier,
						 bool is_doubtful)
{
	struct gr_origin o = gr_origin_of(w, GR_OBJ_NONE, tier);

	o.root = root;
	if (is_doubtful)
		o.quick_state = GR_STATE_NONE;
	return o;
}

/**
 * A place for names: the node of a value, and the table of the names below
 * it. A node is made only when something is billed to it.
 */
struct gr_scope {
	uint32_t node; /**< GR_NODE_NONE: up_step of the scope above. */
	uint32_t key;
	uint32_t table;			 /**< 0: not looked up yet. */
	const struct gr_type_plan *plan; /**< For plain values. */
	struct gr_scope *up;
	const struct gr_root *root; /**< For a scope without `up` and node. */
	uint32_t up_step;
};

/* visit.c: objects. */

/**
 * Handle a pointer to @p addr: count its object if it is new, and queue the
 * region that its type explains. @p count is as gr_region.count.
 *
 * @return the object if this call counted it.
 */
gr_obj gr_walk_visit(struct gr_walk *w, const struct gr_origin *o,
		     uint64_t addr, const struct gr_referent *to,
		     uint32_t count, struct gr_scope *scope, uint32_t step);
/** The referent of a pointer of unknown type, counted in total @p label. */
static inline struct gr_referent gr_referent_untyped(gr_type_id label)
{
	return (struct gr_referent){
		.plan = &gr_type_plan_nothing,
		.type = GR_TYPE_NONE,
		.label = label,
		.bytes = label == GR_TYPE_NONE ? GR_NOT_QUICK : 0,
	};
}
/** The size of slot @p index of a span, as totals count it. */
static inline uint64_t gr_walk_slot_size(const struct gr_walk *w,
					 const struct gr_span *span,
					 uint32_t index)
{
	if (GR_LIKELY(!w->scanned))
		return span->elem_bytes;
	if (span->is_noscan)
		return 0;
	return gr_scanned_words(w->scanned, gr_span_slot_word(span, index),
				span->elem_bytes / GR_WORD_BYTES);
}
/** At the end of the walk, name unnamed objects after their first field. */
void gr_walk_name_parts(struct gr_walk *w);
/** Set w->err for lack of memory and return the empty plan. */
const struct gr_type_plan *gr_walk_no_type_plan(struct gr_walk *w);
/** The plan of a type. Without memory, this sets w->err and returns an empty
 * plan. */
static inline const struct gr_type_plan *gr_walk_type_plan(struct gr_walk *w,
							   gr_type_id type)
{
	const struct gr_type_plan *plan = gr_type_plan_get(&w->plans, type);

	return GR_LIKELY(plan != NULL) ? plan : gr_walk_no_type_plan(w);
}
/** The referent of a pointer to one value of @p type, or of unknown type. */
const struct gr_referent *gr_walk_referent(struct gr_walk *w, gr_type_id type);
/**
 * The referent of a pointer to a value of the type whose runtime record (or
 * whose itab) lies at @p addr. The answer is cached.
 */
const struct gr_referent *gr_walk_runtime_type(struct gr_walk *w,
					       uint64_t addr);
const struct gr_referent *gr_walk_itab_type(struct gr_walk *w, uint64_t addr);
/** The same for the closure whose code is at @p pc. */
const struct gr_referent *gr_walk_closure_type(struct gr_walk *w, uint64_t pc);
/**
 * An earlier answer of one of these three functions for @p addr. NULL means
 * that there is none, or that another address has replaced it in the cache.
 * Itabs, type records and code never share an address.
 */
static inline const struct gr_referent *
gr_walk_cached_type(const struct gr_walk *w, uint64_t addr)
{
	const struct gr_cached_type *entry =
		&w->type_cache[addr / 32 % GR_TYPE_CACHE];

	return entry->addr == addr ? entry->to : NULL;
}
/* memory.c */

/**
 * Find the host memory and the pending bit of target address @p addr, in the
 * heap or in an area. *@p bytes becomes the size of the contiguous memory
 * there.
 *
 * @return false if the address is in neither.
 */
bool gr_walk_locate(struct gr_walk *w, uint64_t addr, const uint8_t **host,
		    uint64_t *word, uint64_t *bytes);
/**
 * Clear the pending bits of words that lead to nothing new: nil words, and
 * pointers to finished objects. Maps have many free slots, and the mask phase
 * would otherwise fetch their memory again.
 *
 * @return whether any pending bits remain.
 */
bool gr_walk_drop_done(struct gr_walk *w, const uint8_t *host, uint64_t word,
		       uint64_t nwords);

/* scope.c: names. */

/** The node of a name below a scope's value; it is made if it is new. */
uint32_t gr_walk_find_step_node(struct gr_walk *w, struct gr_scope *scope,
				uint32_t step);
uint32_t gr_walk_scope_node(struct gr_walk *w, struct gr_scope *scope);

/** Like gr_walk_find_step_node(), for a name that was probably used before. */
static inline uint32_t gr_walk_step_node(struct gr_walk *w,
					 struct gr_scope *scope, uint32_t step)
{
	if (step == GR_STEP_SELF) {
		if (GR_LIKELY(scope->node != GR_NODE_NONE))
			return scope->node;
	} else if (scope->table) {
		uint32_t child = w->m.tree.tables.data[scope->table + 2 + step];
		if (GR_LIKELY(child))
			return child - 1;
	}
	return gr_walk_find_step_node(w, scope, step);
}

/** Look up the node and the table of a scope; this creates neither. */
static inline void gr_walk_open_scope(const struct gr_walk *w,
				      struct gr_scope *scope)
{
	const struct gr_scope *up = scope->up;

	if (scope->node == GR_NODE_NONE && up) {
		if (scope->up_step == GR_STEP_SELF)
			scope->node = up->node;
		else if (up->table)
			// No child is 0, and GR_NODE_NONE is 0 - 1.
			scope->node =
				w->m.tree.tables
					.data[up->table + 2 + scope->up_step] -
				1;
	}
	if (scope->node != GR_NODE_NONE)
		scope->table =
			gr_tree_find_table(&w->m.tree, scope->node, scope->key);
}

/* run.c: plans over memory. */

/**
 * Follow an interface's data word whose concrete type is that of @p to, for
 * the node of @p step.
 */
void gr_walk_run_interface(struct gr_walk *w, const struct gr_origin *o,
			   struct gr_scope *scope, uint32_t step,
			   const uint8_t *at, const struct gr_referent *to);
/** Follow a pointer to a funcval, whose static type is @p type. */
void gr_walk_run_func(struct gr_walk *w, const struct gr_origin *o,
		      struct gr_scope *scope, uint32_t step, uint64_t addr,
		      gr_type_id type);
void gr_walk_run_value(struct gr_walk *w, const struct gr_origin *o,
		       struct gr_scope *scope, const uint8_t *host,
		       uint64_t word);
void gr_walk_run_elements(struct gr_walk *w, const struct gr_origin *o,
			  struct gr_scope *list, gr_type_id elem,
			  uint64_t count, const uint8_t *host, uint64_t word);
/**
 * Run the key and the element of each full slot of a bucket or group at
 * @p host. @p full has one byte for each slot, 0 or 0x80. If a scope has no
 * plan, the keys or elements are skipped.
 */
void gr_walk_run_entries(struct gr_walk *w, const struct gr_origin *o,
			 const struct gr_map_shape *shape, struct gr_scope *key,
			 struct gr_scope *elem, uint64_t full,
			 const uint8_t *host, uint64_t word);
/** Run regions from the queue, at most @p count of them. */
void gr_walk_drain(struct gr_walk *w, enum gr_tier tier, uint64_t count);

/* container.c: maps, channels, hash tries. */

/** Go through the container whose header lies at @p host. */
void gr_walk_run_container(struct gr_walk *w, const struct gr_origin *o,
			   struct gr_scope *scope, gr_type_id type,
			   const uint8_t *host, uint64_t word);
/** Size of the header of container @p type; 0 if it is not known. */
uint64_t gr_walk_header_bytes(struct gr_walk *w, gr_type_id type);

/* tiers.c: roots and the mask phase. */

/** Walk all tiers, or only from @p options->places if there are any. */
struct gr_error *
gr_walk_tiers(struct gr_walk *w,
	      const struct gr_walk_options *options) GR_MUST_CHECK;

/* walk.c */

struct gr_error *gr_walk_create(const struct gr_heap *heap,
				const struct gr_sched *sched,
				const struct gr_roots *roots,
				const struct gr_walk_options *options,
				struct gr_ledger *ledger,
				struct gr_walk **ret) GR_MUST_CHECK;
void gr_walk_destroy(struct gr_walk *w);
GR_DEFINE_CLEANUP(walk, struct gr_walk, gr_walk_destroy)
/** Record how each object is reached, for `goref why`, instead of a tree. */
struct gr_error *gr_walk_keep_parents(struct gr_walk *w) GR_MUST_CHECK;

/** Append a chunk to the queue. Without memory, set w->err and return false. */
bool gr_walk_add_chunk(struct gr_walk *w);
/** Take the last region; false if there is none. */
bool gr_region_queue_pop_last(struct gr_region_queue *queue,
			      struct gr_region *ret);
/** Remove the first chunk of a queue, which must be empty. */
void gr_region_queue_drop_chunk(struct gr_region_queue *queue);

/**
 * Append a region, which the caller fills in place. Without memory, this sets
 * w->err and returns NULL.
 */
static inline struct gr_region *gr_walk_push(struct gr_walk *w)
{
	struct gr_region_queue *queue = &w->queue;

	if (GR_UNLIKELY(!queue->tail ||
			queue->tail->end == queue->tail->capacity) &&
	    !gr_walk_add_chunk(w))
		return NULL;
	queue->size++;
	return &queue->tail->regions[queue->tail->end++];
}

static inline void gr_walk_fail(struct gr_walk *w, struct gr_error *err)
{
	if (w->err)
		gr_error_destroy(err);
	else
		w->err = err;
}

/** Ask the caller whether to continue; a refusal becomes w->err. */
static inline void gr_walk_poll(struct gr_walk *w)
{
	struct gr_error *err = w->rt->poll(w->rt->poll_ctx);
	if (err)
		gr_walk_fail(w, err);
}

/** Count steps of the walk, and poll the caller every few milliseconds. */
static inline void gr_walk_tick(struct gr_walk *w, uint32_t nsteps)
{
	uint64_t before = w->nsteps;

	w->nsteps += nsteps;
	if (GR_UNLIKELY((before ^ w->nsteps) >> 16))
		gr_walk_poll(w);
}

/** True when the walk has to end. */
static inline bool gr_walk_is_over(const struct gr_walk *w)
{
	return w->err || w->m.tree.is_out_of_memory;
}

/** Note that the walk has read words that are no pointers. */
static inline void gr_walk_note_read(const struct gr_walk *w, const void *host,
				     uint64_t bytes)
{
	gr_recorder_note(w->rt->recorder, host, bytes);
}

/** No slice has so many elements, unless they have no size: no address has more
 * bits. */
#define GR_WALK_MAX_COUNT (UINT64_C(1) << 47)

/** Note a length or a capacity. A stale variable may have any number. */
static inline void gr_walk_note_count(const struct gr_walk *w,
				      const uint8_t *host)
{
	if (GR_UNLIKELY(w->rt->recorder != NULL) &&
	    gr_load_u64(host) < GR_WALK_MAX_COUNT)
		gr_walk_note_read(w, host, GR_WORD_BYTES);
}

/** Load a number of elements, and note it; 0 if it cannot be one. */
static inline uint64_t gr_walk_load_count(const struct gr_walk *w,
					  const uint8_t *host)
{
	uint64_t count = gr_load_u64(host);

	gr_walk_note_count(w, host);
	return GR_LIKELY(count < GR_WALK_MAX_COUNT) ? count : 0;
}

#endif /* GR_WALK_H */
