/* SPDX-License-Identifier: Apache-2.0 */
/**
 * c_types: types of C and C++ in the space of type ids, from the debug
 * information of files that may have no Go code. A type is made when it is first
 * asked for, and its parts when gr_types_fill_c() is called, so that a large
 * library costs only what leads to blocks.
 *
 * Each compilation unit has types of its own. Those that look the same (name,
 * size, and the names, places and types of their fields) are one here. Fields
 * that lie over each other, as those of a union, are left out: a word says
 * nothing about which of them it is.
 */
#ifndef GR_C_TYPES_H
#define GR_C_TYPES_H

#include "goruntime/types/types.h"

/** The debug information of a file, and the file's number in the image. */
struct gr_c_file {
	const struct gr_dwarf *dwarf;
	size_t module;
};

/**
 * Find type @p index of a file. A struct that is only declared there stands for
 * the one that is defined under its name in the same file, if all definitions
 * look the same. *@p ret is GR_TYPE_NONE for GR_DWARF_NONE. @p file->dwarf must
 * outlive the types.
 */
struct gr_error *gr_types_from_c(struct gr_types *types,
				 const struct gr_c_file *file, uint32_t index,
				 gr_type_id *ret) GR_MUST_CHECK;

/** Find the class or struct with a full name: `a::Shape<int>`. */
struct gr_error *gr_types_find_c(struct gr_types *types,
				 const struct gr_c_file *file, const char *name,
				 gr_type_id *ret) GR_MUST_CHECK;

/** Find the type without parts of a name of which nothing else is known. */
struct gr_error *gr_types_named_c(struct gr_types *types, const char *name,
				  gr_type_id *ret) GR_MUST_CHECK;

/**
 * Fill a type of C and all that it has by value: fields, elements, and which
 * types its pointers lead to. Other types stay as they are.
 */
struct gr_error *gr_types_fill_c(struct gr_types *types,
				 gr_type_id id) GR_MUST_CHECK;

/** The variable of the file that has the byte at a file address, or NULL. */
const struct gr_dwarf_variable *gr_c_file_variable(const struct gr_c_file *file,
						   uint64_t addr);

#endif /* GR_C_TYPES_H */
