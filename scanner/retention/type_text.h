/* SPDX-License-Identifier: Apache-2.0 */
/** type_text: the names of types and packages under which objects are counted. */
#ifndef GR_TYPE_TEXT_H
#define GR_TYPE_TEXT_H

#include "base/base.h"

struct gr_program;

#define GR_TYPE_UNKNOWN "(type not known)"

/**
 * The package of a type: of the last type in a name such as
 * `map[string]*net/http.Client`.
 *
 * @param[out] start Where it begins in @p type.
 * @return Its bytes; 0 if the type has none.
 */
size_t gr_type_package(const char *type, const char **start);

/** The type of objects with a label (mark/parents.h): `main.T`, `[]main.T`,
 * `map[K]V`. "" if no memory is left. */
const char *gr_type_label_text(struct gr_program *program, uint32_t label);

#endif /* GR_TYPE_TEXT_H */
