/* SPDX-License-Identifier: Apache-2.0 */
/** place_internal: shared parts of the resolver of expressions. */
#ifndef GR_PLACE_INTERNAL_H
#define GR_PLACE_INTERNAL_H

#include "expr/literal.h"
#include "mark/options.h"
#include "scan/stop.h"

struct gr_answers;

/**
 * The address that the first words of a place point to. It is 0 for nil, and
 * for types other than pointers, maps, channels, functions, slices, strings and
 * interfaces.
 */
uint64_t gr_place_pointee(struct gr_program *program, uint64_t addr,
			  gr_type_id type);

/**
 * Move @p place one step along a pointer or an interface. A place of another
 * type stays.
 *
 * @param name the place, as written; for errors.
 * @param behind the text that follows; for errors.
 */
struct gr_error *gr_place_follow(struct gr_program *program,
				 struct gr_place *place, const char *name,
				 const char *behind) GR_MUST_CHECK;

/**
 * Move @p place to its element with that index or key. The place is an array, a
 * slice, a string or a map, or a pointer to one.
 *
 * @param name the place, as written; for errors.
 */
struct gr_error *gr_place_index(struct gr_stop *stop,
				const struct gr_literal *index,
				struct gr_place *place,
				const char *name) GR_MUST_CHECK;

/**
 * Move @p place along fields and indexes, as Go writes them, through pointers
 * and interfaces: `.Left.Right[3]`. Its value becomes the address that the last
 * place points to. If its type is not known, it is not a variable.
 *
 * @param whole the whole expression, for errors.
 * @param path the part of @p whole behind the place.
 */
struct gr_error *gr_place_walk(struct gr_stop *stop, const char *whole,
			       const char *path,
			       struct gr_place *place) GR_MUST_CHECK;

/**
 * Find the root that answers call @p text: a local variable (`main.handle.r`,
 * `main.handle.r@17` of goroutine 17), or a word that no variable covers
 * (`main.f.$stack+0x18`, `$data+0x1f40`). If the function calls itself, it is
 * the variable of the innermost call.
 *
 * @param[in,out] ret its name stays.
 * @return GR_ERROR_NOT_FOUND if there is none; GR_ERROR_ARGUMENT if several
 *	goroutines have one.
 */
struct gr_error *gr_place_of_root(struct gr_stop *stop, const char *text,
				  struct gr_place *ret) GR_MUST_CHECK;

/**
 * Find the root of C that answers call @p name. If it is a name that none has,
 * the object graph is not made for that.
 *
 * @param[in,out] ret its name stays.
 */
struct gr_error *gr_place_of_c_root(struct gr_answers *answers,
				    const char *name, bool *is_found,
				    struct gr_place *ret) GR_MUST_CHECK;

#endif /* GR_PLACE_INTERNAL_H */
