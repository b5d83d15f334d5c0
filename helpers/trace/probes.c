// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/probes.h"

#include "helpers/trace/calibrate.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "helpers/trace/rights.h"
#include "helpers/trace/sampler.h"
#include "helpers/trace/trace.skel.h"
#include "process/status.h"

enum {
	PROGRAMS = 7,
	SAMPLE_ROW = 5,
	EXEC_ROW = 6,
	TEXTS = 8,
	RING_BYTES = 64 << 20,
	RING_LEAST_BYTES = 1 << 20,
	RING_SHARE = 32, // of the memory that can be had
	BANK_MS = 10000, // of the budget
	DEBT_MS = 1000,
	FAULT_NS = 550, // of a tracepoint beside its program
	FAULT_LEAST_NS = 50,
	FAULT_MOST_NS = 2000,
	CALIBRATION_RUNS = 5,
	CALIBRATION_FAULTS = 500,
	TRAP_NS = 500, // of a probe in the code of the process
};

static const uint64_t SECOND_NS = 1000000000;
static const uint64_t MOST_OFF_NS = 60 * SECOND_NS;

/** How much a program matters. */
enum need {
	NEED_NOT,
	NEED_WISH, // without it, its text is not printed
	NEED_MUST,
};

struct row {
	struct bpf_program *program;
	struct bpf_link **link;
	enum need need;
	const char *what;
};

struct gr_probes {
	struct gr_trace *skel;
	struct ring_buffer *ring;
	struct gr_probe_sums sums;
	struct row rows[PROGRAMS];
	const char *texts[TEXTS];
	size_t ntexts;
	uint64_t ring_bytes;
	int ncpus;
	pid_t pid;
	int sample_fd; // -1: there is no such probe
	enum gr_sampler_way way;
	struct gr_sampler_place place;
	gr_probes_take *take;
	void *ctx;
	bool is_calibrating;		    // its events are nobody's
	uint64_t off_ns;		    // in all, before
	uint64_t off_since_ns, on_again_ns; // 0: the probes are there
	bool has_ended;
	uint64_t fault_ns;
	uint64_t event_ns; // of an event, as measured; 0: not known
};

static int be_silent(enum libbpf_print_level level, const char *fmt,
		     va_list args)
{
	(void)level, (void)fmt, (void)args;
	return 0;
}

// -------------------------------------------------------------------- loading

/** The programs and what they are needed for. */
static void set_rows(struct gr_probes *p, enum gr_trace_mode mode)
{
	struct gr_trace *s = p->skel;
	bool is_rss = mode == GR_TRACE_RSS, is_go = mode == GR_TRACE_GO;
	enum need must = is_rss ? NEED_MUST : NEED_NOT;
	enum need wish = is_rss ? NEED_WISH : NEED_NOT;
	const struct row rows[PROGRAMS] = {
		{ s->progs.fault_user, &s->links.fault_user, must,
		  "page faults in user mode" },
		{ s->progs.fault_kernel, &s->links.fault_kernel, must,
		  "page faults in kernel mode" },
		{ s->progs.unmapped_area, &s->links.unmapped_area, wish,
		  "new mappings" },
		{ s->progs.lock_acquired, &s->links.lock_acquired, wish,
		  "munmap, brk and some calls of madvise" },
		{ s->progs.lock_released, &s->links.lock_released, wish,
		  "mremap, and mmap at given addresses" },
		{ s->progs.sample, &s->links.sample,
		  is_go ? NEED_MUST : NEED_NOT,
		  "samples of Go's heap profiler" },
		{ s->progs.began_program, &s->links.began_program, NEED_MUST,
		  "the start of another program" },
	};
	memcpy(p->rows, rows, sizeof(rows));
}

uint64_t gr_probes_size_of_ring(void)
{
	uint64_t bytes = RING_BYTES;
	uint64_t kb = gr_number_after("/proc/meminfo", "MemAvailable");
	uint64_t most = kb == UINT64_MAX ? 0 : (kb << 10) / RING_SHARE;

	while (bytes > RING_LEAST_BYTES && bytes > most)
		bytes /= 2;
	return bytes;
}

