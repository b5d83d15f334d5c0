// SPDX-License-Identifier: Apache-2.0
// goref-scan: what tests and benchmarks ask of the scanner that the module
// _goref does not tell. All else they ask in plain Python
// (testsuite/e2e/scanner.py). Not installed.
//
//	goref-scan [OPTION]... EXE CORE
//	goref-scan [OPTION]... PID
//	goref-scan [OPTION]... FILE	(of goref save)
//
// One of:
//	--graph		print the object graph's totals, the ranks of its roots,
//			the bytes of its arrays, and times
//	--edges		print all edges of the graph
//	--retained	print the own and the retained bytes of all vertices
//	--paths		print the first path to each object
//	--sets		read sets of vertices, print what they keep alive
//	--waits		print what each goroutine waits for, and its sudog
//	--name-word ADDR  print the name of a word of the heap
//	--name-words	print the names of all pointers
//	--locate ADDR	print what lies there, without a walk
//	--save FILE	save the target; with --values, with all its memory. A
//			build with libFuzzer has no Python
// And:
//	--library FILE	another file that is loaded; may be repeated
//	--cache		use the cache of tables
//	--threads N	sweep the edges with so many threads
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "goref-scan-graph.h"
#include "goref-scan-subject.h"
#include "goref-scan-words.h"
#include "goruntime/sched/channel.h"
#include "goruntime/sched/waits.h"
#include "naming/locate.h"
#include "save/save.h"
#include "scan/enter.h"
#include "scan/open.h"
#include "scan/scan.h"

struct options {
	const char *save;
	const char *locate;
	const char *word;
	bool values, cache;
	bool graph, edges, retained, paths, sets;
	bool words, waits;
	unsigned int threads; // 0: by the processors
};

static int fail(struct gr_error *err)
{
	fprintf(stderr, "goref-scan: %s\n", err->message);
	gr_error_destroy(err);
	return 1;
}

static struct gr_error *put_located(struct gr_scan *scan, const char *text)
{
	struct gr_located at;
	struct gr_error *err =
		gr_scan_locate(scan, strtoull(text, NULL, 0), &at);

	if (!err)
		printf("%s\t0x%" PRIx64 "\t%" PRIu64 "\t%s\t%s\t%s\t%" PRIu64
		       "\t%" PRIu64 "\t%u\n",
		       gr_located_kind_name(at.kind), at.base_addr, at.bytes,
		       at.type, at.name, at.section, at.goroutine_id,
		       at.slot_bytes, at.spanclass);
	return err;
}

static bool is_channel(const struct gr_wait *row)
{
	return row->object && (row->kind == GR_WAIT_CHAN_SEND ||
			       row->kind == GR_WAIT_CHAN_RECEIVE ||
			       row->kind == GR_WAIT_SELECT_SEND ||
			       row->kind == GR_WAIT_SELECT_RECEIVE);
}

// A line for each wait: the goroutine's number, the kind, the addresses of the
// object, of what the runtime waits on, and of the sudog; of a channel, also how
// many elements it holds, how many it can hold, and whether it is closed.
static struct gr_error *put_waits(struct gr_sched *sched)
{
	const struct gr_waits *waits = sched->waits;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < waits->nrows; i++) {
		const struct gr_wait *row = &waits->rows[i];
		struct gr_channel channel;

		printf("%" PRIu64 "\t%s\t%#" PRIx64 "\t%#" PRIx64 "\t%#" PRIx64,
		       sched->goroutines[row->goroutine].goid,
		       gr_wait_kind_name(row->kind), row->object, row->key,
		       row->sudog);
		if (is_channel(row)) {
			err = gr_channel_read(sched->rt, row->object, &channel);
			if (!err)
				printf("\t%" PRIu64 "\t%" PRIu64 "\t%s",
				       channel.count, channel.capacity,
				       channel.is_closed ? "closed" : "open");
		}
		putchar('\n');
	}
	return err;
}

static struct gr_error *ask_graph(struct gr_scan *scan, const struct options *o)
{
	return o->graph	   ? put_graph(scan) :
	       o->edges	   ? put_edges(&scan->answers) :
	       o->retained ? put_retained(&scan->answers) :
	       o->paths	   ? put_paths(&scan->answers) :
			     put_sets(&scan->answers, stdin);
}

