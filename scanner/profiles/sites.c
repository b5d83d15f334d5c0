// SPDX-License-Identifier: Apache-2.0
#include "profiles/sites.h"

#include "profiles/bucket_profile.h"
#include "profiles/scale.h"
#include "scan/stop.h"

void gr_sites_deinit(struct gr_sites *sites)
{
	gr_stacks_deinit(&sites->stacks);
	gr_site_vector_deinit(&sites->list);
	gr_keys_deinit(&sites->by_bucket);
}

static struct gr_error *add_site(struct gr_runtime *rt, struct gr_sites *sites,
				 const struct gr_bucket *bucket)
{
	struct gr_site site = { .object_bytes = bucket->object_bytes };
	struct gr_error *err = gr_stacks_add_pcs(&sites->stacks, rt,
						 bucket->pcs, bucket->npcs,
						 true, &site.stack);

	if (err ||
	    gr_keys_find(&sites->by_bucket, bucket->addr, 0) != UINT32_MAX)
		return err;
	return gr_keys_add(&sites->by_bucket, bucket->addr, 0,
			   (uint32_t)sites->list.size) &&
			       gr_site_vector_append(&sites->list, site) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *add_sites(struct gr_runtime *rt, struct gr_sites *sites,
				  struct gr_bucket *bucket)
{
	struct gr_bucket_walk walk;
	struct gr_error *err =
		gr_bucket_walk_begin(rt, GR_BUCKETS_MEMORY, &walk);
	bool got = true;

	while (!err && got) {
		err = gr_bucket_walk_next(&walk, bucket, &got);
		if (!err && got)
			err = add_site(rt, sites, bucket);
	}
	sites->is_cut = !err && walk.is_cut;
	if (sites->is_cut)
		gr_gap_broken_list(rt->gaps, "profile buckets");
	return err;
}

struct gr_error *gr_sites_read(struct gr_stop *stop, struct gr_sites *ret)
{
	_cleanup_free_ struct gr_bucket *bucket = calloc(1, sizeof(*bucket));

	*ret = (struct gr_sites){ 0 };
	if (!bucket)
		return &gr_enomem;
	struct gr_error *err = gr_stop_check_buckets(stop, GR_BUCKETS_MEMORY);
	if (!err)
		err = gr_memory_sampling_read(&stop->program->rt,
					      &ret->sampling);
	return err ? err : add_sites(&stop->program->rt, ret, bucket);
}

struct gr_error *gr_sites_visit(struct gr_stop *stop, struct gr_sites *sites,
				struct gr_error *(*visit)(void *ctx, gr_obj obj,
							  uint32_t site),
				void *ctx)
{
	gr_obj last = GR_OBJ_NONE;
	struct gr_error *err = NULL;
	bool is_cut = sites->is_cut;

	for (size_t i = 0; !err && i < stop->sampled.size; i++) {
		const struct gr_sampled *sampled = &stop->sampled.data[i];
		uint32_t site =
			gr_keys_find(&sites->by_bucket, sampled->bucket, 0);

		err = gr_runtime_step(&stop->program->rt, 1);
		if (err || sampled->obj == last ||
		    !gr_heap_is_allocated(stop->heap, sampled->obj))
			continue;
		last = sampled->obj;
		if (site == UINT32_MAX)
			sites->is_cut = true;
		else
			err = visit(ctx, sampled->obj, site);
	}
	if (sites->is_cut && !is_cut)
		gr_gap_broken_list(stop->program->rt.gaps,
				   "specials of the heap");
	return err;
}

struct gr_total gr_site_scale(const struct gr_sites *sites, uint32_t site,
			      uint64_t objects)
{
	int64_t values[2];

	gr_scale_memory((int64_t)objects, sites->list.data[site].object_bytes,
			sites->sampling.rate, values);
	return (struct gr_total){ (uint64_t)values[0], (uint64_t)values[1] };
}
