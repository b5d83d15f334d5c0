// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>

void map_memory(size_t bytes, size_t used);
void map_huge(size_t bytes, size_t used);
void use_again(size_t bytes, size_t step);
void map_reserved(size_t bytes, size_t rights);
void map_again(size_t bytes, size_t used);
void map_and_drop(size_t bytes);
void map_often(size_t times, size_t bytes);
void map_file(const char *path, size_t bytes);
void map_and_give_back(size_t bytes);
void take_block(size_t bytes, size_t used);
void grow_break(size_t bytes, size_t used);
void start_thread(void);
