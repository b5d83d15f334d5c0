// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/buckets.h"

#include "base/cleanup.h"

enum {
	MAX_BUCKETS = 1 << 22,
	MAX_ALL_PCS = 1 << 25,
	MAX_HEADER_BYTES = 128,
};

uint64_t gr_bucket_record_bytes(const struct gr_runtime *rt,
				enum gr_bucket_kind kind)
{
	return kind == GR_BUCKETS_MEMORY ? rt->layout.mem_record.size_bytes :
					   rt->layout.block_record.size_bytes;
}

static uint64_t head_of(const struct gr_runtime *rt, enum gr_bucket_kind kind)
{
	const uint64_t heads[GR_NBUCKET_KINDS] = {
		[GR_BUCKETS_MEMORY] = rt->layout.vars.mbuckets,
		[GR_BUCKETS_BLOCK] = rt->layout.vars.bbuckets,
		[GR_BUCKETS_MUTEX] = rt->layout.vars.xbuckets,
	};

	return heads[kind];
}

bool gr_buckets_are_known(const struct gr_runtime *rt, enum gr_bucket_kind kind)
{
	const struct gr_layout *layout = &rt->layout;
	uint64_t header_bytes = layout->bucket.size_bytes;
	uint64_t record_bytes = gr_bucket_record_bytes(rt, kind);

	if (!head_of(rt, kind) || !header_bytes ||
	    header_bytes > MAX_HEADER_BYTES || !record_bytes ||
	    record_bytes > GR_MAX_RECORD_BYTES)
		return false;
	return kind != GR_BUCKETS_MEMORY ||
	       (layout->mem_record_cycle.size_bytes &&
		layout->mem_record.active.bytes >=
			layout->mem_record_cycle.size_bytes);
}

struct gr_error *gr_bucket_walk_begin(struct gr_runtime *rt,
				      enum gr_bucket_kind kind,
				      struct gr_bucket_walk *ret)
{
	uint8_t word[GR_WORD_BYTES];
	struct gr_error *err = gr_image_read_late(rt->image, head_of(rt, kind),
						  word, sizeof(word));

	*ret = (struct gr_bucket_walk){
		.rt = rt,
		.kind = kind,
		.chain = { .limit = MAX_BUCKETS },
		.pcs_left = MAX_ALL_PCS,
	};
	if (!err)
		ret->next = gr_load_u64(word);
	return err;
}

/* Read a bucket whose stack has at most @p max_pcs calls. */
static struct gr_error *read_bucket(struct gr_runtime *rt,
				    enum gr_bucket_kind kind, uint64_t addr,
				    uint64_t max_pcs, struct gr_bucket *bucket)
{
	const typeof(rt->layout.bucket) *f = &rt->layout.bucket;
	struct gr_image *image = rt->image;
	uint8_t header[MAX_HEADER_BYTES];
	struct gr_error *err =
		gr_image_read_late(image, addr, header, f->size_bytes);

	if (err)
		return err;
	bucket->addr = addr;
	bucket->next = gr_field_uint(header, f->allnext);
	bucket->object_bytes = gr_field_uint(header, f->size);
	bucket->npcs = gr_field_uint(header, f->nstk);
	if (bucket->npcs > GR_MAX_BUCKET_PCS || bucket->npcs > max_pcs)
		return gr_error_format(GR_ERROR_FAULT, "a stack of %zu calls",
				       bucket->npcs);
	addr += f->size_bytes;
	err = gr_image_read_late(image, addr, bucket->pcs,
				 bucket->npcs * GR_WORD_BYTES);
	if (err)
		return err;
	return gr_image_read_late(image, addr + bucket->npcs * GR_WORD_BYTES,
				  bucket->record,
				  gr_bucket_record_bytes(rt, kind));
}

struct gr_error *gr_bucket_read(struct gr_runtime *rt, enum gr_bucket_kind kind,
				uint64_t addr, struct gr_bucket *ret)
{
	struct gr_error *err =
		read_bucket(rt, kind, addr, GR_MAX_BUCKET_PCS, ret);

	return err ? err : gr_runtime_step(rt, 4 + ret->npcs);
}

