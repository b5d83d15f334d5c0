// SPDX-License-Identifier: Apache-2.0
#include "process/status.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

enum { TRIES = 3, TRY_NS = 1000000 };

DIR *gr_tasks_open(pid_t pid)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	return opendir(name);
}

pid_t gr_tasks_next(DIR *dir)
{
	for (struct dirent *d; (d = readdir(dir));)
		if (isdigit((unsigned char)d->d_name[0]))
			return atoi(d->d_name);
	return 0;
}

size_t gr_tasks_count(pid_t pid)
{
	struct stat st;
	char name[64];

	// The kernel counts a link for each task, and two for the folder.
	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	return stat(name, &st) || st.st_nlink < 2 ? 0 : st.st_nlink - 2;
}

bool gr_task_status(pid_t pid, pid_t tid, const char *key, char *buf,
		    size_t bytes)
{
	size_t key_bytes = strlen(key);
	char line[512];

	snprintf(line, sizeof(line), "/proc/%d/task/%d/status", (int)pid,
		 (int)tid);
	_cleanup_fclose_ FILE *file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, key_bytes) || line[key_bytes] != ':')
			continue;
		char *value = line + key_bytes + 1;
		value += strspn(value, " \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(buf, bytes, "%s", value);
		return true;
	}
	return false;
}

uint64_t gr_number_after(const char *path, const char *key)
{
	size_t key_bytes = strlen(key);
	char line[512];

	_cleanup_fclose_ FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, key_bytes))
			continue;
		const char *value = line + key_bytes;
		value += strspn(value, " \t:");
		if (isdigit((unsigned char)*value))
			return strtoull(value, NULL, 10);
	}
	return UINT64_MAX;
}

/* Read a short file of a task; return false if it is not there or empty. */
static bool read_file(pid_t pid, pid_t tid, const char *which, char *buf,
		      size_t bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/task/%d/%s", (int)pid, (int)tid,
		 which);
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, bytes - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

char gr_task_state(pid_t pid, pid_t tid)
{
	char text[512];

	if (!read_file(pid, tid, "stat", text, sizeof(text)))
		return 'X';
	// The name before it may have any characters.
	const char *end = strrchr(text, ')');
	return end && end[1] && end[2] ? end[2] : 'X';
}

struct gr_task_place gr_task_place(pid_t pid, pid_t tid)
{
	struct gr_task_place ret = { .is_known = false };
	static const char form[] =
		"%" SCNd64 " %*x %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64;
	int64_t call = -1;
	char text[256];

	if (!read_file(pid, tid, "syscall", text, sizeof(text)))
		return ret;
	// A task that waits outside of a call has no arguments: "-1 SP PC".
	if (!strncmp(text, "-1 ", 3))
		ret.is_known = sscanf(text + 3, "%" SCNx64 " %" SCNx64, &ret.sp,
				      &ret.pc) == 2;
	else
		ret.is_known = sscanf(text, form, &call, &ret.sp, &ret.pc) == 3;
	ret.is_in_call = ret.is_known && call >= 0;
	ret.call = (uint64_t)call;
	return ret;
}

pid_t gr_task_own_tid(pid_t pid, pid_t tid)
{
	char text[512];

	if (!gr_task_status(pid, tid, "NSpid", text, sizeof(text)))
		return tid;
	const char *last = strrchr(text, '\t');
	return last ? atoi(last + 1) : tid;
}

bool gr_process_is_nested(pid_t pid)
{
	char text[512];

	return gr_task_status(pid, pid, "NSpid", text, sizeof(text)) &&
	       strpbrk(text, " \t");
}

static bool is_dead(char state)
{
	return state == 'Z' || state == 'X' || state == 'x';
}

static pid_t find_living(pid_t pid)
{
	if (!is_dead(gr_task_state(pid, pid)))
		return pid;
	_cleanup_closedir_ DIR *dir = gr_tasks_open(pid);
	for (pid_t tid; dir && (tid = gr_tasks_next(dir));)
		if (!is_dead(gr_task_state(pid, tid)))
			return tid;
	return 0;
}

pid_t gr_process_reader(pid_t pid)
{
	const struct timespec nap = { 0, TRY_NS };
	pid_t ret = find_living(pid);

	// While execve() gives a task the ID of the first one, neither may be
	// seen alive.
	for (int i = 1; !ret && i < TRIES && gr_tasks_count(pid); i++) {
		nanosleep(&nap, NULL);
		ret = find_living(pid);
	}
	return ret;
}
