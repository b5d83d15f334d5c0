// SPDX-License-Identifier: Apache-2.0
/*
 * The regions of each arena. The main arena has the break of the program, or
 * mappings where the break cannot grow. All other arenas have heaps, which are
 * aligned to their largest size; the newest one has the top chunk, and each
 * leads to the one before.
 */
#include "native/allocators/glibc.h"

#include "base/chain.h"
#include "inferior/elf.h"

enum {
	MAX_ARENAS = 1 << 16,
	DEFAULT_HEAP_BITS = 26,
	LEAST_HEAP_BITS = 20,
	MOST_HEAP_BITS = 34, /* with huge pages of a gigabyte: four of them */
	/* heap_info */
	HEAP_PREVIOUS = 8,
	HEAP_SIZE = 16,
	HEAP_USABLE_SIZE = 24, /* mprotect_size */
	HEAP_LEAST_BYTES = 32, /* before 2.35; 48 since then */
	HEAP_MOST_BYTES = 48,
};

/* So that the end of a block is no small number. */
#define MOST_ADDRESS (UINT64_MAX - 2 * GR_PAGE_BYTES)

static uint64_t align_chunk(uint64_t addr)
{
	return (addr + 15) & ~UINT64_C(15);
}

struct gr_error *gr_glibc_add_region(struct gr_glibc *g, uint32_t index,
				     struct gr_glibc_region region)
{
	struct gr_native_arena *arena = &g->r->native->arenas.data[index];

	region.arena = index;
	if (region.end < region.start || region.end > MOST_ADDRESS) {
		gr_arena_fail(arena,
			      "an address range of its memory is invalid");
		return NULL;
	}
	if (region.start < region.end &&
	    gr_reader_meets_go(g->r, region.start, region.end)) {
		gr_arena_fail(arena, "its memory overlaps the Go heap");
		return NULL;
	}
	arena->mapped_bytes += region.end - region.start;
	return gr_runtime_append(g->r->spec->rt, gr_glibc_region_vector,
				 &g->regions, region);
}

static struct gr_error *add_region(struct gr_glibc *g,
				   struct gr_native_arena *arena,
				   struct gr_glibc_region region)
{
	return gr_glibc_add_region(g, arena - g->r->native->arenas.data,
				   region);
}

/* May a heap of the arena be at @p heap? *@p size is then its size. */
static bool is_heap(struct gr_view *view, uint64_t heap, uint64_t arena,
		    uint64_t *size)
{
	return gr_view_has(view, heap, arena) &&
	       gr_view_word(view, heap + HEAP_SIZE, size) &&
	       *size >= GR_PAGE_BYTES && *size % GR_PAGE_BYTES == 0 &&
	       *size <= UINT64_C(1) << MOST_HEAP_BITS;
}

/* The heap that holds the arena's top chunk; 0: none does. It is aligned to the
 * size that heaps may have, which is four huge pages where there are some. A
 * heap may be aligned to more than that. */
static uint64_t newest_heap(struct gr_view *view, uint64_t arena, uint64_t top)
{
	uint64_t heap = top >> DEFAULT_HEAP_BITS << DEFAULT_HEAP_BITS, size;

	if (is_heap(view, heap, arena, &size) && top - heap < size)
		return heap;
	for (unsigned int bits = LEAST_HEAP_BITS; bits <= MOST_HEAP_BITS;
	     bits++) {
		heap = top >> bits << bits;
		if (is_heap(view, heap, arena, &size) && top - heap < size)
			return heap;
	}
	return 0;
}

/* Add the part of a heap that the arena had taken, and has given back. */
static struct gr_error *add_spare(struct gr_glibc *g, uint32_t arena,
				  uint64_t heap, uint64_t size)
{
	struct gr_native_range range = { heap + size, 0, arena };
	uint64_t usable;

	if (!gr_view_word(&g->r->view, heap + HEAP_USABLE_SIZE, &usable) ||
	    usable <= size || usable > UINT64_C(1) << MOST_HEAP_BITS ||
	    heap > MOST_ADDRESS - usable)
		return NULL;
	range.end = heap + usable;
	return gr_runtime_append(g->r->spec->rt, gr_native_range_vector,
				 &g->r->native->spare, range);
}

/* Add the heaps of an arena, from the one with its top chunk on. */
static struct gr_error *add_heaps(struct gr_glibc *g,
				  struct gr_native_arena *arena, uint64_t top)
{
	const uint64_t least = UINT64_C(1) << LEAST_HEAP_BITS;
	struct gr_view *view = &g->r->view;
	uint64_t heap = newest_heap(view, arena->addr, top);
	struct gr_chain chain = { .limit = MAX_ARENAS };
	uint64_t head = arena->addr % least, first = arena->addr - head;
	uint64_t last = 0, previous, size;
	struct gr_error *err = NULL;

