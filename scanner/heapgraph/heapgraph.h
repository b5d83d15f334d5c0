/* SPDX-License-Identifier: Apache-2.0 */
/**
 * heapgraph: the object graph of one stop, made from a marking and a sweep.
 *
 * The model of the roots: the top holds the package variables, the goroutines,
 * the timers, the finalizers and cleanups, and the runtime. A goroutine is a
 * group that holds the variables of its frames, other words of its stack, its
 * registers, its g and its sudogs. The goroutines of the runtime belong to the
 * runtime. A package variable with static memory behind it, such as
 * `var cache Store = &store{}`, is a group that holds its own words and those
 * of this memory.
 *
 * *Scheduler edges* are left out: pointers to a g in use or to a sudog of a
 * goroutine that waits. Only the goroutine itself leads to these. A g is in
 * runtime.allgs as long as the process lives, so no goroutine would keep
 * anything alive otherwise. The g's of goroutines that have ended stay with
 * runtime.allgs.
 *
 * Nearest paths prefer roots by the tiers of the walk (mark/walk.h). A g or a
 * sudog as a root of its goroutine is of the last tier.
 *
  * The objects are those that the walk reached, the edges are those of
 * mark/edges.h. Types are the walk's labels (mark/parents.h).
 *
 * Blocks of C are objects, too, with numbers behind those of Go, whether they
 * are reached or not: one that is not is leaked. Words lead to blocks, never
 * from a block to an object of Go. An edge is *exact* if the collector follows
 * the word. Other words of reached objects, those of blocks and those of the
 * roots of C (native/c_roots.h) are *conservative*: any of their values counts
 * that lies in a block. Roots of C are of the last rank, so that a nearest path
 * begins in Go if one does.
 */
#ifndef GR_HEAPGRAPH_H
#define GR_HEAPGRAPH_H

#include "graph/graph.h"
#include "mark/edges.h"
#include "mark/weight.h"
#include "native/c_roots.h"

/** The groups that the top holds, and their names. */
#define GR_ROOT_GROUPS(X)                        \
	X(VARIABLES, "package variables")        \
	X(GOROUTINES, "goroutines")              \
	X(TIMERS, "timers")                      \
	X(FINALIZERS, "finalizers and cleanups") \
	X(RUNTIME, "the runtime")                \
	X(C, "C code")

enum gr_root_group {
#define X(id, name) GR_GROUP_##id,
	GR_ROOT_GROUPS(X)
#undef X
		GR_NROOT_GROUPS,
};

/** Where a root of the graph comes from. */
enum gr_root_source {
	GR_FROM_LIST,	     /**< roots->list[index] */
	GR_FROM_AREA,	     /**< A word of areas.areas[index] at addr. */
	GR_FROM_SCHEDULER,   /**< The g or a sudog of goroutine index. */
	GR_FROM_C,	     /**< Words of c_roots.data[index] from addr on. */
	GR_FROM_C_REGISTERS, /**< The registers of thread number index. */
};

/** A root as a vertex. */
struct gr_root_vertex {
	/** The symbol of a word of data that no variable covers, or the way to
	 * it (`main.cache.pages`), or what a root of C is called, in the arena;
	 * else NULL. */
	const char *name;
	/** The word's, in an area; the first one's, of a root of C, or the start
	 * of its variable. */
	uint64_t addr;
	uint32_t bytes; /**< A C variable has so many; 0: too large, or none. */
	uint32_t index;
	uint8_t source; /**< enum gr_root_source */
	uint8_t tier;	/**< enum gr_tier: its rank in the graph. */
	/** Its holder: an enum gr_root_group; or GR_NROOT_GROUPS + the index of
	 * a goroutine; or behind all these the index of a static group. */
	uint32_t holder;
};
GR_VECTOR(gr_root_vertex_vector, struct gr_root_vertex);

/**
 * Vertices of the graph: objects, roots, one group for each goroutine in the
 * order of sched->goroutines, the static groups, the groups of gr_root_group,
 * the top.
 */
struct gr_heap_graph {
	struct gr_budget budget;
	struct gr_graph *graph;
	struct gr_root_vertex_vector roots;
	uint32_t ngoroutines;
	/** Indices in roots->list of the variables with static memory. */
	struct gr_u32_vector statics;
	uint64_t left_out; /**< Scheduler edges. */
	uint64_t masks_us, edges_us;
	/** The blocks, or NULL; and memory that may lead to them. */
	struct gr_native *native;
	struct gr_c_root_vector c_roots;
};

