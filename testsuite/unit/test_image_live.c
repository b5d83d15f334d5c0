// SPDX-License-Identifier: Apache-2.0
/* image: processes, copies of them, remote targets. */
#include <sys/mman.h>
#include <sys/uio.h>

#include "image_checks.h"
#include "forked.h"
#include "inferior/image_internal.h"

enum {
	LIVE_PAGES = 40,
	UNMAPPED_PAGE = 5,
	RESERVED_PAGE = 9,
	SEALED_PAGE = 13
};

/** A child with LIVE_PAGES pages of known bytes, two of them not there. Another
 * one has its bytes, but may not be read by the child itself. */
struct live {
	uint8_t *area; /**< At the same address in both processes. */
	pid_t pid;
	uint64_t nreads, largest_read; /**< Only the remote kind. */
	int polls_left;		       /**< Then interrupted; -1: never. */
	struct gr_gaps gaps;
	struct gr_target_module module;
	struct gr_target target;
	struct gr_image *image;
};

static bool is_live_byte(const struct live *live, uint64_t addr)
{
	uint64_t page = (addr - (uintptr_t)live->area) / PAGE;

	return page < LIVE_PAGES && page != UNMAPPED_PAGE &&
	       page != RESERVED_PAGE;
}

static struct gr_error *live_remote_read(void *ctx, uint64_t addr, void *buf,
					 size_t bytes)
{
	struct live *live = ctx;

	live->nreads++;
	if (bytes > live->largest_read)
		live->largest_read = bytes;
	for (uint64_t at = addr; at < addr + bytes; at++)
		if (!is_live_byte(live, at))
			return gr_error_fault(addr, bytes);
	memcpy(buf, (void *)(uintptr_t)addr, bytes);
	return NULL;
}

static struct gr_error *live_poll(void *ctx)
{
	struct live *live = ctx;

	if (!live->polls_left)
		return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
	if (live->polls_left > 0)
		live->polls_left--;
	return NULL;
}

static void live_destroy(struct live *live)
{
	gr_image_destroy(live->image);
	if (live->pid)
		forked_end(live->pid);
	munmap(live->area, LIVE_PAGES * PAGE);
	free(live);
}

GR_DEFINE_CLEANUP(live, struct live, live_destroy)

