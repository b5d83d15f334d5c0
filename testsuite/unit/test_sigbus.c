// SPDX-License-Identifier: Apache-2.0
/* Files that shrink while they are mapped. */
#include "inferior/sigbus.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#include "inferior/elf.h"

enum { PAGES = 8, PAGE = 4096 };

/** A mapped file full of ones. */
struct fixture {
	int fd;
	const volatile uint8_t *data;
	struct gr_sigbus_area *area;
};

static const uint8_t *map_ones(int *fd)
{
	static uint8_t ones[PAGES * PAGE];

	memset(ones, 1, sizeof(ones));
	*fd = memfd_create("shrinks", MFD_CLOEXEC);
	assert_int_equal(write(*fd, ones, sizeof(ones)), sizeof(ones));
	const uint8_t *data =
		mmap(NULL, sizeof(ones), PROT_READ, MAP_PRIVATE, *fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	return data;
}

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	const uint8_t *data = map_ones(&f->fd);
	f->data = data;
	f->area = gr_sigbus_watch((struct gr_bytes){ data, PAGES * PAGE },
				  "the core");
	assert_non_null(f->area);
	return f;
}

static void teardown(struct fixture *f)
{
	gr_sigbus_forget(f->area);
	munmap((void *)f->data, PAGES * PAGE);
	close(f->fd);
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

static void shrink(struct fixture *f, off_t bytes)
{
	assert_int_equal(ftruncate(f->fd, bytes), 0);
}

static void assert_torn(struct gr_error *err)
{
	assert_error_code(err, GR_ERROR_IO);
	assert_string_equal(err->message,
			    "the core changed while it was being read");
	gr_error_destroy(err);
}

TEST_F(nothing_happens)
{
	struct gr_sigbus_guard guard;
	struct gr_error *own = gr_error_format(GR_ERROR_LIMIT, "own");

	gr_sigbus_guard_begin(&guard);
	assert_int_equal(f->data[5 * PAGE], 1);
	assert_ptr_equal(gr_sigbus_guard_end(&guard, own), own);
	gr_error_destroy(own);
	assert_null(gr_sigbus_check(f->area));
}

TEST_F(zeros_and_an_error)
{
	struct gr_sigbus_guard guard;

	gr_sigbus_guard_begin(&guard);
	shrink(f, 3 * PAGE);
	assert_int_equal(f->data[2 * PAGE], 1);
	assert_int_equal(f->data[6 * PAGE + 7], 0);
	assert_int_equal(f->data[7 * PAGE], 0);
	assert_int_equal(f->data[3 * PAGE], 0);
	assert_int_equal(f->data[2 * PAGE], 1);
	/* An error that the zeros caused is not the one that is told. */
	struct gr_error *err = gr_error_format(GR_ERROR_FORMAT, "nonsense");
	assert_torn(gr_sigbus_guard_end(&guard, err));
	/* The zeros stay: no later use may take them for data. */
	assert_torn(gr_sigbus_check(f->area));
}

TEST_F(nested)
{
	struct gr_sigbus_guard outer, inner;

	gr_sigbus_guard_begin(&outer);
	gr_sigbus_guard_begin(&inner);
	assert_null(gr_sigbus_guard_end(&inner, NULL));
	shrink(f, 0);
	assert_int_equal(f->data[0], 0);
	gr_sigbus_guard_begin(&inner);
	assert_null(gr_sigbus_guard_end(&inner, NULL));
	assert_torn(gr_sigbus_guard_end(&outer, NULL));
}

static sigjmp_buf jump;

static void jump_back(int number)
{
	siglongjmp(jump, number);
}

TEST(others_are_passed_on)
{
	struct sigaction mine = { .sa_handler = jump_back }, now;
	struct gr_sigbus_guard guard;
	int fd;

	sigaction(SIGBUS, &mine, NULL);
	const volatile uint8_t *other = map_ones(&fd);
	gr_sigbus_guard_begin(&guard);
	assert_int_equal(ftruncate(fd, 0), 0);
	if (!sigsetjmp(jump, 1)) {
		(void)other[PAGE];
		fail_msg("no signal");
	}
	assert_null(gr_sigbus_guard_end(&guard, NULL));
	sigaction(SIGBUS, NULL, &now);
	assert_ptr_equal(now.sa_handler, jump_back);
	signal(SIGBUS, SIG_DFL);
	munmap((void *)other, PAGES * PAGE);
	close(fd);
}

/* Status of a child that takes a SIGBUS which is not ours. */
static int die_in_child(bool is_sent)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		struct gr_sigbus_guard guard;
		struct rlimit none = { 0, 0 };
		int fd;

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGBUS, SIG_DFL);
		const volatile uint8_t *other = map_ones(&fd);
		gr_sigbus_guard_begin(&guard);
		if (is_sent)
			raise(SIGBUS);
		else if (!ftruncate(fd, 0))
			(void)other[PAGE];
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(default_action)
{
	for (int is_sent = 0; is_sent < 2; is_sent++) {
		int status = die_in_child(is_sent);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGBUS);
	}
}

TEST(handler_is_given_back)
{
	struct sigaction now;
	struct gr_sigbus_guard guard;

	signal(SIGBUS, SIG_IGN);
	gr_sigbus_guard_begin(&guard);
	sigaction(SIGBUS, NULL, &now);
	assert_true(now.sa_flags & SA_SIGINFO);
	assert_null(gr_sigbus_guard_end(&guard, NULL));
	sigaction(SIGBUS, NULL, &now);
	assert_ptr_equal(now.sa_handler, SIG_IGN);
	/* Who came between keeps the place. */
	gr_sigbus_guard_begin(&guard);
	signal(SIGBUS, jump_back);
	assert_null(gr_sigbus_guard_end(&guard, NULL));
	sigaction(SIGBUS, NULL, &now);
	assert_ptr_equal(now.sa_handler, jump_back);
	signal(SIGBUS, SIG_DFL);
}

/* An ELF file is watched from its opening on, whatever it is. */
TEST(elf_file)
{
	struct gr_sigbus_guard guard;
	uint8_t bytes[4 * PAGE] = { 0 };
	struct gr_elf elf;
	char path[32];

	Elf64_Ehdr header = { .e_machine = EM_X86_64, .e_type = ET_CORE };
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(bytes, &header, sizeof(header));
	memset(bytes + 3 * PAGE, 1, PAGE);
	int fd = memfd_create("elf", MFD_CLOEXEC);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_null(gr_elf_open(path, &elf));
	gr_sigbus_guard_begin(&guard);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(*(volatile const uint8_t *)(elf.file.data + 3 * PAGE),
			 0);
	struct gr_error *err = gr_sigbus_guard_end(&guard, NULL);
	assert_non_null(err);
	assert_non_null(strstr(err->message, path));
	gr_error_destroy(err);
	gr_elf_deinit(&elf);
	close(fd);
}

GR_SUITE("sigbus")