static struct gr_error *put_of_graph(struct gr_scan *scan,
				     const struct options *o)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	scan->answers.graph_threads = o->threads;
	if (!err)
		err = ask_graph(scan, o);
	return gr_sigbus_guard_end(&guard, err);
}

static struct gr_error *write_to(void *ctx, const void *data, size_t bytes)
{
	FILE *file = ctx;

	return fwrite(data, 1, bytes, file) == bytes ?
		       NULL :
		       gr_error_format(GR_ERROR_IO, "cannot write: %s",
				       strerror(errno));
}

static struct gr_error *save(struct gr_scan *scan, const struct options *o)
{
	_cleanup_fclose_ FILE *file = fopen(o->save, "we");
	const struct gr_save_options options = {
		.with_values = o->values,
		.write = write_to,
		.ctx = file,
	};

	return file ? gr_scan_save(scan, &options) :
		      gr_error_format(GR_ERROR_IO, "%s: %s", o->save,
				      strerror(errno));
}

static struct gr_error *ask(struct gr_scan *scan, const struct options *o)
{
	return o->save		   ? save(scan, o) :
	       o->locate	   ? put_located(scan, o->locate) :
	       o->waits		   ? put_waits(&scan->stop.sched) :
	       o->words || o->word ? put_words(scan, o->word) :
				     put_of_graph(scan, o);
}

static struct gr_error *run(const struct subject *s, const struct options *o)
{
	struct gr_scan *scan = NULL;
	struct gr_error *err = gr_scan_create(
		&s->target, o->save ? GR_EXTENT_SAVE : GR_EXTENT_HEAP, &scan);

	if (!err)
		err = ask(scan, o);
	gr_scan_destroy(scan);
	return err;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: goref-scan --graph | --edges | --retained | --paths | "
		"--sets | --waits\n\t| --name-word ADDR | --name-words | "
		"--locate ADDR | --save FILE [--values]\n\t"
		"[--library FILE]... [--cache] [--threads N] "
		"EXE CORE | PID | FILE\n");
	return 2;
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
	FLAG_OPTION("graph", graph),
	FLAG_OPTION("edges", edges),
	FLAG_OPTION("retained", retained),
	FLAG_OPTION("paths", paths),
	FLAG_OPTION("sets", sets),
	FLAG_OPTION("waits", waits),
	FLAG_OPTION("name-words", words),
	FLAG_OPTION("values", values),
	FLAG_OPTION("cache", cache),
	{ "name-word", required_argument, NULL, 'N' },
	{ "locate", required_argument, NULL, 'A' },
	{ "save", required_argument, NULL, 's' },
	{ "library", required_argument, NULL, 'L' },
	{ "threads", required_argument, NULL, 'T' },
	{ NULL, 0, NULL, 0 },
};

static bool set_option(struct options *o, struct subject *s, int c)
{
	if (c >= FLAG)
		*(bool *)((char *)o + (c - FLAG)) = true;
	else if (c == 'N')
		o->word = optarg;
	else if (c == 'A')
		o->locate = optarg;
	else if (c == 's')
		o->save = optarg;
	else if (c == 'T')
		o->threads = strtoul(optarg, NULL, 0);
	else
		return c == 'L' && add_library(s, optarg);
	return true;
}

static bool parse_options(int argc, char **argv, struct options *o,
			  struct subject *s)
{
	for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) >= 0;)
		if (!set_option(o, s, c))
			return false;
	bool has_question = o->save || o->locate || o->waits || o->words ||
			    o->word || o->graph || o->edges || o->retained ||
			    o->paths || o->sets;
	return has_question && o->threads <= GR_SWEEP_THREADS &&
	       (argc - optind == 1 || argc - optind == 2);
}

int main(int argc, char **argv)
{
	struct options o = { .save = NULL };
	struct subject s = { .mem_fd = -1 };

	if (!parse_options(argc, argv, &o, &s))
		return usage();
	s.target.use_cache = o.cache;
	struct gr_error *err = open_subject(&s, argc - optind, argv + optind);
	if (!err)
		err = run(&s, &o);
	close_subject(&s);
	return err ? fail(err) : 0;
}
