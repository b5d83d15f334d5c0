/* SPDX-License-Identifier: Apache-2.0 */
/**
 * walk: the two-phase walk of the heap. Knows the rebuilt runtime (spans,
 * types, roots) and the tree; knows no debugger and no file.
 *
 * `todo` has a bit a word: set while the word is a live pointer, by the
 * collector's own masks, that nothing has followed yet. The typed phase runs
 * type programs over regions and takes bits; the mask phase follows what is
 * left. So masks decide what is a pointer, types only name it, and reached is
 * what the collector would reach, whatever the types say.
 *
 * Regions are taken from a FIFO queue: the walk is breadth-first, and an
 * object is billed to the nearest root. Strata of roots are finished one after
 * another. Objects of the scheduler are barriers until the last one.
 */
#ifndef GR_WALK_H
#define GR_WALK_H

#include "base/cleanup.h"
#include "goruntime/heap.h"
#include "goruntime/roots.h"
#include "mark/program.h"
#include "mark/tree.h"

/** Flags of a key of child tables, beside a type id. */
enum {
	GR_KEY_ELEMENTS = 0x80000000,  /**< `[0].` to `[9].`, `[10+].` */
	GR_KEY_CONTAINER = 0x40000000, /**< `$mapkey.`, `$mapval.` */
	GR_KEY_SUB_OBJECTS = 0x3fffffff,
};

/** Names of elements: ten by number, one for the rest. */
enum { GR_NELEMENT_NAMES = 11 };

/** A typed piece of memory to run a program over. */
struct gr_region {
	const uint8_t *host;
	/**
	 * The bit of its first word in `todo`; from bit 48 on 0, or the words
	 * of the new object that it covers: what the type leaves of them is
	 * for the mask phase. No bit-fields: new memory would be read first.
	 */
	uint64_t place;
	gr_type_id type;
	uint32_t node;
	uint32_t count; /**< 0: one value; else that many elements. */
	gr_obj from;	/**< The object it lies in; GR_OBJ_NONE: a root. */
};

/** What is in gr_region.place. */
static inline uint64_t gr_region_word(const struct gr_region *region)
{
	return region->place & ((UINT64_C(1) << 48) - 1);
}
static inline uint64_t gr_region_object_words(const struct gr_region *region)
{
	return region->place >> 48;
}

/** Of its last word; 0 too where there is none. */
static inline uint64_t gr_region_last_off(const struct gr_region *region)
{
	uint64_t words = gr_region_object_words(region);

	return (words - !!words) * GR_WORD_BYTES;
}

/** A piece of the queue: 64 KiB, or a huge page of a queue that is long. */
struct gr_region_chunk {
	struct gr_region_chunk *next, *prev;
	uint32_t first, end; /**< [first, end) wait. */
	uint32_t capacity;
	struct gr_region regions[];
};

/**
 * A FIFO queue of regions in chunks, of which one is kept when it is empty;
 * taken from its end as well, for a depth-first walk.
 */
struct gr_region_queue {
	struct gr_region_chunk *head, *tail, *spare;
	uint64_t size;
};

/** How an object was first reached: what `goref why` prints. */
struct gr_parent {
	gr_obj from;	    /**< GR_OBJ_NONE: a root. */
	uint32_t goroutine; /**< Of a stack root, else UINT32_MAX. */
};

/**
 * A counted object that types perhaps do not explain in full: its words that
 * are still to do in the mask phase are followed by mask.
 */
struct gr_masked_object {
	uint64_t word; /**< Bit of one of its words in `todo`. */
	uint32_t node;
};
GR_VECTOR(gr_masked_vector, struct gr_masked_object);

/** A visit of a barrier object, kept for the last stratum. */
struct gr_deferred_visit {
	uint64_t addr;
	uint32_t node;
};
GR_VECTOR(gr_deferred_vector, struct gr_deferred_visit);
GR_VECTOR(gr_total_vector, struct gr_total);

/** Where the keys, or the elements, of a map's bucket or group lie. */
struct gr_map_part {
	uint64_t off_bytes, stride;
	bool is_indirect; /**< There are pointers to them. */
};

struct gr_map_shape {
	struct gr_map_part key, elem;
	uint64_t bytes; /**< Of a bucket or group. */
};

/** What was found at an address; NULL: nothing yet. */
struct gr_cached_type {
	uint64_t addr;
	const struct gr_referent *to;
};

enum { GR_TYPE_CACHE = 4096 };

