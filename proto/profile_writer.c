// SPDX-License-Identifier: Apache-2.0
// The reference tree as a profile: a path of names is a stack.
#include "proto/profile_writer.h"

#include <assert.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "proto/paths.h"
#include "proto/pprof_stream.h"
#include "proto/text_profile.h"

enum { POLL_SAMPLES = 4096, MAX_LABELS = 3 };

static const struct gr_pprof_header header = {
	.types = { { "inuse_objects", "count" }, { "inuse_space", "bytes" } },
	.ntypes = 2,
	.period_type = { "space", "bytes" },
	.period = 1,
	.default_type = "inuse_space",
};

// The same for words that the collector scans.
static const struct gr_pprof_header scanned_header = {
	.types = { { "inuse_objects", "count" }, { "scanned", "words" } },
	.ntypes = 2,
	.period_type = { "scanned", "words" },
	.period = 1,
	.default_type = "scanned",
};

// The labels of the samples below a root.
struct labels {
	struct gr_pprof_label labels[MAX_LABELS];
	size_t count;
};

// A profile being written.
struct writer {
	const struct gr_profile *profile;
	struct gr_paths paths;
	struct gr_pprof_stream stream;
	struct gr_pprof_stack stack; // of the current path
	uint32_t *location_of;	     // place -> location, 0: not yet used
	struct labels *labels;	     // of each label of the paths
};

static void writer_init(struct writer *w, const struct gr_profile *profile)
{
	bool is_bytes = profile->weight == GR_WEIGHT_BYTES;
	struct gr_pprof_header of_exe = is_bytes ? header : scanned_header;

	of_exe.exe_path = profile->exe_path;
	of_exe.build_id = profile->build_id;
	of_exe.stamp = profile->stamp;
	*w = (struct writer){ .profile = profile };
	gr_pprof_init(&w->stream, &of_exe);
}

static void writer_deinit(struct writer *w)
{
	gr_pprof_deinit(&w->stream);
	gr_pprof_stack_deinit(&w->stack);
	gr_paths_deinit(&w->paths);
	free(w->location_of);
	free(w->labels);
}

static void add_label(struct labels *to, int64_t key, int64_t text,
		      uint64_t number)
{
	if (text || number)
		to->labels[to->count++] =
			(struct gr_pprof_label){ key, text, (int64_t)number };
}

static struct gr_error *writer_alloc(struct writer *w)
{
	const struct gr_paths *paths = &w->paths;
	struct gr_pprof_stream *stream = &w->stream;
	int64_t root_kind = gr_pprof_string(stream, "root_kind");
	int64_t state = gr_pprof_string(stream, "goroutine_state");
	int64_t id = gr_pprof_string(stream, "goroutine_id");

	w->location_of = calloc(paths->nplaces + 1, sizeof(*w->location_of));
	w->labels = calloc(paths->nlabels + 1, sizeof(*w->labels));
	if (!w->location_of || !w->labels)
		return &gr_enomem;
	for (size_t i = 0; i < paths->nlabels; i++) {
		const struct gr_path_label *label = &paths->labels[i];

		add_label(&w->labels[i], root_kind,
			  gr_pprof_string(stream, label->root_kind), 0);
		add_label(&w->labels[i], state,
			  gr_pprof_string(stream, label->goroutine_state), 0);
		add_label(&w->labels[i], id, 0, label->goroutine_id);
	}
	return gr_pprof_stack_init(&w->stack, GR_PATH_MAX_DEPTH);
}

// Return the location of a place. It is added at the first use.
static uint32_t location_of(struct writer *w, uint32_t place)
{
	const struct gr_path_place *at = &w->paths.places[place];
	const struct gr_pprof_line line = { at->name, at->file, at->line,
					    at->line };

	if (!w->location_of[place])
		w->location_of[place] =
			gr_pprof_location(&w->stream, 0, &line, 1);
	return w->location_of[place];
}

static struct gr_error *write_sample(struct writer *w,
				     const struct gr_path *path)
{
	const struct labels *labels = &w->labels[path->label];
	const int64_t values[] = { (int64_t)path->objects,
				   (int64_t)path->bytes };

	return gr_pprof_sample(&w->stream, &w->stack, path->depth, values,
			       labels->labels, labels->count);
}

// Write the samples, depth first: the locations of a path are then at hand for
// those below it, and equal bytes are near each other for the compression.
static struct gr_error *write_samples(struct writer *w,
				      struct gr_profile_stats *stats)
{
	const struct gr_profile *profile = w->profile;
	uint32_t i = gr_paths_link(&w->paths);
	struct gr_error *err = NULL;

	for (size_t n = 0; i != GR_PATH_NONE && !err; n++) {
		const struct gr_path *path = &w->paths.paths[i];

		if (n % POLL_SAMPLES == 0 && profile->poll)
			err = profile->poll(profile->ctx);
		assert(path->depth >= 1 && path->depth <= GR_PATH_MAX_DEPTH);
		gr_pprof_stack_push(&w->stack, path->depth - 1u,
				    location_of(w, path->place));
		i = gr_paths_next(&w->paths, i);
		if (err || !path->objects)
			continue;
		err = write_sample(w, path);
		stats->samples++;
		stats->total.objects += path->objects;
		stats->total.bytes += path->bytes;
	}
	return err;
}

