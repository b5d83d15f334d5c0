/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

/* Load a library of library/grow.c, of which prefix is the name. Returns a
 * handle for grow_library() and call_library(). */
void *load_library(const char *path, const char *prefix);
void grow_library(void *library, size_t bytes);
void call_library(void *library, uintptr_t data);

void *grow_mapping(size_t bytes);
void grow_file(const char *path, size_t bytes);
void grow_table(size_t bytes);
void grow_stacks(size_t bytes, int threads);
