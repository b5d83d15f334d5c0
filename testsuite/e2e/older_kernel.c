// SPDX-License-Identifier: Apache-2.0
// The calls of a library preloaded into goref-trace, as kernels before 6.10 and
// before 6.6 answer them. OLDER_KERNEL says what is different:
//
//	filter	a link of uprobe.multi for a process does not see its threads
//	multi	there is no uprobe.multi
//
// Any other word changes nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINK_CREATE = 28, UPROBE_MULTI = 48, TYPE = 2, PID = 14, WORDS = 16 };

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	const char *older = getenv("OLDER_KERNEL") ?: "";
	uint32_t words[WORDS];
	va_list rest;
	long a[6];

	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(rest, long);
	va_end(rest);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	uint32_t *attr = (uint32_t *)a[1];
	if (number != SYS_bpf || a[0] != LINK_CREATE ||
	    attr[TYPE] != UPROBE_MULTI)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!strcmp(older, "multi")) {
		errno = EINVAL;
		return -1;
	}
	memcpy(words, attr, sizeof(words));
	if (words[PID] && !strcmp(older, "filter"))
		words[PID] = (uint32_t)getppid();
	return real(number, a[0], words, sizeof(words));
}
