/* SPDX-License-Identifier: Apache-2.0 */
/** places: the variable or field that holds an object, as rows name it. */
#ifndef GR_WASTE_PLACES_H
#define GR_WASTE_PLACES_H

#include "waste/objects/check.h"

/**
 * Name the place of an object: *@p type is the struct or the variable,
 * *@p field the way from there, `.names[]`; or "". Both are interned.
 */
struct gr_error *gr_waste_place_name(struct gr_waste_run *run, gr_obj obj,
				     const char **type,
				     const char **field) GR_MUST_CHECK;

#endif /* GR_WASTE_PLACES_H */
