// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/alloc_probes.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "helpers/trace/alloc_limits.h"
#include "helpers/trace/calibrate.h"
#include "helpers/trace/native.skel.h"
#include "helpers/trace/rights.h"
#include "helpers/trace/sampler.h"

enum {
	MAX_FILES = GR_ALLOC_FILES,
	TEXTS = 8,
	TEXT_BYTES = 160,
	CALIBRATION_RUNS = 5,
	CALIBRATION_CALLS = 4096,
};

/** A function by its file. */
struct function {
	uint32_t file;
	uint64_t offset;
	enum gr_alloc_kind kind;
};

struct gr_alloc_probes {
	struct gr_native *skel;
	struct ring_buffer *ring;
	pid_t pid;
	int ncpus;
	enum gr_alloc_way way;
	pid_t filter; // of links; 0: they are in all processes of the file
	gr_probes_take *take;
	void *ctx;
	bool is_calibrating; // events of the child are dropped
	char files[MAX_FILES][sizeof(((struct gr_sampler_place *)0)->path)];
	uint32_t nfiles;
	struct function functions[GR_MAX_ALLOC_FUNCTIONS];
	size_t nfunctions;
	struct gr_sampler_place samplers[GR_MAX_SAMPLERS];
	size_t nsamplers;
	struct gr_alloc_links links;
	struct bpf_link *sampler_links[2 * GR_MAX_SAMPLERS];
	size_t nsampler_links;
	struct gr_alloc_costs costs;
	struct gr_native_counts calibrated; // counted before the trace
	char texts[TEXTS][TEXT_BYTES];
	size_t ntexts;
};

static bool gives_back(enum gr_alloc_kind kind)
{
	return kind == GR_ALLOC_FREE || kind == GR_ALLOC_MUNMAP;
}

static void add_text(struct gr_alloc_probes *p, const char *fmt, ...)
	GR_PRINTF(2, 3);
static void add_text(struct gr_alloc_probes *p, const char *fmt, ...)
{
	va_list args;

	if (p->ntexts == TEXTS)
		return;
	va_start(args, fmt);
	vsnprintf(p->texts[p->ntexts++], TEXT_BYTES, fmt, args);
	va_end(args);
}

const char *gr_alloc_probes_text(const struct gr_alloc_probes *p, size_t i)
{
	return i < p->ntexts ? p->texts[i] : NULL;
}

// ----------------------------------------------------------------- the places

static struct gr_error *find_file(struct gr_alloc_probes *p, const char *path,
				  uint32_t *ret)
{
	for (*ret = 0; *ret < p->nfiles; ++*ret)
		if (!strcmp(p->files[*ret], path))
			return NULL;
	if (p->nfiles == MAX_FILES)
		return gr_error_format(GR_ERROR_LIMIT,
				       "allocators in more than %d files",
				       MAX_FILES);
	snprintf(p->files[p->nfiles++], sizeof(p->files[0]), "%s", path);
	return NULL;
}

static struct gr_error *find_places(struct gr_alloc_probes *p,
				    const struct gr_alloc_request *a)
{
	struct gr_sampler_place place;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < a->nfunctions; i++) {
		struct function *f = &p->functions[p->nfunctions];
		err = gr_sampler_find(p->pid, a->functions[i].address, &place);
		if (!err)
			err = find_file(p, place.path, &f->file);
		if (err)
			break;
		f->offset = place.offset;
		f->kind = a->functions[i].kind;
		p->nfunctions++;
	}
	for (size_t i = 0; !err && i < a->nsamplers; i++)
		err = gr_sampler_find(p->pid, a->samplers[i],
				      &p->samplers[p->nsamplers++]);
	return err;
}

bool gr_alloc_probes_has_functions(const struct gr_alloc_probes *p)
{
	return p->nfunctions > 0;
}

// -------------------------------------------------------------------- loading

static int take(void *ctx, void *event, size_t bytes)
{
	struct gr_alloc_probes *p = ctx;

	return p->is_calibrating ? 0 : p->take(p->ctx, event, bytes);
}

