/* SPDX-License-Identifier: Apache-2.0 */
/** object_value: the value at a place, as Delve prints it. */
#ifndef GR_OBJECT_VALUE_H
#define GR_OBJECT_VALUE_H

#include "expr/place.h"
#include "show/show.h"

struct gr_program;
struct gr_scan;

/**
 * Print the value at @p place. A place without a type is an address: what is
 * printed is the object that has it, by the type that a walk finds. The first
 * such question takes the walk.
 *
 * @param[out] ret For free(). NULL if the type is not known, or if the memory is
 *	a piece of a string, a map or a channel.
 */
struct gr_error *gr_scan_print_value(struct gr_scan *scan,
				     const struct gr_place *place,
				     const struct gr_show_limits *limits,
				     char **ret) GR_MUST_CHECK;

/**
 * Is the object at @p addr the header of a channel of type @p type, which knows
 * the type of its elements, rather than its buffer?
 */
struct gr_error *gr_channel_is_header(struct gr_program *program,
				      gr_type_id type, uint64_t addr,
				      bool *ret) GR_MUST_CHECK;

#endif /* GR_OBJECT_VALUE_H */
