// SPDX-License-Identifier: Apache-2.0
// goref-scan: the scanner without gdb and without Python, for sanitizers,
// fuzzing and profilers of our own. Not installed.
//
//	goref-scan [OPTION]... EXE CORE
//	goref-scan [OPTION]... PID
//	goref-scan [OPTION]... FILE	(of --save or goref save)
//
//	--library FILE	another file that is loaded; may be repeated
//	--why ADDR	print the chain to an object instead of the ledger
//	--locate ADDR	print what lies there instead
//	--unpack	print all bytes of a saved file, unpacked, and nothing else
//	--out FILE	write a profile too
//	--save FILE	save the target instead
//	--values	save it with all its memory
//	--unsaved	with --save: ask all questions, print the words that they
//			read and the file lacks
//	--layout	print the resolved layout table instead
//	--nodes		print the reference tree: depth, name, objects, bytes
//	--verify	print how the walk compares with the allocator; status
//			1 if something has no explanation
//	--estimate	print how much memory a walk may take instead
//	--goroutines	print number, state and wait reason of each
//	--waits		print what each goroutine waits for
//	--hung		ask all questions on goroutines: what ended the program,
//			groups, waits, owners, deadlocks, leaks
//	--samples	ask all questions on the runtime's own profiles
//	--locals	print the variables of all goroutines' calls
//	--name-word ADDR  print the name of a word of the heap
//	--name-words	print the names of all pointers
//	--objects	print base address and bytes of every reached object
//	--exports	write the objects in all formats of `goref export'
//	--graph		print the object graph's totals and times instead
//	--edges		print all edges of the graph instead
//	--retained	print the own and the retained bytes of all vertices
//	--paths		print the first path to each object
//	--sets		read sets of vertices, print what they keep alive
//	--threads N	sweep the edges with so many threads
//	--attribution nearest|first
//	--per-goroutine	a root of its own for each goroutine
//	--memory-limit BYTES
//	--timeout MS	poll ends it then; status 1
//	--last-poll N	poll ends it at its call number N; status 1
//	--polls		print how often the scan polled, the longest
//			processor time between two polls, and how long it took
#include "scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "goref-scan-graph.h"
#include "goref-scan-hung.h"
#include "goref-scan-json.h"
#include "goref-scan-locals.h"
#include "goref-scan-samples.h"
#include "goref-scan-saved.h"
#include "goref-scan-subject.h"
#include "goref-scan-waits.h"
#include "goref-scan-words.h"
#include "proto/profile_writer.h"
#include "inferior/stored.h"
#include "scan.h"

enum {
	MAX_DEPTH = 256,
	MAX_NODES = 1 << 20,
	MAX_DIFFERENCES = 20,
};

struct options {
	const char *save;
	bool values, unpack, unsaved;
	const char *why;
	const char *locate;
	const char *out;
	bool layout;
	bool nodes;
	bool verify;
	bool estimate;
	bool goroutines, waits, hung, samples;
	bool objects, exports;
	bool graph, edges, retained, paths, sets;
	unsigned int threads; // 0: by the processors
	bool locals;
	bool words;
	const char *word; // NULL: all
	enum gr_attribution attribution;
	bool per_goroutine;
	bool cache;
	bool polls;
	uint64_t begin_us; // of the scan, with polls
};

static int fail(struct gr_error *err)
{
	fprintf(stderr, "goref-scan: %s\n", err->message);
	gr_error_destroy(err);
	return 1;
}

// --------------------------------------------------------------------- run

static int put_nodes(const struct gr_result *result)
{
	size_t count;
	const struct gr_node *nodes = gr_result_nodes(result, &count);
	_cleanup_free_ uint32_t *depth = calloc(count + 1, sizeof(*depth));

	if (!depth)
		return fail(&gr_enomem);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i].parent < i)
			depth[i] = depth[nodes[i].parent] + 1;
		printf("%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\n", depth[i],
		       nodes[i].name, nodes[i].objects, nodes[i].bytes);
	}
	return 0;
}

static int run_verify(struct gr_scan *scan)
{
	struct gr_verdict *verdict;
	struct gr_error *err = gr_scan_verify(scan, MAX_DIFFERENCES, &verdict);

	if (err)
		return fail(err);
	put_verdict(gr_scan_info(scan), verdict);
	int rc = verdict->unexplained != 0;
	gr_verdict_destroy(verdict);
	return rc;
}

static struct gr_error *put_text(void *ctx, const char *text, size_t bytes)
{
	fwrite(text, 1, bytes, ctx);
	return NULL;
}

static int put_estimate(const struct gr_scan *scan)
{
	struct gr_estimate e;

	gr_scan_estimate(scan, &e);
	printf("{\"copy_bytes\": %" PRIu64 ", \"table_bytes\": %" PRIu64
	       ", \"node_bytes\": %" PRIu64 ", \"graph_bytes\": %" PRIu64 "}\n",
	       e.copy_bytes, e.table_bytes, e.node_bytes, e.graph_bytes);
	return 0;
}

