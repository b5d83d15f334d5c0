// SPDX-License-Identifier: Apache-2.0

// Blocks that were freed, of sizes that malloc keeps in different lists, with
// stale addresses of them in a variable. A thread of its own frees them, so
// that nobody gets them again.
#define _GNU_SOURCE
#include "plant.h"

#include <stdlib.h>
#include <unistd.h>

#include "record.h"
#include "threads.h"

// More than the seven that a thread's cache keeps of a size.
enum { SIZES = 11, OF_EACH = 10 };

static const size_t sizes[SIZES] = {
	8, 24, 40, 104, 120, 264, 520, 1032, 1048, 9000, 400000,
};
static void *volatile stale[SIZES][OF_EACH], *volatile between[SIZES][OF_EACH];

static void stay_with_freed(void)
{
	// The blocks between them keep them from growing together.
	for (int i = 0; i < SIZES; i++)
		for (int j = 0; j < OF_EACH; j++) {
			stale[i][j] = take(FREED, "freed", sizes[i]);
			between[i][j] = take(HELD, "between", 24);
		}
	for (int i = 0; i < SIZES; i++)
		for (int j = 0; j < OF_EACH; j++)
			give_back(stale[i][j]);
	thread_ready();
	for (;;)
		pause();
}

void free_blocks(void)
{
	thread_stays(stay_with_freed);
}