static void lose_pages(void *ctx)
{
	const struct live *live = ctx;

	munmap(live->area + UNMAPPED_PAGE * PAGE, PAGE);
	mmap(live->area + RESERVED_PAGE * PAGE, PAGE, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mprotect(live->area + SEALED_PAGE * PAGE, PAGE, PROT_NONE);
}

static void live_fork(struct live *live)
{
	live->pid = forked_start(lose_pages, live);
	if (live->target.kind == GR_TARGET_SNAPSHOT)
		live->target.copy_pid = live->pid;
	else
		live->target.pid = live->pid;
}

/** How the same memory is reached. */
struct live_case {
	const char *name;
	enum gr_target_kind kind;
	bool is_only_file; /**< As where process_vm_readv() is forbidden. */
};

static const struct live_case live_cases[] = {
	{ "process", GR_TARGET_NATIVE, false },
	{ "process through /proc/PID/mem", GR_TARGET_NATIVE, true },
	{ "remote", GR_TARGET_REMOTE, false },
	{ "snapshot", GR_TARGET_SNAPSHOT, true },
};

static struct live *live_create(const struct live_case *c)
{
	struct live *live = calloc(1, sizeof(*live));

	live->area = mmap(NULL, LIVE_PAGES * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint64_t i = 0; i < LIVE_PAGES * PAGE; i++)
		live->area[i] =
			builder_byte((uintptr_t)live->area + i, CORE_SALT);
	live->polls_left = -1;
	live->module = (struct gr_target_module){ .path = "/proc/self/exe",
						  .bias = UINT64_MAX };
	if (c->kind == GR_TARGET_REMOTE)
		live->module.bias = 0x700000000000;
	live->target = (struct gr_target){
		.kind = c->kind,
		.modules = &live->module,
		.nmodules = 1,
		.ops = { live_remote_read, live_poll },
		.ctx = live,
	};
	if (c->kind != GR_TARGET_REMOTE)
		live_fork(live);
	assert_null(gr_image_create(&live->target, &live->gaps, &live->image));
	// A snapshot is never read in another way.
	if (c->kind == GR_TARGET_SNAPSHOT)
		assert_true(live->image->source.is_only_file);
	live->image->source.is_only_file = c->is_only_file;
	return live;
}

// These hold before and after sealing.
static void check_live(struct live *live)
{
	uint64_t addr = (uintptr_t)live->area;
	uint8_t buf[4 * PAGE];
	uint64_t value;
	const uint8_t *p;

	for (uint64_t page = 0; page < LIVE_PAGES; page++) {
		uint64_t at = addr + page * PAGE;
		struct gr_error *err =
			gr_image_read_u64(live->image, at + 16, &value);
		if (is_live_byte(live, at)) {
			assert_null(err);
			assert_bytes((uint8_t *)&value, at + 16, 8, CORE_SALT);
		} else {
			assert_fails(err, GR_ERROR_FAULT, NULL);
		}
	}
	assert_null(gr_image_read(live->image, addr + PAGE - 5, buf, 3 * PAGE));
	assert_bytes(buf, addr + PAGE - 5, 3 * PAGE, CORE_SALT);
	assert_fails(gr_image_map(live->image, addr, LIVE_PAGES * PAGE, &p),
		     GR_ERROR_FAULT, NULL);
	memset(&live->gaps, 0, sizeof(live->gaps));
	assert_null(gr_image_map_torn(live->image, addr + 3,
				      LIVE_PAGES * PAGE - 3, &p));
	assert_int_equal(live->gaps.count[GR_GAP_UNREADABLE_PAGES], 2);
	for (uint64_t i = 3; i < LIVE_PAGES * PAGE; i++)
		assert_int_equal(p[i - 3],
				 is_live_byte(live, addr + i) ?
					 builder_byte(addr + i, CORE_SALT) :
					 0);
}

TEST_ROWS(live, live_cases, c)
{
	_cleanup_(gr_cleanup_live) struct live *live = live_create(c);
	uint64_t addr = (uintptr_t)live->area, value;

	check_live(live);
	// In disorder and overlapping, with an absurd one.
	assert_null(gr_image_plan(live->image, addr + 20 * PAGE,
				  addr + LIVE_PAGES * PAGE));
	assert_null(gr_image_plan(live->image, addr, addr + 12 * PAGE - 1));
	assert_null(gr_image_plan(live->image, addr + 100, addr + 21 * PAGE));
	assert_null(gr_image_plan(live->image, 0, UINT64_MAX));
	assert_null(gr_image_plan(live->image, addr + 9, addr + 9));
	uint64_t promised = gr_image_plan_bytes(live->image);
	assert_in_range(promised, (LIVE_PAGES - 2) * PAGE, LIVE_PAGES * PAGE);
	assert_null(gr_image_capture(live->image));
	assert_int_equal(gr_image_private_bytes(live->image),
			 (LIVE_PAGES - 2) * PAGE);
	assert_int_equal(gr_image_plan_bytes(live->image), 0);
	const uint8_t *p;
	assert_null(gr_image_map(live->image, addr + 10 * PAGE, 30 * PAGE, &p));
	assert_bytes(p, addr + 10 * PAGE, 30 * PAGE, CORE_SALT);
	gr_image_seal(live->image);
	check_live(live);
	assert_fails(gr_image_read_u64(live->image, addr - PAGE, &value),
		     GR_ERROR_FAULT, NULL);
	assert_true(live->largest_read <= 1 << 20);
}

TEST(capture_twice)
{
	_cleanup_(gr_cleanup_live) struct live *live =
		live_create(&live_cases[0]);
	uint64_t addr = (uintptr_t)live->area;
	const uint8_t *p, *q;

	assert_null(gr_image_plan(live->image, addr, addr + 2 * PAGE));
	assert_null(gr_image_capture(live->image));
	assert_null(gr_image_map(live->image, addr, PAGE, &p));
	assert_null(gr_image_plan(live->image, addr + PAGE, addr + 4 * PAGE));
	assert_int_equal(gr_image_plan_bytes(live->image), 2 * PAGE);
	assert_null(gr_image_capture(live->image));
	gr_image_seal(live->image);
	assert_null(gr_image_map(live->image, addr, PAGE, &q));
	assert_ptr_equal(p, q);
	assert_null(gr_image_map(live->image, addr, 4 * PAGE, &q));
	assert_bytes(q, addr, 4 * PAGE, CORE_SALT);
}

// The first two pages are captured, and change afterwards like all others.
TEST(late)
{
	_cleanup_(gr_cleanup_live) struct live *live =
		live_create(&live_cases[2]);
	uint64_t addr = (uintptr_t)live->area;
	uint8_t late[4 * PAGE];

	assert_int_equal(live->target.kind, GR_TARGET_REMOTE);
	live->target.is_held = true;
	assert_null(gr_image_plan(live->image, addr, addr + 2 * PAGE));
	assert_null(gr_image_capture(live->image));
	gr_image_seal(live->image);
	memset(live->area, 7, LIVE_PAGES * PAGE);
	assert_fails(gr_image_read(live->image, addr, late, sizeof(late)),
		     GR_ERROR_FAULT, NULL);
	assert_null(gr_image_read_late(live->image, addr, late, sizeof(late)));
	assert_bytes(late, addr, 2 * PAGE, CORE_SALT);
	for (size_t i = 2 * PAGE; i < sizeof(late); i++)
		assert_int_equal(late[i], 7);
	assert_fails(gr_image_read_late(live->image,
					addr + UNMAPPED_PAGE * PAGE, late, 1),
		     GR_ERROR_FAULT, NULL);
}

// The process may have gone on.
TEST_ROWS(not_held, live_cases, c)
{
	_cleanup_(gr_cleanup_live) struct live *live = live_create(c);
	uint64_t addr = (uintptr_t)live->area;
	uint8_t byte;

	gr_image_seal(live->image);
	assert_fails(gr_image_read_late(live->image, addr, &byte, 1),
		     GR_ERROR_FAULT, NULL);
}

enum { MANY_PAGES = 9000, HOLE_EVERY = 97 };

/** How many threads of ours copy what is several batches long. */
struct copy_case {
	const char *name;
	unsigned int threads;
	int polls_left; /**< Then interrupted; -1: never. */
};

static const struct copy_case copy_cases[] = {
	{ "copied by as many threads as are not named", 0, -1 },
	{ "copied by one thread", 1, -1 },
	{ "copied by two threads", 2, -1 },
	{ "copied by more threads than there may be", 1000, -1 },
	{ "copied by two threads, interrupted", 2, 0 },
};

// The same in us and in the process, but for the pages that only we have; what
// it has lost of late, its maps do not tell.
static struct live *create_many(uint8_t *area)
{
	for (uint64_t i = 0; i < MANY_PAGES * PAGE; i += 8)
		memcpy(area + i, &(uint64_t){ i * 0x9e3779b97f4a7c15 }, 8);
	for (uint64_t i = HOLE_EVERY; i < MANY_PAGES; i += HOLE_EVERY)
		madvise(area + i * PAGE, PAGE, MADV_DONTFORK);
	struct live *live = live_create(&live_cases[0]);
	gr_mappings_deinit(&live->image->process);
	return live;
}

static void check_many(struct live *live, const uint8_t *area)
{
	uint64_t holes = 0;
	const uint8_t *p;

	for (uint64_t i = 0; i < MANY_PAGES; i++) {
		const uint8_t *page = area + i * PAGE;
		struct gr_error *err =
			gr_image_map(live->image, (uintptr_t)page, PAGE, &p);
		if (i && i % HOLE_EVERY == 0) {
			assert_fails(err, GR_ERROR_FAULT, NULL);
			holes++;
			continue;
		}
		assert_null(err);
		assert_memory_equal(p, page, PAGE);
	}
	assert_int_equal(gr_image_private_bytes(live->image),
			 (MANY_PAGES - holes) * PAGE);
}

TEST_ROWS(copy, copy_cases, c)
{
	uint64_t bytes = MANY_PAGES * PAGE;
	uint8_t *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_cleanup_(gr_cleanup_live) struct live *live = create_many(area);

	live->target.copy_threads = c->threads;
	live->polls_left = c->polls_left;
	assert_null(gr_image_plan(live->image, (uintptr_t)area,
				  (uintptr_t)area + bytes));
	struct gr_error *err = gr_image_capture(live->image);
	if (c->polls_left >= 0) {
		assert_fails(err, GR_ERROR_INTERRUPTED, NULL);
		assert_int_equal(gr_image_private_bytes(live->image), 0);
	} else {
		assert_null(err);
		gr_image_seal(live->image);
		check_many(live, area);
	}
	munmap(area, bytes);
}

TEST_ROWS(interrupt, live_cases, c)
{
	_cleanup_(gr_cleanup_live) struct live *live = live_create(c);
	uint64_t addr = (uintptr_t)live->area, value;

	assert_null(gr_image_plan(live->image, addr, addr + 9 * PAGE));
	live->polls_left = 0;
	assert_fails(gr_image_capture(live->image), GR_ERROR_INTERRUPTED, NULL);
	assert_int_equal(gr_image_private_bytes(live->image), 0);
	assert_fails(gr_image_read_u64(live->image, addr, &value),
		     GR_ERROR_INTERRUPTED, NULL);
	live->polls_left = -1;
	assert_null(gr_image_read_u64(live->image, addr, &value));
}

// A remote target costs its round trips.
TEST(round_trips)
{
	_cleanup_(gr_cleanup_live) struct live *live =
		live_create(&live_cases[2]);
	uint64_t addr = ((uintptr_t)live->area + 10 * PAGE) | PAGE, value;

	// Dense small reads, as of span structures: two pages a request, but
	// for the few that lose their place in the cache to others.
	live->nreads = 0;
	for (uint64_t at = addr; at < addr + 28 * PAGE; at += 64)
		assert_null(gr_image_read_u64(live->image, at, &value));
	assert_in_range(live->nreads, 1, 20);
	// Ranges that meet are one request when they are captured.
	live->nreads = 0;
	for (uint64_t page = 0; page < 28; page++)
		assert_null(gr_image_plan(live->image,
					  addr + (page * 11 % 28) * PAGE,
					  addr + (page * 11 % 28 + 1) * PAGE));
	assert_null(gr_image_capture(live->image));
	assert_in_range(live->nreads, 1, 2);
}

// A script may fork, and ask the copy in the child.
TEST(fork_has_the_copy)
{
	_cleanup_(gr_cleanup_live) struct live *live =
		live_create(&live_cases[0]);
	uint64_t addr = (uintptr_t)live->area;
	uint8_t byte = 0;
	int status = -1;

	assert_null(gr_image_plan(live->image, addr, addr + 2 * PAGE));
	assert_null(gr_image_reserve(live->image, 64 * PAGE));
	assert_null(gr_image_capture(live->image));
	pid_t child = fork();
	if (!child)
		_exit(gr_image_read(live->image, addr + PAGE, &byte, 1) ||
		      byte != builder_byte(addr + PAGE, CORE_SALT));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static uint8_t read_byte(struct live *live, uint64_t page)
{
	uint8_t byte = 0;

	assert_null(gr_image_read(
		live->image, (uintptr_t)live->area + page * PAGE, &byte, 1));
	return byte;
}

// The process changes the first byte of a page.
static void change(struct live *live, uint64_t page, uint8_t byte)
{
	struct iovec from = { &byte, 1 };
	struct iovec to = { live->area + page * PAGE, 1 };

	assert_int_equal(process_vm_writev(live->pid, &from, 1, &to, 1, 0), 1);
}

TEST(forget)
{
	_cleanup_(gr_cleanup_live) struct live *live =
		live_create(&live_cases[0]);

	uint8_t before = read_byte(live, 1);
	change(live, 1, before + 1);
	assert_int_equal(read_byte(live, 1), before);
	gr_image_forget(live->image);
	assert_int_equal(read_byte(live, 1), (uint8_t)(before + 1));
}

// Memory that was read is copied by pages, and nothing else is read then.
TEST(search_in_a_copy)
{
	_cleanup_(gr_cleanup_live) struct live *live =
		live_create(&live_cases[0]);
	struct gr_image *image = live->image;
	uint64_t area = (uintptr_t)live->area;
	uint8_t byte, buf[PAGE];

	read_byte(live, 20);
	assert_int_equal(gr_image_noted_pages(image), 0);
	assert_null(gr_image_note_fetches(image, true));
	uint8_t before = read_byte(live, 1);
	// The last byte of a page and the first of the next.
	assert_null(gr_image_read(image, area + 3 * PAGE - 1, buf, 2));
	gr_error_destroy(
		gr_image_read(image, area + UNMAPPED_PAGE * PAGE, buf, 1));
	read_byte(live, 1);
	assert_int_equal(gr_image_noted_pages(image), 3);
	assert_null(gr_image_note_fetches(image, false));
	read_byte(live, 30);
	assert_int_equal(gr_image_noted_pages(image), 3);

	assert_null(gr_image_refresh(image));
	assert_null(gr_image_plan_noted(image));
	assert_int_equal(gr_image_plan_bytes(image), 3 * PAGE);
	assert_null(gr_image_capture(image));
	gr_image_enter_copy(image);
	change(live, 1, before + 1);
	assert_int_equal(read_byte(live, 1), before);

	// Pages that the copy lacks are noted for the next one with their
	// neighbours, unless nobody has them.
	assert_null(gr_image_note_fetches(image, true));
	for (uint64_t page = 4; page <= UNMAPPED_PAGE; page++) {
		struct gr_error *err =
			gr_image_read(image, area + page * PAGE, &byte, 1);
		assert_true(gr_error_catch(&err, GR_ERROR_FAULT));
	}
	struct gr_error *err =
		gr_image_read(image, area + RESERVED_PAGE * PAGE, &byte, 1);
	assert_true(gr_error_catch(&err, GR_ERROR_FAULT));
	uint64_t noted = gr_image_noted_pages(image);
	assert_in_range(noted, 4, 4 + 16);

	assert_null(gr_image_leave_copy(image));
	assert_int_equal(read_byte(live, 1), (uint8_t)(before + 1));
	assert_null(gr_image_refresh(image));
	assert_null(gr_image_plan_noted(image));
	assert_null(gr_image_capture(image));
	gr_image_enter_copy(image);
	read_byte(live, 4);
}

TEST(no_process)
{
	struct gr_target_module module = { .path = "/proc/self/exe",
					   .bias = UINT64_MAX };
	struct gr_target target = { .kind = GR_TARGET_NATIVE,
				    .pid = INT32_MAX,
				    .modules = &module,
				    .nmodules = 1 };
	struct gr_gaps gaps = { 0 };
	struct gr_image *image;

	assert_fails(gr_image_create(&target, &gaps, &image), GR_ERROR_IO,
		     "there is no process 2147483647");
}

GR_SUITE("live image")