static int run_goroutines(struct gr_scan *scan)
{
	for (size_t i = 0; i < scan->sched.ngoroutines; i++) {
		const struct gr_goroutine *g = &scan->sched.goroutines[i];

		if (!g->is_g0)
			printf("%" PRIu64 "\t%s\t%s\n", g->goid, g->state,
			       g->wait_reason);
	}
	return 0;
}

static int run_objects(struct gr_scan *scan)
{
	struct gr_total total;
	struct gr_error *err =
		gr_scan_list_objects(scan, put_text, stdout, &total);

	return err ? fail(err) : 0;
}

static struct gr_error *put_data(void *ctx, const void *data, size_t bytes)
{
	fwrite(data, 1, bytes, ctx);
	return NULL;
}

static int run_exports(struct gr_scan *scan)
{
	const struct gr_export_sink sink = { put_data, stdout };
	struct gr_error *err = NULL;
	struct gr_exported done;

	for (int i = 0; !err && i < GR_NEXPORT_FORMATS; i++)
		err = gr_scan_export(scan, i, &sink, &done);
	return err ? fail(err) : 0;
}

static int run_words(struct gr_scan *scan, const char *text)
{
	struct gr_error *err = put_words(scan, text);

	return err ? fail(err) : 0;
}

static int write_profile(struct gr_scan *scan, struct gr_result *result,
			 const char *path)
{
	const struct gr_scan_info *info = gr_scan_info(scan);
	struct gr_profile_stats stats;
	struct gr_profile profile = {
		.ledger = gr_result_ledger(result),
		.tool_version = PACKAGE_VERSION,
		.go_version = info->go_version,
		.exe_path = info->exe_path,
		.build_id = info->build_id,
		.max_samples = GR_PROFILE_MAX_SAMPLES,
	};

	profile.nodes = gr_result_nodes(result, &profile.nnodes);
	profile.roots = gr_result_roots(result, &profile.nroots);
	struct gr_error *err = gr_profile_write(&profile, path, &stats);
	return err ? fail(err) : 0;
}

static int run_why(struct gr_scan *scan, const struct gr_walk_options *walk,
		   const char *text)
{
	struct gr_place place;
	struct gr_why *why;
	struct gr_error *err = gr_scan_resolve(scan, text, &place);

	if (!err)
		err = gr_scan_why(scan, walk, place.addr, &why);
	if (err)
		return fail(err);
	if (!why->is_object)
		printf("%s\n", why->description ? why->description : "nothing");
	else if (!why->is_reachable)
		printf("0x%" PRIx64 " %s: not reachable\n", why->base_addr,
		       why->type);
	for (size_t i = 0; i < why->nhops; i++)
		printf("%s\t%s\t0x%" PRIx64 "\n", why->hops[i].name,
		       why->hops[i].type, why->hops[i].addr);
	gr_why_destroy(why);
	return 0;
}

static int run_locate(struct gr_scan *scan, const char *text)
{
	struct gr_located at;
	struct gr_error *err =
		gr_scan_locate(scan, strtoull(text, NULL, 0), &at);

	if (err)
		return fail(err);
	printf("%s\t0x%" PRIx64 "\t%" PRIu64 "\t%s\t%s\t%s\t%" PRIu64
	       "\t%" PRIu64 "\t%u\n",
	       gr_located_kind_name(at.kind), at.base_addr, at.bytes, at.type,
	       at.name, at.section, at.goroutine_id, at.slot_bytes,
	       at.spanclass);
	return 0;
}

static int run_walk(struct gr_scan *scan, const struct gr_walk_options *walk,
		    const struct options *o)
{
	struct gr_result *result;
	struct gr_error *err = gr_scan_walk(scan, walk, &result);
	int rc = 0;

	if (err)
		return fail(err);
	if (o->polls)
		fprintf(stderr, "elapsed: %.3f ms\n",
			(double)(clock_us(CLOCK_MONOTONIC) - o->begin_us) /
				1000);
	if (o->nodes)
		rc = put_nodes(result);
	else
		put_result(gr_scan_info(scan), result);
	if (o->out && !rc)
		rc = write_profile(scan, result, o->out);
	gr_result_destroy(result);
	return rc;
}

static bool is_graph(const struct options *o)
{
	return o->graph || o->edges || o->retained || o->paths || o->sets;
}

static int run_graph(struct gr_scan *scan, const struct options *o)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard);

	scan->graph_threads = o->threads;
	if (!err)
		err = o->graph	  ? put_graph(scan) :
		      o->edges	  ? put_edges(scan) :
		      o->retained ? put_retained(scan) :
		      o->paths	  ? put_paths(scan) :
				    put_sets(scan, stdin);
	err = gr_sigbus_guard_end(&guard, err);
	return err ? fail(err) : 0;
}