/** The most threads that sweep edges. */
enum { GR_SWEEP_THREADS = 16 };

/** The input of the graph. Nothing of it is kept. */
struct gr_heap_graph_spec {
	const struct gr_heap *heap;
	const struct gr_sched *sched;
	const struct gr_roots *roots;
	/** A walk from all roots, with parents: what it reached, and its labels
	 * and names. States are not needed. */
	const struct gr_marking *marking;
	/** The memory of C, and the threads that may hold it; or NULL. */
	struct gr_native *native;
	const struct gr_c_roots_spec *c_roots;
	/** The debug information of module @p module of the image, if it has
	 * some that tells types of C; else NULL. NULL: it is never known. */
	struct gr_error *(*find_c_types)(void *ctx, size_t module,
					 const struct gr_dwarf **ret);
	void *ctx;
	uint64_t limit_bytes;  /**< For the graph's arrays; 0: no limit. */
	unsigned int nthreads; /**< 1 to GR_SWEEP_THREADS. */
};

/**
 * Make the graph of a heap. The runtime of the heap is polled.
 *
 * @return GR_ERROR_LIMIT if there are too many objects or edges to number;
 *	GR_ERROR_NO_MEMORY; what poll returned.
 */
struct gr_error *gr_heap_graph_create(const struct gr_heap_graph_spec *spec,
				      struct gr_heap_graph **ret) GR_MUST_CHECK;
void gr_heap_graph_destroy(struct gr_heap_graph *hg);
GR_DEFINE_CLEANUP(heap_graph, struct gr_heap_graph, gr_heap_graph_destroy)

/**
 * Count sizes in the graph in another unit: own and retained ones. Blocks of C
 * have no words that the collector scans. The runtime is polled.
 */
struct gr_error *gr_heap_graph_weigh(struct gr_heap_graph *hg,
				     const struct gr_heap *heap,
				     enum gr_weight weight) GR_MUST_CHECK;

/** The unit of sizes in the graph. */
static inline enum gr_weight
gr_heap_graph_weight(const struct gr_heap_graph *hg)
{
	return hg->graph->weights ? GR_WEIGHT_POINTERS : GR_WEIGHT_BYTES;
}

/** The group of a goroutine, by its index. */
static inline gr_vertex gr_goroutine_vertex(const struct gr_heap_graph *hg,
					    uint32_t index)
{
	return gr_graph_first_group(hg->graph) + index;
}

static inline gr_vertex gr_group_vertex(const struct gr_heap_graph *hg,
					enum gr_root_group group)
{
	return gr_graph_first_group(hg->graph) + hg->ngoroutines +
	       hg->statics.size + group;
}

/** The variable that a word of static memory, or of a variable with static
 * memory, belongs to: an index in roots->list. UINT32_MAX: the root is no such
 * word. */
static inline uint32_t gr_static_variable(const struct gr_heap_graph *hg,
					  const struct gr_root_vertex *vertex)
{
	uint32_t first = GR_NROOT_GROUPS + hg->ngoroutines;

	return vertex->holder < first ?
		       UINT32_MAX :
		       hg->statics.data[vertex->holder - first];
}

/** The name of a group: `package variables`. */
const char *gr_root_group_name(enum gr_root_group group);

/** The group of a root that belongs to no goroutine. */
enum gr_root_group gr_root_group_of(enum gr_root_kind kind);

/** Is it a block of C? */
static inline bool gr_vertex_is_block(const struct gr_graph *graph, gr_vertex v)
{
	return v < graph->nobjects && v >= gr_objects_second(graph->objects);
}

/** The block of a vertex that is one. */
static inline const struct gr_block *
gr_vertex_block(const struct gr_heap_graph *hg, gr_vertex v)
{
	return &hg->native->blocks.list
			.data[v - gr_objects_second(hg->graph->objects)];
}

/** The vertex of a block, by its number. */
static inline gr_vertex gr_block_vertex(const struct gr_objects *objects,
					uint32_t block)
{
	return gr_objects_second(objects) + block;
}

/** The number of a slot's object; GR_VERTEX_NONE if it is not reached. */
static inline gr_vertex gr_object_vertex(const struct gr_objects *objects,
					 gr_obj slot)
{
	return gr_bitmap_test(objects->slots, slot) ?
		       gr_objects_rank(objects, slot) :
		       GR_VERTEX_NONE;
}

#endif /* GR_HEAPGRAPH_H */
