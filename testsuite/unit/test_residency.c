// SPDX-License-Identifier: Apache-2.0
/* residency: the pages of a process, which may end meanwhile; the list of them
 * has a limit. */
#include "inferior/residency.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image_checks.h"
#include "forked.h"

enum { PAGES = 1024, TOUCHED = 257 };

/* Words of struct pm_scan_arg (linux/fs.h). */
enum { END = 3, WALK_END = 4 };

enum kernel {
	AS_IT_IS,
	BEFORE_6_7,	  /* it has no PAGEMAP_SCAN */
	SCANS_WHAT_ENDED, /* with an empty answer, as if nothing were resident */
};

static enum kernel kernel;
static pid_t ended_pid; /* the process that is looked at, once it has ended */

/* In place of libc's. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;

	va_start(list, request);
	void *argument = va_arg(list, void *);
	va_end(list);
	if (kernel == BEFORE_6_7) {
		errno = ENOTTY;
		return -1;
	}
	if (kernel == SCANS_WHAT_ENDED && ended_pid) {
		((uint64_t *)argument)[WALK_END] = ((uint64_t *)argument)[END];
		return 0;
	}
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

static uint64_t limit_bytes = UINT64_MAX; /* of what is asked for at once */

struct gr_error *__wrap_gr_source_want(const struct gr_target *target,
				       uint64_t bytes);

/* In place of the memory limit. */
struct gr_error *__wrap_gr_source_want(const struct gr_target *target,
				       uint64_t bytes)
{
	(void)target;
	return bytes <= limit_bytes ?
		       NULL :
		       gr_error_format(GR_ERROR_MEMORY_LIMIT, "too much");
}

struct looked {
	uint8_t *area;
	pid_t pid;
	int polls_left; /* then it ends; -1: never */
	struct gr_gaps gaps;
	struct gr_target_module module;
	struct gr_target target;
	struct gr_image *image;
	struct gr_residency residency;
};

static void touch(void *ctx)
{
	const struct looked *looked = ctx;

	for (size_t i = 0; i < TOUCHED; i++)
		looked->area[3 * i * PAGE] = 1;
}

static struct gr_error *poll(void *ctx)
{
	struct looked *looked = ctx;

	if (looked->polls_left > 0 && !--looked->polls_left) {
		forked_end(looked->pid);
		ended_pid = looked->pid;
		looked->pid = 0;
	}
	return NULL;
}

static void looked_destroy(struct looked *looked)
{
	gr_residency_deinit(&looked->residency);
	gr_image_destroy(looked->image);
	if (looked->pid)
		forked_end(looked->pid);
	munmap(looked->area, PAGES * PAGE);
	free(looked);
	ended_pid = 0;
}

GR_DEFINE_CLEANUP(looked, struct looked, looked_destroy)

static struct looked *looked_create(int polls_left)
{
	struct looked *looked = calloc(1, sizeof(*looked));

	looked->area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	// Pages of our own would be the child's, too; huge ones are not single.
	madvise(looked->area, PAGES * PAGE, MADV_NOHUGEPAGE);
	looked->pid = forked_start(touch, looked);
	looked->module = (struct gr_target_module){ .path = "/proc/self/exe",
						    .bias = UINT64_MAX };
	looked->target = (struct gr_target){
		.kind = GR_TARGET_NATIVE,
		.pid = looked->pid,
		.modules = &looked->module,
		.nmodules = 1,
		.ops = { .poll = poll },
		.ctx = looked,
	};
	looked->polls_left = -1;
	assert_null(gr_image_create(&looked->target, &looked->gaps,
				    &looked->image));
	looked->polls_left = polls_left;
	return looked;
}

static bool is_resident(const struct gr_residency *r, uint64_t addr)
{
	for (size_t i = 0; i < r->ranges.size; i++)
		if (r->ranges.data[i].start <= addr &&
		    addr < r->ranges.data[i].end)
			return true;
	return false;
}

TEST(each_page)
{
	_cleanup_(gr_cleanup_looked) struct looked *looked = looked_create(-1);

	assert_null(gr_residency_read(looked->image, &looked->residency));
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(
			is_resident(&looked->residency,
				    (uintptr_t)looked->area + i * PAGE),
			i % 3 == 0 && i / 3 < TOUCHED);
}

/* A fork has the anonymous pages of its process; that of a file, here the code
 * of this test, the process has. */
