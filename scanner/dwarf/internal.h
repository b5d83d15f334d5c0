/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the files of this room share: the tables of one ELF file, the raw
 * notes of the walk, and the steps from one to the other.
 *
 * Only .c files of dwarf/ include this.
 */
#ifndef GR_DWARF_INTERNAL_H
#define GR_DWARF_INTERNAL_H

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"
#include "dwarf/answers.h"
#include "dwarf/compat.h"
#include "dwarf/die.h"
#include "dwarf/dwarf.h"
#include "dwarf/index.h"
#include "dwarf/lists.h"
#include "dwarf/location.h"

/** Numbers of types, variables, ... stay below; none is GR_DWARF_NONE. */
#define GR_DWARF_COUNT_MAX (UINT32_MAX / 4)

/** A function without code of its own, named by inlined and outlined ones. */
struct gr_dwarf_abstract {
	uint64_t die_off;
	const char *name;
};

GR_VECTOR(gr_dwarf_type_vector, struct gr_dwarf_type);
GR_VECTOR(gr_dwarf_field_vector, struct gr_dwarf_field);
GR_VECTOR(gr_dwarf_variable_vector, struct gr_dwarf_variable);
GR_VECTOR(gr_dwarf_function_vector, struct gr_dwarf_function);
GR_VECTOR(gr_dwarf_constant_vector, struct gr_dwarf_constant);
GR_VECTOR(gr_dwarf_abstract_vector, struct gr_dwarf_abstract);
GR_VECTOR(gr_dwarf_off_vector, uint64_t);

/** A source file name of a unit. */
struct gr_dwarf_file {
	uint64_t unit_off; /**< Of the unit DIE; 0: the entry is free. */
	uint64_t number;
	const char *name;
};

/** Which file the tables are of. */
struct gr_dwarf_key {
	char build_id[256]; /**< Ends in NUL; empty: it has none. */
	uint64_t file_bytes;
	int64_t mtime_ns;
};

struct gr_dwarf {
	/** NULL while all comes from the cache: gr_dwarf_attach() opens it. */
	Dwarf_Debug dbg;
	int fd;
	char *path;
	struct gr_dwarf_key key;
	bool is_cached; /**< What is learnt is kept for gr_dwarf_save(). */
	bool is_saved;	/**< The cache has the tables, and the first nsaved */
	size_t nsaved;	/**< answers. */
	/** From the cache: what tables and indexes point into, else NULL. */
	void *block;
	struct gr_answers answers;
	struct gr_arena arena;
	/** In order of die_off, as the walk meets them. */
	struct gr_dwarf_type_vector types;
	struct gr_dwarf_field_vector fields;
	struct gr_dwarf_variable_vector variables;
	struct gr_dwarf_function_vector functions;
	struct gr_dwarf_constant_vector constants;
	struct gr_dwarf_abstract_vector abstracts; /**< By die_off. */
	/**
	 * Of each type: itself, or the type that it is only another DIE of
	 * (a typedef of the same name). No reference names the former.
	 */
	uint32_t *canonical;
	struct gr_index types_by_name, types_by_runtime_type;
	struct gr_index variables_by_name, constants_by_name;
	const char *producer;
	size_t damaged_units;
	struct gr_lists lists;
	struct gr_dwarf_file files[64]; /**< A cache. */
};

/** What a type's DIE says, until all types are known. */
enum gr_raw_class {
	GR_RAW_TYPEDEF,
	GR_RAW_QUALIFIER, /**< const, volatile, ...: only another DIE. */
	GR_RAW_POINTER,
	GR_RAW_STRUCT,
	GR_RAW_ARRAY,
	GR_RAW_FUNC,
	GR_RAW_SCALAR, /**< Base types, enumerations, unspecified ones. */
};

struct gr_raw_type {
	uint64_t type_off, key_off, elem_off;
	uint8_t raw_class; /**< enum gr_raw_class. */
	bool is_go;	   /**< From a unit in the language Go. */
};
GR_VECTOR(gr_raw_type_vector, struct gr_raw_type);