struct gr_error *gr_probes_set_target(struct gr_event_config *c, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &st))
		return gr_error_format(GR_ERROR_PROCESS,
				       "not permitted to see the process's "
				       "PID namespace: %s",
				       strerror(errno));
	// The kernel's own form of a device.
	c->ns_dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	c->ns_ino = st.st_ino;
	c->tgid = (uint32_t)gr_task_own_tid(pid, pid);
	return NULL;
}

/** Find where the samples are taken, and how. */
static struct gr_error *find_sampler(struct gr_probes *p, uint64_t addr)
{
	struct gr_error *err = gr_sampler_find(p->pid, addr, &p->place);

	if (!err)
		p->way = gr_sampler_test();
	return err;
}

static struct gr_error *load(struct gr_probes *p, bool is_large)
{
	struct gr_trace *s = p->skel;

	p->ncpus = libbpf_num_possible_cpus();
	if (p->ncpus < 1 || p->ncpus > GR_EVENT_MAX_CPUS)
		return gr_error_format(GR_ERROR_LIMIT,
				       "processors: 1 to 4,096 are supported");
	p->ring_bytes = is_large ? gr_probes_size_of_ring() : RING_LEAST_BYTES;
	bpf_map__set_max_entries(s->maps.ring, (uint32_t)p->ring_bytes);
	bpf_map__set_max_entries(s->maps.scratch, (uint32_t)p->ncpus);
	for (size_t i = 0; i < PROGRAMS; i++)
		bpf_program__set_autoload(p->rows[i].program,
					  p->rows[i].need != NEED_NOT);
	if (p->rows[SAMPLE_ROW].need != NEED_NOT)
		gr_sampler_prepare(s->progs.sample, p->way);
	int number = gr_trace__load(s);
	return number ? gr_rights_error("loading BPF programs", -number) : NULL;
}

static int take(void *ctx, void *event, size_t bytes)
{
	struct gr_probes *p = ctx;

	return p->is_calibrating ? 0 : p->take(p->ctx, event, bytes);
}

struct gr_error *gr_probes_load(pid_t pid, const struct gr_request *req,
				gr_probes_take *taken, void *ctx,
				struct gr_probes **ret)
{
	struct gr_probes *p = calloc(1, sizeof(*p));

	*ret = p;
	if (!p)
		return &gr_enomem;
	libbpf_set_print(be_silent);
	p->pid = pid;
	p->sample_fd = -1;
	p->take = taken;
	p->ctx = ctx;
	p->fault_ns = FAULT_NS;
	p->skel = gr_trace__open();
	if (!p->skel)
		return gr_rights_error("opening BPF programs", errno);
	set_rows(p, req->mode);
	struct gr_error *err = NULL;
	if (req->mode == GR_TRACE_GO)
		err = find_sampler(p, req->probe_address);
	if (!err)
		err = load(p, req->mode == GR_TRACE_RSS ||
				      req->mode == GR_TRACE_GO);
	if (!err)
		err = gr_probes_set_target(&p->skel->bss->config, pid);
	if (err)
		return err;
	gr_probes_configure(p, req);
	p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.ring), take, p,
				   NULL);
	return p->ring ? NULL : gr_rights_error("reading the ring", errno);
}

void gr_probes_set_budget(struct gr_event_config *c,
			  const struct gr_request *req)
{
	c->budget_ppm = req->budget_ppm;
	c->bank_ns = req->budget_ppm * BANK_MS;
	c->debt_ns = req->budget_ppm * DEBT_MS;
}

void gr_probes_set_goroutines(struct gr_event_config *c,
			      const struct gr_request *req)
{
	c->tls_g = req->tls_g;
	c->sweepgen_address = req->sweepgen_address;
	c->offsets = req->offsets;
	c->has_offsets = gr_input_has_offsets(req);
}

void gr_probes_configure(struct gr_probes *p, const struct gr_request *req)
{
	struct gr_event_config *c = &p->skel->bss->config;

	gr_probes_set_budget(c, req);
	gr_probes_set_goroutines(c, req);
	c->pointer_register = req->pointer_register;
	c->size_register = req->size_register;
	c->ring_bytes = p->ring_bytes;
	c->fault_ns = p->fault_ns;
	c->trap_ns = TRAP_NS;
}

// ------------------------------------------------------------------ attaching

