/* SPDX-License-Identifier: Apache-2.0 */
/** places: numbers and names for addresses of code. */
#ifndef GR_TRACE_PLACES_H
#define GR_TRACE_PLACES_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/unwinder.h"

enum { GR_PLACE_NAME_BYTES = 1024 };

struct gr_places;

/** An address of code. Texts are valid until the next call. */
struct gr_trace_place {
	uint32_t id; /**< From 1. An address of a new generation has a new id. */
	bool is_new; /**< It has not been returned before; else the rest is 0. */
	uint32_t file; /**< 0: it lies in no file. */
	bool is_new_file;
	const char *path; /**< The path of the file. */
	uint64_t off;	  /**< In the file. */
	const char *name; /**< The function; it may be empty. */
};

/** @p unwinder outlives them. */
struct gr_error *gr_places_new(struct gr_unwinder *unwinder,
			       struct gr_places **ret) GR_MUST_CHECK;
void gr_places_destroy(struct gr_places *places);

/** Find the place of a pc. After very many of them, older ones get new ids. */
void gr_places_find(struct gr_places *places, uint64_t pc,
		    struct gr_trace_place *ret);

#endif /* GR_TRACE_PLACES_H */
