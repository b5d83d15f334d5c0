// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/allocations.h"

#include <inttypes.h>
#include <poll.h>
#include <time.h>

#include "helpers/trace/windows.h"

enum {
	COUNTING_MS = 1000,
	COUNTING_POLL_MS = 10,
	COUNTED_PART = 4,	 // of a period's budget, for the counting
	SETTLED_NS = 1000000000, // a block of this age may stay
	SETTLED_MOST = 512,	 // stacks between two looks at the events
	ROUND_EVENTS = 4096,
	MOST_ROUNDS = 256, // of a ring, and of what comes meanwhile
	STAYING_MS = 1000, // by which a window that follows may be late
	FULL_MS = 5000,	   // the same, of the end of the trace
};

static const uint64_t SECOND_NS = 1000000000;

struct gr_allocations {
	struct gr_drain *drain;
	struct gr_reply *reply;
	struct gr_alloc_probes *probes;
	struct gr_blocks_table *blocks;
	struct gr_windows windows;
	uint64_t budget_ppm, period_ns;
	uint32_t sample;
	uint64_t full_ms; // how long the trace lasts; 0: not known
	bool is_full, has_ended;
	double hits_per_s;  // of the probes
	uint64_t hit_ns;    // that one costs in a window
	uint64_t change_ns; // to attach and detach the probes
	uint64_t forgot_ns; // when mappings were forgotten
	// The window that is open, and its sums at the beginning.
	uint32_t window;
	uint64_t began_ns, deadline_ns; // 0: none
	struct gr_alloc_sums at_begin;
	uint64_t full_at_begin; // of the table
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/** Read events for a while. False if some are left. */
static bool read_some(struct gr_allocations *a)
{
	gr_drain_allow(a->drain, ROUND_EVENTS);
	gr_alloc_probes_read(a->probes);
	return gr_drain_left(a->drain) > 0;
}

// ------------------------------------------------------------------- counting

/* The time that the counting may cost the process, in ns. */
static uint64_t counting_budget_ns(const struct gr_allocations *a)
{
	if (!a->budget_ppm || a->is_full)
		return UINT64_MAX;
	return a->period_ns / 1000000 * a->budget_ppm / COUNTED_PART;
}

/* Wait until the second is over, the budget is spent, or somebody writes to us.
 * Return the time. */
static uint64_t wait_for_calls(struct gr_allocations *a, int input)
{
	struct pollfd fd = { input, POLLIN, 0 };
	uint64_t begin = now_ns(), passed = 0;
	const uint64_t before = gr_allocations_sums(a).ns;

	while (passed < COUNTING_MS * (SECOND_NS / 1000) &&
	       gr_allocations_sums(a).ns - before < counting_budget_ns(a) &&
	       poll(&fd, 1, COUNTING_POLL_MS) <= 0)
		passed = now_ns() - begin;
	return now_ns() - begin;
}

/* How much one hit of a probe will cost in a window: a part of them are recorded,
 * those of the sizes that are asked for, or one of so many. */
static void set_rate(struct gr_allocations *a, uint64_t hits, uint64_t counted,
		     uint64_t waited_ns)
{
	struct gr_alloc_costs costs = gr_alloc_probes_costs(a->probes);
	uint64_t recorded = counted / (a->sample > 1 ? a->sample : 1);
	uint64_t more_ns = costs.whole_call_ns > costs.hit_ns ?
				   costs.whole_call_ns - costs.hit_ns :
				   0;

	a->hit_ns = costs.hit_ns + (hits ? recorded * more_ns / hits : 0);
	a->hits_per_s = waited_ns ? (double)hits / (double)waited_ns *
					    (double)SECOND_NS :
				    0;
}

static struct gr_error *count(struct gr_allocations *a, int input)
{
	uint64_t began = now_ns(), attached, waited, counted;
	struct gr_error *err = gr_alloc_probes_attach(a->probes);