static struct gr_error *write_to(void *ctx, const void *data, size_t bytes)
{
	FILE *file = ctx;

	return fwrite(data, 1, bytes, file) == bytes ?
		       NULL :
		       gr_error_format(GR_ERROR_IO, "cannot write: %s",
				       strerror(errno));
}

/* The pages of the memory that the file has, and the registers. */
static int run_unpack(struct gr_scan *scan)
{
	struct gr_word_set_pages at = { 0 };
	const uint64_t *bits;
	uint64_t page;
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(scan->image, &n);

	if (!scan->stored)
		return 1;
	fwrite(threads, sizeof(*threads), n, stdout);
	for (size_t i = 0;
	     scan->stored->has_values && i < scan->stored->memory.size; i++) {
		const struct gr_range *range = &scan->stored->memory.data[i];

		fwrite(range->host, 1, range->end - range->start, stdout);
	}
	while (gr_word_set_next_page(&scan->stored->words, &at, &page, &bits)) {
		for (int i = 0; i < GR_SET_PAGE_WORDS; i++) {
			const uint8_t *host;
			struct gr_error *err = gr_image_map(
				scan->image, page + i * 8, 8, &host);

			if (!err)
				fwrite(host, 8, 1, stdout);
			gr_error_destroy(err);
		}
	}
	return 0;
}

static int run_save(struct gr_scan *scan, const struct options *o)
{
	_cleanup_fclose_ FILE *file = fopen(o->save, "we");
	const struct gr_save_options options = {
		.with_values = o->values,
		.write = write_to,
		.ctx = file,
	};

	if (!file) {
		fprintf(stderr, "goref-scan: %s: %s\n", o->save,
			strerror(errno));
		return 1;
	}
	scan->graph_threads = o->threads;
	struct gr_error *err = gr_scan_save(scan, &options);
	if (!err && o->unsaved)
		err = put_unsaved(scan);
	return err ? fail(err) : 0;
}

static int run(const struct subject *s, const struct options *o)
{
	struct gr_walk_options walk = { .max_depth = MAX_DEPTH,
					.max_nodes = MAX_NODES,
					.attribution = o->attribution,
					.per_goroutine = o->per_goroutine };
	struct gr_scan *scan = NULL;
	struct gr_error *err = gr_scan_create(
		&s->target, o->save ? GR_EXTENT_SAVE : GR_EXTENT_HEAP, &scan);
	int rc = 0;

	if (err)
		return fail(err);
	const char *const *warning = gr_scan_info(scan)->warnings;
	for (; warning && *warning; warning++)
		fprintf(stderr, "warning: %s\n", *warning);
	if (o->unpack) {
		rc = run_unpack(scan);
	} else if (o->save) {
		rc = run_save(scan, o);
	} else if (o->layout) {
		_cleanup_free_ char *text = gr_scan_layout_text(scan);

		rc = text ? fputs(text, stdout) < 0 : 1;
	} else if (o->why) {
		rc = run_why(scan, &walk, o->why);
	} else if (o->locate) {
		rc = run_locate(scan, o->locate);
	} else if (o->verify) {
		rc = run_verify(scan);
	} else if (o->estimate) {
		rc = put_estimate(scan);
	} else if (o->goroutines) {
		rc = run_goroutines(scan);
	} else if (o->waits) {
		err = put_waits(scan);
		rc = err ? fail(err) : 0;
	} else if (o->hung) {
		err = put_hung(scan);
		rc = err ? fail(err) : 0;
	} else if (o->samples) {
		err = put_samples(scan);
		rc = err ? fail(err) : 0;
	} else if (o->objects) {
		rc = run_objects(scan);
	} else if (o->exports) {
		rc = run_exports(scan);
	} else if (is_graph(o)) {
		rc = run_graph(scan, o);
	} else if (o->locals) {
		err = put_locals(scan);
		rc = err ? fail(err) : 0;
	} else if (o->words || o->word) {
		rc = run_words(scan, o->word);
	} else {
		rc = run_walk(scan, &walk, o);
	}
	gr_scan_destroy(scan);
	return rc;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: goref-scan [--why ADDR] [--locate ADDR] [--out FILE] "
		"[--layout]\n\t[--nodes] [--verify] [--library FILE]... "
		"[--estimate] [--goroutines] [--waits]\n\t[--hung] [--samples] [--objects] [--exports] [--graph] "
		"[--edges] [--retained] [--paths] [--sets]\n\t[--threads N] "
		"[--name-word ADDR] [--name-words] [--locals]\n\t"
		"[--attribution nearest|first] [--per-goroutine] [--cache]\n\t"
		"[--memory-limit BYTES] [--timeout MS] [--polls] "
		"[--last-poll N] "
		"EXE CORE | PID\n");
	return 2;
}

