// SPDX-License-Identifier: Apache-2.0
/*
 * The address space of a small Go program, patched by the input: heap, types,
 * goroutines and roots rebuilt from it, and walked in every way there is; or
 * asked what ended it, what its goroutines wait for and which have leaked.
 */
#include "questions.h"
#include "target.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_target_init();
	fuzz_target_add_all();
	return 0;
}

static struct gr_error *ask(struct gr_scan *scan, struct fuzz_input *head)
{
	unsigned int how = fuzz_take(head, 1);

	return how & 1 ? fuzz_ask_goroutines(scan, how >> 1) :
			 fuzz_ask_heap(scan, head, fuzz_target_word(head));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };

	fuzz_target_run(&in, GR_EXTENT_HEAP, ask);
	return 0;
}
