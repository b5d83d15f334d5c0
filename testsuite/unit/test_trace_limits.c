// SPDX-License-Identifier: Apache-2.0
/* May operator new fail? The texts are as of /proc. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/trace/alloc_limits.h"

#include "suite.h"

static const char unlimited[] =
	"Limit                     Soft Limit           Hard Limit           "
	"Units\n"
	"Max data size             unlimited            unlimited            "
	"bytes\n"
	"Max stack size            8388608              unlimited            "
	"bytes\n"
	"Max address space         unlimited            unlimited            "
	"bytes\n";

TEST(limits_of_memory_are_found)
{
	assert_false(gr_alloc_limits_are_set(unlimited));
	assert_false(gr_alloc_limits_are_set(""));
	assert_true(gr_alloc_limits_are_set(
		"Max data size             1048576              unlimited\n"));
	assert_true(gr_alloc_limits_are_set(
		"Max data size             unlimited            unlimited\n"
		"Max address space         9223372036854775807  unlimited\n"));
}

TEST(limits_of_a_heap_are_found)
{
	static const char some[] = "HOME=/\0TCMALLOC_HEAP_LIMIT_MB=64\0A=b";
	static const char none[] = "HOME=/\0TCMALLOC_SAMPLE=64\0A=b";

	assert_true(gr_alloc_limits_is_heap(some, sizeof(some)));
	assert_false(gr_alloc_limits_is_heap(none, sizeof(none)));
	assert_false(gr_alloc_limits_is_heap("", 0));
}

/** A child with a limit of its address space, which waits to be ended. */
static pid_t start_child(int *fd)
{
	const struct rlimit limit = { 1UL << 40, 1UL << 40 };
	int fds[2], ready[2];
	char byte = 'r';

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid) {
		close(fds[1]);
		bool is_set = !setrlimit(RLIMIT_AS, &limit);
		if (is_set && write(ready[1], &byte, 1) == 1)
			(void)!read(fds[0], &byte, 1);
		_exit(0);
	}
	close(fds[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*fd = fds[1];
	return pid;
}

TEST(the_limit_of_a_process_is_a_reason)
{
	int fd;
	pid_t pid = start_child(&fd);

	assert_non_null(gr_alloc_limits_why(pid));
	close(fd);
	waitpid(pid, NULL, 0);
}

TEST(a_process_that_is_not_there_may_fail)
{
	assert_non_null(gr_alloc_limits_why(INT32_MAX));
}

GR_SUITE("limits of the memory of a process")
