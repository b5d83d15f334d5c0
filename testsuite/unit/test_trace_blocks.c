// SPDX-License-Identifier: Apache-2.0
/* The table of blocks, with events that nobody has traced. Their stacks have one
 * frame, a function of this program, so that they can be told apart. */
#include <unistd.h>

#include "helpers/trace/blocks.h"
#include "helpers/trace/native_event.h"

#include "suite.h"

/** A table, and what it says. */
struct fixture {
	struct gr_drain *drain;
	struct gr_reply *reply;
	struct gr_blocks_table *table;
	char *text;
	size_t bytes;
};

static void begin(struct fixture *f, bool is_each)
{
	f->reply = calloc(1, sizeof(*f->reply));
	assert_non_null(f->reply);
	f->reply->file = open_memstream(&f->text, &f->bytes);
	assert_null(gr_drain_new(getpid(), f->reply, &f->drain));
	f->table = gr_blocks_new(f->drain, f->reply, is_each);
	assert_non_null(f->table);
}

static void end(struct fixture *f)
{
	gr_blocks_destroy(f->table);
	gr_drain_destroy(f->drain);
	fclose(f->reply->file);
	free(f->reply);
	free(f->text);
}

static void alloc(struct fixture *f, uint64_t address, uint64_t size,
		  uint32_t window)
{
	struct gr_event *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	e->head = (struct gr_event_head){ .kind = GR_NATIVE_ALLOC,
					  .flags = GR_ALLOC_CALLOC,
					  .tid = 7,
					  .address = address,
					  .bytes = size,
					  .ref = window };
	e->regs[GR_EVENT_REGS - 1] = (uintptr_t)alloc;
	e->time_ns = window * 1000;
	gr_drain_allow(f->drain, 10);
	assert_int_equal(gr_blocks_take(f->table, e,
					offsetof(struct gr_event, data)),
			 0);
	free(e);
}

static void give_back(struct fixture *f, uint64_t address)
{
	struct gr_event_head head = { .kind = GR_NATIVE_FREE,
				      .address = address };

	gr_drain_allow(f->drain, 10);
	gr_blocks_take(f->table, &head, sizeof(head));
}

/** The records behind a line of the answer; NULL if there is no such line. */
static const char *records(struct fixture *f, const char *line)
{
	fflush(f->reply->file);
	char *found = memmem(f->text, f->bytes, line, strlen(line));

	return found ? found + strlen(line) : NULL;
}

static struct gr_out_block block_at(const char *records, size_t i)
{
	struct gr_out_block b;

	memcpy(&b, records + i * sizeof(b), sizeof(b));
	return b;
}

TEST(the_latest_allocation_of_an_address_counts)
{
	struct fixture f;

	begin(&f, false);
	alloc(&f, 0x1000, 16, 1);
	alloc(&f, 0x2000, 32, 1);
	alloc(&f, 0x1000, 48, 2);
	assert_int_equal(gr_blocks_count(f.table), 2);
	gr_blocks_tell(f.table);
	const char *found = records(&f, "blocks 2\n");
	assert_non_null(found);
	struct gr_out_block one = block_at(found, 0), two = block_at(found, 1);
	if (one.address != 0x1000) {
		struct gr_out_block other = one;
		one = two;
		two = other;
	}
	assert_int_equal(one.address, 0x1000);
	assert_int_equal(one.bytes, 48);
	assert_int_equal(one.window, 2);
	assert_int_equal(one.kind, GR_ALLOC_CALLOC);
	assert_int_equal(one.tid, 7);
	assert_int_equal(two.address, 0x2000);
	assert_true(one.stack != 0);
	assert_int_equal(one.stack, two.stack);
	end(&f);
}

TEST(a_free_removes_a_block)
{
	struct fixture f;

	begin(&f, false);
	alloc(&f, 0x1000, 16, 1);
	alloc(&f, 0x2000, 32, 1);
	give_back(&f, 0x1000);
	give_back(&f, 0x1000);
	give_back(&f, 0x3000);
	assert_int_equal(gr_blocks_count(f.table), 1);
	gr_blocks_tell(f.table);
	assert_int_equal(block_at(records(&f, "blocks 1\n"), 0).address,
			 0x2000);
	end(&f);
}

TEST(a_stack_is_unwound_once_its_block_has_settled)
{
	struct fixture f;

	begin(&f, false);
	alloc(&f, 0x1000, 16, 1);
	alloc(&f, 0x2000, 32, 2);
	assert_null(records(&f, "stack "));
	gr_blocks_settle(f.table, 999, 10);
	assert_null(records(&f, "stack "));
	gr_blocks_settle(f.table, 1000, 10);
	assert_non_null(records(&f, "stack "));
	give_back(&f, 0x1000);
	give_back(&f, 0x2000);
	assert_int_equal(gr_blocks_count(f.table), 0);
	end(&f);
}

TEST(a_settled_block_can_be_allocated_again)
{
	struct fixture f;

	begin(&f, false);
	alloc(&f, 0x1000, 16, 1);
	gr_blocks_settle(f.table, UINT64_MAX, 10);
	alloc(&f, 0x1000, 64, 2);
	gr_blocks_settle(f.table, UINT64_MAX, 10);
	gr_blocks_tell(f.table);
	struct gr_out_block b = block_at(records(&f, "blocks 1\n"), 0);
	assert_int_equal(b.bytes, 64);
	assert_true(b.stack != 0);
	end(&f);
}

TEST(each_call_is_told_if_it_is_asked_for)
{
	struct fixture f;

	begin(&f, true);
	alloc(&f, 0x1000, 16, 1);
	give_back(&f, 0x1000);
	gr_reply_flush(f.reply);
	const char *found = records(&f, "each 2\n");
	assert_non_null(found);
	struct gr_out_block one = block_at(found, 0), two = block_at(found, 1);
	assert_int_equal(one.address, 0x1000);
	assert_true(one.stack != 0);
	assert_int_equal(two.kind, GR_ALLOC_FREE);
	end(&f);
}

TEST(damaged_events_are_left_out)
{
	struct fixture f;
	struct gr_event *e = calloc(1, sizeof(*e));

	begin(&f, false);
	assert_non_null(e);
	e->head.kind = GR_NATIVE_ALLOC;
	e->head.address = 0x1000;
	e->bytes[0] = 1;
	gr_drain_allow(f.drain, 10);
	gr_blocks_take(f.table, e, offsetof(struct gr_event, data));
	e->bytes[0] = GR_EVENT_CHUNK_MAX + 1;
	gr_blocks_take(f.table, e, sizeof(*e));
	gr_blocks_take(f.table, e, 3);
	assert_int_equal(gr_blocks_count(f.table), 0);
	free(e);
	end(&f);
}

GR_SUITE("blocks of the mode native")
