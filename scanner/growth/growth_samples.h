/* SPDX-License-Identifier: Apache-2.0 */
/**
 * growth_samples: which of the objects that the runtime has sampled in a trace
 * are still there when it has ended, and who holds them. As long as such an
 * object exists, its span has a record of it (a special), which the runtime
 * removes when it frees the object: a slot in use proves nothing, because another
 * object may have it by now. Source: runtime/mprof.go (mProf_Malloc),
 * runtime/mheap.go (setprofilebucket, freeSpecial).
 */
#ifndef GR_GROWTH_SAMPLES_H
#define GR_GROWTH_SAMPLES_H

#include "base/error.h"
#include "base/vector.h"
#include "inferior/gaps.h"

struct gr_scan;

/** An object that is still there. Strings belong to the scan. */
struct gr_growth_sample {
	uint64_t address;
	const char *type;   /**< NULL: not known. */
	const char *holder; /**< As of gr_growth_group; NULL: not known. */
	bool is_reached;    /**< Else it is garbage that is not swept yet. */
	uint64_t bytes;	    /**< Those of its slot. */
};
GR_VECTOR(gr_growth_sample_vector, struct gr_growth_sample);

/** The answer. It belongs to the caller. */
struct gr_growth_samples {
	struct gr_growth_sample *rows; /**< In the order of the addresses. */
	size_t nrows;
	/** The layout tells which specials are of the profile; else there are no
	 * rows. The buckets are not needed. */
	bool is_known;
	struct gr_gaps gaps;
};

/**
 * Look for sampled objects. The scan was made with the extent GR_EXTENT_REPORT.
 *
 * @param addrs As runtime.mProf_Malloc got them, in any order. Those of objects
 * that are gone have no row, and those that come again have one.
 */
struct gr_error *
gr_scan_growth_samples(struct gr_scan *scan, const uint64_t *addrs,
		       size_t naddrs,
		       struct gr_growth_samples **ret) GR_MUST_CHECK;
void gr_growth_samples_destroy(struct gr_growth_samples *samples);

#endif /* GR_GROWTH_SAMPLES_H */
