/* SPDX-License-Identifier: Apache-2.0 */
/**
 * internal: the parts that the files of this room share: the tables of one ELF
 * file, the raw notes of the walk, and the steps from the notes to the tables.
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
#include "dwarf/cache_files.h"
#include "dwarf/compat.h"
#include "dwarf/die.h"
#include "dwarf/dwarf.h"
#include "dwarf/index.h"
#include "dwarf/lists.h"
#include "dwarf/location.h"

/** Indexes of types, variables, ... are below this; none is GR_DWARF_NONE. */
#define GR_DWARF_COUNT_MAX (UINT32_MAX / 4)

/** The most fields of one type; more are left out. Many questions compare the
 * names of all fields of a struct. */
#define GR_DWARF_FIELDS_MAX (1 << 16)

/** A function without code; inlined and outlined copies refer to it. */
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
	uint64_t unit_off; /**< Offset of the unit DIE; 0: a free entry. */
	uint64_t number;
	const char *name;
};

struct gr_dwarf {
	/** NULL while the cache answers everything; see attach() in dwarf.c. */
	Dwarf_Debug dbg;
	int fd;
	char *path;
	struct gr_dwarf_key key;
	bool is_cached; /**< Answers are kept for gr_dwarf_save(). */
	bool is_kept;	/**< Answers are kept for gr_dwarf_pack(). */
	bool is_packed; /**< From a saved file: there is no other file. */
	bool is_saved;	/**< The cache has the tables, and the first nsaved */
	size_t nsaved;	/**< answers. */
	/** The cached block that tables and indexes point into, or NULL. */
	void *block;
	struct gr_dwarf_answers answers;
	struct gr_arena arena;
	/** In order of die_off, as the walk meets them. */
	struct gr_dwarf_type_vector types;
	struct gr_dwarf_field_vector fields;
	struct gr_dwarf_variable_vector variables;
	struct gr_dwarf_function_vector functions;
	struct gr_dwarf_constant_vector constants;
	struct gr_dwarf_abstract_vector abstracts; /**< By die_off. */
	/**
	 * The canonical type of each type: itself, or the type for which it is
	 * only another DIE (a typedef of the same name). References always
	 * name the canonical type.
	 */
	uint32_t *canonical;
	struct gr_index types_by_name, types_by_runtime_type;
	struct gr_index variables_by_name, constants_by_name;
	struct gr_index functions_by_name; /**< Made on first use. */
	/** The compiler: `Go cmd/compile go1.27.4; regabi`; or NULL. */
	const char *producer;
	size_t damaged_units;
	/** The opener's poll function, called during all later reads. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
	uint64_t steps;	    /**< Since the last poll: gr_dwarf_step(). */
	uint64_t all_steps; /**< All steps of the walk and of questions. */
	uint64_t max_steps; /**< In proportion to the file's size. */
	/** all_steps when the last question began; the steps of those before. */
	uint64_t question_start, question_steps;
	struct gr_lists lists;
	struct gr_dwarf_file files[64]; /**< A cache. */
};

/** The class of a type by its DIE alone, until all types are known. */
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
	bool is_cpp;	   /**< From one in C++. */
};
GR_VECTOR(gr_raw_type_vector, struct gr_raw_type);

/** The raw notes: parallel to the tables of the same name. */
struct gr_die_walk {
	struct gr_dwarf *dwarf;
	struct gr_raw_type_vector types;
	struct gr_dwarf_off_vector field_types;	     /**< DIE offsets. */
	struct gr_dwarf_off_vector variable_types;   /**< DIE offsets. */
	struct gr_dwarf_off_vector constant_types;   /**< DIE offsets. */
	struct gr_dwarf_off_vector function_origins; /**< DIE offsets. */
	bool is_go;  /**< The current unit is in the language Go. */
	bool is_c;   /**< In C. */
	bool is_cpp; /**< In C++. */
	/** Namespaces and classes around the current DIE: `a::b`; or NULL. */
	const char *scope;
	/** Functions and constants are left out. */
	bool is_data_only;
};

void gr_die_walk_deinit(struct gr_die_walk *walk);
#define _cleanup_walk_ _cleanup_(gr_die_walk_deinit)

/**
 * dwarf.c: account for @p n steps, and poll from time to time. A step is an
 * attribute, some bytes of a name or an entry of a list.
 */
struct gr_error *gr_dwarf_step(struct gr_dwarf *dwarf,
			       uint64_t n) GR_MUST_CHECK;

/** dwarf.c: count steps without polling; the next gr_dwarf_step() may poll. */
void gr_dwarf_count(struct gr_dwarf *dwarf, uint64_t n);

/** dwarf.c: call gr_die_read() and count each attribute as a step. */
struct gr_error *gr_dwarf_read_die(struct gr_dwarf *dwarf, Dwarf_Die handle,
				   struct gr_die *ret) GR_MUST_CHECK;

/**
 * dwarf.c: go to the next sibling; what is skipped counts by its bytes. This
 * polls.
 */
struct gr_error *gr_dwarf_next(struct gr_dwarf *dwarf,
			       struct gr_die_iter *iter) GR_MUST_CHECK;

/** dwarf.c: has the question about a function taken all of its steps? */
bool gr_dwarf_is_answered(const struct gr_dwarf *dwarf);

