/* SPDX-License-Identifier: Apache-2.0 */
/**
 * saved_target: a target as a saved file describes it. The room `savedfile`
 * reads and writes such files; the image takes its memory from here.
 */
#ifndef GR_SAVED_TARGET_H
#define GR_SAVED_TARGET_H

#include "base/arena.h"
#include "base/base.h"
#include "base/word_set.h"
#include "inferior/core.h"
#include "inferior/ranges.h"
#include "inferior/residency.h"

/** Stands for the path of a mapping, or for the end of the path, if that is a
 * value. */
#define GR_UNSAVED_PATH "(path not saved)"

/** The tables of the debug information of a module: a block of dwarf/store.c.
 * Not there: 0 bytes. */
struct gr_saved_tables {
	void *block;
	size_t bytes;
};

/** Everything that a scan reads of a target. Zero-initialised, it is empty. */
struct gr_saved {
	struct gr_arena arena;	 /**< Texts. */
	const char *goref;	 /**< Which goref wrote the file: "0.1.0". */
	uint32_t tables_version; /**< All `tables` have it. */
	const char *origin;	 /**< The saved target: "core /tmp/core". */
	enum gr_target_kind origin_kind;
	const char *stop; /**< Why it stopped, for the opener; or NULL. */
	/** Which process this is, as text for the opener; or NULL. */
	const char *identity;
	const char *warning; /**< gr_image_warning() then, or NULL. */
	int64_t time_s;	     /**< When it was saved, since 1970. */
	int32_t pid;	     /**< That of a process, else 0. */
	bool has_values;     /**< All memory is there. */
	uint64_t mapped_bytes, readable_bytes, missing_bytes, bad_headers;
	struct gr_mappings segments, files;
	struct gr_thread_vector threads;
	struct gr_target_module *modules; /**< nmodules, in the arena. */
	struct gr_saved_tables *tables;	  /**< nmodules, in the arena. */
	size_t nmodules;
	/** The runtime's layout, if it was found by search; else empty. */
	struct gr_bytes layout;
	bool has_residency;
	struct gr_residency residency;
	/** Memory that could be read when it was saved; the hosts of all are in
	 * one mapping of `mapped_size`. */
	struct gr_range_vector memory;
	void *mapped;
	uint64_t mapped_size;
	/** The words of `memory` that the file has. Others are zeros. */
	struct gr_word_set words;
};

#endif /* GR_SAVED_TARGET_H */
