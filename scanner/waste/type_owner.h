/* SPDX-License-Identifier: Apache-2.0 */
/** type_owner: whose a type is, by the package in its name. */
#ifndef GR_TYPE_OWNER_H
#define GR_TYPE_OWNER_H

#include "scan/open.h"

/**
 * Is a type or a variable one of Go's standard library, which includes the
 * runtime? In the library's import paths, the first element has no dot (`go
 * help importpath`). This may also be true of the main module and of its
 * dependencies: @p info tells their paths.
 *
 * @param name As `*net/http.Request` or `[]main.T`. A name without a package
 *	(`[]uint8`, `map[string]int`) is not of the library.
 */
bool gr_type_is_of_library(const struct gr_scan_info *info, const char *name);

#endif /* GR_TYPE_OWNER_H */