static void add_text(struct gr_probes *p, const char *text)
{
	if (p->ntexts < TEXTS)
		p->texts[p->ntexts++] = text;
}

static struct gr_error *attach_sample(struct gr_probes *p)
{
	int fd = gr_sampler_attach(p->skel->progs.sample, p->way, p->pid,
				   &p->place);

	if (fd < 0)
		return gr_rights_error(
			p->way == GR_SAMPLER_PERF ?
				"a probe in the process's code, as a perf "
				"event" :
				"a probe in the process's code",
			-fd);
	p->sample_fd = fd;
	return NULL;
}

/** Attach what is not there yet. */
static struct gr_error *attach(struct gr_probes *p)
{
	if (p->rows[SAMPLE_ROW].need != NEED_NOT && p->sample_fd < 0) {
		struct gr_error *err = attach_sample(p);
		if (err)
			return err;
	}
	for (size_t i = 0; i < PROGRAMS; i++) {
		const struct row *row = &p->rows[i];
		if (row->need == NEED_NOT || i == SAMPLE_ROW || *row->link)
			continue;
		*row->link = bpf_program__attach(row->program);
		if (!*row->link && row->need == NEED_MUST)
			return gr_rights_error(row->what, errno);
	}
	return NULL;
}

static void add_texts(struct gr_probes *p)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (*p->rows[i].link || (i == SAMPLE_ROW && p->sample_fd >= 0))
			add_text(p, p->rows[i].what);
}

/* The least processor time of a few runs of a child. */
static uint64_t least_run(struct gr_calibration *c)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < CALIBRATION_RUNS; i++) {
		uint64_t took = gr_calibration_run(c, CALIBRATION_FAULTS);
		if (took < least)
			least = took;
	}
	return least;
}

/* The programs run. Measure a child that causes faults as if it were the process,
 * which took @p plain_ns without them. */
static void calibrate(struct gr_probes *p, struct gr_calibration *c,
		      uint64_t plain_ns)
{
	struct gr_event_config *config = &p->skel->bss->config;
	const struct gr_event_config saved = *config;
	const uint64_t faults = CALIBRATION_RUNS * CALIBRATION_FAULTS;

	p->is_calibrating = true;
	config->budget_ppm = 0;
	config->fault_ns = 0;
	struct gr_error *err =
		gr_probes_set_target(config, gr_calibration_pid(c));
	uint64_t before = gr_probes_sums(p).ns;
	uint64_t traced_ns = err ? 0 : least_run(c);
	uint64_t own_ns = (gr_probes_sums(p).ns - before) / faults;
	*config = saved;
	gr_probes_read(p);
	p->is_calibrating = false;
	gr_error_destroy(err);
	if (!traced_ns || traced_ns <= plain_ns)
		return;
	uint64_t whole = (traced_ns - plain_ns) / CALIBRATION_FAULTS;
	uint64_t rest = whole > own_ns ? whole - own_ns : 0;
	p->fault_ns = rest < FAULT_LEAST_NS ? FAULT_LEAST_NS :
		      rest > FAULT_MOST_NS  ? FAULT_MOST_NS :
					      rest;
	config->fault_ns = p->fault_ns;
	p->event_ns = own_ns + p->fault_ns;
}

struct gr_error *gr_probes_start(struct gr_probes *p)
{
	bool has_faults = p->rows[0].need != NEED_NOT;
	struct gr_calibration *c = has_faults ? gr_calibration_new() : NULL;
	uint64_t plain_ns = c ? least_run(c) : 0;
	struct gr_error *err = attach(p);

	if (!err)
		add_texts(p);
	if (!err && plain_ns)
		calibrate(p, c, plain_ns);
	gr_calibration_destroy(c);
	return err;
}

const char *gr_probes_text(const struct gr_probes *p, size_t i)
{
	return i < p->ntexts ? p->texts[i] : NULL;
}

uint64_t gr_probes_event_ns(const struct gr_probes *p)
{
	return p->event_ns;
}

static void detach_row(struct gr_probes *p, size_t i)
{
	if (!p->rows[i].link)
		return;
	bpf_link__destroy(*p->rows[i].link);
	*p->rows[i].link = NULL;
}

