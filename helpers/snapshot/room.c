// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/room.h"

#include <dirent.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "process/status.h"

enum {
	/* Threads that the process must still be able to create. */
	MIN_TASKS = 16,
	MAX_DEPTH = 64, // of control groups
};

/* Memory for the copy's own tables and for pages written early in a scan. */
static const uint64_t min_bytes = UINT64_C(16) << 20;

static uint64_t status_bytes(pid_t pid, const char *key)
{
	char text[64];

	if (!gr_task_status(pid, pid, key, text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10) << 10;
}

// ------------------------------------------------------------ control groups

/** File names that differ between the two versions of control groups. */
struct gr_cgroup_files {
	const char *root, *limit, *used, *cache;
};

static const struct gr_cgroup_files memory_files[] = {
	{ "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" },
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
	  "memory.usage_in_bytes", "total_inactive_file" },
};
static const struct gr_cgroup_files tasks_files[] = {
	{ "/sys/fs/cgroup", "pids.max", "pids.current", NULL },
	{ "/sys/fs/cgroup/pids", "pids.max", "pids.current", NULL },
};

static uint64_t group_number(const char *group, const char *file,
			     const char *key)
{
	char path[4096 + 64];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return gr_number_after(path, key);
}

/* Return the smallest free amount of this group and all groups above it. */
static uint64_t group_room(char *group, const struct gr_cgroup_files *files)
{
	uint64_t room = UINT64_MAX;

	for (int i = 0; i < MAX_DEPTH; i++) {
		uint64_t limit = group_number(group, files->limit, "");
		uint64_t used = group_number(group, files->used, "");
		uint64_t cache = files->cache ?
					 group_number(group, "memory.stat",
						      files->cache) :
					 0;
		if (cache != UINT64_MAX && cache < used)
			used -= cache;
		if (limit != UINT64_MAX && used != UINT64_MAX) {
			uint64_t here = limit > used ? limit - used : 0;
			room = here < room ? here : room;
		}
		if (strlen(group) <= strlen(files->root))
			break;
		*strrchr(group, '/') = '\0';
	}
	return room;
}

static bool has_word(const char *list, const char *word)
{
	size_t bytes = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, word, bytes) &&
		    (list[bytes] == ',' || !list[bytes]))
			return true;
	return false;
}

/*
 * Return the free amount in the process's control groups. It is UINT64_MAX if
 * no group has a limit or no group is visible.
 */
static uint64_t cgroup_room(pid_t pid, const char *controller,
			    const struct gr_cgroup_files files[2])
{
	char line[4096], group[4096 + 32];
	uint64_t room = UINT64_MAX;

	snprintf(line, sizeof(line), "/proc/%d/cgroup", pid);
	_cleanup_fclose_ FILE *file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		// hierarchy:controllers:/path
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*path++ = '\0';
		if (names[1] && !has_word(names + 1, controller))
			continue;
		const struct gr_cgroup_files *which = &files[names[1] != '\0'];
		snprintf(group, sizeof(group), "%s%s", which->root,
			 path[1] ? path : "");
		uint64_t here = group_room(group, which);
		room = here < room ? here : room;
	}
	return room;
}

// -------------------------------------------------------------------- checks

static struct gr_error *check_memory(pid_t pid)
{
	// In the worst case the process writes to every page during the scan,
	// and every page is copied. One page in four is a cautious estimate. If
	// more pages are copied and memory runs out, the copy is killed first
	// (copy.c).
	uint64_t need = min_bytes + status_bytes(pid, "VmPTE") +
			status_bytes(pid, "RssAnon") / 4;
	uint64_t kb = gr_number_after("/proc/meminfo", "MemAvailable");
	uint64_t room = cgroup_room(pid, "memory", memory_files);
	const char *where = "its control group";

	if (kb != UINT64_MAX && kb << 10 < room) {
		room = kb << 10;
		where = "this machine";
	}
	if (room >= need)
		return NULL;
	return gr_error_format(GR_ERROR_LIMIT,
			       "%" PRIu64
			       " MiB of memory are free in %s, and a "
			       "snapshot needs %" PRIu64 " MiB: pages that the "
			       "process writes to exist twice",
			       room >> 20, where, need >> 20);
}

/* Count the tasks of all processes of the user @p uid. */
static uint64_t count_tasks(const char *uid)
{
	size_t uid_bytes = strcspn(uid, " \t");
	uint64_t tasks = 0;
	char text[128];

	_cleanup_closedir_ DIR *dir = opendir("/proc");
	for (struct dirent *d; dir && (d = readdir(dir));) {
		pid_t pid = atoi(d->d_name);
		if (!pid ||
		    !gr_task_status(pid, pid, "Uid", text, sizeof(text)) ||
		    strncmp(text, uid, uid_bytes + 1) != 0)
			continue;
		if (gr_task_status(pid, pid, "Threads", text, sizeof(text)))
			tasks += strtoull(text, NULL, 10);
	}
	return tasks;
}

/* Return how many tasks the user's limit still allows; root has no limit. */
static uint64_t user_room(pid_t pid)
{
	char path[64], uid[128];

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	uint64_t limit = gr_number_after(path, "Max processes");
	if (limit == UINT64_MAX ||
	    !gr_task_status(pid, pid, "Uid", uid, sizeof(uid)) ||
	    atoi(uid) == 0)
		return UINT64_MAX;
	uint64_t tasks = count_tasks(uid);
	return limit > tasks ? limit - tasks : 0;
}

static struct gr_error *check_tasks(pid_t pid)
{
	uint64_t room = cgroup_room(pid, "pids", tasks_files);
	const char *what = "its control group (pids.max)";
	uint64_t user = user_room(pid);

	if (user < room) {
		room = user;
		what = "its user (RLIMIT_NPROC)";
	}
	if (room >= MIN_TASKS)
		return NULL;
	return gr_error_format(GR_ERROR_LIMIT,
			       "the limit of %s leaves room for %" PRIu64
			       " processes and threads: the two of a snapshot "
			       "could prevent it from creating its own",
			       what, room);
}

struct gr_error *gr_room_check(pid_t pid)
{
	struct gr_error *err = check_memory(pid);

	return err ? err : check_tasks(pid);
}
