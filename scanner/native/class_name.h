/* SPDX-License-Identifier: Apache-2.0 */
/**
 * class_name: the name of a class of C++ from the symbol of its vtable, and that
 * of a variable from its own, by the rules of the Itanium C++ ABI (section
 * Mangling), as binutils prints it.
 *
 * Symbols come from files that nobody vouches for. A short symbol can stand for
 * a text of any length, which other libraries print in full. Here a name that is
 * too long or nested too deeply has no text, and neither has one with parts that
 * names of classes rarely have: expressions, and types that depend on the
 * parameters of a function template.
 */
#ifndef GR_CLASS_NAME_H
#define GR_CLASS_NAME_H

#include "base/arena.h"

/** All vtables have symbols that begin so. */
#define GR_VTABLE_PREFIX "_ZTV"

/**
 * The class of a vtable, interned: `geometry::Box<int, 3>` for
 * `_ZTVN8geometry3BoxIiLi3EEE`. *@p ret is NULL if the symbol is no vtable's, or
 * if the name cannot be told.
 */
struct gr_error *gr_class_name(struct gr_arena *arena, const char *symbol,
			       const char **ret) GR_MUST_CHECK;

/**
 * The name of a variable of C++ from its symbol, interned: `geometry::last` for
 * `_ZN8geometry4lastE`. A suffix behind a blank stays, as in `last in
 * libshapes.so`. *@p ret is @p symbol itself if it is no variable's, or if the
 * name cannot be told.
 */
struct gr_error *gr_variable_name(struct gr_arena *arena, const char *symbol,
				  const char **ret) GR_MUST_CHECK;

#endif /* GR_CLASS_NAME_H */