static void choose_programs(struct gr_alloc_probes *p)
{
	struct gr_native *s = p->skel;
	bool is_session = p->way == GR_ALLOC_SESSION;

	bpf_program__set_autoload(s->progs.session, is_session);
	bpf_program__set_autoload(s->progs.enter, !is_session);
	bpf_program__set_autoload(s->progs.leave, !is_session);
	bpf_program__set_autoload(s->progs.sampled_alloc, p->nsamplers > 0);
	bpf_program__set_autoload(s->progs.sampled_free, p->nsamplers > 0);
	if (p->way == GR_ALLOC_PERF)
		return;
	gr_sampler_prepare_many(s->progs.session, GR_SAMPLER_SESSION);
	gr_sampler_prepare_many(s->progs.enter, GR_SAMPLER_ENTRY);
	gr_sampler_prepare_many(s->progs.leave, GR_SAMPLER_RETURN);
	gr_sampler_prepare_many(s->progs.give_back, GR_SAMPLER_ENTRY);
}

static void unload(struct gr_alloc_probes *p)
{
	ring_buffer__free(p->ring);
	gr_native__destroy(p->skel);
	p->ring = NULL;
	p->skel = NULL;
}

/** Load the programs for a way to see calls. */
static struct gr_error *load(struct gr_alloc_probes *p, enum gr_alloc_way way)
{
	unload(p);
	p->way = way;
	p->skel = gr_native__open();
	if (!p->skel)
		return gr_rights_error("opening BPF programs", errno);
	bpf_map__set_max_entries(p->skel->maps.ring,
				 (uint32_t)gr_probes_size_of_ring());
	bpf_map__set_max_entries(p->skel->maps.scratch, (uint32_t)p->ncpus);
	choose_programs(p);
	int number = gr_native__load(p->skel);
	if (number)
		return gr_rights_error("loading BPF programs", -number);
	p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.ring), take, p,
				   NULL);
	return p->ring ? NULL : gr_rights_error("reading the ring", errno);
}

// ------------------------------------------------------------------ the links

static struct gr_error *attach(struct gr_alloc_probes *p,
			       const struct bpf_program *program,
			       enum gr_sampler_when when, pid_t pid,
			       const struct gr_sampler_places *places)
{
	return gr_alloc_links_add(&p->links, p->way, program, when, pid,
				  places);
}

/** The places in one file of the functions that free memory, or of those that
 * allocate it. */
static void fill_places(const struct gr_alloc_probes *p, uint32_t file,
			bool of_frees, uint64_t *offsets, uint64_t *cookies,
			struct gr_sampler_places *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nfunctions; i++) {
		const struct function *f = &p->functions[i];
		if (f->file != file || gives_back(f->kind) != of_frees)
			continue;
		offsets[n] = f->offset;
		cookies[n++] = f->kind + i * GR_NATIVE_FUNCTION;
	}
	*ret = (struct gr_sampler_places){ p->files[file], offsets, cookies,
					   n };
}

static struct gr_error *attach_calls(struct gr_alloc_probes *p, pid_t pid,
				     const struct gr_sampler_places *places)
{
	const typeof(p->skel->progs) *progs = &p->skel->progs;

	if (p->way == GR_ALLOC_SESSION)
		return attach(p, progs->session, GR_SAMPLER_SESSION, pid,
			      places);
	// A return is not looked for before its entry is.
	struct gr_error *err =
		attach(p, progs->leave, GR_SAMPLER_RETURN, pid, places);
	return err ? err :
		     attach(p, progs->enter, GR_SAMPLER_ENTRY, pid, places);
}

struct gr_error *gr_alloc_probes_attach(struct gr_alloc_probes *p)
{
	uint64_t offsets[GR_MAX_ALLOC_FUNCTIONS];
	uint64_t cookies[GR_MAX_ALLOC_FUNCTIONS];
	struct gr_sampler_places places;
	struct gr_error *err = NULL;

	// Frees first: one that is missed leaves a block that looks in use.
	for (uint32_t file = 0; !err && file < p->nfiles; file++) {
		fill_places(p, file, true, offsets, cookies, &places);
		err = attach(p, p->skel->progs.give_back, GR_SAMPLER_ENTRY,
			     p->filter, &places);
	}
	for (uint32_t file = 0; !err && file < p->nfiles; file++) {
		fill_places(p, file, false, offsets, cookies, &places);
		err = attach_calls(p, p->filter, &places);
	}
	return err;
}

