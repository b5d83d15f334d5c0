/* SPDX-License-Identifier: Apache-2.0 */
/** locate: describe the memory at an address, without a walk. */
#ifndef GR_LOCATE_H
#define GR_LOCATE_H

#include "base/base.h"
#include "base/error.h"

struct gr_image;
struct gr_scan;
struct gr_stop;

#define GR_LOCATED_KINDS(X)               \
	X(OBJECT, "object")               \
	X(FREE_SLOT, "free slot")         \
	X(SPAN_END, "end of a span")      \
	X(STACK, "stack")                 \
	X(SYSTEM_STACK, "system stack")   \
	X(SIGNAL_STACK, "signal stack")   \
	X(TEXT, "text")                   \
	X(DATA, "data")                   \
	X(MAPPED_FILE, "mapped file")     \
	X(FREE_HEAP, "free heap memory")  \
	X(OUTSIDE, "outside of the heap") \
	X(UNMAPPED, "unmapped")

enum gr_located_kind {
#define X(id, name) GR_LOCATED_##id,
	GR_LOCATED_KINDS(X)
#undef X
};

const char *gr_located_kind_name(enum gr_located_kind kind);

/** The memory at an address. Strings belong to the scan and are never NULL. */
struct gr_located {
	enum gr_located_kind kind;
	uint64_t addr;
	/**
	 * The range [base_addr, base_addr + bytes): an object without its
	 * malloc header, or a whole free slot, frame or variable. bytes is 0
	 * if the range is not known.
	 */
	uint64_t base_addr, bytes;
	/** Type of a variable, or of an object with a malloc header; or "". */
	const char *type;
	uint32_t type_id;    /**< gr_type_id of a variable, or GR_TYPE_NONE. */
	const char *name;    /**< Function, variable or file; or "". */
	const char *section; /**< Section of data: "data", "bss" ...; or "". */
	uint64_t goroutine_id;
	uint64_t slot_bytes; /**< Size of an object's or free slot; else 0. */
	uint8_t spanclass;   /**< Size class << 1 | noscan. */
	const char *text;    /**< A description; "" for an object. */
};

/** Describe the memory at @p addr, without a walk. */
struct gr_error *gr_scan_locate(struct gr_scan *scan, uint64_t addr,
				struct gr_located *ret) GR_MUST_CHECK;

/** gr_scan_locate() for callers that hold the guard. */
struct gr_error *gr_stop_locate(struct gr_stop *stop, uint64_t addr,
				struct gr_located *ret) GR_MUST_CHECK;

/** The part of the file of module @p module of the image that has an address:
 * "data" or "bss"; NULL: neither, or SIZE_MAX. */
const char *gr_data_section(const struct gr_image *image, size_t module,
			    uint64_t addr);

/**
 * Describe memory in no object of Go by the allocators of C, if the stop has C
 * memory: "" for a block of C, free memory of malloc, the header of a block.
 * Anything else, and what the walks of the arenas do not prove, is left as @p at
 * has it. *@p ret belongs to the scan.
 */
struct gr_error *gr_stop_locate_c(struct gr_stop *stop,
				  const struct gr_located *at,
				  const char **ret) GR_MUST_CHECK;

#endif /* GR_LOCATE_H */
