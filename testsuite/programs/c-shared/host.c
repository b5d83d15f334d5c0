// SPDX-License-Identifier: Apache-2.0
// A C program that loads a Go library beside it and runs its main().
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 4);

	if (n < 0)
		return 1;
	strcpy(path + n, ".so");
	void *library = dlopen(path, RTLD_NOW);
	void (*run)(void) = library ? dlsym(library, "RunMain") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	run();
	return 0;
}