static void add_total(struct writer *w, const char *what,
		      const struct gr_total *total)
{
	gr_pprof_comment(&w->stream, "%s: %" PRIu64 " objects, %" PRIu64 " %s",
			 what, total->objects, total->bytes,
			 gr_profile_unit(w->profile));
}

// Add what is counted below the roots of each kind.
static void add_kinds(struct writer *w)
{
	struct gr_total totals[GR_NROOT_KINDS] = { { 0, 0 } };
	char what[64];

	for (size_t i = 0; i < w->profile->nroots; i++) {
		const struct gr_root_total *root = &w->profile->roots[i];

		totals[root->kind].objects += root->total.objects;
		totals[root->kind].bytes += root->total.bytes;
	}
	for (size_t i = 0; i < GR_NROOT_KINDS; i++) {
		if (!totals[i].objects)
			continue;
		snprintf(what, sizeof(what), "below %s roots",
			 gr_root_kind_name((enum gr_root_kind)i));
		add_total(w, what, &totals[i]);
	}
}

// Tell what the samples mean, or why there are none.
static void add_sampling(struct gr_pprof_stream *stream,
			 const struct gr_result_sampling *sampling)
{
	if (sampling->is_disabled)
		gr_pprof_comment(stream, "no samples: memory profiling is not "
					 "linked into the executable");
	else if (!sampling->rate)
		gr_pprof_comment(stream, "memory profiling is off");
	else if (sampling->rate > 1)
		gr_pprof_comment(stream,
				 "estimated from samples, about one in %" PRId64
				 " bytes of allocations",
				 sampling->rate);
}

// Add the comments. They hold nothing that differs between two scans of one
// core, such as times or memory use.
static void add_comments(struct writer *w)
{
	const struct gr_profile *profile = w->profile;
	const struct gr_ledger *ledger = profile->ledger;
	struct gr_pprof_stream *stream = &w->stream;
	const char *build_id = profile->build_id;

	gr_pprof_comment(stream, "goref-gdb %s, %s, build id %s",
			 profile->tool_version, profile->go_version,
			 build_id && *build_id ? build_id : "none");
	if (profile->partial)
		gr_pprof_comment(stream, "PARTIAL: %s: sizes are lower bounds",
				 profile->partial);
	add_total(w, "allocated", &ledger->allocated);
	add_total(w, "reached", &ledger->reached);
	add_total(w, "reached by type", &ledger->typed);
	add_total(w, "reached by runtime type", &ledger->runtime_type);
	add_total(w, "reached by header", &ledger->header);
	add_total(w, "reached by mask", &ledger->masked);
	add_total(w, "not reached", &ledger->unreached);
	add_kinds(w);
	for (size_t i = 0; i < GR_NGAPS; i++) {
		if (ledger->gaps.count[i])
			gr_pprof_comment(stream, "gap %s: %" PRIu64,
					 gr_gap_name((enum gr_gap)i),
					 ledger->gaps.count[i]);
	}
	if (profile->sampling)
		add_sampling(stream, profile->sampling);
	if (w->paths.folded || w->paths.shortened)
		gr_pprof_comment(stream,
				 "folded: %" PRIu64 " small paths and %" PRIu64
				 " too deep ones are counted on their parents",
				 w->paths.folded, w->paths.shortened);
}

static struct gr_error *write_all(struct writer *w, const char *path,
				  struct gr_profile_stats *stats)
{
	const struct gr_profile *profile = w->profile;
	const struct gr_paths_input input = {
		.nodes = profile->nodes,
		.nnodes = profile->nnodes,
		.lines = profile->lines,
		.roots = profile->roots,
		.nroots = profile->nroots,
		.form = profile->has_root_labels ? GR_PATHS_LABELLED :
						   GR_PATHS_BY_GOROUTINE,
	};
	struct gr_error *err;

	err = gr_paths_init(&w->paths, &input);
	if (!err && profile->max_samples)
		err = gr_paths_fold(&w->paths, profile->max_samples);
	if (!err)
		err = writer_alloc(w);
	if (!err)
		err = gr_pprof_open(&w->stream, path);
	if (!err)
		err = write_samples(w, stats);
	if (err)
		return err;
	add_comments(w);
	stats->folded = w->paths.folded;
	return gr_pprof_commit(&w->stream);
}

struct gr_error *gr_profile_check_writable(const char *path)
{
	return gr_output_check(path);
}

struct gr_error *gr_profile_write(const struct gr_profile *profile,
				  const char *path,
				  struct gr_profile_stats *ret)
{
	struct writer w;

	memset(ret, 0, sizeof(*ret));
	if (profile->format != GR_PROFILE_PPROF)
		return gr_text_profile_write(profile, path, ret);
	writer_init(&w, profile);
	struct gr_error *err = write_all(&w, path, ret);
	writer_deinit(&w);
	return err;
}
