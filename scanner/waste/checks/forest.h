/* SPDX-License-Identifier: Apache-2.0 */
/**
 * forest: sums over the nearest parents of the walk. Each object has one
 * parent, an object or a root, so parents make a forest.
 *
 * All that a vertex alone keeps alive is below it in this forest. So the sum is
 * an upper bound of it, and needs no object graph.
 */
#ifndef GR_WASTE_FOREST_H
#define GR_WASTE_FOREST_H

#include "waste/objects/check.h"

enum { GR_FOREST_CLASSES = 255 };

/** Classes are numbers below GR_FOREST_CLASSES; 0 is none. */
struct gr_forest_spec {
	const uint8_t *of_root; /**< By root of the walk's tree; or NULL. */
	/** By type: of an object that is one value of it; or NULL. */
	const uint8_t *of_type;
	size_t ntypes;
};

/**
 * Add up the slots of objects by class. An object has the class of its own
 * type, else that of the nearest parent that has one, else that of the root.
 * Takes time linear in the objects, and a byte an object while it runs.
 *
 * @param[out] bytes GR_FOREST_CLASSES sums.
 */
struct gr_error *gr_forest_sum(struct gr_waste_run *run,
			       const struct gr_forest_spec *spec,
			       uint64_t *bytes) GR_MUST_CHECK;

#endif /* GR_WASTE_FOREST_H */