struct gr_walk {
	struct gr_runtime *rt;
	struct gr_heap *heap;
	const struct gr_roots *roots;
	struct gr_programs programs;
	struct gr_tree tree;
	uint64_t *todo;
	uint64_t *area_word; /**< First bit in todo of each area. */
	uint64_t extra_word; /**< Next free bit behind the areas. */
	uint64_t total_words;
	/* Only for `goref why`, by object; valid where counted. */
	uint32_t *node_of;
	gr_type_id *type_of;
	struct gr_parent *parents;
	gr_obj wanted; /**< Stop when it is counted. */
	bool is_found;
	struct gr_region_queue queue;
	struct gr_masked_vector masked;
	struct gr_deferred_vector deferred;
	uint64_t *deferred_seen;	    /**< A bit an object. */
	struct gr_total_vector type_totals; /**< By type id. */
	struct gr_total untyped_total;
	struct gr_ledger *ledger;
	/* The state of the step at hand. */
	uint8_t stratum;
	bool is_first_root; /**< GR_ATTRIBUTION_FIRST. */
	bool per_goroutine;
	bool precise_only;    /**< Words of doubt are left out. */
	bool is_conservative; /**< A word of doubt. */
	/** The state of an object that the quick way counts; of doubt: none. */
	uint8_t quick_state;
	gr_obj from;
	const struct gr_root *root;    /**< The root at hand; NULL between. */
	struct gr_map_shape map_shape; /**< Of map_shape_type; bytes 0: none. */
	gr_type_id map_shape_type;
	uint64_t nsteps;
	struct gr_total *typed_row; /**< Of the ledger, by phase and type. */
	struct gr_free_slot free_slots[GR_FREE_SLOTS_MAX]; /**< The first. */
	size_t nfree_slots;
	struct gr_error *err; /**< Sticky: out of memory, interrupted. */
	struct gr_cached_type type_cache[GR_TYPE_CACHE];
};

/**
 * Where names are found: the node of a value, and the table of the names
 * below it. Nodes are made when something is billed to them, not before.
 */
struct gr_scope {
	uint32_t node; /**< GR_NODE_NONE: up_step of the scope above. */
	uint32_t key;
	uint32_t table;			  /**< 0: not looked up yet. */
	const struct gr_program *program; /**< Of plain values. */
	struct gr_scope *up;
	uint32_t up_step;
};

/* visit.c: objects. */

/**
 * A pointer to @p addr was found: count its object if it is new, and queue
 * what its type explains. @p count as gr_region.count.
 *
 * @return the object when it was counted just now.
 */
gr_obj gr_walk_visit(struct gr_walk *w, uint64_t addr,
		     const struct gr_referent *to, uint32_t count,
		     struct gr_scope *scope, uint32_t step);
/**
 * Take the todo bits of words that lead to nothing new: nil, or objects that
 * are done. Free slots of maps are many, and the mask phase would fetch their
 * memory once more. @return whether bits are left.
 */
bool gr_walk_drop_done(struct gr_walk *w, const uint8_t *host, uint64_t word,
		       uint64_t nwords);
/** What a pointer of no known type leads to, counted in total @p label. */
static inline struct gr_referent gr_referent_untyped(gr_type_id label)
{
	return (struct gr_referent){
		.program = &gr_program_nothing,
		.type = GR_TYPE_NONE,
		.label = label,
		.bytes = label == GR_TYPE_NONE ? GR_NOT_QUICK : 0,
	};
}
/** The empty program, and w->err: no memory. */
const struct gr_program *gr_walk_no_program(struct gr_walk *w);
/** The program of a type; an empty one, and w->err, without memory. */
static inline const struct gr_program *gr_walk_program(struct gr_walk *w,
						       gr_type_id type)
{
	const struct gr_program *program = gr_program_get(&w->programs, type);

	return GR_LIKELY(program != NULL) ? program : gr_walk_no_program(w);
}
/** A pointer to one value of @p type, or of no known type. */
const struct gr_referent *gr_walk_referent(struct gr_walk *w, gr_type_id type);
/**
 * A pointer to a value of the type whose runtime record (or whose itab) lies
 * at @p addr, cached.
 */
const struct gr_referent *gr_walk_runtime_type(struct gr_walk *w,
					       uint64_t addr);
const struct gr_referent *gr_walk_itab_type(struct gr_walk *w, uint64_t addr);
/** The same for the closure whose code is at @p pc. */
const struct gr_referent *gr_walk_closure_type(struct gr_walk *w, uint64_t pc);
/**
 * What one of these three said of @p addr before; NULL: it was not asked, or
 * others were since. Itabs, type records and code never share an address.
 */
static inline const struct gr_referent *
gr_walk_cached_type(const struct gr_walk *w, uint64_t addr)
{
	const struct gr_cached_type *entry =
		&w->type_cache[addr / 32 % GR_TYPE_CACHE];

	return entry->addr == addr ? entry->to : NULL;
}
/**
 * Host memory and todo bit of target address @p addr, in the heap or in an
 * area; *@p bytes becomes what lies there in one piece. False: nowhere.
 */
bool gr_walk_locate(struct gr_walk *w, uint64_t addr, const uint8_t **host,
		    uint64_t *word, uint64_t *bytes);

/* scope.c: names. */

/** The node of a name below a scope's value, made if new. */
uint32_t gr_walk_find_step_node(struct gr_walk *w, struct gr_scope *scope,
				uint32_t step);
uint32_t gr_walk_scope_node(struct gr_walk *w, struct gr_scope *scope);
/** The tree's node of a root, made if new. */
uint32_t gr_walk_root_node(struct gr_walk *w, const struct gr_root *root);

