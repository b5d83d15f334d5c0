// SPDX-License-Identifier: Apache-2.0
#include "profiles/allocation.h"

#include "profiles/bucket_profile.h"
#include "scan/enter.h"

GR_DEFINE_CLEANUP(allocation, struct gr_allocation, gr_allocation_destroy)

void gr_allocation_destroy(struct gr_allocation *allocation)
{
	if (allocation)
		gr_stacks_deinit(&allocation->stacks);
	free(allocation);
}

/* The bucket of a sampled object; 0 if it is not sampled. */
static struct gr_error *find_bucket(struct gr_stop *stop, gr_obj obj,
				    uint64_t *ret)
{
	struct gr_error *err = NULL;

	*ret = 0;
	for (size_t i = 0; !err && !*ret && i < stop->sampled.size; i++) {
		if (stop->sampled.data[i].obj == obj)
			*ret = stop->sampled.data[i].bucket;
		err = gr_runtime_step(&stop->program->rt, 1);
	}
	return err;
}

/* Read the stack of a bucket. One that cannot be read is a gap. */
static struct gr_error *read_stack(struct gr_stop *stop, uint64_t addr,
				   struct gr_allocation *allocation)
{
	_cleanup_free_ struct gr_bucket *bucket = calloc(1, sizeof(*bucket));

	if (!bucket)
		return &gr_enomem;
	struct gr_error *err = gr_stop_check_buckets(stop, GR_BUCKETS_MEMORY);
	if (err)
		return err;
	err = gr_bucket_read(&stop->program->rt, GR_BUCKETS_MEMORY, addr,
			     bucket);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_broken_list(stop->program->rt.gaps, "profile buckets");
		return NULL;
	}
	if (!err)
		err = gr_stacks_add_pcs(&allocation->stacks, &stop->program->rt,
					bucket->pcs, bucket->npcs, true,
					&allocation->stack);
	allocation->is_sampled = !err;
	return err;
}

static struct gr_error *answer(struct gr_stop *stop, uint64_t addr,
			       struct gr_allocation **ret)
{
	_cleanup_(gr_cleanup_allocation) struct gr_allocation *allocation =
		calloc(1, sizeof(*allocation));
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(stop->heap, addr, &span);
	struct gr_error *err = NULL;
	uint64_t bucket = 0;

	if (!allocation)
		return &gr_enomem;
	allocation->stack = GR_NO_STACK;
	if (obj != GR_OBJ_NONE && gr_heap_is_allocated(stop->heap, obj))
		err = find_bucket(stop, obj, &bucket);
	if (!err && bucket)
		err = read_stack(stop, bucket, allocation);
	if (!err)
		*ret = steal_ptr(allocation);
	return err;
}

struct gr_error *gr_scan_allocation(struct gr_scan *scan, uint64_t addr,
				    struct gr_allocation **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_allocation) struct gr_allocation *found = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers->stop, addr, &found);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(found);
	return err;
}
