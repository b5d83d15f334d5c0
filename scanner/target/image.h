/* SPDX-License-Identifier: Apache-2.0 */
/**
 * image: the target's address space as the scanner sees it.
 *
 * Knows files, processes and the debugger's read callback; knows nothing of
 * Go. Two lives: *lazy*, when small reads go to the source through a page
 * cache and a capture plan is collected, and *sealed*, when the plan is there,
 * nothing more is fetched and every read is served from memory.
 *
 * A core is mapped; what it left out (type data, text, pclntab) comes from the
 * read-only segments of the executable after an identity check. Memory that is
 * nowhere is a fault or a gap, never zeros taken for data.
 */
#ifndef GR_IMAGE_H
#define GR_IMAGE_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "target/gaps.h"
#include "target/target.h"

struct gr_image;

/**
 * Open the target's memory.
 *
 * Core: maps the file, checks it (ELF64, little endian, ET_CORE;
 * segments past the end of the file are cut off and counted). Executable and
 * core that do not belong together are GR_ERROR_MISMATCH with both identities.
 * Native: opens /proc/PID/mem. @p target and @p gaps outlive the image.
 */
struct gr_error *gr_image_create(const struct gr_target *target,
				 struct gr_gaps *gaps,
				 struct gr_image **ret) GR_MUST_CHECK;
void gr_image_destroy(struct gr_image *image);

/** The processor that the executable is for. */
const struct gr_arch *gr_image_arch(const struct gr_image *image);

/**
 * Run-time address minus file address of module @p module of the target;
 * UINT64_MAX if it is not known or the file is not the one that is loaded,
 * which never happens to the executable.
 */
uint64_t gr_image_bias(const struct gr_image *image, size_t module);

/**
 * The module of the target that is loaded at @p addr; SIZE_MAX if none is, or
 * its file is not the one that we have.
 */
size_t gr_image_module_at(const struct gr_image *image, uint64_t addr);

/** Bytes that the core file lacks of what its headers promise; 0 if whole. */
uint64_t gr_image_missing_bytes(const struct gr_image *image);

/** Program headers of the core file that are lost or make no sense. */
uint64_t gr_image_bad_headers(const struct gr_image *image);

/** Bytes of private memory that captures hold now. */
uint64_t gr_image_private_bytes(const struct gr_image *image);

/** One line about a core that is torn or suspicious, or NULL. Not owned. */
const char *gr_image_warning(const struct gr_image *image);

/**
 * GR_ERROR_IO if the core or a module's file was found to have shrunk since it
 * was opened (sigbus.h): what is read of it now are zeros.
 */
struct gr_error *gr_image_check(const struct gr_image *image) GR_MUST_CHECK;

/** Threads with registers: the core's notes, or the target's own list. */
const struct gr_target_thread *gr_image_threads(const struct gr_image *image,
						size_t *nthreads);

/**
 * Copy [addr, addr + bytes) to @p buf, whole or not at all.
 *
 * GR_ERROR_FAULT when a byte of it is not there. @p bytes is at most 1 GiB;
 * a larger request is a fault (lengths come from the target). On failure
 * what @p buf holds is not defined.
 */
struct gr_error *gr_image_read(struct gr_image *image, uint64_t addr, void *buf,
			       uint64_t bytes) GR_MUST_CHECK;

/** gr_image_read() of one little-endian unsigned integer of 1..8 bytes. */
struct gr_error *gr_image_read_uint(struct gr_image *image, uint64_t addr,
				    unsigned int bytes,
				    uint64_t *ret) GR_MUST_CHECK;

/** gr_image_read() of one pointer-sized word. */
static inline struct gr_error *gr_image_read_u64(struct gr_image *image,
						 uint64_t addr, uint64_t *ret)
{
	return gr_image_read_uint(image, addr, 8, ret);
}

/**
 * A stable pointer to [addr, addr + bytes), valid while the image lives.
 *
 * Where one mapping holds the range this copies nothing; else the bytes are
 * read into memory owned by the image. All or nothing: GR_ERROR_FAULT.
 */
struct gr_error *gr_image_map(struct gr_image *image, uint64_t addr,
			      uint64_t bytes,
			      const uint8_t **ret) GR_MUST_CHECK;

/**
 * Like gr_image_map(), but pages that are missing read as zeros and are
 * counted as GR_GAP_UNREADABLE_PAGES. *@p ret is NULL when nothing of the
 * range is there (counted too).
 */
struct gr_error *gr_image_map_torn(struct gr_image *image, uint64_t addr,
				   uint64_t bytes,
				   const uint8_t **ret) GR_MUST_CHECK;

/** What lies at an address, for `goref why` of something that is no object. */
struct gr_mapping_info {
	uint64_t start, end; /**< [start, end) */
	bool readable_data;  /**< Bytes of it can be read. */
	bool writable, executable;
	const char *path; /**< File mapped there, or NULL. */
};

/** false if nothing is mapped at @p addr as far as the source tells. */
bool gr_image_mapping(struct gr_image *image, uint64_t addr,
		      struct gr_mapping_info *ret);

/**
 * Note that [start, end) will be needed after sealing. Ranges may overlap.
 * Costs nothing on a core.
 */
struct gr_error *gr_image_plan(struct gr_image *image, uint64_t start,
			       uint64_t end) GR_MUST_CHECK;

/** Bytes of the plan that would be copied (0 on a core). */
uint64_t gr_image_plan_bytes(const struct gr_image *image);

/** What is planned so far is wanted at any time: refresh() keeps it. */
void gr_image_keep_plan(struct gr_image *image);

/**
 * A process has run since: read its mappings anew, forget cached memory and
 * what was planned since gr_image_keep_plan(). Only before a capture.
 */
struct gr_error *gr_image_refresh(struct gr_image *image) GR_MUST_CHECK;

/**
 * Set memory aside, and touch it, for a capture of up to @p bytes: a process
 * need not wait for that. A larger capture takes its own.
 */
struct gr_error *gr_image_reserve(struct gr_image *image,
				  uint64_t bytes) GR_MUST_CHECK;

/**
 * Fill the plan in large reads (polling the debugger between them); later
 * reads and maps inside it are served from that copy. May be called again
 * with further ranges planned meanwhile.
 */
struct gr_error *gr_image_capture(struct gr_image *image) GR_MUST_CHECK;

/**
 * From now on nothing is fetched; what was not captured is a fault. Reads and
 * gr_image_map() may then be called by many threads; gr_image_map_torn(),
 * which counts gaps, by one.
 */
void gr_image_seal(struct gr_image *image);

#endif /* GR_IMAGE_H */