	if (err)
		return err;
	attached = now_ns();
	struct gr_alloc_sums before = gr_allocations_sums(a);
	gr_alloc_probes_set(a->probes, GR_NATIVE_COUNTING, 0);
	waited = wait_for_calls(a, input);
	gr_alloc_probes_set(a->probes, GR_NATIVE_CLOSED, 0);
	struct gr_alloc_sums after = gr_allocations_sums(a);
	counted = after.calls - before.calls;
	uint64_t closed = now_ns();
	gr_alloc_probes_detach(a->probes);
	a->change_ns = attached - began + (now_ns() - closed);
	set_rate(a, after.hits - before.hits, counted, waited);
	gr_reply_line(a->reply, "counted %" PRIu64 " %" PRIu64 " %" PRIu64,
		      counted, waited,
		      gr_alloc_probes_costs(a->probes).whole_call_ns);
	return NULL;
}

struct gr_error *gr_allocations_new(pid_t pid, const struct gr_request *req,
				    struct gr_drain *drain,
				    struct gr_reply *reply, int input,
				    struct gr_allocations **ret)
{
	struct gr_allocations *a = calloc(1, sizeof(*a));

	*ret = a;
	if (!a)
		return &gr_enomem;
	a->drain = drain;
	a->reply = reply;
	a->budget_ppm = req->budget_ppm;
	a->period_ns = (req->alloc.period_ms ? req->alloc.period_ms : 10000) *
		       (SECOND_NS / 1000);
	a->is_full = req->alloc.is_full;
	a->full_ms = req->alloc.full_ms;
	a->sample = req->alloc.sample;
	a->blocks = gr_blocks_new(drain, reply, req->alloc.is_each);
	if (!a->blocks)
		return &gr_enomem;
	struct gr_error *err = gr_alloc_probes_load(pid, req, GR_ALLOC_SESSION,
						    gr_blocks_take, a->blocks,
						    &a->probes);
	if (err || !gr_alloc_probes_has_functions(a->probes))
		return err;
	return count(a, input);
}

void gr_allocations_destroy(struct gr_allocations *a)
{
	if (!a)
		return;
	gr_alloc_probes_destroy(a->probes);
	gr_blocks_destroy(a->blocks);
	free(a);
}

// -------------------------------------------------------------------- windows

struct gr_error *gr_allocations_start(struct gr_allocations *a)
{
	struct gr_alloc_costs costs = gr_alloc_probes_costs(a->probes);

