/* SPDX-License-Identifier: Apache-2.0 */
/** type_owner: whose a type is, by the package in its name. */
#ifndef GR_TYPE_OWNER_H
#define GR_TYPE_OWNER_H

#include "scan/open.h"

/**
 * Is a type or a variable one of Go's standard library, which includes the
 * runtime? The first element of its import path tells, which is one of the
 * library's folders. The main module and its dependencies may have such a path,
 * too: @p info tells theirs.
 *
 * @param name As `*net/http.Request` or `[]main.T`. A name without a package
 *	(`[]uint8`, `map[string]int`) is not of the library.
 */
bool gr_type_is_of_library(const struct gr_scan_info *info, const char *name);

#endif /* GR_TYPE_OWNER_H */
