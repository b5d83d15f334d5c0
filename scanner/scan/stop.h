/* SPDX-License-Identifier: Apache-2.0 */
/** stop: what one stop of the program has: memory, goroutines, heap, roots. */
#ifndef GR_STOP_H
#define GR_STOP_H

#include "goruntime/heap/heap.h"
#include "goruntime/heap/heap_arenas.h"
#include "goruntime/memory/c_blocks.h"
#include "goruntime/memory/collector.h"
#include "goruntime/memory/page_bits.h"
#include "goruntime/memory/sys_memory.h"
#include "goruntime/roots/roots.h"
#include "goruntime/sched/goroutine.h"
#include "goruntime/sched/moments.h"
#include "inferior/residency.h"
#include "native/native.h"

#include "scan/goroutine_index.h"
#include "scan/open.h"
#include "scan/program.h"

/**
 * A stop grows by stages, each whole. The program (symbols, modules, types) is
 * always there. Goroutines are their records and frames. The heap is its spans
 * and slots, the live words of the stacks, and the roots; it needs the
 * goroutines. The runtime's own profiles are its buckets, which the question
 * reads: the stage copies them from a process.
 */
enum gr_stage {
	GR_STAGE_GOROUTINES = 1,
	GR_STAGE_HEAP = 2,
	GR_STAGES_ALL = GR_STAGE_GOROUTINES | GR_STAGE_HEAP,
	GR_STAGE_BUCKETS = 4, /* copied only if it is asked for */
};

/** The resident pages, and what they are; see gr_stop_residency(). */
struct gr_stop_pages {
	struct gr_residency residency;
	struct gr_collector collector;
	struct gr_heap_arenas arenas;
	struct gr_page_bits page_bits;
	struct gr_c_blocks c_blocks;
	struct gr_sys_memory sys_memory;
	bool has_residency; /**< All of this was read. */
	bool has_pages;	    /**< Only the pages of the residency were. */
};

/** The stages fill it, and dropping them makes it empty again. What reads no
 * more than a part of it takes that part: the heap, or the goroutines. */
struct gr_stop {
	struct gr_program *program;
	struct gr_target target; /**< Our own copy. */
	struct gr_saved *saved;	 /**< The saved file, or NULL. */
	struct gr_image *image;
	struct gr_gaps gaps;
	unsigned int stages; /**< The stages that were read: enum gr_stage. */
	struct gr_heap *heap;
	struct gr_sched sched;
	struct gr_goroutine_index goroutine_index;
	struct gr_moments moments; /**< See gr_stop_moments(). */
	bool has_moments;
	struct gr_root_list lists;
	struct gr_sampled_vector sampled; /**< Samples of the heap profile. */
	struct gr_roots roots;
	struct gr_scan_info info;
	struct gr_stop_pages pages;
	/** For pages.c_blocks of a process that runs; else NULL. */
	struct gr_c_block_memo *c_memo;
	struct gr_native native; /**< See gr_stop_native(). */
	bool has_native;
	bool is_native_copied; /**< The copy of a process has it. */
};

/** Has the target the program's values, or is it a file without them? */
bool gr_stop_may_have_values(const struct gr_stop *stop);

/** The kind of the target, or of what a saved file was made of. */
enum gr_target_kind gr_stop_origin_kind(const struct gr_stop *stop);

#endif /* GR_STOP_H */
