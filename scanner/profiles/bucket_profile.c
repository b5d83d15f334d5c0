// SPDX-License-Identifier: Apache-2.0
#include "profiles/bucket_profile.h"

#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "graph/keys.h"
#include "profiles/scale.h"
#include "scan/enter.h"

GR_DEFINE_CLEANUP(bucket_profile, struct gr_bucket_profile,
		  gr_bucket_profile_destroy)

void gr_bucket_profile_destroy(struct gr_bucket_profile *profile)
{
	if (!profile)
		return;
	gr_stacks_deinit(&profile->stacks);
	gr_bucket_sample_vector_deinit(&profile->samples);
	free(profile);
}

/** Counts of one cycle (memRecordCycle). */
struct counts {
	uint64_t allocs, frees;
};

/** Sampled objects that exist, by the address of their bucket. */
struct live {
	struct gr_keys index_of; /* (address, 0) -> index of objects */
	struct gr_u32_vector objects;
	uint64_t left; /* that no bucket has claimed */
};

struct reader {
	struct gr_stop *stop;
	enum gr_bucket_kind kind;
	struct gr_bucket_profile *profile;
	struct gr_bucket bucket;
	uint32_t cycle_index; /* of memRecord.future, at this moment */
	bool is_clear;	      /* no bucket has active counts */
	bool with_futures;    /* count allocations of all cycles */
	struct live *live;    /* NULL: what is in use comes from the counts */
	struct gr_contention_scale scale;
};

static void live_deinit(struct live *live)
{
	gr_keys_deinit(&live->index_of);
	gr_u32_vector_deinit(&live->objects);
}

/* Count the sampled objects of each bucket. */
static struct gr_error *count_live(struct gr_stop *stop, struct live *live)
{
	gr_obj last = GR_OBJ_NONE;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->sampled.size; i++) {
		const struct gr_sampled *s = &stop->sampled.data[i];
		uint32_t index;

		if (s->obj == last || !gr_heap_is_allocated(stop->heap, s->obj))
			continue;
		last = s->obj;
		index = gr_keys_find(&live->index_of, s->bucket, 0);
		if (index == UINT32_MAX) {
			index = (uint32_t)live->objects.size;
			if (!gr_u32_vector_append(&live->objects, 0) ||
			    !gr_keys_add(&live->index_of, s->bucket, 0, index))
				return &gr_enomem;
		}
		live->objects.data[index]++;
		live->left++;
		err = gr_runtime_step(&stop->program->rt, 1);
	}
	return err;
}

/* Take the objects of a bucket. */
static int64_t take_live(struct live *live, uint64_t bucket)
{
	uint32_t index = gr_keys_find(&live->index_of, bucket, 0);

	if (index == UINT32_MAX)
		return 0;
	uint32_t objects = live->objects.data[index];
	live->objects.data[index] = 0;
	live->left -= objects;
	return objects;
}

// -------------------------------------------------------------------- memory

static struct counts load_counts(const struct gr_layout *layout,
				 const uint8_t *cycle)
{
	return (struct counts){
		gr_field_uint(cycle, layout->mem_record_cycle.allocs),
		gr_field_uint(cycle, layout->mem_record_cycle.frees),
	};
}

/* runtime/mprof.go: memProfileInternal. What the current cycle has counted is
 * flushed first; without any cycle, all counts are taken. */
static struct counts count_memory(const struct reader *r)
{
	const struct gr_layout *layout = &r->stop->program->rt.layout;
	const uint8_t *record = r->bucket.record;
	uint64_t cycle_bytes = layout->mem_record_cycle.size_bytes;
	uint64_t n = layout->mem_record.future.bytes / cycle_bytes;
	struct counts sum =
		load_counts(layout, record + layout->mem_record.active.off);

	// Bounded by the bytes of the record.
	for (uint64_t i = 0; i < n; i++) {
		if (i != r->cycle_index && !r->with_futures)
			continue;
		struct counts future = load_counts(
			layout, record + layout->mem_record.future.off +
					i * cycle_bytes);
		sum.allocs += future.allocs;
		sum.frees += future.frees;
	}
	return sum;
}

