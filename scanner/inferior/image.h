/* SPDX-License-Identifier: Apache-2.0 */
/**
 * image: the target's address space as the scanner sees it.
 *
 * The image knows files, processes and the caller's read callback; it knows
 * nothing about Go. It has two states. While it is *lazy*, small reads go to
 * the source through a page cache, and a capture plan is collected. Once it is
 * *sealed*, the plan has been captured, nothing more is fetched, and every read
 * is served from memory.
 *
 * A core is mapped. Parts that it omits (type data, text, pclntab) come from
 * the read-only segments of the executable, after an identity check. Memory
 * that is in neither is a fault or a gap; it is never taken for zeros.
 */
#ifndef GR_IMAGE_H
#define GR_IMAGE_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "inferior/mappings.h"
#include "inferior/target.h"

struct gr_elf;
struct gr_image;
struct gr_ranges;
struct gr_recorder;

/**
 * Open the target's memory.
 *
 * A core file is mapped and checked (ELF64, little endian, ET_CORE). Segments
 * past the end of the file are cut off and counted. If executable and core do
 * not belong together, the error is GR_ERROR_MISMATCH and names both
 * identities. For a native process, /proc/PID/mem is opened. @p target and @p
 * gaps outlive the image.
 */
struct gr_error *gr_image_create(const struct gr_target *target,
				 struct gr_gaps *gaps,
				 struct gr_image **ret) GR_MUST_CHECK;
void gr_image_destroy(struct gr_image *image);

/** The recorder of the words that are read, or NULL (recorder.h). */
struct gr_recorder *gr_image_recorder(const struct gr_image *image);

/** Is the image that of a file that was saved without values? A word of it may
 * have only the bytes that somebody has read. */
bool gr_image_lacks_values(const struct gr_image *image);

/** True if its memory lies in a core that is mapped: each page comes with its
 * first touch. */
bool gr_image_is_mapped_core(const struct gr_image *image);

/** The table of the memory that the image has. */
const struct gr_ranges *gr_image_ranges(const struct gr_image *image);

/** File mappings and segments, as gr_image_mapping() looks at them. */
const struct gr_mappings *gr_image_file_mappings(const struct gr_image *image);
const struct gr_mappings *gr_image_segments(const struct gr_image *image);

/** The file of module @p module, or NULL if it is absent or not the one that is
 * loaded. */
const struct gr_elf *gr_image_elf(const struct gr_image *image, size_t module);

/** The processor that the executable is for. */
const struct gr_arch *gr_image_arch(const struct gr_image *image);

/**
 * Run-time address minus file address of module @p module of the target. It is
 * UINT64_MAX if it is not known or if the file is not the one that is loaded;
 * it is always known for the executable.
 */
uint64_t gr_image_bias(const struct gr_image *image, size_t module);

/** The name of module @p module in answers: its path. */
const char *gr_image_module_name(const struct gr_image *image, size_t module);

/**
 * The module of the target that is loaded at @p addr; SIZE_MAX if there is
 * none, or if our file is not the one that is loaded.
 */
size_t gr_image_module_at(const struct gr_image *image, uint64_t addr);

/** The end of the segment of such a module that holds @p addr; 0: none does. */
uint64_t gr_image_segment_end(const struct gr_image *image, uint64_t addr);

/** Is @p addr in a segment of such a module that is never written? */
bool gr_image_is_constant(const struct gr_image *image, uint64_t addr);

/**
 * Bytes that the core file's headers promise but the file lacks; 0 if whole.
 */
uint64_t gr_image_missing_bytes(const struct gr_image *image);

/** Number of program headers of the core file that are lost or invalid. */
uint64_t gr_image_bad_headers(const struct gr_image *image);

/**
 * Check the memory limit before an allocation of @p bytes whose size depends on
 * the target. The error is GR_ERROR_MEMORY_LIMIT if the scan may not take so
 * much.
 */
struct gr_error *gr_image_want(const struct gr_image *image,
			       uint64_t bytes) GR_MUST_CHECK;

/**
 * Bytes of address space that the target has mapped, according to its headers
 * or maps. It is UINT64_MAX if neither exists or if headers are lost.
 */
uint64_t gr_image_mapped_bytes(const struct gr_image *image);

/**
 * Bytes of memory that can be read at all; UINT64_MAX if that is not known. No
 * data structure of the target is larger.
 */
uint64_t gr_image_readable_bytes(const struct gr_image *image);

/** Bytes of private memory that captures hold now. */
uint64_t gr_image_private_bytes(const struct gr_image *image);

/** One line about a torn or suspicious core, or NULL. The image owns it. */
const char *gr_image_warning(const struct gr_image *image);

/**
 * GR_ERROR_IO if the core or a module's file has shrunk since it was opened
 * (sigbus.h). Reads of the lost part return zeros.
 */
struct gr_error *gr_image_check(const struct gr_image *image) GR_MUST_CHECK;

/** Threads with registers: the core's notes, or the target's own list. */
const struct gr_target_thread *gr_image_threads(const struct gr_image *image,
						size_t *nthreads);

