// SPDX-License-Identifier: Apache-2.0
#include "proto/text_profile.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "proto/output.h"
#include "proto/paths.h"
#include "proto/stack_order.h"

enum {
	POLL_PATHS = 4096,
	DOT_NODES = 60,	  // more are hard to read on a screen
	DOT_SHARE = 1000, // the least part of all bytes that has a box
};

// A profile being written.
struct writer {
	const struct gr_profile *profile;
	struct gr_paths paths;
	struct gr_total *totals; // of each path with all below it
	// The whole of shares: blocks of C are in trees of dominators, and in no
	// ledger.
	uint64_t whole;
	struct gr_output out;
	struct gr_error *err; // the first one; nothing is written after it
};

static void writer_deinit(struct writer *w)
{
	gr_output_deinit(&w->out);
	gr_paths_deinit(&w->paths);
	free(w->totals);
	gr_error_destroy(w->err);
}

static void put_bytes(struct writer *w, const char *text, size_t bytes)
{
	if (!w->err)
		w->err = gr_output_write(&w->out, text, bytes);
}

// Write short text: numbers, and names of fields.
static void put(struct writer *w, const char *fmt, ...) GR_PRINTF(2, 3);

static void put(struct writer *w, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_bytes(w, text,
		  n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static const char *name_of(const struct writer *w, uint32_t path)
{
	return w->paths.places[w->paths.paths[path].place].name;
}

// Write a name. Names are printable text; each character of @special gets a
// backslash.
static void put_escaped(struct writer *w, const char *name, const char *special)
{
	while (*name) {
		size_t n = strcspn(name, special);

		put_bytes(w, name, n);
		name += n;
		if (*name) {
			const char pair[2] = { '\\', *name++ };
			put_bytes(w, pair, sizeof(pair));
		}
	}
}

// Poll now and then, in a loop over paths.
static bool may_go_on(struct writer *w, uint32_t path)
{
	if (!w->err && path % POLL_PATHS == 0 && w->profile->poll)
		w->err = w->profile->poll(w->profile->ctx);
	return !w->err;
}

static struct gr_error *sum_totals(struct writer *w)
{
	const struct gr_path *paths = w->paths.paths;

	w->totals = calloc(w->paths.npaths + 1, sizeof(*w->totals));
	if (!w->totals)
		return &gr_enomem;
	// Children come after their parents.
	for (size_t i = w->paths.npaths; i-- > 0;) {
		w->totals[i].objects += paths[i].objects;
		w->totals[i].bytes += paths[i].bytes;
		if (paths[i].parent == GR_PATH_NONE) {
			w->whole += w->totals[i].bytes;
			continue;
		}
		w->totals[paths[i].parent].objects += w->totals[i].objects;
		w->totals[paths[i].parent].bytes += w->totals[i].bytes;
	}
	if (w->whole < w->profile->ledger->reached.bytes)
		w->whole = w->profile->ledger->reached.bytes;
	return NULL;
}

// ------------------------------------------------------------------ folded

static void put_stack(struct writer *w, uint32_t path)
{
	uint32_t chain[GR_PATH_MAX_DEPTH];
	size_t n = 0;

	for (uint32_t p = path; p != GR_PATH_NONE && n < GR_ARRAY_SIZE(chain);
	     p = w->paths.paths[p].parent)
		chain[n++] = p;
	while (n-- > 0) {
		const char *name = name_of(w, chain[n]);

		put_bytes(w, name, strlen(name));
		put_bytes(w, n ? ";" : " ", 1);
	}
	put(w, "%" PRIu64 "\n", w->paths.paths[path].bytes);
}

static void put_folded(struct writer *w)
{
	_cleanup_free_ uint32_t *order = NULL;
	size_t n = 0;

	w->err = gr_stack_order(&w->paths, w->profile->poll, w->profile->ctx,
				&order, &n);
	for (uint32_t i = 0; i < n && may_go_on(w, i); i++)
		put_stack(w, order[i]);
}

// ------------------------------------------------------------------- jsonl

static void put_string(struct writer *w, const char *key, const char *text)
{
	if (!text)
		return;
	put(w, ", \"%s\": \"", key);
	put_escaped(w, text, "\"\\");
	put_bytes(w, "\"", 1);
}

static void put_root(struct writer *w, const struct gr_path *path)
{
	const struct gr_path_label *label = &w->paths.labels[path->label];
	const struct gr_path_place *place = &w->paths.places[path->place];

	put_string(w, "kind", label->root_kind);
	put_string(w, "goroutine_state", label->goroutine_state);
	if (label->goroutine_id)
		put(w, ", \"goroutine_id\": %" PRIu64, label->goroutine_id);
	put_string(w, "file", place->file);
	if (place->file)
		put(w, ", \"line\": %" PRIu32, place->line);
}

static void put_node(struct writer *w, uint32_t index)
{
	const struct gr_path *path = &w->paths.paths[index];
	const struct gr_total *total = &w->totals[index];
	const char *unit = gr_profile_unit(w->profile);

	put(w, "{\"id\": %" PRIu32 ", \"parent\": ", index);
	if (path->parent == GR_PATH_NONE)
		put(w, "null");
	else
		put(w, "%" PRIu32, path->parent);
	put_string(w, "name", name_of(w, index));
	put(w,
	    ", \"depth\": %" PRIu32 ", \"objects\": %" PRIu64
	    ", \"%s\": %" PRIu64 ", \"total_objects\": %" PRIu64
	    ", \"total_%s\": %" PRIu64,
	    path->depth, path->objects, unit, path->bytes, total->objects, unit,
	    total->bytes);
	if (path->parent == GR_PATH_NONE)
		put_root(w, path);
	put_bytes(w, "}\n", 2);
}

static void put_jsonl(struct writer *w)
{
	for (uint32_t i = 0; i < w->paths.npaths && may_go_on(w, i); i++)
		if (w->totals[i].objects)
			put_node(w, i);
}

// --------------------------------------------------------------------- dot

// Paths for sorting: a parent has at least the bytes of its child and comes
// first, so the first ones of them are a tree.
struct ranked {
	uint64_t bytes;
	uint32_t path;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->path < y->path ? -1 : x->path > y->path;
}

// The nodes that are left out below a path.
struct rest {
	uint64_t nodes, bytes;
};

// A size as text: bytes in binary units, or words.
static const char *size_text(const struct writer *w, uint64_t size, char *text,
			     size_t text_bytes)
{
	if (w->profile->weight == GR_WEIGHT_BYTES)
		return gr_text_bytes(size, text, text_bytes);
	snprintf(text, text_bytes, "%" PRIu64 " words", size);
	return text;
}

static void put_size(struct writer *w, uint64_t bytes)
{
	char text[32];
	uint64_t whole = w->whole;

	put(w, "\\n%s (%.1f %%)", size_text(w, bytes, text, sizeof(text)),
	    whole ? 100.0 * (double)bytes / (double)whole : 0.0);
}

static void put_dot_node(struct writer *w, uint32_t path)
{
	uint32_t parent = w->paths.paths[path].parent;

	put(w, "  n%" PRIu32 " [label=\"", path);
	put_escaped(w, name_of(w, path), "\"\\");
	put_size(w, w->totals[path].bytes);
	put(w, "\"];\n");
	if (parent == GR_PATH_NONE)
		put(w, "  top -> n%" PRIu32 ";\n", path);
	else
		put(w, "  n%" PRIu32 " -> n%" PRIu32 ";\n", parent, path);
}

// Can a box of that size be seen? Others would have 0.0 %.
static bool is_seen(const struct writer *w, uint64_t bytes)
{
	uint64_t whole = w->whole;

	return bytes && bytes >= (whole + DOT_SHARE - 1) / DOT_SHARE;
}

// Draw what is left out below a path, or add it to @unseen.
static void put_dot_rest(struct writer *w, const struct rest *rest,
			 uint32_t path, struct rest *unseen)
{
	char name[16] = "top";

	if (!rest->nodes)
		return;
	if (!is_seen(w, rest->bytes)) {
		unseen->nodes += rest->nodes;
		unseen->bytes += rest->bytes;
		return;
	}
	if (path < w->paths.npaths)
		snprintf(name, sizeof(name), "n%" PRIu32, path);
	put(w, "  %s_rest [style=\"dashed,rounded\", label=\"%" PRIu64 " more",
	    name, rest->nodes);
	put_size(w, rest->bytes);
	put(w, "\"];\n  %s -> %s_rest [style=dashed];\n", name, name);
}

// Say at the bottom of the graph what has no box.
static void put_dot_unseen(struct writer *w, const struct rest *unseen)
{
	char text[32];

	if (unseen->nodes)
		put(w,
		    "  label=\"not drawn: %" PRIu64
		    " of less than 0.1 %%, %s together\";\n",
		    unseen->nodes,
		    size_text(w, unseen->bytes, text, sizeof(text)));
}

// Sum up what is left out, by the path above it: the last entry is the top.
static void sum_rests(const struct writer *w, const bool *is_kept,
		      struct rest *rests)
{
	for (uint32_t i = 0; i < w->paths.npaths; i++) {
		uint32_t parent = w->paths.paths[i].parent;
		bool is_root = parent == GR_PATH_NONE;

		if (is_kept[i] || !w->totals[i].objects ||
		    (!is_root && !is_kept[parent]))
			continue;
		struct rest *rest = &rests[is_root ? w->paths.npaths : parent];
		rest->nodes++;
		rest->bytes += w->totals[i].bytes;
	}
}

// Choose the largest nodes.
static struct gr_error *choose_nodes(const struct writer *w, bool *is_kept)
{
	uint32_t n = (uint32_t)w->paths.npaths;
	_cleanup_free_ struct ranked *ranked = calloc(n + 1, sizeof(*ranked));

	if (!ranked)
		return &gr_enomem;
	for (uint32_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){ w->totals[i].bytes, i };
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	for (uint32_t i = 0; i < n && i < DOT_NODES; i++)
		is_kept[ranked[i].path] = is_seen(w, ranked[i].bytes);
	return NULL;
}

static void put_dot(struct writer *w)
{
	size_t n = w->paths.npaths;
	_cleanup_free_ bool *is_kept = calloc(n + 1, sizeof(*is_kept));
	_cleanup_free_ struct rest *rests = calloc(n + 1, sizeof(*rests));
	struct rest unseen = { 0, 0 };

	w->err = is_kept && rests ? choose_nodes(w, is_kept) : &gr_enomem;
	if (w->err)
		return;
	sum_rests(w, is_kept, rests);
	put(w, "digraph goref {\n  rankdir=LR;\n"
	       "  node [shape=box, style=rounded];\n  top [label=\"reached");
	put_size(w, w->whole);
	put(w, "\"];\n");
	for (uint32_t i = 0; i < n && may_go_on(w, i); i++) {
		if (!is_kept[i])
			continue;
		put_dot_node(w, i);
		put_dot_rest(w, &rests[i], i, &unseen);
	}
	put_dot_rest(w, &rests[n], (uint32_t)n, &unseen);
	put_dot_unseen(w, &unseen);
	put(w, "}\n");
}

// ---------------------------------------------------------------------- all

// Only jsonl says of what kind a root is.
static enum gr_path_form form_of(enum gr_profile_format format)
{
	switch (format) {
	case GR_PROFILE_FOLDED:
		return GR_PATHS_STACKS;
	case GR_PROFILE_DOT:
		return GR_PATHS_BY_GOROUTINE;
	case GR_PROFILE_PPROF:
	case GR_PROFILE_JSONL:
		break;
	}
	return GR_PATHS_LABELLED;
}

static void put_all(struct writer *w)
{
	switch (w->profile->format) {
	case GR_PROFILE_PPROF:
		break;
	case GR_PROFILE_FOLDED:
		put_folded(w);
		break;
	case GR_PROFILE_JSONL:
		put_jsonl(w);
		break;
	case GR_PROFILE_DOT:
		put_dot(w);
		break;
	}
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
		.form = form_of(profile->format),
	};
	struct gr_error *err;

	err = gr_paths_init(&w->paths, &input);
	if (!err && profile->max_samples)
		err = gr_paths_fold(&w->paths, profile->max_samples);
	if (!err)
		err = sum_totals(w);
	if (!err)
		err = gr_output_init(&w->out, path, GR_OUTPUT_PLAIN);
	if (err)
		return err;
	put_all(w);
	err = steal_ptr(w->err);
	if (!err)
		err = gr_output_commit(&w->out);
	stats->samples = w->paths.samples;
	stats->folded = w->paths.folded;
	for (size_t i = 0; i < w->paths.npaths; i++) {
		stats->total.objects += w->paths.paths[i].objects;
		stats->total.bytes += w->paths.paths[i].bytes;
	}
	return err;
}

struct gr_error *gr_text_profile_write(const struct gr_profile *profile,
				       const char *path,
				       struct gr_profile_stats *ret)
{
	struct writer w = { .profile = profile, .out = { .fd = -1 } };

	struct gr_error *err = write_all(&w, path, ret);
	writer_deinit(&w);
	return err;
}