struct gr_error *gr_bucket_walk_next(struct gr_bucket_walk *walk,
				     struct gr_bucket *bucket, bool *got)
{
	*got = false;
	if (!walk->next || walk->is_cut)
		return NULL;
	walk->is_cut = !gr_chain_step(&walk->chain, walk->next);
	if (walk->is_cut)
		return NULL;
	struct gr_error *err = read_bucket(walk->rt, walk->kind, walk->next,
					   walk->pcs_left, bucket);
	walk->is_cut = gr_error_catch(&err, GR_ERROR_FAULT);
	if (err || walk->is_cut)
		return err;
	*got = true;
	walk->next = bucket->next;
	walk->pcs_left -= bucket->npcs;
	return gr_runtime_step(walk->rt, 4 + bucket->npcs);
}

// ------------------------------------------------------------------ settings

struct gr_error *gr_buckets_read_variable(const struct gr_runtime *rt,
					  uint64_t addr, size_t bytes,
					  uint64_t *ret)
{
	uint8_t data[GR_WORD_BYTES] = { 0 };
	struct gr_error *err = NULL;

	if (addr)
		err = gr_image_read_late(rt->image, addr, data, bytes);
	*ret = gr_load_uint(data, bytes);
	return err;
}

struct gr_error *gr_memory_sampling_read(const struct gr_runtime *rt,
					 struct gr_memory_sampling *ret)
{
	const struct gr_layout *layout = &rt->layout;
	uint64_t rate, cycle = 0, disabled = 0;
	struct gr_error *err = gr_buckets_read_variable(
		rt, layout->vars.mem_profile_rate, GR_WORD_BYTES, &rate);

	if (!err)
		err = gr_buckets_read_variable(rt, layout->vars.mprof_cycle, 4,
					       &cycle);
	if (!err)
		err = gr_buckets_read_variable(
			rt, layout->vars.disable_mem_profiling, 1, &disabled);
	ret->rate = (int64_t)rate;
	ret->is_disabled = disabled;
	// Bit 0 says whether this cycle was flushed.
	uint64_t cycle_bytes = layout->mem_record_cycle.size_bytes;
	uint64_t n =
		cycle_bytes ? layout->mem_record.future.bytes / cycle_bytes : 0;
	ret->cycle_index = n ? (uint32_t)(cycle >> 1) % n : 0;
	return err;
}

// ------------------------------------------------------------------- capture

/* Plan the variables that say what the counts mean. */
static struct gr_error *plan_variables(struct gr_runtime *rt)
{
	const typeof(rt->layout.vars) *vars = &rt->layout.vars;
	const uint64_t words[] = {
		vars->mbuckets,		  vars->bbuckets,
		vars->xbuckets,		  vars->mem_profile_rate,
		vars->mprof_cycle,	  vars->disable_mem_profiling,
		vars->block_profile_rate, vars->mutex_profile_rate,
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(words); i++)
		if (words[i])
			err = gr_image_plan(rt->image, words[i],
					    words[i] + GR_WORD_BYTES);
	if (!err && vars->ticks)
		err = gr_image_plan(rt->image, vars->ticks,
				    vars->ticks + rt->layout.ticks.size_bytes);
	return err;
}

/* Plan the buckets of a kind. A damaged list ends here; who reads it counts the
 * gap. */
static struct gr_error *plan_list(struct gr_runtime *rt,
				  enum gr_bucket_kind kind,
				  struct gr_bucket *bucket)
{
	struct gr_bucket_walk walk;
	bool got = true;
	struct gr_error *err = gr_bucket_walk_begin(rt, kind, &walk);

	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	while (!err && got) {
		uint64_t addr = walk.next;

		err = gr_bucket_walk_next(&walk, bucket, &got);
		if (!err && got)
			err = gr_image_plan(
				rt->image, addr,
				addr + rt->layout.bucket.size_bytes +
					bucket->npcs * GR_WORD_BYTES +
					gr_bucket_record_bytes(rt, kind));
	}
	return err;
}

struct gr_error *gr_buckets_plan(struct gr_runtime *rt)
{
	_cleanup_free_ struct gr_bucket *bucket = calloc(1, sizeof(*bucket));

	struct gr_error *err = bucket ? plan_variables(rt) : &gr_enomem;

	for (int kind = 0; !err && kind < GR_NBUCKET_KINDS; kind++)
		if (gr_buckets_are_known(rt, kind))
			err = plan_list(rt, kind, bucket);
	return err;
}
