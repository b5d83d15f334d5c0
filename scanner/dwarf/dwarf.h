/* SPDX-License-Identifier: Apache-2.0 */
/**
 * dwarf: the debug information of one ELF file as compact tables.
 *
 * This is the only room that uses libdwarf. One walk over all DIEs fills the
 * tables of types, package variables, functions and constants. The variables
 * of a function are decoded on request. Addresses are file addresses, without
 * the load bias. The gr_dwarf owns all strings and tables.
 */
#ifndef GR_DWARF_H
#define GR_DWARF_H

#include "base/base.h"
#include "base/error.h"

struct gr_dwarf;

#define GR_DWARF_NONE UINT32_MAX

enum {
	/**
	 * The form of the tables in a saved file (gr_dwarf_pack()): the rows in
	 * dwarf.h and answers.h, the meaning of their fields, the indexes with
	 * their hashes. Every change of these raises it; dwarf/store_format.h
	 * and test_dwarf_store notice one.
	 */
	GR_DWARF_TABLES_VERSION = 1,
};

/** Go's reflect.Kind numbers, as DW_AT_go_kind gives them. */
enum gr_go_kind {
	GR_KIND_INVALID = 0,
	GR_KIND_BOOL = 1,
	GR_KIND_INT = 2,
	GR_KIND_UINT8 = 8,
	GR_KIND_UINTPTR = 12,
	GR_KIND_COMPLEX128 = 16,
	GR_KIND_ARRAY = 17,
	GR_KIND_CHAN = 18,
	GR_KIND_FUNC = 19,
	GR_KIND_INTERFACE = 20,
	GR_KIND_MAP = 21,
	GR_KIND_PTR = 22,
	GR_KIND_SLICE = 23,
	GR_KIND_STRING = 24,
	GR_KIND_STRUCT = 25,
	GR_KIND_UNSAFE_POINTER = 26,
};

/**
 * One type. Typedefs that only name another type (map, chan, interface, named
 * basic types) are resolved: an entry has the outermost name, and the kind and
 * structure of the named type.
 */
struct gr_dwarf_type {
	/** The DWARF name: `*main.Node`. C has `struct node`, C++ `a::Node`; a
	 * nameless struct is `struct`. Never NULL. */
	const char *name;
	uint64_t die_off;    /**< Offset in .debug_info. */
	uint64_t size_bytes; /**< 8 for pointers, maps, chans and funcs. */
	/** DW_AT_go_runtime_type: offset from moduledata.types; 0 = none. */
	uint64_t runtime_type;
	uint8_t kind; /**< enum gr_go_kind; C types get the nearest. */
	bool is_interface_with_methods; /**< iface (itab word), not eface. */
	/** A shape type in a generic function: DW_AT_go_dict_index + 1. */
	uint16_t dict_index;
	/** Type index: pointee, element of array, slice, chan; map value. */
	uint32_t elem;
	uint32_t key; /**< Map key, else GR_DWARF_NONE. */
	/**
	 * Map and chan: the struct that the header pointer points to
	 * (`map<K,V>`, `hash<K,V>`, `hchan<T>`), else GR_DWARF_NONE.
	 */
	uint32_t header;
	uint64_t count;	      /**< Array length. */
	uint32_t first_field; /**< Struct: [first_field, +nfields) of fields. */
	uint32_t nfields;
};

struct gr_dwarf_field {
	const char *name;
	uint64_t off_bytes;
	uint32_t type;
	bool is_embedded;
};

/** A variable with a fixed address (package variables). */
struct gr_dwarf_variable {
	const char *name; /**< Full import path: `main.cache`. */
	uint64_t addr;
	uint32_t type;
};

/** A concrete function with code: [low, high). */
struct gr_dwarf_function {
	const char *name;
	uint64_t low, high;
	uint64_t die_off;
};

struct gr_dwarf_constant {
	const char *name; /**< `runtime.mSpanInUse` */
	int64_t value;
	uint32_t type;
};

/**
 * Read the debug information of @p path, or of @p debug_path if not NULL.
 *
 * GR_ERROR_NO_DWARF: the file has no debug information. GR_ERROR_FORMAT: the
 * file is damaged. GR_ERROR_INTERRUPTED: @p poll (may be NULL) asked to stop.
 */
