/* SPDX-License-Identifier: Apache-2.0 */
/**
 * module_search: where an allocator may lie: data of the program's files, their
 * symbols, and texts in their constants. What is read is not recorded, unless
 * the function says so.
 */
#ifndef GR_MODULE_SEARCH_H
#define GR_MODULE_SEARCH_H

#include "native/allocators/allocator.h"

/** A walk over data of files. Zero-initialised, it is at the start. */
struct gr_module_data {
	size_t next; /**< Index among the mappings. */
	uint64_t end;
	/** The data, or the bss behind it, of a file that is mapped. The kernel
	 * may have joined bss with what lies behind it. */
	struct gr_mapping mapping;
	const char *path; /**< The file's. */
};

/** The next writable mapping with data of a file; false at the end. Each address
 * is returned once. */
bool gr_module_data_next(const struct gr_native_reader *r,
			 struct gr_module_data *data);

/** The symbols that are looked for in one file. */
struct gr_module_symbols {
	/** The ends of names: "je_arenas" is also that of "_rjem_je_arenas". */
	const char *const *names;
	size_t count; /**< At most 16. */
	/** By name, the address in the target of the first object that has it;
	 * 0: none has. */
	uint64_t found[16];
};

/** Look for the symbols of variables in module @p module of the target. */
struct gr_error *
gr_module_find_symbols(const struct gr_native_reader *r, size_t module,
		       struct gr_module_symbols *ret) GR_MUST_CHECK;

/**
 * Does a text that is looked for begin at @p text? At most @p bytes may be read.
 * Then the result is its length, else 0. The byte before @p text may be read if
 * @p is_first is false.
 */
typedef size_t gr_module_match(const char *text, size_t bytes, bool is_first);

/**
 * Look for the first text in the constants of the file @p path, whose data lies
 * at @p data: in memory, and else in the file. It is recorded.
 *
 * @param mark Bytes that each such text contains; the match is tried at each
 *             place that has them.
 * @param before How many bytes before the mark the text may begin at most.
 * @param[out] ret The text, in the arena of the runtime; NULL: none was found.
 */
struct gr_error *gr_module_find_text(struct gr_native_reader *r,
				     const char *path, uint64_t data,
				     const char *mark, size_t before,
				     gr_module_match *match,
				     const char **ret) GR_MUST_CHECK;

#endif /* GR_MODULE_SEARCH_H */