TEST(each_page_of_a_snapshot)
{
	_cleanup_(gr_cleanup_looked) struct looked *looked = looked_create(-1);
	const struct gr_resident_vector *ranges = &looked->residency.ranges;
	const uint8_t *code = (const uint8_t *)test_each_page;

	looked->target.kind = GR_TARGET_SNAPSHOT;
	looked->target.copy_pid = looked->pid;
	looked->target.pid = getpid();
	assert_null(gr_residency_read(looked->image, &looked->residency));
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(
			is_resident(&looked->residency,
				    (uintptr_t)looked->area + i * PAGE),
			i % 3 == 0 && i / 3 < TOUCHED);
	assert_true(is_resident(&looked->residency, (uintptr_t)code));
	for (size_t i = 1; i < ranges->size; i++)
		assert_true(ranges->data[i - 1].end <= ranges->data[i].start);
	// If the process ends, the pages of files are not known.
	looked->target.pid = INT32_MAX;
	gr_residency_deinit(&looked->residency);
	assert_fails(gr_residency_read(looked->image, &looked->residency),
		     GR_ERROR_IO, "cannot open");
}

/* The list of single pages asks for its memory, and takes no more than it may. */
TEST(limit)
{
	_cleanup_(gr_cleanup_looked) struct looked *looked = looked_create(-1);
	const struct gr_resident_vector *ranges = &looked->residency.ranges;

	limit_bytes = TOUCHED * sizeof(*ranges->data);
	struct gr_error *err =
		gr_residency_read(looked->image, &looked->residency);
	uint64_t limit = limit_bytes;
	limit_bytes = UINT64_MAX;
	assert_fails(err, GR_ERROR_MEMORY_LIMIT, "too much");
	assert_true(ranges->capacity * sizeof(*ranges->data) <= limit);
}

/** When it ends. */
struct end_case {
	const char *name;
	int polls;
	enum kernel kernel;
};

static const struct end_case end_cases[] = {
	{ "it ends at the first mapping of smaps", 1, AS_IT_IS },
	{ "it ends at the fifth", 5, AS_IT_IS },
	{ "it ends when smaps has been read in part", 12, AS_IT_IS },
	{ "it ends at the first on an old kernel", 1, BEFORE_6_7 },
	{ "it ends at the fifth on an old kernel", 5, BEFORE_6_7 },
	{ "it ends in smaps on an old kernel", 12, BEFORE_6_7 },
	{ "it ends at the first, and is scanned", 1, SCANS_WHAT_ENDED },
	{ "it ends at the fifth, and is scanned", 5, SCANS_WHAT_ENDED },
	{ "it ends in smaps, and is scanned", 12, SCANS_WHAT_ENDED },
};

/* Nothing is said of a process that is no longer there. */
TEST_ROWS(ends, end_cases, c)
{
	_cleanup_(gr_cleanup_looked) struct looked *looked =
		looked_create(c->polls);

	kernel = c->kernel;
	struct gr_error *err =
		gr_residency_read(looked->image, &looked->residency);

	kernel = AS_IT_IS;
	assert_fails(err, GR_ERROR_IO, "has ended");
	assert_int_equal(looked->pid, 0);
}

/* Wherever it ends, there is an error, or the pages are those that it had. That
 * is each of the first moments, which are all that a process of few mappings
 * has, and some of the later ones. */
TEST(ends_anywhere)
{
	for (int polls = 1; polls < 4000; polls += polls < 64 ? 1 : 7) {
		_cleanup_(gr_cleanup_looked) struct looked *looked =
			looked_create(polls);
		struct gr_error *err =
			gr_residency_read(looked->image, &looked->residency);
		uint64_t whole = 0;

		if (err) {
			assert_int_equal(looked->pid, 0);
			assert_fails(err, GR_ERROR_IO, "has ended");
			continue;
		}
		for (size_t i = 0; i < PAGES; i++)
			whole +=
				is_resident(&looked->residency,
					    (uintptr_t)looked->area + i * PAGE);
		assert_int_equal(whole, TOUCHED);
		assert_true(polls > 1);
		return;
	}
	fail_msg("it was never read to the end");
}

/* The shadow of AddressSanitizer is terabytes of address space. An old kernel has
 * to be asked for each page of it. */
static void pretend_kernel(void)
{
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	kernel = BEFORE_6_7;
}

static void *begin_kernel(void)
{
	kernel = AS_IT_IS;
	return NULL;
}

static void end_kernel(void *none)
{
	(void)none;
	kernel = AS_IT_IS;
}

#define FIXTURE void *none, begin_kernel, end_kernel

TEST_F(each_page_on_an_old_kernel)
{
	pretend_kernel();
	test_each_page();
}

TEST_F(each_page_of_a_snapshot_on_an_old_kernel)
{
	pretend_kernel();
	test_each_page_of_a_snapshot();
}

TEST_F(ends_anywhere_on_an_old_kernel)
{
	pretend_kernel();
	test_ends_anywhere();
}

TEST_F(ends_anywhere_and_is_scanned)
{
	kernel = SCANS_WHAT_ENDED;
	test_ends_anywhere();
}

GR_SUITE("residency")
