// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/blocks.h"

#include "base/hash.h"
#include "helpers/trace/native_event.h"

#define HASH_FUNCTION GR_UTHASH_FUNCTION
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

enum {
	MOST_BLOCKS = 1 << 20,
	MOST_COPIES = 64 << 20, // bytes of stacks that are not unwound yet
	LABEL_SLOTS = 4096,
};

/** A block, with a copy of its event until its stack is unwound. */
struct block {
	struct gr_out_block out;
	struct gr_event *copy;
	size_t copy_bytes;
	struct block *prev, *next; // in the order of time, while it has a copy
	UT_hash_handle hh;
};

struct gr_blocks_table {
	struct gr_drain *drain;
	struct gr_reply *reply;
	bool is_each;
	struct block *by_address, *copied;
	size_t copied_bytes;
	struct gr_out_labels told[LABEL_SLOTS];
	struct gr_blocks_news news;
	uint64_t table_full;
};

struct gr_blocks_table *gr_blocks_new(struct gr_drain *drain,
				      struct gr_reply *reply, bool is_each)
{
	struct gr_blocks_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->drain = drain;
	t->reply = reply;
	t->is_each = is_each;
	return t;
}

// --------------------------------------------------------------------- copies

static void drop_copy(struct gr_blocks_table *t, struct block *b)
{
	if (!b->copy)
		return;
	DL_DELETE(t->copied, b);
	t->copied_bytes -= b->copy_bytes;
	free(b->copy);
	b->copy = NULL;
}

static uint32_t stack_of(struct gr_blocks_table *t, const struct gr_event *e)
{
	uint32_t stack = gr_drain_stack(t->drain, e);

	t->news.no_stack += !stack;
	return stack;
}

static void unwind(struct gr_blocks_table *t, struct block *b)
{
	b->out.stack = stack_of(t, b->copy);
	drop_copy(t, b);
}

static void keep_copy(struct gr_blocks_table *t, struct block *b,
		      const struct gr_event *e, size_t bytes)
{
	b->copy = malloc(bytes);
	if (!b->copy) {
		b->out.stack = stack_of(t, e);
		return;
	}
	memcpy(b->copy, e, bytes);
	b->copy_bytes = bytes;
	DL_APPEND(t->copied, b);
	t->copied_bytes += bytes;
	// Each round drops a copy.
	while (t->copied_bytes > MOST_COPIES && t->copied)
		unwind(t, t->copied);
}

void gr_blocks_settle(struct gr_blocks_table *t, uint64_t time_ns, size_t most)
{
	for (; most && t->copied && t->copied->out.time_ns <= time_ns; most--)
		unwind(t, t->copied);
}

// --------------------------------------------------------------------- blocks

static void drop(struct gr_blocks_table *t, struct block *b)
{
	drop_copy(t, b);
	HASH_DEL(t->by_address, b);
	free(b);
}

static struct block *find(struct gr_blocks_table *t, uint64_t address)
{
	struct block *b;

	HASH_FIND(hh, t->by_address, &address, sizeof(address), b);
	return b;
}

/** The block of an address, which is made if there is none; NULL: there is no
 * room. */
static struct block *get(struct gr_blocks_table *t, uint64_t address)
{
	struct block *b = find(t, address);

	if (b) {
		drop_copy(t, b);
		return b;
	}
	if (HASH_COUNT(t->by_address) >= MOST_BLOCKS)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->out.address = address;
	HASH_ADD(hh, t->by_address, out.address, sizeof(address), b);
	if (b->hh.tbl)
		return b;
	free(b);
	return NULL;
}

/* Tell the reader of labels, which has to read them soon. A set is rarely told
 * twice. */
static void tell_labels(struct gr_blocks_table *t, const struct gr_event *e)
{
	const struct gr_out_labels labels = { e->labels, e->sweepgen };

	if (!labels.address)
		return;
	size_t slot =
		gr_hash_number(labels.address ^ labels.sweepgen) % LABEL_SLOTS;
	if (!memcmp(&t->told[slot], &labels, sizeof(labels)))
		return;
	t->told[slot] = labels;
	gr_reply_labels(t->reply, &labels);
}

static struct gr_out_block out_of(const struct gr_event *e)
{
	bool is_sample = e->head.kind == GR_NATIVE_SAMPLE;

	return (struct gr_out_block){
		.address = e->head.address,
		.bytes = e->head.bytes,
		.weight = is_sample ? e->head.ref : 0,
		.time_ns = e->time_ns,
		.goid = e->goid,
		.labels = e->labels,
		.sweepgen = e->sweepgen,
		.window = is_sample ? 0 : (uint32_t)e->head.ref,
		.kind = e->head.flags,
		.tid = e->head.tid,
	};
}

static void take_alloc(struct gr_blocks_table *t, const struct gr_event *e,
		       size_t bytes)
{
	tell_labels(t, e);
	struct block *b = get(t, e->head.address);
	if (!b)
		t->news.table_full++, t->table_full++;
	if (!b && !t->is_each)
		return;
	struct gr_out_block out = out_of(e);
	if (t->is_each) {
		out.stack = stack_of(t, e);
		gr_reply_each(t->reply, &out);
	}
	if (!b)
		return;
	b->out = out;
	if (!t->is_each)
		keep_copy(t, b, e, bytes);
}

static void take_free(struct gr_blocks_table *t,
		      const struct gr_event_head *head)
{
	struct block *b = find(t, head->address);

	if (t->is_each) {
		const struct gr_out_block out = {
			.address = head->address,
			.bytes = head->bytes,
			.time_ns = head->ref,
			.kind = head->bytes ? GR_ALLOC_MUNMAP : GR_ALLOC_FREE,
			.tid = head->tid,
		};
		gr_reply_each(t->reply, &out);
	}
	if (b)
		drop(t, b);
}

int gr_blocks_take(void *table, void *event, size_t bytes)
{
	struct gr_blocks_table *t = table;
	const struct gr_event *e = event;

	if (bytes < sizeof(e->head))
		return 0;
	if (e->head.kind == GR_NATIVE_FREE)
		take_free(t, &e->head);
	else if (gr_drain_is_whole(e, bytes))
		take_alloc(t, e, bytes);
	return gr_drain_count(t->drain);
}

void gr_blocks_tell(struct gr_blocks_table *t)
{
	struct block *b, *next;

	gr_blocks_settle(t, UINT64_MAX, SIZE_MAX);
	gr_reply_line(t->reply, "blocks %u", HASH_COUNT(t->by_address));
	HASH_ITER(hh, t->by_address, b, next)
		gr_reply_block(t->reply, &b->out);
}

uint64_t gr_blocks_full(const struct gr_blocks_table *t)
{
	return t->table_full;
}

size_t gr_blocks_count(const struct gr_blocks_table *t)
{
	return HASH_COUNT(t->by_address);
}

struct gr_blocks_news gr_blocks_news(struct gr_blocks_table *t)
{
	struct gr_blocks_news news = t->news;

	memset(&t->news, 0, sizeof(t->news));
	return news;
}

void gr_blocks_destroy(struct gr_blocks_table *t)
{
	struct block *b, *next;

	if (!t)
		return;
	HASH_ITER(hh, t->by_address, b, next)
		drop(t, b);
	free(t);
}
