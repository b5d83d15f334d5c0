/* SPDX-License-Identifier: Apache-2.0 */
/** export: the object graph of a stop as a file that tools for other languages
 * open. */
#ifndef GR_EXPORT_H
#define GR_EXPORT_H

#include "base/base.h"
#include "base/error.h"
#include "mark/node.h"

struct gr_scan;

#define GR_EXPORT_FORMATS(X)            \
	X(HPROF, "hprof")               \
	X(HEAPSNAPSHOT, "heapsnapshot") \
	X(JSONL, "jsonl")

enum gr_export_format {
#define X(id, name) GR_EXPORT_##id,
	GR_EXPORT_FORMATS(X)
#undef X
		GR_NEXPORT_FORMATS,
};

const char *gr_export_format_name(enum gr_export_format format);

/** Where the file goes: pieces of it. An error ends the export. */
struct gr_export_sink {
	struct gr_error *(*write)(void *ctx, const void *data, size_t bytes);
	void *ctx;
};

/** The counts of an export. */
struct gr_exported {
	/** Objects of the program, and the bytes of their slots. */
	struct gr_total total;
	uint64_t references; /**< From object to object. */
	uint64_t classes;    /**< Types, as the format has them. */
	uint64_t threads;    /**< Goroutines, as the format has them. */
	uint64_t file_bytes;
	/** Nodes for all objects together, by type; 0: each object has one. */
	uint64_t merged;
	/** Objects that the format cannot show in their full length. */
	uint64_t cut;
};

/**
 * Write all reached objects. Takes time in proportion to objects and
 * references, and memory in proportion to types and goroutines, beside the
 * graph. The file has no values of the program: no texts, numbers or keys.
 */
struct gr_error *gr_scan_export(struct gr_scan *scan,
				enum gr_export_format format,
				const struct gr_export_sink *sink,
				struct gr_exported *ret) GR_MUST_CHECK;

#endif /* GR_EXPORT_H */