static bool parse_attribution(const char *text, enum gr_attribution *ret)
{
	bool is_first = !strcmp(text, "first");

	*ret = is_first ? GR_ATTRIBUTION_FIRST : GR_ATTRIBUTION_NEAREST;
	return is_first || !strcmp(text, "nearest");
}

// Before the executable is known: it comes first.
static bool add_library(struct subject *s, const char *path)
{
	if (s->target.nmodules + 1 == MAX_MODULES)
		return false;
	s->modules[++s->target.nmodules] =
		(struct gr_target_module){ .path = path, .bias = UINT64_MAX };
	return true;
}

// Values of options that set a bool of struct options: behind characters.
enum { FLAG = 256 };
#define FLAG_OPTION(name, member)                               \
	{                                                       \
		name, no_argument, NULL,                        \
			FLAG + offsetof(struct options, member) \
	}

static const struct option long_options[] = {
	FLAG_OPTION("layout", layout),
	FLAG_OPTION("values", values),
	FLAG_OPTION("unpack", unpack),
	FLAG_OPTION("unsaved", unsaved),
	FLAG_OPTION("nodes", nodes),
	FLAG_OPTION("verify", verify),
	FLAG_OPTION("objects", objects),
	FLAG_OPTION("exports", exports),
	FLAG_OPTION("graph", graph),
	FLAG_OPTION("edges", edges),
	FLAG_OPTION("retained", retained),
	FLAG_OPTION("paths", paths),
	FLAG_OPTION("sets", sets),
	FLAG_OPTION("locals", locals),
	FLAG_OPTION("name-words", words),
	FLAG_OPTION("estimate", estimate),
	FLAG_OPTION("goroutines", goroutines),
	FLAG_OPTION("waits", waits),
	FLAG_OPTION("hung", hung),
	FLAG_OPTION("samples", samples),
	FLAG_OPTION("per-goroutine", per_goroutine),
	FLAG_OPTION("cache", cache),
	FLAG_OPTION("polls", polls),
	FLAG_OPTION("name-words", words),
	{ "name-word", required_argument, NULL, 'N' },
	{ "why", required_argument, NULL, 'w' },
	{ "locate", required_argument, NULL, 'A' },
	{ "out", required_argument, NULL, 'o' },
	{ "save", required_argument, NULL, 's' },
	{ "attribution", required_argument, NULL, 'a' },
	{ "library", required_argument, NULL, 'L' },
	{ "memory-limit", required_argument, NULL, 'm' },
	{ "timeout", required_argument, NULL, 't' },
	{ "last-poll", required_argument, NULL, 'P' },
	{ "threads", required_argument, NULL, 'T' },
	{ NULL, 0, NULL, 0 },
};

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 0);
}

static bool parse_options(int argc, char **argv, struct options *o,
			  struct subject *s)
{
	for (int c;
	     (c = getopt_long(argc, argv, "", long_options, NULL)) >= 0;) {
		if (c >= FLAG)
			*((bool *)o + (c - FLAG)) = true;
		else if (c == 'w')
			o->why = optarg;
		else if (c == 'A')
			o->locate = optarg;
		else if (c == 'N')
			o->word = optarg;
		else if (c == 'o')
			o->out = optarg;
		else if (c == 's')
			o->save = optarg;
		else if (c == 'P')
			s->last_poll = number(optarg);
		else if (c == 'm')
			s->target.memory_limit_bytes = number(optarg);
		else if (c == 't')
			s->end_ms = number(optarg) +
				    clock_us(CLOCK_MONOTONIC) / 1000;
		else if (c == 'T')
			o->threads = number(optarg);
		else if (c == 'L' && add_library(s, optarg))
			continue;
		else if (c != 'a' ||
			 !parse_attribution(optarg, &o->attribution))
			return false;
	}
	s->has_clock = o->polls;
	if (o->threads > GR_SWEEP_THREADS)
		return false;
	return argc - optind == 1 || argc - optind == 2;
}

int main(int argc, char **argv)
{
	struct options o = { .why = NULL };
	struct subject s = { .mem_fd = -1 };
	int rc = 1;

	if (!parse_options(argc, argv, &o, &s))
		return usage();
	s.target.use_cache = o.cache;
	if (open_subject(&s, argc - optind, argv + optind)) {
		o.begin_us = clock_us(CLOCK_MONOTONIC);
		rc = run(&s, &o);
	}
	if (s.has_clock) {
		note_poll(&s);
		fprintf(stderr,
			"polls: %" PRIu64 "\n"
			"longest time between two polls: %.1f ms\n",
			s.npolls, (double)s.longest_us / 1000);
	}
	close_subject(&s);
	return rc;
}