static struct gr_error *attach_sampler(struct gr_alloc_probes *p,
				       const struct bpf_program *program,
				       const char *path, const char *name)
{
	struct bpf_link *link = bpf_program__attach_usdt(
		program, -1, path, "otel_memory", name, NULL);

	if (!link)
		return gr_rights_error("probes at samples of a library", errno);
	p->sampler_links[p->nsampler_links++] = link;
	return NULL;
}

struct gr_error *gr_alloc_probes_attach_samplers(struct gr_alloc_probes *p)
{
	const typeof(p->skel->progs) *progs = &p->skel->progs;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < p->nsamplers; i++) {
		err = attach_sampler(p, progs->sampled_free,
				     p->samplers[i].path, "free");
		if (!err)
			err = attach_sampler(p, progs->sampled_alloc,
					     p->samplers[i].path, "alloc");
	}
	p->skel->bss->native.is_sampling = !err;
	return err;
}

void gr_alloc_probes_detach(struct gr_alloc_probes *p)
{
	gr_alloc_links_end(&p->links);
}

void gr_alloc_probes_end(struct gr_alloc_probes *p)
{
	gr_alloc_probes_detach(p);
	if (p->skel)
		p->skel->bss->native.is_sampling = false;
	while (p->nsampler_links)
		bpf_link__destroy(p->sampler_links[--p->nsampler_links]);
}

void gr_alloc_probes_set(struct gr_alloc_probes *p, enum gr_native_state state,
			 uint32_t window)
{
	volatile struct gr_native_config *c = &p->skel->bss->native;

	// A call may last from one window to the next, if the probes stay.
	if (c->state != GR_NATIVE_OPEN)
		c->first = window;
	c->window = window;
	c->state = state;
}

void gr_alloc_probes_set_deadline(struct gr_alloc_probes *p, uint64_t ns)
{
	volatile struct gr_native_config *c = &p->skel->bss->native;

	c->closes_ns = ns;
	gr_alloc_links_set_deadline(&p->links, ns);
}

// ------------------------------------------------------------------ the costs

/** Make the child the target. */
struct child {
	struct gr_calibration *calibration;
	struct gr_sampler_place place;
};

/** Sums of all processors. */
static struct gr_native_counts read_counts(const struct gr_alloc_probes *p)
{
	struct gr_native_counts sum = { 0 };
	uint32_t zero = 0;

	_cleanup_free_ struct gr_native_counts *all =
		calloc((size_t)p->ncpus, sizeof(*all));
	if (!all ||
	    bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.counts), &zero, all))
		return p->calibrated;
	for (int i = 0; i < p->ncpus; i++) {
		sum.calls += all[i].calls;
		sum.frees += all[i].frees;
		sum.skipped += all[i].skipped;
		sum.lost += all[i].lost;
		sum.lost_frees += all[i].lost_frees;
		sum.events.events += all[i].events.events;
		sum.events.ns += all[i].events.ns;
		sum.events.ring_full += all[i].events.ring_full;
		sum.events.no_stack += all[i].events.no_stack;
	}
	return sum;
}

/* The least processor time of some runs, for each call. */
static uint64_t least_of(struct gr_alloc_probes *p, struct child *c)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < CALIBRATION_RUNS; i++) {
		uint64_t took =
			gr_calibration_calls(c->calibration, CALIBRATION_CALLS);
		if (took && took < least)
			least = took;
		if (p->ring)
			gr_alloc_probes_read(p);
	}
	return least == UINT64_MAX ? 0 : least / CALIBRATION_CALLS;
}

/* Measure calls of one kind in one state. */
static uint64_t measure(struct gr_alloc_probes *p, struct child *c,
			enum gr_alloc_kind kind, enum gr_native_state state)
{
	pid_t pid = gr_calibration_pid(c->calibration);
	const uint64_t cookie = kind;
	const struct gr_sampler_places places = { c->place.path,
						  &c->place.offset, &cookie,
						  1 };
	struct gr_error *err =
		gives_back(kind) ?
			attach(p, p->skel->progs.give_back, GR_SAMPLER_ENTRY,
			       p->filter ? pid : 0, &places) :
			attach_calls(p, p->filter ? pid : 0, &places);