/** gr_walk_find_step_node(), of a name that was most likely used before. */
static inline uint32_t gr_walk_step_node(struct gr_walk *w,
					 struct gr_scope *scope, uint32_t step)
{
	if (step == GR_STEP_SELF) {
		if (GR_LIKELY(scope->node != GR_NODE_NONE))
			return scope->node;
	} else if (scope->table) {
		uint32_t child = w->tree.tables.data[scope->table + 2 + step];
		if (GR_LIKELY(child))
			return child - 1;
	}
	return gr_walk_find_step_node(w, scope, step);
}

/** Find what was made before of a scope's node and table; makes none. */
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
				w->tree.tables
					.data[up->table + 2 + scope->up_step] -
				1;
	}
	if (scope->node != GR_NODE_NONE)
		scope->table =
			gr_tree_find_table(&w->tree, scope->node, scope->key);
}

/* run.c: programs over memory. */

/**
 * Follow an interface's data word whose concrete type is that of @p to, for
 * the node of @p step.
 */
void gr_walk_run_interface(struct gr_walk *w, struct gr_scope *scope,
			   uint32_t step, const uint8_t *at,
			   const struct gr_referent *to);
/** Follow a pointer to a funcval, whose static type is @p type. */
void gr_walk_run_func(struct gr_walk *w, struct gr_scope *scope, uint32_t step,
		      uint64_t addr, gr_type_id type);
void gr_walk_run_value(struct gr_walk *w, struct gr_scope *scope,
		       const uint8_t *host, uint64_t word);
void gr_walk_run_elements(struct gr_walk *w, struct gr_scope *list,
			  gr_type_id elem, uint64_t count, const uint8_t *host,
			  uint64_t word);
/**
 * Run key and element of each full slot of a bucket or group at @p host: a
 * byte of @p full a slot, 0 or 0x80. A scope without a program: not those.
 */
void gr_walk_run_entries(struct gr_walk *w, const struct gr_map_shape *shape,
			 struct gr_scope *key, struct gr_scope *elem,
			 uint64_t full, const uint8_t *host, uint64_t word);
/** Run what waits in the queue, at most @p count regions. */
void gr_walk_drain(struct gr_walk *w, uint64_t count);

/* container.c: maps, channels, hash tries. */

/** Go through the container whose header lies at @p host. */
void gr_walk_run_container(struct gr_walk *w, struct gr_scope *scope,
			   gr_type_id type, const uint8_t *host, uint64_t word);
/** Bytes of the header of container @p type; 0 if that is not known. */
uint64_t gr_walk_header_bytes(struct gr_walk *w, gr_type_id type);

/* strata.c: roots and the mask phase. */

/** Walk all strata, or only what @p options->places hold. */
struct gr_error *
gr_walk_strata(struct gr_walk *w,
	       const struct gr_walk_options *options) GR_MUST_CHECK;

/* walk.c */

struct gr_error *gr_walk_create(struct gr_runtime *rt,
				const struct gr_roots *roots,
				const struct gr_walk_options *options,
				struct gr_ledger *ledger,
				struct gr_walk **ret) GR_MUST_CHECK;
void gr_walk_destroy(struct gr_walk *w);
GR_DEFINE_CLEANUP(walk, struct gr_walk, gr_walk_destroy)
/** Keep how each object was reached; stop when @p wanted is counted. */
struct gr_error *gr_walk_keep_parents(struct gr_walk *w,
				      gr_obj wanted) GR_MUST_CHECK;

/** Append a chunk to the queue; false, and w->err, without memory. */
bool gr_walk_add_chunk(struct gr_walk *w);
/** Take the last region; false if there is none. */
bool gr_region_queue_pop_last(struct gr_region_queue *queue,
			      struct gr_region *ret);
/** Take out the first chunk of a queue: it is empty. */
void gr_region_queue_drop_chunk(struct gr_region_queue *queue);

/** A new last region, to be filled in place; NULL, and w->err, without memory. */
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

/** From here on words are, or are not, perhaps no pointers. */
static inline void gr_walk_set_conservative(struct gr_walk *w, bool is)
{
	w->is_conservative = is;
	w->quick_state = is ? UINT8_MAX : GR_OBJECT_ALLOCATED;
}

static inline void gr_walk_fail(struct gr_walk *w, struct gr_error *err)
{
	if (w->err)
		gr_error_destroy(err);
	else
		w->err = err;
}

/** Ask the debugger whether to go on; an answer of no becomes w->err. */
static inline void gr_walk_poll(struct gr_walk *w)
{
	struct gr_error *err = w->rt->poll(w->rt->poll_ctx);
	if (err)
		gr_walk_fail(w, err);
}

/** Count steps of the walk; ask now and then: every few milliseconds. */
static inline void gr_walk_tick(struct gr_walk *w, uint32_t nsteps)
{
	uint64_t before = w->nsteps;

	w->nsteps += nsteps;
	if (GR_UNLIKELY((before ^ w->nsteps) >> 16))
		gr_walk_poll(w);
}

/** True when the walk has to end: error, or the wanted object is found. */
static inline bool gr_walk_is_over(const struct gr_walk *w)
{
	return w->err || w->is_found || w->tree.is_out_of_memory;
}

#endif /* GR_WALK_H */
