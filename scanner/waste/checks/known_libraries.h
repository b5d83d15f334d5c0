/* SPDX-License-Identifier: Apache-2.0 */
/** known_libraries: packages and types that are known to hold much memory. */
#ifndef GR_KNOWN_LIBRARIES_H
#define GR_KNOWN_LIBRARIES_H

#include "base/base.h"

/** A row of the table. */
struct gr_library {
	/** The package path; packages below it belong to it, too. */
	const char *package;
	/** Only objects of this type: `Regexp`. "": only the variables of the
	 * package. NULL: objects of all its types, and its variables. */
	const char *type;
	const char *name;   /**< The name of its row. */
	const char *advice; /**< A sentence. */
};

extern const struct gr_library gr_known_libraries[];
extern const size_t gr_nknown_libraries;

/** The library of objects of a type, by its name: `regexp.Regexp`. SIZE_MAX:
 * none. */
size_t gr_library_of_type(const char *type);

/** The library of a package variable, by its name: `reflect.ptrMap`. SIZE_MAX:
 * none. */
size_t gr_library_of_variable(const char *variable);

#endif /* GR_KNOWN_LIBRARIES_H */