/**
 * Copy [addr, addr + bytes) to @p buf, whole or not at all.
 *
 * GR_ERROR_FAULT if any byte is missing, GR_ERROR_NOT_SAVED if a saved file has
 * left it out. @p bytes is at most 1 GiB; a larger request is a fault, because
 * lengths come from the target. On failure the
 * contents of @p buf are undefined.
 */
struct gr_error *gr_image_read(struct gr_image *image, uint64_t addr, void *buf,
			       uint64_t bytes) GR_MUST_CHECK;

/**
 * gr_image_read() for what a question reads after the capture: strings, objects
 * without pointers. If the target is held, a sealed image fetches what was not
 * captured; what was captured wins. Only one thread may call it.
 */
struct gr_error *gr_image_read_late(struct gr_image *image, uint64_t addr,
				    void *buf, uint64_t bytes) GR_MUST_CHECK;

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
 * If one mapping holds the range, nothing is copied; otherwise the bytes are
 * read into memory that the image owns. GR_ERROR_FAULT if any byte is missing.
 * Memory that a saved file has left out reads as zeros.
 */
struct gr_error *gr_image_map(struct gr_image *image, uint64_t addr,
			      uint64_t bytes,
			      const uint8_t **ret) GR_MUST_CHECK;

/**
 * Like gr_image_map(), but missing pages read as zeros and are counted as
 * GR_GAP_UNREADABLE_PAGES. *@p ret is NULL if the whole range is missing; this
 * is counted, too.
 */
struct gr_error *gr_image_map_torn(struct gr_image *image, uint64_t addr,
				   uint64_t bytes,
				   const uint8_t **ret) GR_MUST_CHECK;

/**
 * The mapping at an address, for `goref why` on an address outside all objects.
 */
struct gr_mapping_info {
	uint64_t start, end; /**< [start, end) */
	bool writable, executable;
	const char *path; /**< File mapped there, or NULL. */
};

/** Find the mapping at @p addr; false if the source knows of none. */
bool gr_image_mapping(struct gr_image *image, uint64_t addr,
		      struct gr_mapping_info *ret);

/** Is there a mapping at @p addr? A word that is an address leads to one. */
static inline bool gr_image_is_mapped(struct gr_image *image, uint64_t addr)
{
	struct gr_mapping_info unused;

	return gr_image_mapping(image, addr, &unused);
}

/**
 * Note that [start, end) will be needed after sealing. Ranges may overlap.
 * Costs nothing on a core.
 */
struct gr_error *gr_image_plan(struct gr_image *image, uint64_t start,
			       uint64_t end) GR_MUST_CHECK;

/**
 * Forget what small reads of a process have fetched: the next reads fetch it
 * anew. Use it to compare records of a process that runs.
 */
void gr_image_forget(struct gr_image *image);

/**
 * Note from now on which pages are fetched from a process, and which are asked
 * for in vain in a copy (gr_image_enter_copy()); or note no more.
 */
struct gr_error *gr_image_note_fetches(struct gr_image *image,
				       bool is_noting) GR_MUST_CHECK;
/** Number of pages noted so far. */
uint64_t gr_image_noted_pages(const struct gr_image *image);
/** Plan the noted pages, and nothing else. */
struct gr_error *gr_image_plan_noted(struct gr_image *image) GR_MUST_CHECK;

/** After a capture: everything is read from it, and nothing is fetched. */
void gr_image_enter_copy(struct gr_image *image);
/** Drop the capture: memory is fetched again. Memory that was mapped stays. */
struct gr_error *gr_image_leave_copy(struct gr_image *image) GR_MUST_CHECK;

/** Bytes of the plan that would be copied (0 on a core). */
uint64_t gr_image_plan_bytes(const struct gr_image *image);

/** Keep the current plan across calls of gr_image_refresh(). */
void gr_image_keep_plan(struct gr_image *image);

/**
 * Update the image after the process has run: read its mappings again, and drop
 * cached memory and all ranges planned since gr_image_keep_plan(). Must be
 * called before a capture.
 */
struct gr_error *gr_image_refresh(struct gr_image *image) GR_MUST_CHECK;

/**
 * Allocate and touch memory for a capture of up to @p bytes, so that this does
 * not happen while the process is stopped. A larger capture allocates its own
 * memory.
 */
struct gr_error *gr_image_reserve(struct gr_image *image,
				  uint64_t bytes) GR_MUST_CHECK;

/**
 * Read the planned ranges in large reads, polling the caller between them.
 * Later reads and maps inside these ranges are served from that copy. May be
 * called again after further ranges have been planned.
 */
struct gr_error *gr_image_capture(struct gr_image *image) GR_MUST_CHECK;

/**
 * Stop fetching memory: reads of memory that was not captured are faults from
 * now on, except by gr_image_read_late(). Several threads may then read and
 * call gr_image_map(). Only one may call gr_image_map_torn(), which counts gaps.
 */
void gr_image_seal(struct gr_image *image);

#endif /* GR_IMAGE_H */
