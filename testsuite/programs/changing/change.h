/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

/* All that is touched stays, but for that of a child. */
void in_child(size_t bytes);
void load_library(const char *path, const char *function);
void call_library(size_t bytes);
void unload_library(void);
void in_threads(int threads, size_t bytes);
