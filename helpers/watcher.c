// SPDX-License-Identifier: Apache-2.0
/*
 * goref-watcher PID START [stopped]: let process PID go on if gdb, our parent, is
 * killed while it has stopped the process. START is the start time of PID in the
 * ticks of /proc/PID/stat; it detects a reused PID. With `stopped', a signal had
 * stopped the process before, and it stays so.
 *
 * We print "ready" when gdb may begin. The first byte on standard input means
 * that gdb has let the process go on, and we end. Until then we sleep. Only
 * SIGKILL ends us, and we are in our own session.
 *
 * The kernel reports the end of gdb (PR_SET_PDEATHSIG); the end of a pipe would
 * not be reliable. When gdb attaches for the first time, it forks itself to
 * test the kernel's features. If gdb is killed just then, the fork stays
 * behind, stopped, with all of gdb's open files. We kill this fork, too.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/cleanup.h"

enum {
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	/*
	 * gdb's threads end one by one, and stops that gdb has requested may
	 * arrive afterwards. We are done after QUIET_ROUNDS without a stop, or
	 * after MAX_ROUNDS.
	 */
	ROUND_MS = 10,
	QUIET_ROUNDS = 100,
	MAX_ROUNDS = 2000,
	/* Rounds between two searches of all processes. */
	COPY_ROUNDS = 10,
	/* Command lines are compared up to this length. */
	COMMAND_BYTES = 4096,
	PARENT_ENDED = SIGUSR1,
};

/** A process, from /proc/PID/stat. */
struct stat_line {
	char state;
	int parent, group;
	unsigned long long start;
};

/** gdb at our start. */
struct gdb {
	pid_t pid;
	struct stat_line stat;
	char command[COMMAND_BYTES];
	size_t command_bytes;
};

/** The process that gdb stops. */
struct watched {
	pid_t pid;
	unsigned long long start;
	int fd;		    /**< Its pidfd; -1 if the kernel has no pidfds. */
	bool stays_stopped; /**< As a signal has wanted it. */
};

static bool read_stat(pid_t pid, struct stat_line *ret)
{
	char name[32], text[1024];

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (bytes <= 0)
		return false;
	text[bytes] = '\0';
	// The name may contain blanks and parentheses.
	const char *rest = strrchr(text, ')');
	return rest &&
	       sscanf(rest,
		      ") %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
		      "%*u %*d %*d %*d %*d %*d %*d %llu",
		      &ret->state, &ret->parent, &ret->group, &ret->start) == 4;
}

static size_t read_command(pid_t pid, char ret[COMMAND_BYTES])
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, ret, COMMAND_BYTES);
	return bytes < 0 ? 0 : (size_t)bytes;
}

/* False if the process has ended; another process may have its PID by now. */
static bool is_there(const struct watched *it, struct stat_line *ret)
{
	return read_stat(it->pid, ret) && ret->start == it->start &&
	       ret->state != 'Z' && ret->state != 'X';
}

/*
 * Open the pidfd before the check: it is valid if the process still exists
 * afterwards.
 */
static bool open_watched(struct watched *it)
{
	struct stat_line stat;

	it->fd = (int)syscall(SYS_pidfd_open, it->pid, 0);
	return is_there(it, &stat);
}

static void let_go(const struct watched *it)
{
	if (it->fd >= 0)
		syscall(SYS_pidfd_send_signal, it->fd, SIGCONT, NULL, 0);
	else
		kill(it->pid, SIGCONT);
}

/* True for a stopped fork of gdb that nobody traces any more. */
static bool is_copy(const struct gdb *gdb, pid_t pid)
{
	char command[COMMAND_BYTES];
	struct stat_line stat;

	return read_stat(pid, &stat) &&
	       (stat.state == 'T' || stat.state == 't') &&
	       stat.parent == getppid() && stat.group == gdb->stat.group &&
	       stat.start >= gdb->stat.start &&
	       read_command(pid, command) == gdb->command_bytes &&
	       !memcmp(command, gdb->command, gdb->command_bytes);
}

static void end_copies(const struct gdb *gdb)
{
	DIR *dir = opendir("/proc");

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (isdigit((unsigned char)d->d_name[0]) &&
		    is_copy(gdb, atoi(d->d_name)))
			kill(atoi(d->d_name), SIGKILL);
	if (dir)
		closedir(dir);
}

static void watch_out(const struct gdb *gdb, const struct watched *it)
{
	const struct timespec round = { .tv_nsec = ROUND_MS * 1000000L };
	struct stat_line stat;
	int quiet = 0;

	for (int i = 0; i < MAX_ROUNDS && quiet < QUIET_ROUNDS; i++) {
		bool is_left = is_there(it, &stat);
		quiet++;
		bool is_stuck = is_left && stat.state == 'T' &&
				!it->stays_stopped;

		if (is_stuck)
			let_go(it);
		if (is_stuck || (is_left && stat.state == 't'))
			quiet = 0;
		// A search of all processes takes time: the process goes first.
		if (i % COPY_ROUNDS == 0)
			end_copies(gdb);
		if (!is_left)
			return;
		nanosleep(&round, NULL);
	}
}

/* True if gdb has ended, false if gdb has let the process go on. */
static bool wait_for_end(const struct gdb *gdb, int signals)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	char byte;

	// Signals from others mean nothing, so the parent's PID is checked.
	while (getppid() == gdb->pid) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents && read(signals, &info, sizeof(info)) < 0)
			return false;
		if (!fds[0].revents)
			continue;
		if (read(STDIN_FILENO, &byte, 1) == 1)
			return false;
		fds[0].fd = -1; // closed: gdb ends, or has ended
	}
	return true;
}

/*
 * Return a signalfd that reports the end of gdb; -1 if gdb has already ended.
 */
static int prepare(struct gdb *gdb)
{
	sigset_t all, one;

	sigfillset(&all);
	sigemptyset(&one);
	sigaddset(&one, PARENT_ENDED);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid(); // fails for a group leader, which is harmless
	gdb->pid = getppid();
	int fd = signalfd(-1, &one, SFD_CLOEXEC);
	if (fd < 0 || prctl(PR_SET_PDEATHSIG, PARENT_ENDED) ||
	    !read_stat(gdb->pid, &gdb->stat))
		return -1;
	gdb->command_bytes = read_command(gdb->pid, gdb->command);
	return getppid() == gdb->pid ? fd : -1;
}

int main(int argc, char **argv)
{
	bool is_fine = argc == 3 || (argc == 4 && !strcmp(argv[3], "stopped"));
	struct watched it = { .pid = is_fine ? atoi(argv[1]) : 0,
			      .stays_stopped = argc == 4 };
	static struct gdb gdb;

	if (it.pid <= 0) {
		fprintf(stderr, "usage: goref-watcher PID START [stopped]\n");
		return STATUS_USAGE;
	}
	it.start = strtoull(argv[2], NULL, 10);
	int signals = prepare(&gdb);
	if (signals < 0 || !open_watched(&it))
		return STATUS_FAILED;
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return STATUS_FAILED;
	if (wait_for_end(&gdb, signals))
		watch_out(&gdb, &it);
	return 0;
}