/** The raw notes: parallel to the tables of the same name. */
struct gr_walk {
	struct gr_dwarf *dwarf;
	struct gr_raw_type_vector types;
	struct gr_dwarf_off_vector field_types;	     /**< DIE offsets. */
	struct gr_dwarf_off_vector variable_types;   /**< DIE offsets. */
	struct gr_dwarf_off_vector function_origins; /**< DIE offsets. */
	bool is_go; /**< The unit at hand is. */
	uint64_t ndies;
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

void gr_walk_deinit(struct gr_walk *walk);
#define _cleanup_walk_ _cleanup_(gr_walk_deinit)

/** walk.c: visit all DIEs, fill the tables and the raw notes. */
struct gr_error *gr_walk_run(struct gr_walk *walk) GR_MUST_CHECK;

/** types.c: add the type @p die with handle @p handle and its fields. */
struct gr_error *gr_types_add(struct gr_walk *walk, Dwarf_Die handle,
			      const struct gr_die *die,
			      enum gr_raw_class raw_class) GR_MUST_CHECK;
/** types.c: make references of the raw notes; fill canonical. */
struct gr_error *gr_types_resolve(struct gr_walk *walk) GR_MUST_CHECK;
/** types.c: canonical index of the type at @p off, or GR_DWARF_NONE. */
uint32_t gr_types_at(const struct gr_dwarf *dwarf, uint64_t off);

/** ranges.c: a half-open range of code addresses. */
struct gr_range {
	uint64_t low, high;
};
GR_VECTOR(gr_range_vector, struct gr_range);

/**
 * ranges.c: the code ranges of a DIE, from low_pc and high_pc or DW_AT_ranges.
 * What cannot be read is left out.
 */
struct gr_error *gr_ranges_read(struct gr_dwarf *dwarf, Dwarf_Die handle,
				const struct gr_die *die,
				struct gr_range_vector *ret) GR_MUST_CHECK;

/** ranges.c: the section offset or list index that an attribute holds. */
bool gr_ranges_off(struct gr_dwarf *dwarf, Dwarf_Attribute attr,
		   Dwarf_Half form, uint64_t *ret);

struct stat;
/** cache.c: is that still the file of the key? */
bool gr_dwarf_key_fits(const struct gr_dwarf_key *key,
		       const struct stat *status);

/**
 * store.c: all tables, answers and names as one block of bytes for free(), or
 * NULL if no memory is left.
 */
void *gr_store_pack(const struct gr_dwarf *dwarf, size_t *ret_bytes);

/** store.c: what a block is. */
enum gr_stored {
	GR_STORED_FINE,
	GR_STORED_OTHER,   /**< Of another file, or by another build of us. */
	GR_STORED_DAMAGED, /**< Not as we write it. */
};

/**
 * store.c: fill @p dwarf, which has no tables but a key, from the block of
 * malloc(), which it takes over if that is fine. Every number in it is
 * checked.
 */
enum gr_stored gr_store_unpack(struct gr_dwarf *dwarf, void *block,
			       size_t bytes);

/** store.c: put the right checksum into a block, for tests that change it. */
void gr_store_seal(void *block, size_t bytes);

/** locals.c: the location of DIE @p handle at @p pc; none has 0 pieces. */
struct gr_location gr_location_read(struct gr_dwarf *dwarf, Dwarf_Die handle,
				    uint64_t pc,
				    struct gr_location_piece frame_base);

/** dwarf.c: open the debug information, where the tables are the cache's. */
struct gr_error *gr_dwarf_attach(struct gr_dwarf *dwarf) GR_MUST_CHECK;
/** dwarf.c: the same, and the DIE of a function, or NULL if it has none. */
struct gr_error *gr_dwarf_function_die(struct gr_dwarf *dwarf,
				       uint32_t function,
				       Dwarf_Die *ret) GR_MUST_CHECK;
/** dwarf.c: libdwarf over the file at @p path, tables still empty. */
struct gr_error *gr_dwarf_open_file(const char *path,
				    struct gr_dwarf **ret) GR_MUST_CHECK;
/** dwarf.c: a name that is safe to print, never NULL unless out of memory. */
const char *gr_dwarf_clean_name(struct gr_dwarf *dwarf, const char *name);
/** dwarf.c: the name of the abstract function at @p off, or NULL. */
const char *gr_dwarf_abstract_name(const struct gr_dwarf *dwarf, uint64_t off);

#endif /* GR_DWARF_INTERNAL_H */
