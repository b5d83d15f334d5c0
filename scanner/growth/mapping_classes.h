/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mapping_classes: the class of each mapping as a whole: the one that most of its
 * resident memory has. All of the Go heap is one class here, and so are the Go
 * runtime and the C heap.
 */
#ifndef GR_MAPPING_CLASSES_H
#define GR_MAPPING_CLASSES_H

#include "inferior/mappings.h"
#include "resident/rss.h"

/** A mapping [start, end) with resident pages. Texts are static. */
struct gr_mapping_class {
	uint64_t start, end;
	const char *class, *class_text;
};
GR_VECTOR(gr_mapping_class_vector, struct gr_mapping_class);

/** Zero-initialised but for `mappings`, nothing is counted. */
struct gr_mapping_classes {
	const struct gr_mapping_vector *mappings; /**< By address. */
	size_t at;			 /**< The mapping that is counted. */
	uint64_t bytes[GR_NRSS_CLASSES]; /**< In that mapping. */
	struct gr_mapping_class_vector list;
	bool is_short_of_memory;
};

void gr_mapping_classes_deinit(struct gr_mapping_classes *classes);

/** Count a piece, which is not empty. They come by address. */
void gr_mapping_classes_add(struct gr_mapping_classes *classes,
			    enum gr_rss_class class, uint64_t start,
			    uint64_t end);

/** There are no more pieces. */
void gr_mapping_classes_end(struct gr_mapping_classes *classes);

#endif /* GR_MAPPING_CLASSES_H */
