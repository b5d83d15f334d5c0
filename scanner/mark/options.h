/* SPDX-License-Identifier: Apache-2.0 */
/** options: the options of a walk. Plain types. */
#ifndef GR_OPTIONS_H
#define GR_OPTIONS_H

#include "base/base.h"
#include "mark/weight.h"

/** A place to start a walk from, or to ask about. */
struct gr_place {
	const char *name; /**< As the user wrote it. Belongs to the scan. */
	uint64_t addr;
	uint32_t type;	  /**< Type of the value at addr, or UINT32_MAX. */
	bool is_variable; /**< A variable: follow its pointers. */
	/** The address a variable points to, to ask about; 0: none. */
	uint64_t value;
};

/** Which root is billed for an object that several of them reach. */
enum gr_attribution {
	GR_ATTRIBUTION_NEAREST, /**< The one with the fewest hops. */
	GR_ATTRIBUTION_FIRST,	/**< The first in the order of roots. */
};

struct gr_walk_options {
	uint32_t max_depth; /**< Levels of nodes; default 256. */
	uint32_t max_nodes; /**< Nodes in all; default 1 << 20. */
	enum gr_attribution attribution;
	/** Each goroutine has its own roots: gr_root_total.goroutine_id. */
	bool per_goroutine;
	/** The unit of all totals. */
	enum gr_weight weight;
	/** Leave out conservative words, which may not be pointers. */
	bool precise_only;
	/** Keep the objects found so far when poll ends the walk. */
	bool keep_partial;
	/** Walk from these places only; without any, from all roots. */
	const struct gr_place *places;
	size_t nplaces;
};

#endif /* GR_OPTIONS_H */