	if (!heap || (head != HEAP_LEAST_BYTES && head != HEAP_MOST_BYTES)) {
		gr_arena_fail(arena, "its heaps were not found");
		return NULL;
	}
	for (; !err && heap && gr_chain_step(&chain, heap); heap = previous) {
		last = heap;
		if (heap % least || !is_heap(view, heap, arena->addr, &size) ||
		    !gr_view_word(view, heap + HEAP_PREVIOUS, &previous)) {
			gr_arena_fail(arena, "its list of heaps is damaged");
			return NULL;
		}
		err = add_region(
			g, arena,
			(struct gr_glibc_region){
				.start = heap,
				.end = heap + size,
				.first = heap == first ?
						 align_chunk(
							 arena->addr +
							 GR_GLIBC_STATE_BYTES) :
						 heap + head,
				.top = top - heap < size ? top : 0 });
		if (!err)
			err = add_spare(g, arena - g->r->native->arenas.data,
					heap, size);
		if (!err)
			err = gr_runtime_step(view->rt, 4);
	}
	if (!err && (heap || last != first))
		gr_arena_fail(arena, "its list of heaps is damaged");
	return err;
}

/* The start of the break: malloc_par tells it, or else the mapping. */
static uint64_t main_start(const struct gr_glibc *g, uint64_t top)
{
	const struct gr_mapping *m =
		gr_native_mapping_at(g->r->spec->residency, top);

	if (g->has_par && g->sbrk_base && g->sbrk_base <= top)
		return g->sbrk_base;
	return m ? m->start : 0;
}

static struct gr_error *add_main(struct gr_glibc *g,
				 struct gr_native_arena *arena, uint64_t top)
{
	uint64_t start = main_start(g, top), size;

	// Nothing was allocated: the top is in the arena itself.
	if (top - arena->addr < GR_GLIBC_STATE_BYTES)
		return NULL;
	if (g->has_pieces)
		return gr_glibc_find_pieces(g,
					    arena - g->r->native->arenas.data);
	if (!start || !gr_view_word(&g->r->view, top + GR_CHUNK_SIZE, &size) ||
	    (size &= ~(uint64_t)GR_CHUNK_FLAGS) > (UINT64_C(1) << 46)) {
		gr_arena_miss(arena);
		return NULL;
	}
	return add_region(g, arena,
			  (struct gr_glibc_region){ .start = start,
						    .end = top + size,
						    .first = align_chunk(start),
						    .top = top });
}

static struct gr_error *add_arena(struct gr_glibc *g, uint64_t addr)
{
	bool is_main = addr == g->main_arena;
	struct gr_native_arena_vector *arenas = &g->r->native->arenas;
	struct gr_error *err =
		gr_reader_add_arena(g->r, addr, is_main ? "main" : "thread");
	struct gr_view *view = &g->r->view;
	uint64_t top;

	if (err)
		return err;
	struct gr_native_arena *arena = &arenas->data[arenas->size - 1];
	if (!gr_view_word(view, addr + GR_GLIBC_TOP, &top)) {
		gr_arena_miss(arena);
		return NULL;
	}
	return is_main ? add_main(g, arena, top) : add_heaps(g, arena, top);
}

/* Compare the memory that was found with what the arena counts. */
static void check(struct gr_glibc *g, uint32_t first)
{
	struct gr_native_arena_vector *arenas = &g->r->native->arenas;
	struct gr_view *view = &g->r->view;

	for (size_t i = first; i < arenas->size; i++) {
		struct gr_native_arena *arena = &arenas->data[i];
		uint64_t lock;

		arena->bytes_counter = "system_mem";
		arena->found_bytes = arena->mapped_bytes;
		// The lock is the lower half of the word.
		if (gr_view_word(view, arena->addr + GR_GLIBC_MUTEX, &lock))
			arena->is_locked = (uint32_t)lock;
		if (!gr_view_word(view, arena->addr + GR_GLIBC_SYSTEM_MEM,
				  &arena->counted_bytes))
			gr_arena_miss(arena);
		else if (arena->counted_bytes != arena->found_bytes)
			gr_arena_fail(arena,
				      "it counts other memory than was found");
	}
}

struct gr_error *gr_glibc_find_heaps(struct gr_glibc *g)
{
	struct gr_chain chain = { .limit = MAX_ARENAS };
	struct gr_view *view = &g->r->view;
	uint32_t first = g->r->native->arenas.size;
	uint64_t at = g->main_arena;
	struct gr_error *err;

	view->is_recording = true;
	do {
		err = add_arena(g, at);
		if (!err)
			err = gr_runtime_step(view->rt, 8);
	} while (!err && gr_view_word(view, at + GR_GLIBC_NEXT, &at) &&
		 at != g->main_arena && gr_chain_step(&chain, at));
	if (!err)
		check(g, first);
	view->is_recording = false;
	return err;
}
