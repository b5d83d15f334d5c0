/* SPDX-License-Identifier: Apache-2.0 */
/**
 * dwarf: the debug information of one ELF file as compact tables.
 *
 * The only room that knows libdwarf. One walk over all DIEs fills types,
 * package variables, functions and constants; the variables of one function
 * are decoded when a frame asks for them. Addresses are those of the file (no
 * load bias). Strings and tables belong to the gr_dwarf and live as long.
 */
#ifndef GR_DWARF_H
#define GR_DWARF_H

#include "base/base.h"
#include "base/error.h"

struct gr_dwarf;

#define GR_DWARF_NONE UINT32_MAX

/** Go's reflect.Kind numbers, as DW_AT_go_kind gives them. */
enum gr_go_kind {
	GR_KIND_INVALID = 0,
	GR_KIND_BOOL = 1,
	GR_KIND_INT = 2,
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
 * basic types) are resolved: an entry has the outermost name, the kind, and
 * the structure of what it names.
 */
struct gr_dwarf_type {
	const char *name; /**< As DWARF writes it: `*main.Node`. Never NULL. */
	uint64_t die_off; /**< Offset in .debug_info. */
	uint64_t size_bytes; /**< 8 for pointers, maps, chans and funcs. */
	/** DW_AT_go_runtime_type: offset from moduledata.types; 0 = none. */
	uint64_t runtime_type;
	uint8_t kind; /**< enum gr_go_kind; C types get the nearest. */
	bool is_interface_with_methods; /**< iface (itab word), not eface. */
	/** DW_AT_go_dict_index + 1 of a shape type in a generic function. */
	uint16_t dict_index;
	/** Pointee, element of array, slice, chan; value of map. Type index. */
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
};

/**
 * Read the debug information of @p path, or of @p debug_path if not NULL.
 *
 * GR_ERROR_NO_DWARF when the file has none; GR_ERROR_FORMAT when it is
 * damaged; GR_ERROR_INTERRUPTED when @p poll says so (may be NULL).
 */
struct gr_error *gr_dwarf_open(const char *path, const char *debug_path,
			       struct gr_error *(*poll)(void *ctx), void *ctx,
			       struct gr_dwarf **ret) GR_MUST_CHECK;
void gr_dwarf_destroy(struct gr_dwarf *dwarf);

/**
 * gr_dwarf_open(), but from the cache where that has the tables of this very
 * file (build id, size and time of change). The cache is a folder of files
 * below the user's cache folder, one a build id; whatever goes wrong with it
 * is as if there were none. @p build_id is text without control characters;
 * NULL or "": no cache.
 */
struct gr_error *gr_dwarf_open_cached(const char *path, const char *debug_path,
				      const char *build_id,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx,
				      struct gr_dwarf **ret) GR_MUST_CHECK;
/** Bring what was learnt since the opening into the cache. */
void gr_dwarf_save(struct gr_dwarf *dwarf);

/**
 * Is the libdwarf that is loaded the one that this was built for, and are its
 * functions ours? GR_ERROR_ARGUMENT if not. gr_dwarf_open() asks this, too.
 */
struct gr_error *gr_dwarf_check_library(void) GR_MUST_CHECK;

/** Tables; indexes are dense from 0. Variables are sorted by address,
 * functions by low. */
const struct gr_dwarf_type *gr_dwarf_types(const struct gr_dwarf *dwarf,
					   size_t *count);
const struct gr_dwarf_field *gr_dwarf_fields(const struct gr_dwarf *dwarf);
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
/** Index of the function that holds @p pc, or GR_DWARF_NONE. */
uint32_t gr_dwarf_function_at(const struct gr_dwarf *dwarf, uint64_t pc);

/** Where a part of a variable lies. */
enum gr_location_kind {
	GR_LOCATION_NONE,	/**< Optimised out (an empty piece). */
	GR_LOCATION_CFA,	/**< At CFA + offset. */
	GR_LOCATION_REGISTER,	/**< In DWARF register `reg`. */
	GR_LOCATION_REG_OFFSET, /**< At register `reg` + offset. */
	GR_LOCATION_ADDRESS,	/**< At a fixed file address. */
	GR_LOCATION_UNKNOWN,	/**< An expression that we do not follow. */
};

/** One piece of a variable: [off_bytes, off_bytes + size_bytes) of it. */
struct gr_location_piece {
	enum gr_location_kind kind;
	uint32_t off_bytes;  /**< Inside the variable. */
	uint32_t size_bytes; /**< 0: to the end of the variable. */
	uint16_t reg;
	int64_t offset; /**< From the CFA or the register; or address. */
};

/** Pieces that one variable may have; Go's registers hold about nine words. */
#define GR_DWARF_PIECES_MAX 16

/** A parameter or local that has a location at the asked pc. */
struct gr_dwarf_local {
	/** `x`; captured by reference has `&x`. */
	const char *name;
	/**
	 * The function to print before the dot: of an inlined body its own
	 * name, else the concrete function's.
	 */
	const char *function;
	uint32_t type;
	bool is_param;
	/** DW_AT_go_closure_offset, or 0: it lives in the closure object. */
	uint32_t closure_off;
	uint32_t npieces;
	/** In order of off_bytes, inside the type where its size is known. */
	struct gr_location_piece pieces[GR_DWARF_PIECES_MAX];
	const char *file; /**< Declaration, NULL if not known. */
	uint32_t line;
};

/**
 * The variables of function @p function (index) that have a location at file
 * address @p pc, inlined calls covering pc included (innermost last).
 *
 * Decomposed `x.ptr`, `x.len` variables are left out where `x` itself is
 * there. *@p ret is an array for free(); the strings belong to the gr_dwarf.
 */
struct gr_error *gr_dwarf_locals(struct gr_dwarf *dwarf, uint32_t function,
				 uint64_t pc, struct gr_dwarf_local **ret,
				 size_t *count) GR_MUST_CHECK;

/** A variable captured by a closure: a field of the funcval object. */
struct gr_dwarf_capture {
	const char *name;   /**< Without a leading `&`. */
	uint64_t off_bytes; /**< In the funcval: 8 and more. */
	/** Type of what is there: `*T` if captured by reference. */
	uint32_t type;
	/** True: the pointer there points to the variable itself. */
	bool by_reference;
};

/**
 * What the closure with body @p function captures (DW_AT_go_closure_offset,
 * Go 1.23 and later; none before). Array for free().
 */
struct gr_error *gr_dwarf_captures(struct gr_dwarf *dwarf, uint32_t function,
				   struct gr_dwarf_capture **ret,
				   size_t *count) GR_MUST_CHECK;

/**
 * Captures and receiver type need the first parameter's type of a function
 * (`T.M-fm` wrappers name method T.M): type index of parameter 0 of function
 * @p function, or GR_DWARF_NONE.
 */
uint32_t gr_dwarf_first_param_type(struct gr_dwarf *dwarf, uint32_t function);

/** Compile unit producer (`Go cmd/compile go1.27.4; regabi`), or NULL. */
const char *gr_dwarf_producer(const struct gr_dwarf *dwarf);

#endif /* GR_DWARF_H */
