/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sites: where sampled objects were allocated. The runtime samples allocations,
 * about one in MemProfileRate bytes. As long as a sampled object exists, its
 * span has a record that leads to the bucket of its stack. Source:
 * runtime/mheap.go (specialprofile), runtime/mprof.go.
 */
#ifndef GR_SITES_H
#define GR_SITES_H

#include "goruntime/sched/buckets.h"
#include "graph/keys.h"
#include "mark/node.h"
#include "profiles/stacks.h"

struct gr_stop;

/** A stack and a size that were sampled: a bucket. */
struct gr_site {
	uint64_t object_bytes;
	uint32_t stack; /**< GR_NO_STACK: no call of it is known. */
};
GR_VECTOR(gr_site_vector, struct gr_site);

/** Zero-initialised is empty. */
struct gr_sites {
	struct gr_stacks stacks;
	struct gr_site_vector list;
	struct gr_keys by_bucket; /**< (address, 0) -> site */
	struct gr_memory_sampling sampling;
	/** The list of buckets is damaged: sites are missing. */
	bool is_cut;
};

/**
 * Read all sites. @p ret needs gr_sites_deinit() even if this fails.
 *
 * @return GR_ERROR_NOT_FOUND if the target is a process that was copied without
 * its buckets, or if its symbols do not tell where they are.
 */
struct gr_error *gr_sites_read(struct gr_stop *stop,
			       struct gr_sites *ret) GR_MUST_CHECK;
void gr_sites_deinit(struct gr_sites *sites);

/**
 * Call @p visit for each sampled object that exists now, reached or not, in the
 * order of addresses, each once, with its site. Those whose bucket is in no
 * list are counted as a gap.
 */
struct gr_error *gr_sites_visit(struct gr_stop *stop, struct gr_sites *sites,
				struct gr_error *(*visit)(void *ctx, gr_obj obj,
							  uint32_t site),
				void *ctx) GR_MUST_CHECK;

/** Scale the sampled objects of one site, as runtime/pprof does. */
struct gr_total gr_site_scale(const struct gr_sites *sites, uint32_t site,
			      uint64_t objects);

#endif /* GR_SITES_H */