struct gr_error *gr_dwarf_open(const char *path, const char *debug_path,
			       struct gr_error *(*poll)(void *ctx), void *ctx,
			       struct gr_dwarf **ret) GR_MUST_CHECK;
void gr_dwarf_destroy(struct gr_dwarf *dwarf);

/**
 * Like gr_dwarf_open(), but take the tables from the cache if it has those of
 * this very file (build id, size and modification time). The cache is a folder
 * below the user's cache folder, with one file for each build id. If anything
 * goes wrong with the cache, it is not used. @p build_id is text without
 * control characters; NULL or "": no cache.
 */
struct gr_error *gr_dwarf_open_cached(const char *path, const char *debug_path,
				      const char *build_id,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx,
				      struct gr_dwarf **ret) GR_MUST_CHECK;
/**
 * The same for a library of C, without functions and constants: types and
 * variables, those of functions with a fixed address included.
 */
struct gr_error *gr_dwarf_open_data(const char *path, const char *debug_path,
				    const char *build_id,
				    struct gr_error *(*poll)(void *ctx),
				    void *ctx,
				    struct gr_dwarf **ret) GR_MUST_CHECK;
/** Keep all answers from now on, for gr_dwarf_pack(). NULL is allowed. */
void gr_dwarf_keep_answers(struct gr_dwarf *dwarf);
/**
 * All tables and the answers so far as one block of bytes, for free(). NULL: no
 * memory.
 */
void *gr_dwarf_pack(const struct gr_dwarf *dwarf,
		    size_t *ret_bytes) GR_MUST_CHECK;
/**
 * Open such a block, which is from malloc() and is taken over. It has the
 * answers that were kept and no others (GR_ERROR_NOT_SAVED). @p path is for
 * messages. GR_ERROR_NO_DWARF: the block is empty. GR_ERROR_FORMAT: it is
 * damaged, or of another GR_DWARF_TABLES_VERSION.
 */
struct gr_error *gr_dwarf_open_packed(const char *path, void *block,
				      size_t bytes,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx,
				      struct gr_dwarf **ret) GR_MUST_CHECK;
/**
 * The reason why the cache is not used, or NULL. The cache is not used if
 * another user owns or can write its folder or a folder on the path to it:
 * that user could put files or links there. A missing folder is no reason.
 */
struct gr_error *gr_dwarf_check_cache(void) GR_MUST_CHECK;
/** Save the answers since the opening to the cache. */
void gr_dwarf_save(struct gr_dwarf *dwarf);

/**
 * Check that the loaded libdwarf has the version that goref was built for, and
 * that goref's calls go to it. GR_ERROR_ARGUMENT if not. gr_dwarf_open() makes
 * the same check.
 */
struct gr_error *gr_dwarf_check_library(void) GR_MUST_CHECK;

/** Tables; indexes are dense from 0. Variables are sorted by address,
 * functions by low. */
const struct gr_dwarf_type *gr_dwarf_types(const struct gr_dwarf *dwarf,
					   size_t *count);
const struct gr_dwarf_field *gr_dwarf_fields(const struct gr_dwarf *dwarf);
size_t gr_dwarf_field_count(const struct gr_dwarf *dwarf);
const struct gr_dwarf_constant *gr_dwarf_constants(const struct gr_dwarf *dwarf,
						   size_t *count);
const struct gr_dwarf_variable *gr_dwarf_variables(const struct gr_dwarf *dwarf,
						   size_t *count);
const struct gr_dwarf_function *gr_dwarf_functions(const struct gr_dwarf *dwarf,
						   size_t *count);

/** Index of the type of that name, or GR_DWARF_NONE. */
uint32_t gr_dwarf_find_type(const struct gr_dwarf *dwarf, const char *name);
/** Index of the type with that DW_AT_go_runtime_type, or GR_DWARF_NONE. */
uint32_t gr_dwarf_find_runtime_type(const struct gr_dwarf *dwarf, uint64_t off);
/** Index of the variable of that name, or GR_DWARF_NONE. */
uint32_t gr_dwarf_find_variable(const struct gr_dwarf *dwarf, const char *name);
/** The constant's value; false if there is none of that name. */
bool gr_dwarf_find_constant(const struct gr_dwarf *dwarf, const char *name,
			    int64_t *ret);
