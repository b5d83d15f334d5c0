// SPDX-License-Identifier: Apache-2.0
/* Expressions behind a variable: any text, over any memory. */
#include "fuzz.h"
#include "testsuite/unit/path_fixture.h"

static struct path_fixture *fixture;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fixture = path_fixture_create();
	return 0;
}

/* Words of the memory: most of them lead into it. */
static void fill(struct fuzz_input *in, uint8_t *memory)
{
	memset(memory, 0, MEMORY_BYTES);
	while (in->bytes) {
		uint64_t at = fuzz_take(in, 2) % (MEMORY_BYTES / 8);
		uint64_t how = fuzz_take(in, 1);
		uint64_t value = how & 1 ? MEMORY + fuzz_take(in, 2) :
					   fuzz_take(in, 1 + how % 8);

		memcpy(memory + at * 8, &value, 8);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	char path[256];
	struct gr_place place;

	path_set_layout(&fixture->program.rt.layout, fuzz_take(&in, 1) & 1);
	size_t n = fuzz_take(&in, 1) % sizeof(path);
	for (size_t i = 0; i < n; i++)
		path[i] = (char)fuzz_take(&in, 1);
	path[n] = '\0';
	fill(&in, fixture->memory);
	struct gr_error *err = path_walk(fixture, path, &place);
	fuzz_check_error(err);
	return 0;
}
