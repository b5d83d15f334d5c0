/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The inside of an image, shared by image.c (life and mappings), read.c
 * (reads and maps) and capture.c.
 */
#ifndef GR_IMAGE_INTERNAL_H
#define GR_IMAGE_INTERNAL_H

#include "base/base.h"
#include "base/vector.h"
#include "target/core.h"
#include "target/image.h"
#include "target/mappings.h"
#include "target/modules.h"
#include "target/ranges.h"
#include "target/source.h"

/** Memory that the image owns and gives pointers to; freed with it. */
struct gr_copy {
	struct gr_copy *next;
	void *mapped; /**< Of mmap() if mapped_bytes, else data is here. */
	uint64_t mapped_bytes;
	_Alignas(16) uint8_t data[];
};

/** A planned target range [start, end). */
struct gr_plan_range {
	uint64_t start, end;
};

GR_VECTOR(gr_plan, struct gr_plan_range);

struct gr_image {
	const struct gr_target *target;
	struct gr_gaps *gaps;
	char *what;		    /**< "core /tmp/core", for messages. */
	char *warning;		    /**< NULL if there is nothing to say. */
	struct gr_core core;	    /**< Empty unless a core. */
	struct gr_mappings process; /**< Empty unless a process. */
	struct gr_source source;    /**< Absent for a core and when sealed. */
	struct gr_module_file *modules; /**< target->nmodules of them. */
	struct gr_auxv auxv;
	/** What we can point at: by importance, and the table of it. */
	struct gr_range_vector known;
	struct gr_ranges ranges;
	struct gr_plan plan;
	bool is_plan_sorted;
	size_t kept_ranges;	 /**< Of the plan, over a refresh. */
	struct gr_copy *reserve; /**< For the next capture, or NULL. */
	uint64_t private_bytes;
	struct gr_copy *copies; /**< Pushed atomically. */
};

/** NT_FILE of a core, the maps of a process. */
static inline const struct gr_mappings *
gr_image_files(const struct gr_image *image)
{
	return image->target->kind == GR_TARGET_CORE ? &image->core.files :
						       &image->process;
}

/** True while memory can be fetched. */
static inline bool gr_image_is_live(const struct gr_image *image)
{
	return image->source.ops;
}

/** Rebuild the table after `known` has grown. Earlier pointers stay good. */
struct gr_error *gr_image_update_ranges(struct gr_image *image) GR_MUST_CHECK;

/** Hand @p copy over to the image. */
void gr_image_keep(struct gr_image *image, struct gr_copy *copy);

/** A copy holding @p bytes zeroed bytes of mmap(), or NULL. */
struct gr_copy *gr_copy_map(uint64_t bytes);
void gr_copy_destroy(struct gr_copy *copy);

#endif /* GR_IMAGE_INTERNAL_H */
