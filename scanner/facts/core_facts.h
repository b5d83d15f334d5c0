/* SPDX-License-Identifier: Apache-2.0 */
/**
 * core_facts: facts about the program of a core, from the core, before a scan.
 *
 * The core is untrusted input. No file that it names is opened here.
 */
#ifndef GR_CORE_FACTS_H
#define GR_CORE_FACTS_H

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"
#include "inferior/notes.h"

enum { GR_RANDOM_BYTES = 16 };

/** Zero-initialised, it is empty. Strings belong to it. */
struct gr_core_facts {
	/** The executable as the kernel knew it; NULL: the core does not name
	 * it. At most GR_FACTS_MAX_PATH bytes. */
	const char *exe_path;
	/** Its build ids from memory; none if the core lacks that page. */
	struct gr_build_id id;
	int32_t pid; /**< 0: the core does not tell. */
	/** The random bytes that the kernel gave the program when it began;
	 * random_bytes are there, GR_RANDOM_BYTES or fewer. */
	uint8_t random[GR_RANDOM_BYTES];
	uint64_t random_bytes;
	/** The signal that ended the program; 0: none, or not known. */
	int32_t signal;
	/** The origin of that signal; its number is 0 if it is not known. */
	struct gr_core_signal siginfo;
	/** Paths of the other mapped files that hold code, by address. */
	const char **code_files;
	size_t ncode_files;
	/** The threads in the core's order. The signal came to the first. */
	int32_t *thread_ids;
	size_t nthreads;
	struct gr_arena arena; /**< Strings and arrays. */
};

/**
 * Read the facts of the core at @p path.
 *
 * GR_ERROR_IO, GR_ERROR_FORMAT and GR_ERROR_ARCH as gr_core_open(). @p ret
 * needs gr_core_facts_deinit() after success.
 */
struct gr_error *gr_core_facts_read(const char *path,
				    struct gr_core_facts *ret) GR_MUST_CHECK;
void gr_core_facts_deinit(struct gr_core_facts *facts);

#endif /* GR_CORE_FACTS_H */
