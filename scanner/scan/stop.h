/* SPDX-License-Identifier: Apache-2.0 */
/** stop: what one stop of the program has: memory, goroutines, heap, roots. */
#ifndef GR_STOP_H
#define GR_STOP_H

#include "goruntime/heap/heap.h"
#include "goruntime/heap/heap_arenas.h"
#include "goruntime/memory/page_bits.h"
#include "goruntime/memory/c_blocks.h"
#include "goruntime/roots/roots.h"
#include "goruntime/memory/sys_memory.h"
#include "goruntime/sched/goroutine.h"
#include "goruntime/sched/moments.h"
#include "inferior/residency.h"
#include "goruntime/memory/collector.h"
#include "scan/goroutine_index.h"
#include "scan/open.h"
#include "scan/program.h"

/** The resident pages, and what they are; see gr_scan_residency(). */
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

struct gr_stop {
	struct gr_program *program;
	struct gr_target target; /**< Our own copy. */
	struct gr_saved *stored; /**< The saved file, or NULL. */
	struct gr_image *image;
	struct gr_gaps gaps;
	unsigned int stages; /**< The stages that were read: enum gr_stage. */
	struct gr_heap *heap;
	struct gr_sched sched;
	struct gr_goroutine_index goroutine_index;
	struct gr_moments moments; /**< See gr_scan_moments(). */
	bool has_moments;
	struct gr_root_list lists;
	struct gr_sampled_vector sampled; /**< Samples of the heap profile. */
	struct gr_roots roots;
	struct gr_scan_info info;
	struct gr_stop_pages pages;
};

#endif /* GR_STOP_H */
