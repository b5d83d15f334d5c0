/* SPDX-License-Identifier: Apache-2.0 */
/** place: an expression of the user, resolved to an address with a type. */
#ifndef GR_PLACE_H
#define GR_PLACE_H

#include "base/base.h"
#include "base/error.h"
#include "mark/options.h"

struct gr_scan;
struct gr_stop;

/**
 * Resolve an expression of the user: `0xc000782240`, Delve's
 * `*(*main.T)(0xc000782240)` and `(*main.T)(0xc000782240)`, a package
 * variable (`main.cache`, `"path/to/pkg".Var`, `&main.cache`), a local variable
 * or another root as answers print it (`main.handle.r`, `main.handle.r@17` of
 * goroutine 17, `$data+0x1f40`, `C stack of thread 17`); fields, constant
 * indexes and keys behind these (`main.cache.rows[3]["key"]`).
 *
 * GR_ERROR_NOT_FOUND if it is something else (gdb's evaluator may know more);
 * GR_ERROR_ARGUMENT if it is malformed.
 */
struct gr_error *gr_scan_resolve(struct gr_scan *scan, const char *text,
				 struct gr_place *ret) GR_MUST_CHECK;

/** The same for a question that has entered. */
struct gr_error *gr_place_resolve(struct gr_stop *stop, const char *text,
				  struct gr_place *ret) GR_MUST_CHECK;

/**
 * A copy of @p name that lives as long as the scan, for gr_place.name; NULL
 * without memory.
 */
const char *gr_scan_keep_name(struct gr_scan *scan, const char *name);

/**
 * Names of package variables that begin with @p prefix, for completion; of the
 * fields of one, if the prefix has a dot behind it. If @p is_type, they are names
 * of types. There are at most @p max. No stage is needed. The array is for
 * free(); its strings belong to the scan.
 */
struct gr_error *gr_scan_complete(struct gr_scan *scan, const char *prefix,
				  bool is_type, size_t max, const char ***ret,
				  size_t *count) GR_MUST_CHECK;

#endif /* GR_PLACE_H */