static void detach_sample(struct gr_probes *p)
{
	if (p->sample_fd >= 0)
		close(p->sample_fd);
	p->sample_fd = -1;
}

void gr_probes_detach(struct gr_probes *p)
{
	detach_sample(p);
	for (size_t i = 0; i < PROGRAMS; i++)
		detach_row(p, i);
	p->has_ended = true;
}

void gr_probes_destroy(struct gr_probes *p)
{
	if (!p)
		return;
	detach_sample(p);
	ring_buffer__free(p->ring);
	gr_trace__destroy(p->skel);
	free(p);
}

// ----------------------------------------------------------------- the budget

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/** For how long the probes are taken away: until the debt is half of that in
 * which no event has a stack. 0: events are still recorded. */
static uint64_t time_of_debt(const struct gr_event_config *c,
			     int64_t account_ns)
{
	const int64_t debt_ns = (int64_t)c->debt_ns;

	if (!c->budget_ppm || account_ns >= -2 * debt_ns)
		return 0;
	double wait_ns = ((double)-account_ns - (double)debt_ns / 2) /
			 (double)c->budget_ppm * 1e6;
	return wait_ns > MOST_OFF_NS ? MOST_OFF_NS : (uint64_t)wait_ns;
}

/** The start of another program is rare, and has to be seen. */
static void take_away(struct gr_probes *p, uint64_t now, uint64_t wait_ns)
{
	detach_sample(p);
	for (size_t i = 0; i < PROGRAMS; i++)
		if (i != EXEC_ROW)
			detach_row(p, i);
	p->off_since_ns = now;
	p->on_again_ns = now + wait_ns;
}

/** Only events fill the account, and there were none. */
static void fill_account(struct gr_trace__bss *b, uint64_t now)
{
	b->account_ns += gr_budget_growth(&b->config, b->account_ns,
					  now - b->refilled_ns);
	b->refilled_ns = now;
}

bool gr_probes_keep_budget(struct gr_probes *p)
{
	uint64_t now = now_ns();

	if (p->has_ended)
		return false;
	if (!p->off_since_ns) {
		uint64_t wait_ns = time_of_debt(&p->skel->bss->config,
						p->skel->bss->account_ns);
		if (wait_ns)
			take_away(p, now, wait_ns);
		return false;
	}
	if (now < p->on_again_ns)
		return false;
	fill_account(p->skel->bss, now);
	struct gr_error *err = attach(p);
	if (err) { // it is tried again
		gr_error_destroy(err);
		return false;
	}
	p->off_ns += now - p->off_since_ns;
	p->off_since_ns = 0;
	return true;
}

// -------------------------------------------------------------------- reading

void gr_probes_read(struct gr_probes *p)
{
	ring_buffer__consume(p->ring);
}

uint64_t gr_probes_ring_bytes(const struct gr_probes *p)
{
	return p->ring_bytes;
}

uint64_t gr_probes_missed_runs(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t bytes = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes))
		return 0;
	return info.recursion_misses;
}

uint32_t gr_probes_programs(const struct gr_probes *p)
{
	return *(volatile uint32_t *)&p->skel->bss->programs_begun;
}

struct gr_probe_sums gr_probes_sums(const struct gr_probes *p)
{
	struct gr_probe_sums sums = { 0 };
	uint64_t runs = 0, own = 0;
	uint32_t zero = 0;

	_cleanup_free_ struct gr_event_counts *all =
		calloc((size_t)p->ncpus, sizeof(*all));
	if (!all ||
	    bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.counts), &zero, all))
		return p->sums;
	for (int i = 0; i < p->ncpus; i++) {
		sums.events += all[i].events;
		sums.ns += all[i].ns;
		sums.ring_full += all[i].ring_full;
		sums.over_budget += all[i].over_budget;
		sums.no_stack += all[i].no_stack;
		sums.missed += all[i].nested;
		own += all[i].own_faults;
	}
	for (size_t i = 0; i < PROGRAMS; i++)
		if (p->rows[i].need != NEED_NOT)
			runs += gr_probes_missed_runs(p->rows[i].program);
	sums.missed += runs > own ? runs - own : 0;
	sums.off_ns = p->off_ns;
	if (p->off_since_ns)
		sums.off_ns += now_ns() - p->off_since_ns;
	return sums;
}
