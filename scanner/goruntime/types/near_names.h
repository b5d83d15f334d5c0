/* SPDX-License-Identifier: Apache-2.0 */
/** near_names: suggests types whose names are similar to a wrong name. */
#ifndef GR_NEAR_NAMES_H
#define GR_NEAR_NAMES_H

#include "goruntime/types/types.h"

/**
 * True if @p name is that of a type, or is made of one as the names of memory
 * are: `[]main.T`, `[48]main.T`, `string`, `begins with main.T`.
 */
struct gr_error *gr_types_is_name(struct gr_types *types, const char *name,
				  bool *ret) GR_MUST_CHECK;

/**
 * Make the error (GR_ERROR_NOT_FOUND) for an unknown name of a type or of
 * memory. It suggests up to three types whose names are near by edit distance:
 * `there is no type main.Sesion: is it main.Session?`. Each name is compared
 * once, in a band of a few letters.
 */
struct gr_error *gr_types_no_such(struct gr_types *types,
				  const char *name) GR_MUST_CHECK;

#endif /* GR_NEAR_NAMES_H */