	gr_alloc_probes_set(p, state, 1);
	uint64_t each = err ? 0 : least_of(p, c);
	gr_alloc_probes_set(p, GR_NATIVE_CLOSED, 0);
	gr_alloc_probes_detach(p);
	gr_error_destroy(err);
	return each;
}

static uint64_t beyond(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* Measure the costs in the child. False if its calls are not seen whole. */
static bool calibrate(struct gr_alloc_probes *p, struct child *c,
		      uint64_t plain_ns)
{
	struct gr_event_config *config = &p->skel->bss->config;
	const uint64_t n = (uint64_t)CALIBRATION_RUNS * CALIBRATION_CALLS;
	struct gr_error *err = gr_probes_set_target(
		config, gr_calibration_pid(c->calibration));

	if (err) {
		gr_error_destroy(err);
		return false;
	}
	p->calibrated = (struct gr_native_counts){ 0 };
	p->is_calibrating = true;
	p->skel->bss->native.max_bytes = UINT64_MAX;
	uint64_t hit = measure(p, c, GR_ALLOC_MALLOC, GR_NATIVE_CLOSED);
	uint64_t back = measure(p, c, GR_ALLOC_FREE, GR_NATIVE_OPEN);
	struct gr_native_counts before = read_counts(p);
	uint64_t call = measure(p, c, GR_ALLOC_MALLOC, GR_NATIVE_OPEN);
	struct gr_native_counts after = read_counts(p);
	p->is_calibrating = false;
	p->costs.hit_ns = beyond(hit, plain_ns);
	p->costs.free_ns = beyond(back, plain_ns);
	p->costs.whole_call_ns = beyond(call, plain_ns);
	p->costs.call_ns = beyond(p->costs.whole_call_ns,
				  (after.events.ns - before.events.ns) / n);
	p->calibrated = after;
	return after.events.events - before.events.events >= n / 2;
}

/* Find the best way that this kernel has, and what it costs. */
static struct gr_error *find_way(struct gr_alloc_probes *p,
				 enum gr_alloc_way first)
{
	enum gr_sampler_way sampler = gr_sampler_test();
	struct child c = { .calibration = gr_calibration_new() };
	bool is_fine = false;
	struct gr_error *err = &gr_enomem;

	if (c.calibration)
		err = gr_sampler_find(gr_calibration_pid(c.calibration),
				      (uintptr_t)gr_calibration_called,
				      &c.place);
	uint64_t plain_ns = err ? 0 : least_of(p, &c);
	if (sampler != GR_SAMPLER_MULTI && first == GR_ALLOC_SESSION)
		first = GR_ALLOC_PAIR;
	if (sampler == GR_SAMPLER_PERF)
		first = GR_ALLOC_PERF;
	for (enum gr_alloc_way way = first;
	     plain_ns && !is_fine && way <= GR_ALLOC_PERF; way++) {
		gr_error_destroy(err);
		p->filter = sampler == GR_SAMPLER_MULTI &&
					    way != GR_ALLOC_PERF ?
				    p->pid :
				    0;
		err = load(p, way);
		is_fine = !err && calibrate(p, &c, plain_ns);
	}
	gr_calibration_destroy(c.calibration);
	return is_fine || err ? err :
				gr_error_format(GR_ERROR_PROCESS,
						"this kernel shows no calls of "
						"functions (uprobes)");
}

struct gr_alloc_costs gr_alloc_probes_costs(const struct gr_alloc_probes *p)
{
	return p->costs;
}

uint64_t gr_alloc_costs_sum(const struct gr_alloc_costs *costs,
			    const struct gr_native_counts *n)
{
	// A call that is lost has been trapped twice, as one that is recorded.
	return n->events.ns + (n->events.events + n->lost) * costs->call_ns +
	       n->frees * costs->free_ns + n->skipped * costs->hit_ns;
}

struct gr_alloc_sums gr_alloc_probes_sums(const struct gr_alloc_probes *p)
{
	const struct gr_native_counts *old = &p->calibrated;
	struct gr_native_counts now = read_counts(p);

	now.calls -= old->calls;
	now.frees -= old->frees;
	now.skipped -= old->skipped;
	now.lost -= old->lost;
	now.lost_frees -= old->lost_frees;
	now.events.events -= old->events.events;
	now.events.ns -= old->events.ns;
	now.events.ring_full -= old->events.ring_full;
	now.events.no_stack -= old->events.no_stack;
	return (struct gr_alloc_sums){
		.calls = now.calls,
		.events = now.events.events,
		.hits = now.events.events + now.lost + now.frees + now.skipped,
		.lost = now.lost + now.events.ring_full,
		.ring_full = now.events.ring_full,
		.lost_frees = now.lost_frees,
		.no_stack = now.events.no_stack,
		.ns = gr_alloc_costs_sum(&p->costs, &now),
	};
}

// ------------------------------------------------------------------ the whole

/* Leave out functions that may throw, if a call may fail, or if each call has a
 * return probe: an exception cannot pass it. */
static void drop_throwing(struct gr_alloc_probes *p)
{
	const char *why = "this kernel has no sessions (Linux 6.13)";
	size_t n = 0;

	if (p->way == GR_ALLOC_SESSION)
		why = gr_alloc_limits_why(p->pid);
	if (!why)
		return;
	for (size_t i = 0; i < p->nfunctions; i++)
		if (p->functions[i].kind != GR_ALLOC_NEW)
			p->functions[n++] = p->functions[i];
	if (n < p->nfunctions)
		add_text(p,
			 "operator new of the allocator is not seen, as an "
			 "exception would end the process: %s",
			 why);
	p->nfunctions = n;
}

static void add_texts(struct gr_alloc_probes *p)
{
	size_t frees = 0;

	for (size_t i = 0; i < p->nfunctions; i++)
		frees += gives_back(p->functions[i].kind);
	if (p->nfunctions)
		add_text(p, "functions that allocate memory: %zu",
			 p->nfunctions - frees);
	if (frees)
		add_text(p, "functions that free memory: %zu", frees);
	if (p->nsamplers)
		add_text(p, "libraries with samples (otel_memory): %zu",
			 p->nsamplers);
}

struct gr_error *gr_alloc_probes_load(pid_t pid, const struct gr_request *req,
				      enum gr_alloc_way first,
				      gr_probes_take *taken, void *ctx,
				      struct gr_alloc_probes **ret)
{
	struct gr_alloc_probes *p = calloc(1, sizeof(*p));

	*ret = p;
	if (!p)
		return &gr_enomem;
	p->pid = pid;
	p->take = taken;
	p->ctx = ctx;
	p->ncpus = libbpf_num_possible_cpus();
	if (p->ncpus < 1 || p->ncpus > GR_EVENT_MAX_CPUS)
		return gr_error_format(GR_ERROR_LIMIT,
				       "processors: 1 to 4,096 are supported");
	struct gr_error *err = find_places(p, &req->alloc);
	if (!err)
		err = find_way(p, first);
	if (!err)
		err = gr_probes_set_target(&p->skel->bss->config, pid);
	if (err)
		return err;
	drop_throwing(p);
	add_texts(p);
	gr_alloc_probes_configure(p, req);
	return NULL;
}

void gr_alloc_probes_configure(struct gr_alloc_probes *p,
			       const struct gr_request *req)
{
	const struct gr_alloc_request *a = &req->alloc;
	struct gr_native_config *c = &p->skel->bss->native;

	gr_probes_set_goroutines(&p->skel->bss->config, req);
	c->is_alone = p->filter != 0;
	c->sample = a->sample;
	c->min_bytes = a->min_bytes;
	c->max_bytes = a->max_bytes ? a->max_bytes : UINT64_MAX;
}

void gr_alloc_probes_destroy(struct gr_alloc_probes *p)
{
	if (!p)
		return;
	gr_alloc_probes_end(p);
	unload(p);
	free(p);
}

void gr_alloc_probes_read(struct gr_alloc_probes *p)
{
	ring_buffer__consume(p->ring);
}
