/* SPDX-License-Identifier: Apache-2.0 */
/**
 * fuzz: what the harnesses share: input as numbers, files in memory, and a
 * real file as base whose words an input patches.
 */
#ifndef GR_FUZZ_H
#define GR_FUZZ_H

#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"

/** The entry point that libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/** An input being eaten from its start; past its end come zeros. */
struct fuzz_input {
	const uint8_t *data;
	size_t bytes;
};

/** A little-endian number of @p bytes bytes, at most 8. */
uint64_t fuzz_take(struct fuzz_input *in, size_t bytes);

/** A file in memory with a path that can be opened. */
struct fuzz_file {
	int fd;
	char path[32];
	uint8_t *data; /**< Mapped shared: what is stored is in the file. */
	size_t bytes;
};

/** A new file of @p bytes bytes; ends the program when there is no memory. */
void fuzz_file_init(struct fuzz_file *file, const void *data, size_t bytes);
void fuzz_file_deinit(struct fuzz_file *file);

/** Bytes [off, off + bytes) of the base are worth patching. */
struct fuzz_range {
	uint64_t off, bytes;
};
GR_VECTOR(fuzz_ranges, struct fuzz_range);

/** A real file, and what of it the inputs patch. */
struct fuzz_base {
	struct fuzz_file file;
	uint8_t *original;
	struct fuzz_ranges ranges;
	uint64_t total_bytes;	    /**< All ranges together. */
	struct fuzz_ranges patched; /**< To be undone. */
};

/** Take over @p original, of malloc() or mapped: it stays for ever. */
void fuzz_base_set(struct fuzz_base *base, void *original, size_t bytes);
/** Load the file that environment variable @p variable names. */
void fuzz_base_init(struct fuzz_base *base, const char *variable);
void fuzz_base_add(struct fuzz_base *base, uint64_t off, uint64_t bytes);

/**
 * Apply an input: patches of {operation, place, value} until it ends. With
 * @p addr_of, some values are addresses of the patched word itself.
 */
void fuzz_base_patch(struct fuzz_base *base, struct fuzz_input *in,
		     uint64_t (*addr_of)(uint64_t off));
void fuzz_base_restore(struct fuzz_base *base);

/** An error must be one line of text. */
void fuzz_check_error(struct gr_error *err);

#endif /* GR_FUZZ_H */