/* False: nothing was counted that this profile has. */
static bool add_memory(struct reader *r, struct gr_bucket_sample *sample)
{
	struct counts counts = count_memory(r);
	int64_t live = r->live ? take_live(r->live, r->bucket.addr) :
				 (int64_t)(counts.allocs - counts.frees);

	if (!counts.allocs)
		return false;
	r->is_clear = false;
	sample->object_bytes = r->bucket.object_bytes;
	gr_scale_memory((int64_t)counts.allocs, sample->object_bytes,
			r->profile->period, sample->values);
	gr_scale_memory(live, sample->object_bytes, r->profile->period,
			sample->values + 2);
	return true;
}

/* runtime/mprof.go: blockProfileInternal, mutexProfileInternal */
static bool add_contentions(struct reader *r, struct gr_bucket_sample *sample)
{
	const typeof(r->stop->program->rt.layout.block_record) *f =
		&r->stop->program->rt.layout.block_record;
	uint64_t bits = gr_field_uint(r->bucket.record, f->count);
	int64_t ticks = (int64_t)gr_field_uint(r->bucket.record, f->cycles);
	double count;

	memcpy(&count, &bits, sizeof(count));
	if (!(count >= 0 && count < 9e18))
		return false;
	bool is_fraction = count < 1 && r->kind == GR_BUCKETS_BLOCK;
	gr_scale_contentions(&r->scale, is_fraction ? 1 : (int64_t)count, ticks,
			     sample->values);
	return true;
}

// ------------------------------------------------------------------- buckets

/* Add what a bucket has counted. */
static struct gr_error *add_bucket(struct reader *r)
{
	struct gr_bucket_sample sample = { .stack = GR_NO_STACK };
	bool is_memory = r->kind == GR_BUCKETS_MEMORY;

	if (is_memory ? !add_memory(r, &sample) : !add_contentions(r, &sample))
		return NULL;
	struct gr_error *err = gr_stacks_add_pcs(&r->profile->stacks,
						 &r->stop->program->rt,
						 r->bucket.pcs, r->bucket.npcs,
						 is_memory, &sample.stack);
	if (err)
		return err;
	return gr_bucket_sample_vector_append(&r->profile->samples, sample) ?
		       NULL :
		       &gr_enomem;
}

/* Follow the list of all buckets of the kind. */
static struct gr_error *add_buckets(struct reader *r)
{
	struct gr_bucket_walk walk;
	struct gr_error *err =
		gr_bucket_walk_begin(&r->stop->program->rt, r->kind, &walk);
	bool got = true;

	r->is_clear = true;
	while (!err && got) {
		err = gr_bucket_walk_next(&walk, &r->bucket, &got);
		if (!err && got)
			err = add_bucket(r);
	}
	if (!err && walk.is_cut)
		gr_gap_broken_list(r->stop->program->rt.gaps,
				   "profile buckets");
	r->profile->is_cut |= !err && walk.is_cut;
	return err;
}

// -------------------------------------------------------------------- answer

/* Are the buckets there? A process may have been copied without them. */
static struct gr_error *check_copied(struct gr_runtime *rt,
				     enum gr_bucket_kind kind,
				     struct gr_bucket *bucket)
{
	struct gr_bucket_walk walk;
	bool got;
	struct gr_error *err = gr_bucket_walk_begin(rt, kind, &walk);

	if (!err)
		err = gr_bucket_walk_next(&walk, bucket, &got);
	bool is_absent = gr_error_catch(&err, GR_ERROR_FAULT);
	if (err || !(is_absent || walk.is_cut))
		return err;
	return gr_error_format(
		GR_ERROR_NOT_FOUND,
		"the process was copied without its profiles: ask "
		"with `goref attach PID' and the verb");
}

struct gr_error *gr_stop_check_buckets(struct gr_stop *stop,
				       enum gr_bucket_kind kind)
{
	_cleanup_free_ struct gr_bucket *bucket = calloc(1, sizeof(*bucket));

	if (!bucket)
		return &gr_enomem;
	if (!gr_buckets_are_known(&stop->program->rt, kind))
		return gr_error_format(
			GR_ERROR_NOT_FOUND,
			"the executable is stripped and does not say where the "
			"runtime keeps its profiles, nor at what rate it "
			"samples: use a file of the same build that has its "
			"symbols (built without -s)");
	if (gr_target_is_file(&stop->target) || stop->stages & GR_STAGE_BUCKETS)
		return NULL;
	return check_copied(&stop->program->rt, kind, bucket);
}