	a->windows.is_full = a->is_full;
	gr_windows_set_cost(&a->windows, a->hits_per_s, a->hit_ns, costs.hit_ns,
			    a->change_ns);
	gr_windows_begin(&a->windows, now_ns(), a->period_ns, a->budget_ppm,
			 gr_allocations_sums(a).ns, now_ns());
	struct gr_error *err = gr_alloc_probes_attach_samplers(a->probes);
	// Probes that stay are there before the trace begins.
	if (!err)
		gr_allocations_step(a);
	return err;
}

/* The time at which a window closes even if we are late. Where the probes stay,
 * the next window follows at once. */
static uint64_t deadline_of(const struct gr_allocations *a)
{
	const struct gr_windows *w = &a->windows;
	const uint64_t ms = SECOND_NS / 1000;

	if (a->is_full)
		return a->full_ms ? a->began_ns + (a->full_ms + FULL_MS) * ms :
				    0;
	return w->closes_ns < w->period_end_ns ? w->closes_ns :
						 w->closes_ns + STAYING_MS * ms;
}

static void begin_window(struct gr_allocations *a, uint64_t began_ns)
{
	a->at_begin = gr_allocations_sums(a);
	a->full_at_begin = gr_blocks_full(a->blocks);
	a->began_ns = began_ns;
	a->deadline_ns = deadline_of(a);
	gr_alloc_probes_set_deadline(a->probes, a->deadline_ns);
	gr_alloc_probes_set(a->probes, GR_NATIVE_OPEN, ++a->window);
}

/* Take all events of the window that ends, then tell the window. */
static void end_window(struct gr_allocations *a, uint64_t ended_ns)
{
	gr_allocations_read(a);
	if (a->deadline_ns && ended_ns > a->deadline_ns)
		ended_ns = a->deadline_ns;
	// The deadline was over before the window began: it saw no call.
	if (ended_ns <= a->began_ns)
		return;
	struct gr_alloc_sums now = gr_allocations_sums(a);
	uint64_t lost = now.lost - a->at_begin.lost +
			gr_blocks_full(a->blocks) - a->full_at_begin;
	uint64_t calls = now.calls - a->at_begin.calls;
	uint64_t took_ns = ended_ns - a->began_ns;

	gr_reply_line(a->reply,
		      "window %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64
		      " %" PRIu64,
		      a->window, a->began_ns, ended_ns, calls, lost);
	// Deep stacks take longer than those of the child.
	struct gr_alloc_costs costs = gr_alloc_probes_costs(a->probes);
	uint64_t hits = now.hits - a->at_begin.hits;
	if (took_ns)
		a->hits_per_s =
			(double)hits / (double)took_ns * (double)SECOND_NS;
	if (hits)
		a->hit_ns = (now.ns - a->at_begin.ns) / hits;
	gr_windows_set_cost(&a->windows, a->hits_per_s, a->hit_ns, costs.hit_ns,
			    a->change_ns);
}

static void open_window(struct gr_allocations *a)
{
	uint64_t began = now_ns();
	struct gr_error *err = gr_alloc_probes_attach(a->probes);

	a->change_ns = now_ns() - began;
	if (err) { // the next period tries again
		gr_error_destroy(err);
		gr_alloc_probes_detach(a->probes);
		a->windows.is_open = false;
		a->windows.opens_ns = 0;
		return;
	}
	gr_drain_prepare(a->drain);
	begin_window(a, now_ns());
}

static void close_window(struct gr_allocations *a, uint64_t ended)
{
	gr_alloc_probes_set(a->probes, GR_NATIVE_CLOSED, a->window);
	gr_alloc_probes_set_deadline(a->probes, 0);
	gr_alloc_probes_detach(a->probes);
	a->change_ns += now_ns() - ended;
	end_window(a, ended);
	a->began_ns = 0;
}

/* The probes stay: nothing is missed between two windows. */
static void change_window(struct gr_allocations *a)
{
	uint64_t now = now_ns();

	end_window(a, now);
	begin_window(a, now);
}

/* Unwind the stacks of what has survived. Libraries may come and go. */
static void settle(struct gr_allocations *a)
{
	uint64_t now = now_ns();

	gr_blocks_settle(a->blocks, now - SETTLED_NS, SETTLED_MOST);
	if (now - a->forgot_ns > SECOND_NS) {
		a->forgot_ns = now;
		gr_drain_prepare(a->drain);
	}
}

bool gr_allocations_step(struct gr_allocations *a)
{
	// More events may come than we can take: the clock goes first.
	bool is_empty = read_some(a);

	if (is_empty)
		settle(a);
	if (a->has_ended || !gr_alloc_probes_has_functions(a->probes))
		return is_empty;
	switch (gr_windows_step(&a->windows, now_ns(),
				gr_allocations_sums(a).ns)) {
	case GR_WINDOWS_OPEN:
		open_window(a);
		break;
	case GR_WINDOWS_CLOSE:
		close_window(a, now_ns());
		break;
	case GR_WINDOWS_NEXT:
		change_window(a);
		break;
	case GR_WINDOWS_WAIT:
		break;
	}
	return is_empty;
}

bool gr_allocations_is_busy(const struct gr_allocations *a)
{
	return a->began_ns != 0;
}

// --------------------------------------------------------------------- events

void gr_allocations_read(struct gr_allocations *a)
{
	for (int i = 0; i < MOST_ROUNDS && !a->reply->is_broken; i++)
		if (read_some(a))
			break;
}

void gr_allocations_end(struct gr_allocations *a)
{
	if (a->has_ended)
		return;
	a->has_ended = true;
	uint64_t now = now_ns();
	if (a->began_ns)
		close_window(a, now);
	gr_reply_line(a->reply, "ended %" PRIu64, now);
	gr_alloc_probes_set(a->probes, GR_NATIVE_CLOSED, a->window);
	gr_alloc_probes_end(a->probes);
	gr_allocations_read(a);
	gr_blocks_settle(a->blocks, UINT64_MAX, SIZE_MAX);
}

void gr_allocations_tell(struct gr_allocations *a)
{
	gr_blocks_tell(a->blocks);
}

void gr_allocations_configure(struct gr_allocations *a,
			      const struct gr_request *req)
{
	gr_alloc_probes_configure(a->probes, req);
}

const char *gr_allocations_text(const struct gr_allocations *a, size_t i)
{
	return gr_alloc_probes_text(a->probes, i);
}

struct gr_alloc_sums gr_allocations_sums(const struct gr_allocations *a)
{
	return gr_alloc_probes_sums(a->probes);
}

struct gr_blocks_news gr_allocations_news(struct gr_allocations *a)
{
	return gr_blocks_news(a->blocks);
}
