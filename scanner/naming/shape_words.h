/* SPDX-License-Identifier: Apache-2.0 */
/** shape_words: the words of a shape that are references, and their names. */
#ifndef GR_EXPORT_SHAPE_WORDS_H
#define GR_EXPORT_SHAPE_WORDS_H

#include "naming/shapes.h"

struct gr_program;

/**
 * Add the references that the type of a shape has to those that were seen in
 * its objects, and name them all.
 */
struct gr_error *gr_shape_add_words(struct gr_program *program,
				    struct gr_shape *shape) GR_MUST_CHECK;

#endif /* GR_EXPORT_SHAPE_WORDS_H */
