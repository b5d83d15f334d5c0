/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The inside of an image, shared by image.c (life and mappings), read.c
 * (reads and maps) and capture.c.
 */
#ifndef GR_IMAGE_INTERNAL_H
#define GR_IMAGE_INTERNAL_H

#include "base/base.h"
#include "base/vector.h"
#include "inferior/core.h"
#include "inferior/image.h"
#include "inferior/mappings.h"
#include "inferior/modules.h"
#include "inferior/ranges.h"
#include "inferior/recorder.h"
#include "inferior/saved_target.h"
#include "inferior/source.h"

/**
 * Memory that the image owns and returns pointers to. It is freed with the
 * image.
 */
struct gr_copy {
	struct gr_copy *next;
	/** From mmap() if mapped_bytes is not 0; else `data` is used. */
	void *mapped;
	uint64_t mapped_bytes;
	_Alignas(16) uint8_t data[];
};

/** A planned target range [start, end). */
struct gr_plan_range {
	uint64_t start, end;
};

GR_VECTOR(gr_plan, struct gr_plan_range);

struct gr_noted;

struct gr_image {
	const struct gr_target *target;
	struct gr_gaps *gaps;
	char *what;	     /**< "core /tmp/core", for messages. */
	char *warning;	     /**< NULL if there is none. */
	struct gr_core core; /**< Empty unless the target is a core. */
	/** Empty unless the target is a process. */
	struct gr_mappings process;
	/** Absent for a core, and once sealed unless the target is held. */
	struct gr_source source;
	bool is_sealed;
	struct gr_recorder *recorder; /**< NULL: nothing is recorded. */
	/** The words that a saved file has; NULL: all of the memory. */
	struct gr_word_set *words;
	struct gr_module_file *modules; /**< target->nmodules of them. */
	struct gr_auxv auxv;
	/**
	 * Ranges with host memory, by priority, and the sorted table of them.
	 */
	struct gr_range_vector known;
	struct gr_ranges ranges;
	struct gr_plan plan;
	bool is_plan_sorted;
	size_t kept_ranges;	 /**< Planned ranges that a refresh keeps. */
	struct gr_noted *noted;	 /**< NULL: fetched pages are not noted. */
	size_t file_ranges;	 /**< Those of `known` that are of files. */
	struct gr_copy *reserve; /**< Memory for the next capture, or NULL. */
	uint64_t private_bytes;
	struct gr_copy *copies; /**< Pushed atomically. */
};

/** File mappings: NT_FILE of a core, or the maps of a process. */
static inline const struct gr_mappings *
gr_image_files(const struct gr_image *image)
{
	return gr_target_is_file(image->target) ? &image->core.files :
						  &image->process;
}

/** True while memory is fetched for any read. */
static inline bool gr_image_is_live(const struct gr_image *image)
{
	return image->source.ops && !image->is_sealed;
}

/** noted.c: note the pages of [addr, addr + bytes), if pages are noted. */
struct gr_error *gr_noted_add(struct gr_noted *noted, uint64_t addr,
			      uint64_t bytes) GR_MUST_CHECK;
void gr_noted_destroy(struct gr_noted *noted);

/** Rebuild the table after `known` has grown. Earlier pointers stay valid. */
struct gr_error *gr_image_update_ranges(struct gr_image *image) GR_MUST_CHECK;

/** Hand @p copy over to the image. */
void gr_image_keep(struct gr_image *image, struct gr_copy *copy);

/** A copy holding @p bytes zeroed bytes of mmap(), or NULL. */
struct gr_copy *gr_copy_map(uint64_t bytes);
void gr_copy_destroy(struct gr_copy *copy);

#endif /* GR_IMAGE_INTERNAL_H */
