// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/drain.h"

#include "helpers/trace/event.h"
#include "helpers/trace/stacks.h"

/** The last stack of a thread: repeats refer to it. */
struct slot {
	uint64_t ref;
	uint32_t stack;
};

struct gr_drain {
	struct gr_reply *out;
	struct gr_unwinder *unwinder;
	struct gr_stacks *stacks;
	struct gr_places *places;
	struct gr_drain_news news;
	uint64_t left;
	struct slot slots[GR_EVENT_SLOTS];
	struct gr_walked walked;
	uint32_t place_ids[GR_MAX_FRAMES];
};

struct gr_error *gr_drain_new(pid_t pid, struct gr_reply *out,
			      struct gr_drain **ret)
{
	struct gr_drain *d = calloc(1, sizeof(*d));

	*ret = d;
	if (!d)
		return &gr_enomem;
	d->out = out;
	d->stacks = gr_stacks_new(GR_MAX_STACKS);
	if (!d->stacks)
		return &gr_enomem;
	struct gr_error *err = gr_unwinder_new(pid, &d->unwinder);
	return err ? err : gr_places_new(d->unwinder, &d->places);
}

void gr_drain_destroy(struct gr_drain *d)
{
	if (!d)
		return;
	gr_places_destroy(d->places);
	gr_stacks_destroy(d->stacks);
	gr_unwinder_destroy(d->unwinder);
	free(d);
}

// --------------------------------------------------------------------- stacks

static void print_stack(struct gr_drain *d, uint32_t id)
{
	const struct gr_walked *w = &d->walked;

	for (size_t i = 0; i < w->count; i++) {
		struct gr_trace_place place;
		gr_places_find(d->places, w->pc[i], &place);
		d->place_ids[i] = place.id;
		if (place.is_new)
			gr_reply_place(d->out, &place, w->pc[i]);
	}
	gr_reply_stack(d->out, id, w, d->place_ids);
}

uint32_t gr_drain_stack(struct gr_drain *d, const struct gr_event *e)
{
	struct gr_sample sample = {
		.resume_pc = e->resume_pc,
		.resume_sp = e->resume_sp,
		.resume_bp = e->resume_bp,
	};
	const uint8_t *data = e->data;
	uint32_t id;
	bool is_new;

	for (size_t i = 0; i < GR_EVENT_CHUNKS; data += e->bytes[i++])
		sample.chunks[i] = (struct gr_sample_chunk){ e->start[i], data,
							     e->bytes[i] };
	memcpy(sample.regs, e->regs, sizeof(sample.regs));
	gr_unwinder_walk(d->unwinder, &sample, &d->walked);
	if (!d->walked.count)
		return 0;
	if (!gr_stacks_intern(d->stacks, &d->walked, &id, &is_new)) {
		d->news.table_full++;
		return 0;
	}
	if (is_new)
		print_stack(d, id);
	return id;
}

// --------------------------------------------------------------------- events

static void put_event(struct gr_drain *d, const struct gr_event_head *head,
		      uint32_t stack)
{
	const struct gr_out_event event = {
		.address = head->address,
		.bytes = head->bytes,
		.stack = stack,
		.flags = head->flags,
	};

	gr_reply_event(d->out, &event);
	if (head->flags & GR_EVENT_MAPPED)
		gr_unwinder_forget_maps(d->unwinder);
}

static void take_full(struct gr_drain *d, const struct gr_event *e)
{
	struct slot *slot = &d->slots[e->head.tid % GR_EVENT_SLOTS];
	uint32_t stack = gr_drain_stack(d, e);

	*slot = (struct slot){ e->head.ref, stack };
	if (!(e->head.flags & GR_EVENT_SAMPLE)) {
		put_event(d, &e->head, stack);
		return;
	}
	const struct gr_out_sample sample = {
		.address = e->head.address,
		.bytes = e->head.bytes,
		.goid = e->goid,
		.labels = e->labels,
		.time_ns = e->time_ns,
		.sweepgen = e->sweepgen,
		.stack = stack,
		.tid = e->head.tid,
	};
	gr_reply_sample(d->out, &sample);
}

static void take_repeat(struct gr_drain *d, const struct gr_event_head *head)
{
	const struct slot *slot = &d->slots[head->tid % GR_EVENT_SLOTS];
	bool is_known = slot->ref == head->ref;

	if (!is_known)
		d->news.no_stack++;
	put_event(d, head, is_known ? slot->stack : 0);
}

// The ring is ours, but so is the check.
bool gr_drain_is_whole(const struct gr_event *e, size_t bytes)
{
	size_t sum = offsetof(struct gr_event, data);

	for (size_t i = 0; bytes >= sum && i < GR_EVENT_CHUNKS; i++) {
		if (e->bytes[i] > GR_EVENT_CHUNK_MAX)
			return false;
		sum += e->bytes[i];
	}
	return bytes >= sum;
}

int gr_drain_take(void *ctx, void *event, size_t bytes)
{
	struct gr_drain *d = ctx;
	const struct gr_event_head *head = event;

	if (bytes < sizeof(*head))
		return 0;
	switch ((enum gr_event_kind)head->kind) {
	case GR_EVENT_FULL:
		if (gr_drain_is_whole(event, bytes))
			take_full(d, event);
		break;
	case GR_EVENT_REPEAT:
		take_repeat(d, head);
		break;
	case GR_EVENT_BRIEF:
		put_event(d, head, 0);
		// Memory that is given back has none.
		if (head->flags & GR_EVENT_NO_STACK)
			d->news.no_stack++;
		break;
	case GR_EVENT_EXEC:
		gr_unwinder_forget_maps(d->unwinder);
		break;
	}
	return gr_drain_count(d);
}

int gr_drain_count(struct gr_drain *d)
{
	if (d->left)
		d->left--;
	return d->left && !d->out->is_broken ? 0 : -1;
}

void gr_drain_allow(struct gr_drain *d, uint64_t events)
{
	d->left = events;
}

uint64_t gr_drain_left(const struct gr_drain *d)
{
	return d->left;
}

struct gr_error *gr_drain_add_module(struct gr_drain *d,
				     const struct gr_go_module *module)
{
	return gr_unwinder_add_go_module(d->unwinder, module);
}

void gr_drain_forget_maps(struct gr_drain *d)
{
	gr_unwinder_forget_maps(d->unwinder);
}

void gr_drain_prepare(struct gr_drain *d)
{
	gr_unwinder_prepare(d->unwinder);
}

struct gr_drain_news gr_drain_news(struct gr_drain *d)
{
	struct gr_drain_news news = d->news;

	memset(&d->news, 0, sizeof(d->news));
	return news;
}