/** walk.c: visit all DIEs, fill the tables and the raw notes. */
struct gr_error *gr_die_walk_run(struct gr_die_walk *walk) GR_MUST_CHECK;

/**
 * dwarf.c: gr_dwarf_open(), or, if @p is_data_only, gr_dwarf_open_data()
 * without a cache.
 */
struct gr_error *gr_dwarf_open_file(const char *path, bool is_data_only,
				    struct gr_error *(*poll)(void *ctx),
				    void *ctx,
				    struct gr_dwarf **ret) GR_MUST_CHECK;

/** types.c: the full name of a type or namespace: `struct node`, `a::b`. NULL
 * only if out of memory. */
const char *gr_dwarf_full_name(struct gr_die_walk *walk,
			       const struct gr_die *die);

/** types.c: add the type @p die with handle @p handle and its fields. */
struct gr_error *gr_dwarf_add_type(struct gr_die_walk *walk, Dwarf_Die handle,
				   const struct gr_die *die,
				   enum gr_raw_class raw_class) GR_MUST_CHECK;
/** types.c: turn the raw notes into references; fill canonical. */
struct gr_error *gr_dwarf_resolve_types(struct gr_die_walk *walk) GR_MUST_CHECK;
/**
 * prune.c: leave out types that neither variables nor classes of C++ need. Types
 * are resolved, and there are no functions. Other raw notes are not parallel
 * afterwards.
 */
struct gr_error *gr_dwarf_prune(struct gr_die_walk *walk) GR_MUST_CHECK;
/** types.c: canonical index of the type at @p off, or GR_DWARF_NONE. */
uint32_t gr_dwarf_type_at(const struct gr_dwarf *dwarf, uint64_t off);

/** ranges.c: a half-open range of code addresses. */
struct gr_pc_range {
	uint64_t low, high;
};
GR_VECTOR(gr_pc_range_vector, struct gr_pc_range);

/**
 * ranges.c: the code ranges of a DIE, from low_pc and high_pc or DW_AT_ranges.
 * Unreadable ranges are left out.
 */
struct gr_error *gr_ranges_read(struct gr_dwarf *dwarf, Dwarf_Die handle,
				const struct gr_die *die,
				struct gr_pc_range_vector *ret) GR_MUST_CHECK;

/** ranges.c: the section offset or list index that an attribute holds. */
bool gr_ranges_off(struct gr_dwarf *dwarf, Dwarf_Attribute attr,
		   Dwarf_Half form, uint64_t *ret);

/**
 * store.c: pack all tables, answers and names into one block of bytes. The
 * caller frees it with free(). @p stamp tells a reader the form of the block.
 * NULL: out of memory.
 */
void *gr_store_pack(const struct gr_dwarf *dwarf, uint64_t stamp,
		    size_t *ret_bytes);

/** store.c: the state of a block. */
enum gr_stored {
	GR_STORED_FINE,
	GR_STORED_OTHER,   /**< It is of another file or stamp. */
	GR_STORED_DAMAGED, /**< goref does not write such a block. */
};

/**
 * store.c: fill @p dwarf, which has a key but no tables, from a block. Every
 * number in the block is checked. If *@p ret is GR_STORED_FINE, @p dwarf owns
 * the block, which is from malloc(). @p stamp is the one that is read. It fails
 * only if the poll of @p dwarf returns an error.
 */
struct gr_error *gr_store_unpack(struct gr_dwarf *dwarf, void *block,
				 size_t bytes, uint64_t stamp,
				 enum gr_stored *ret) GR_MUST_CHECK;

/** store.c: the key in a block; false if it is no block. */
bool gr_store_key(const void *block, size_t bytes, struct gr_dwarf_key *ret);

/** store.c: write the correct checksum into a block that a test has changed. */
void gr_store_seal(void *block, size_t bytes);

/** locals.c: the location of DIE @p handle at @p pc; no location: 0 pieces. */
struct gr_location gr_location_read(struct gr_dwarf *dwarf, Dwarf_Die handle,
				    uint64_t pc,
				    struct gr_location_piece frame_base);

/** files.c: the name of file @p number of the unit of a DIE, or NULL. */
const char *gr_dwarf_file_name(struct gr_dwarf *dwarf, Dwarf_Die handle,
			       uint64_t number);

/**
 * dwarf.c: get the DIE of a function, or NULL if none; open the debug
 * information if the tables are from the cache. A question about the function
 * begins here. If all questions have taken too many
 * steps for the file's size, this is GR_ERROR_FORMAT.
 */
struct gr_error *gr_dwarf_function_die(struct gr_dwarf *dwarf,
				       uint32_t function,
				       Dwarf_Die *ret) GR_MUST_CHECK;
/** dwarf.c: a name that is safe to print; NULL only if out of memory. */
const char *gr_dwarf_clean_name(struct gr_dwarf *dwarf, const char *name);

/**
 * folder.c: open the folder of the cache; -1 on failure. @p create makes a
 * missing folder. *@p ret is the reason why the folder must not be used (see
 * gr_dwarf_check_cache()), and the caller destroys it. @p ret may be NULL.
 */
int gr_dwarf_open_folder(bool create, struct gr_error **ret);

#endif /* GR_DWARF_INTERNAL_H */
