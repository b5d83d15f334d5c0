// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-samples.h"

#include "base/cleanup.h"
#include "profiles/allocation.h"
#include "profiles/bucket_profile.h"
#include "profiles/site_table.h"
#include "profiles/site_view.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_DEPTH = 256, MAX_NODES = 1 << 20, MAX_ALLOCATIONS = 1000 };

GR_DEFINE_CLEANUP(profile, struct gr_bucket_profile, gr_bucket_profile_destroy)
GR_DEFINE_CLEANUP(sites, struct gr_site_table, gr_site_table_destroy)
GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)
GR_DEFINE_CLEANUP(allocation, struct gr_allocation, gr_allocation_destroy)

static struct gr_error *put_profile(struct gr_scan *scan,
				    enum gr_bucket_kind kind,
				    enum gr_bucket_moment moment)
{
	_cleanup_(gr_cleanup_profile) struct gr_bucket_profile *profile = NULL;
	struct gr_error *err =
		gr_scan_bucket_profile(scan, kind, moment, &profile);

	if (!err)
		printf("profile\t%d\t%d\t%zu\t%d\n", kind, moment,
		       profile->samples.size, profile->is_cut);
	return err;
}

static struct gr_error *put_profiles(struct gr_scan *scan)
{
	struct gr_error *err = NULL;

	for (int kind = 0; !err && kind < GR_NBUCKET_KINDS; kind++)
		err = put_profile(scan, (enum gr_bucket_kind)kind,
				  GR_MOMENT_COLLECTION);
	if (!err)
		err = put_profile(scan, GR_BUCKETS_MEMORY, GR_MOMENT_NOW);
	return err;
}

static struct gr_error *put_sites(struct gr_scan *scan,
				  struct gr_site_options options)
{
	_cleanup_(gr_cleanup_sites) struct gr_site_table *table = NULL;
	struct gr_error *err = gr_scan_site_table(scan, &options, &table);

	if (!err)
		printf("sites\t%zu\t%" PRIu64 "\t%" PRIu64 "\t%d\n",
		       table->rows.size, table->sampled.objects,
		       table->heap.objects, table->sites.is_cut);
	return err;
}

static struct gr_error *put_view(struct gr_scan *scan)
{
	const struct gr_walk_options options = { .max_depth = MAX_DEPTH,
						 .max_nodes = MAX_NODES };
	_cleanup_(gr_cleanup_result) struct gr_result *result = NULL;
	_cleanup_(gr_cleanup_result) struct gr_result *view = NULL;
	struct gr_error *err = gr_scan_walk(scan, &options, &result);

	if (!err)
		err = gr_result_sites(scan, result, MAX_DEPTH, MAX_NODES,
				      &view);
	if (!err)
		printf("view\t%" PRIu64 "\n",
		       gr_result_sampling(view)->objects);
	return err;
}

// Ask for the first sampled objects one by one.
static struct gr_error *put_allocations(struct gr_scan *scan)
{
	struct gr_error *err = NULL;
	uint64_t found = 0;

	for (size_t i = 0;
	     !err && i < scan->sampled.size && i < MAX_ALLOCATIONS; i++) {
		_cleanup_(
			gr_cleanup_allocation) struct gr_allocation *allocation =
			NULL;
		gr_obj obj = scan->sampled.data[i].obj;

		err = gr_scan_allocation(scan,
					 gr_heap_object_addr(scan->heap, obj),
					 &allocation);
		found += !err && allocation->is_sampled;
	}
	if (!err)
		printf("allocations\t%" PRIu64 "\n", found);
	return err;
}

struct gr_error *put_samples(struct gr_scan *scan)
{
	const struct gr_site_options options[] = {
		{ 0 },
		{ .with_root = true },
		{ .is_garbage = true },
	};
	struct gr_error *err = put_profiles(scan);

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(options); i++)
		err = put_sites(scan, options[i]);
	if (!err)
		err = put_view(scan);
	return err ? err : put_allocations(scan);
}
