// SPDX-License-Identifier: Apache-2.0
#include "proto/stack_profile.h"

#include "base/cleanup.h"
#include "proto/pprof_stream.h"

// A stream of stacks.
struct writer {
	const struct gr_stacks *stacks;
	struct gr_pprof_stream stream;
	struct gr_pprof_stack stack;
	uint32_t *location_of; // call -> location, 0: not yet used
	uint32_t *calls;       // of the current stack, the outermost first
};

static void writer_deinit(struct writer *w)
{
	gr_pprof_deinit(&w->stream);
	gr_pprof_stack_deinit(&w->stack);
	free(w->location_of);
	free(w->calls);
}

static size_t max_depth(const struct gr_stacks *stacks)
{
	size_t depth = 0;

	for (size_t i = 0; i < stacks->stacks.size; i++)
		if (stacks->stacks.data[i].ncalls > depth)
			depth = stacks->stacks.data[i].ncalls;
	return depth;
}

static void add_comments(struct writer *w,
			 const struct gr_profile_target *target)
{
	gr_pprof_comment(&w->stream, "goref-gdb %s, %s, build id %s",
			 target->tool_version, target->go_version,
			 target->build_id && *target->build_id ?
				 target->build_id :
				 "none");
	if (target->partial)
		gr_pprof_comment(&w->stream, "PARTIAL: %s", target->partial);
}

// Begin a profile of @p stacks. @p w needs writer_deinit() even if this fails.
static struct gr_error *writer_init(struct writer *w,
				    const struct gr_stacks *stacks,
				    const struct gr_pprof_header *header,
				    const struct gr_profile_target *target,
				    const char *path)
{
	struct gr_pprof_header of_exe = *header;

	of_exe.exe_path = target->exe_path;
	of_exe.build_id = target->build_id;
	of_exe.stamp = target->stamp;
	*w = (struct writer){ .stacks = stacks };
	gr_pprof_init(&w->stream, &of_exe);
	add_comments(w, target);
	size_t depth = max_depth(stacks);
	w->location_of =
		calloc(stacks->calls.size + 1, sizeof(*w->location_of));
	w->calls = calloc(depth + 1, sizeof(*w->calls));
	if (!w->location_of || !w->calls)
		return &gr_enomem;
	struct gr_error *err = gr_pprof_stack_init(&w->stack, depth);
	return err ? err : gr_pprof_open(&w->stream, path);
}

// The location of a call. It is added at the first use.
static uint32_t location_of(struct writer *w, uint32_t index)
{
	const struct gr_stack_call *call = &w->stacks->calls.data[index];
	struct gr_pprof_line lines[GR_PPROF_MAX_LINES];
	uint32_t n = call->nlines < GR_PPROF_MAX_LINES ? call->nlines :
							 GR_PPROF_MAX_LINES;

	if (w->location_of[index])
		return w->location_of[index];
	for (uint32_t i = 0; i < n; i++) {
		const struct gr_stack_line *line =
			&w->stacks->lines.data[call->first + i];

		lines[i] = (struct gr_pprof_line){ line->function, line->file,
						   line->line, 0 };
	}
	w->location_of[index] =
		gr_pprof_location(&w->stream, call->pc, lines, n);
	return w->location_of[index];
}

static struct gr_error *write_sample(struct writer *w, uint32_t stack,
				     const int64_t *values,
				     const struct gr_pprof_label *labels,
				     size_t nlabels)
{
	size_t depth = 0;

	if (stack != GR_NO_STACK)
		depth = w->stacks->stacks.data[stack].ncalls;
	size_t begin = depth;
	for (uint32_t i = stack; i != GR_NO_STACK;
	     i = w->stacks->stacks.data[i].caller)
		w->calls[--begin] = w->stacks->stacks.data[i].call;
	for (size_t i = 0; i < depth; i++)
		gr_pprof_stack_push(&w->stack, i, location_of(w, w->calls[i]));
	return gr_pprof_sample(&w->stream, &w->stack, depth, values, labels,
			       nlabels);
}

// Write a sample with its labels.
static struct gr_error *
write_goroutines(struct writer *w, const struct gr_goroutine_sample *sample)
{
	const int64_t values[] = { (int64_t)sample->goroutines,
				   (int64_t)sample->stack_space };
	_cleanup_free_ struct gr_pprof_label *labels =
		calloc(sample->nlabels + 1, sizeof(*labels));

	if (!labels)
		return &gr_enomem;
	for (size_t i = 0; i < sample->nlabels; i++) {
		labels[i].key =
			gr_pprof_string(&w->stream, sample->labels[i].key);
		labels[i].text =
			gr_pprof_string(&w->stream, sample->labels[i].value);
	}
	return write_sample(w, sample->stack, values, labels, sample->nlabels);
}

struct gr_error *gr_goroutine_profile_write(
	const struct gr_goroutine_profile *profile, const char *name,
	const struct gr_profile_target *target, const char *path)
{
	const struct gr_pprof_header header = {
		.types = { { name, "count" }, { "stack_space", "bytes" } },
		.ntypes = 2,
		.period_type = { name, "count" },
		.period = 1,
		.default_type = name,
	};
	_cleanup_(writer_deinit) struct writer w;
	struct gr_error *err =
		writer_init(&w, &profile->stacks, &header, target, path);

	for (size_t i = 0; !err && i < profile->nsamples; i++)
		err = write_goroutines(&w, &profile->samples[i]);
	return err ? err : gr_pprof_commit(&w.stream);
}

static const struct gr_pprof_header memory_header = {
	.types = { { "alloc_objects", "count" },
		   { "alloc_space", "bytes" },
		   { "inuse_objects", "count" },
		   { "inuse_space", "bytes" } },
	.ntypes = GR_MEMORY_VALUES,
	.period_type = { "space", "bytes" },
};

static const struct gr_pprof_header contention_header = {
	.types = { { "contentions", "count" }, { "delay", "nanoseconds" } },
	.ntypes = GR_BLOCK_VALUES,
	.period_type = { "contentions", "count" },
};

static struct gr_pprof_header header_of(const struct gr_bucket_profile *profile,
					enum gr_bucket_format format)
{
	struct gr_pprof_header header = format == GR_FORMAT_CONTENTION ?
						contention_header :
						memory_header;

	header.period = profile->period;
	if (format == GR_FORMAT_ALLOCS)
		header.default_type = "alloc_space";
	if (format == GR_FORMAT_CONTENTION && profile->is_in_ticks &&
	    profile->stacks.stacks.size)
		header.types[1].unit = "ticks";
	return header;
}

struct gr_error *gr_bucket_profile_write(
	const struct gr_bucket_profile *profile, enum gr_bucket_format format,
	const struct gr_profile_target *target, const char *path)
{
	const struct gr_pprof_header header = header_of(profile, format);
	_cleanup_(writer_deinit) struct writer w;
	struct gr_error *err =
		writer_init(&w, &profile->stacks, &header, target, path);
	int64_t bytes = gr_pprof_string(&w.stream, "bytes");

	if (profile->is_cut)
		gr_pprof_comment(&w.stream,
				 "PARTIAL: the list of buckets is damaged");
	for (size_t i = 0; !err && i < profile->samples.size; i++) {
		const struct gr_bucket_sample *sample =
			&profile->samples.data[i];
		const struct gr_pprof_label label = {
			bytes, 0, (int64_t)sample->object_bytes
		};

		err = write_sample(&w, sample->stack, sample->values, &label,
				   sample->object_bytes != 0);
	}
	return err ? err : gr_pprof_commit(&w.stream);
}
