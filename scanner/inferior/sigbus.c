// SPDX-License-Identifier: Apache-2.0
#include "inferior/sigbus.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

struct gr_sigbus_area {
	struct gr_sigbus_area *next;
	uintptr_t start, end; /**< Host addresses, whole pages. */
	volatile sig_atomic_t is_torn;
	char path[];
};

// Only the scanning thread changes the list, and only between its own reads of
// the mappings, so the handler never sees an incomplete list.
static struct gr_sigbus_area *areas;
static unsigned int depth;
static struct sigaction previous;

// Written by the handler.
static volatile uint64_t nfaults;
static char torn_path[PATH_MAX];

static uintptr_t page_bytes(void)
{
	static uintptr_t bytes;

	if (!bytes)
		bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

struct gr_sigbus_area *gr_sigbus_watch(struct gr_bytes mapped, const char *path)
{
	size_t path_bytes = strnlen(path, PATH_MAX - 1);
	struct gr_sigbus_area *area = calloc(1, sizeof(*area) + path_bytes + 1);

	if (!area)
		return NULL;
	uintptr_t mask = page_bytes() - 1;
	area->start = (uintptr_t)mapped.data;
	area->end = (area->start + mapped.size + mask) & ~mask;
	memcpy(area->path, path, path_bytes);
	area->next = areas;
	areas = area;
	return area;
}

void gr_sigbus_forget(struct gr_sigbus_area *area)
{
	struct gr_sigbus_area **link = &areas;

	if (!area)
		return;
	while (*link != area)
		link = &(*link)->next;
	*link = area->next;
	free(area);
}

static struct gr_error *torn_error(const char *path)
{
	return gr_error_format(GR_ERROR_IO,
			       "%s changed while it was being read", path);
}

struct gr_error *gr_sigbus_check(const struct gr_sigbus_area *area)
{
	return area && area->is_torn ? torn_error(area->path) : NULL;
}

// Map zeros over everything from the fault on: all pages beyond the file's end
// are lost, and one mapping replaces any number of pages.
static bool put_zeros(struct gr_sigbus_area *area, uintptr_t addr)
{
	uintptr_t page = addr & ~(page_bytes() - 1);

	if (mmap((void *)page, area->end - page, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		return false;
	if (!area->is_torn)
		memcpy(torn_path, area->path, strlen(area->path) + 1);
	area->is_torn = 1;
	nfaults++;
	return true;
}

// Pass the signal to the previous handler. A fault recurs when our handler
// returns; a signal from another process must be sent again.
static void pass_on(int number, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(number, info, context);
	} else if (previous.sa_handler == SIG_IGN && info->si_code <= 0) {
		return;
	} else if (previous.sa_handler != SIG_DFL &&
		   previous.sa_handler != SIG_IGN) {
		previous.sa_handler(number);
	} else {
		signal(number, SIG_DFL);
		if (info->si_code <= 0)
			raise(number);
	}
}

static void handle(int number, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	int saved_errno = errno;
	bool is_ours = false;

	for (struct gr_sigbus_area *area = areas; area && info->si_code > 0;
	     area = area->next)
		if (addr >= area->start && addr < area->end)
			is_ours = put_zeros(area, addr);
	if (!is_ours)
		pass_on(number, info, context);
	errno = saved_errno;
}

void gr_sigbus_guard_begin(struct gr_sigbus_guard *guard)
{
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	guard->first_fault = nfaults;
	page_bytes();
	if (!depth++) {
		sigemptyset(&action.sa_mask);
		sigaction(SIGBUS, &action, &previous);
	}
}

struct gr_error *gr_sigbus_guard_end(struct gr_sigbus_guard *guard,
				     struct gr_error *err)
{
	struct sigaction now;

	// A handler that was installed over ours meanwhile stays.
	if (!--depth && !sigaction(SIGBUS, NULL, &now) &&
	    now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle)
		sigaction(SIGBUS, &previous, NULL);
	if (nfaults == guard->first_fault)
		return err;
	gr_error_destroy(err);
	return torn_error(torn_path);
}
