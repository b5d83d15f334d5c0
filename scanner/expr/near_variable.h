/* SPDX-License-Identifier: Apache-2.0 */
/** near_variable: the error for a variable that does not exist. */
#ifndef GR_NEAR_VARIABLE_H
#define GR_NEAR_VARIABLE_H

#include "base/error.h"
#include "scan/stop.h"

/**
 * Make the error (GR_ERROR_NOT_FOUND) for a name that no variable has, with a
 * path behind it or without: `no package variable is called "main.usrs": is it
 * main.users?`. Names in the same package go before others of equal distance,
 * and a name without its package is near. Package variables and the local
 * variables in use are compared once each.
 */
struct gr_error *gr_place_no_variable(struct gr_stop *stop,
				      const char *name) GR_MUST_CHECK;

#endif /* GR_NEAR_VARIABLE_H */
