/* SPDX-License-Identifier: Apache-2.0 */
/** object: everything that is known about one object of the heap. */
#ifndef GR_OBJECT_H
#define GR_OBJECT_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "naming/vertex.h"

struct gr_scan;

/** How the type of an object is known. */
#define GR_TYPE_SOURCES(X)                                   \
	X(UNKNOWN, "pointer masks only")                     \
	X(HEADER, "the allocator's own record")              \
	X(POINTER, "the type of a pointer to it")            \
	X(BEGIN, "the type of a pointer to its first field") \
	X(CONTAINER, "the type of the container that it is part of")

enum gr_type_source {
#define X(id, name) GR_TYPE_FROM_##id,
	GR_TYPE_SOURCES(X)
#undef X
};

/** The other end of a reference, and the word that refers. */
struct gr_reference {
	struct gr_vertex_info vertex;
	/** The field or element that has the pointer: `.next`. A root's begins
	 * with the name of its variable: `main.sessions[3].conn`. */
	const char *name;
	uint64_t word_addr;   /**< Address of the pointer; 0: in no memory. */
	bool is_conservative; /**< As gr_link.is_conservative. */
};

/** References with the same type at the other end and the same field. */
struct gr_reference_group {
	const char *type; /**< The objects' type, or the roots' kind. */
	const char *name; /**< As above; indexes and keys are left out. */
	uint64_t references;
	/** Bytes of the objects at the other end. An object is counted in the
	 * first of its groups, once. */
	uint64_t bytes;
	uint64_t example_addr; /**< One of them; or 0. */
};

/** References of one direction. */
struct gr_references {
	uint64_t total; /**< Pointers in all. */
	struct gr_reference *list;
	size_t nlist;			   /**< The first of them. */
	struct gr_reference_group *groups; /**< Most references first. */
	size_t ngroups;
	uint64_t ungrouped; /**< Pointers without a group: there are too many. */
};

/** A finalizer, a cleanup or a weak pointer. */
struct gr_special {
	const char *kind;     /**< "finalizer", "cleanup", "weak pointer" */
	const char *function; /**< That will be called; or "". */
};

/** The answer to `goref object`. Belongs to the caller. */
struct gr_object_info {
	uint64_t addr; /**< That was asked about. */
	bool is_object;
	bool is_c; /**< A block of C: it has no slot and no span. */
	const char *description; /**< If it is none: "free slot". */
	/** The memory of the object, without its malloc header. */
	uint64_t base_addr, bytes;
	uint64_t offset;	 /**< addr - base_addr */
	const char *type;	 /**< As gr_why.type. */
	const char *type_source; /**< "" for a block of unknown type. */
	uint64_t type_bytes; /**< Size of a value of the type; 0: unknown. */

	uint64_t slot_addr, slot_bytes;
	uint64_t span_start, span_end; /**< Its slots. */
	uint32_t slot_index, nslots;
	uint8_t spanclass;
	uint32_t header_bytes;

	bool is_reachable;
	/** If nothing reaches a block of C: do other such blocks lead to it?
	 * And the bytes that may hold pointers to it, and are not at hand. */
	bool has_leaked_referrers;
	uint64_t missing_bytes;
	bool is_unswept; /**< Its span has not been swept in this cycle. */
	bool is_fresh;	 /**< Allocated last: it may not be initialised. */
	struct gr_special *specials;
	size_t nspecials;

	/* Only reachable objects have these. */
	uint64_t retained_bytes, retained_c_bytes;
	struct gr_vertex_info dominator;
	/** Leaked blocks have these, too; their referrers are leaked blocks. */
	struct gr_references references, referrers;
	struct gr_gaps gaps;
};

/** How much of the references is read. */
struct gr_object_options {
	/** References and referrers to list. */
	size_t max_references, max_referrers;
	/** Make groups if there are more. */
	bool group_references, group_referrers;
};

/** Describe the object that has the byte at @p addr. */
struct gr_error *gr_scan_object(struct gr_scan *scan, uint64_t addr,
				const struct gr_object_options *options,
				struct gr_object_info **ret) GR_MUST_CHECK;
void gr_object_info_destroy(struct gr_object_info *info);

#endif /* GR_OBJECT_H */