/** Index of a function of that name, or GR_DWARF_NONE. */
uint32_t gr_dwarf_find_function(struct gr_dwarf *dwarf, const char *name);
/** Index of the function that holds @p pc, or GR_DWARF_NONE. */
uint32_t gr_dwarf_function_at(const struct gr_dwarf *dwarf, uint64_t pc);

/** The kind of place that holds a part of a variable. */
enum gr_location_kind {
	GR_LOCATION_NONE,	/**< Optimised out (an empty piece). */
	GR_LOCATION_CFA,	/**< At CFA + offset. */
	GR_LOCATION_REGISTER,	/**< In DWARF register `reg`. */
	GR_LOCATION_REG_OFFSET, /**< At register `reg` + offset. */
	GR_LOCATION_ADDRESS,	/**< At a fixed file address. */
	GR_LOCATION_UNKNOWN,	/**< An expression that is not supported. */
};

/** One piece of a variable: its bytes [off_bytes, off_bytes + size_bytes). */
struct gr_location_piece {
	enum gr_location_kind kind;
	uint32_t off_bytes;  /**< Inside the variable. */
	uint32_t size_bytes; /**< 0: to the end of the variable. */
	uint16_t reg;
	int64_t offset; /**< From the CFA or the register; or an address. */
};

/** The most pieces of a variable; Go passes about nine words in registers. */
#define GR_DWARF_PIECES_MAX 16

/** A parameter or local variable that has a location at the given pc. */
struct gr_dwarf_local {
	/** `x`, or `&x` for a variable captured by reference. */
	const char *name;
	/**
	 * The function to print before the dot: the inlined function, or else
	 * the concrete function.
	 */
	const char *function;
	/** Inlined calls around it in the concrete function; 0: none. */
	uint32_t depth;
	uint32_t type;
	bool is_param;
	/** DW_AT_go_closure_offset if it is in the closure object, else 0. */
	uint32_t closure_off;
	uint32_t npieces; /**< 0: no location, see gr_dwarf_all_locals(). */
	/** In order of off_bytes; inside the type if its size is known. */
	struct gr_location_piece pieces[GR_DWARF_PIECES_MAX];
	const char *file; /**< Declaration, NULL if not known. */
	uint32_t line;
};

/**
 * Get the variables of function @p function (index) that have a location at
 * file address @p pc. Variables of inlined calls that cover @p pc are
 * included; the innermost call is last.
 *
 * Decomposed variables `x.ptr`, `x.len` are left out if `x` itself is present.
 * The caller frees the array *@p ret with free(); the gr_dwarf owns the
 * strings.
 */
struct gr_error *gr_dwarf_locals(struct gr_dwarf *dwarf, uint32_t function,
				 uint64_t pc, struct gr_dwarf_local **ret,
				 size_t *count) GR_MUST_CHECK;

/**
 * The same with the variables in scope that have no location, because the
 * compiler optimised them away at @p pc. Answers are not kept.
 */
struct gr_error *gr_dwarf_all_locals(struct gr_dwarf *dwarf, uint32_t function,
				     uint64_t pc, struct gr_dwarf_local **ret,
				     size_t *count) GR_MUST_CHECK;

/** A variable captured by a closure: a field of the funcval object. */
struct gr_dwarf_capture {
	const char *name;   /**< Without a leading `&`. */
	uint64_t off_bytes; /**< In the funcval: 8 and more. */
	/** Type of the field: `*T` if captured by reference. */
	uint32_t type;
	/** True: the field points to the variable itself. */
	bool by_reference;
};

/**
 * Get the captures of the closure with body @p function. They are from
 * DW_AT_go_closure_offset: Go before 1.23 has none. The caller frees the
 * array with free().
 */
struct gr_error *gr_dwarf_captures(struct gr_dwarf *dwarf, uint32_t function,
				   struct gr_dwarf_capture **ret,
				   size_t *count) GR_MUST_CHECK;

/**
 * The type index of the first parameter of function @p function, or
 * GR_DWARF_NONE, also if the file is damaged there. Captures and receiver types
 * need it (`T.M-fm` wrappers name method T.M).
 */
struct gr_error *gr_dwarf_first_param_type(struct gr_dwarf *dwarf,
					   uint32_t function,
					   uint32_t *ret) GR_MUST_CHECK;

#endif /* GR_DWARF_H */