static struct gr_error *read_memory_settings(struct reader *r)
{
	struct gr_memory_sampling sampling;
	struct gr_error *err =
		gr_memory_sampling_read(&r->stop->program->rt, &sampling);

	r->profile->period = sampling.rate;
	r->profile->is_off = !sampling.rate;
	r->profile->is_estimated = sampling.rate > 1;
	r->profile->is_disabled = sampling.is_disabled;
	r->cycle_index = sampling.cycle_index;
	return err;
}

/* Was a sampled lock counted once, to be scaled when the profile is written? The
 * function that does so is in the table of functions, too. */
static struct gr_error *check_mutexes(struct gr_program *program,
				      bool *are_scaled)
{
	const char *name = gr_name_of(GR_NAME_SCALES_MUTEXES);
	struct gr_func func;

	if (!program->dwarfs || !program->dwarfs[0])
		return gr_func_find_named(&program->rt, name, &func,
					  are_scaled);
	*are_scaled = gr_dwarf_find_function(program->dwarfs[0], name) !=
		      GR_DWARF_NONE;
	return NULL;
}

static struct gr_error *read_contention_settings(struct reader *r)
{
	const struct gr_layout *layout = &r->stop->program->rt.layout;
	bool is_block = r->kind == GR_BUCKETS_BLOCK;
	bool are_scaled = false;
	uint64_t rate, ticks = 0;
	struct gr_error *err = gr_buckets_read_variable(
		&r->stop->program->rt,
		is_block ? layout->vars.block_profile_rate :
			   layout->vars.mutex_profile_rate,
		GR_WORD_BYTES, &rate);

	if (!err && layout->vars.ticks)
		err = gr_buckets_read_variable(&r->stop->program->rt,
					       layout->vars.ticks +
						       layout->ticks.val.off,
					       GR_WORD_BYTES, &ticks);
	if (!err && !is_block && rate > 1)
		err = check_mutexes(r->stop->program, &are_scaled);
	if (err)
		return err;
	r->profile->period = 1;
	r->profile->is_off = !rate;
	r->profile->is_estimated = (int64_t)rate > 1;
	r->profile->is_in_ticks = !ticks;
	r->scale = (struct gr_contention_scale){
		.mutex_rate = are_scaled ? (int64_t)rate : 1,
		.ticks_per_second = ticks,
	};
	return NULL;
}

static struct gr_error *answer(struct reader *r)
{
	struct gr_error *err = gr_stop_check_buckets(r->stop, r->kind);
	if (!err)
		err = r->kind == GR_BUCKETS_MEMORY ?
			      read_memory_settings(r) :
			      read_contention_settings(r);
	if (!err)
		err = add_buckets(r);
	if (!err && r->live && r->live->left) {
		gr_gap_broken_list(r->stop->program->rt.gaps,
				   "specials of the heap");
		r->profile->is_cut = true;
	}
	if (err || r->kind != GR_BUCKETS_MEMORY || !r->is_clear || r->live ||
	    r->profile->is_cut)
		return err;
	r->profile->is_before_gc = r->with_futures = true;
	return add_buckets(r);
}

/* Answer from the objects that exist now. */
static struct gr_error *answer_now(struct reader *r)
{
	_cleanup_(live_deinit) struct live live = { .left = 0 };
	struct gr_error *err = count_live(r->stop, &live);

	r->live = &live;
	r->with_futures = true;
	if (!err)
		err = answer(r);
	r->live = NULL;
	return err;
}

struct gr_error *gr_scan_bucket_profile(struct gr_scan *scan,
					enum gr_bucket_kind kind,
					enum gr_bucket_moment moment,
					struct gr_bucket_profile **ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_cleanup_bucket_profile) struct gr_bucket_profile *profile =
		calloc(1, sizeof(*profile));
	_cleanup_free_ struct reader *r = calloc(1, sizeof(*r));
	bool is_now = moment == GR_MOMENT_NOW && kind == GR_BUCKETS_MEMORY;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!profile || !r)
		return &gr_enomem;
	*r = (struct reader){ .stop = stop, .kind = kind, .profile = profile };
	err = is_now ? gr_scan_enter(scan, &guard, &answers) :
		       gr_scan_enter_buckets(scan, &guard, &stop);
	if (!err)
		err = is_now ? answer_now(r) : answer(r);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(profile);
	return err;
}
