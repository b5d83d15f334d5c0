// SPDX-License-Identifier: Apache-2.0
// A busy machine, for goref-trace: whenever it opens /proc/PID/maps, it gets a
// processor again only after some seconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 3 };

static FILE *open_late(const char *call, const char *name, const char *mode)
{
	FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, call);
	const char *slash = strrchr(name, '/');

	if (slash && !strcmp(slash, "/maps") &&
	    !strcmp(program_invocation_short_name, "goref-trace"))
		sleep(SECONDS);
	return real(name, mode);
}

FILE *fopen(const char *name, const char *mode)
{
	return open_late("fopen", name, mode);
}

FILE *fopen64(const char *name, const char *mode)
{
	return open_late("fopen64", name, mode);
}
