/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Conversions of single values from C to Python (convert.c), and the selectors
 * by which a table of fields chooses one. A selector stands for a type in
 * _goref.pyi; a field of a C type that it does not list does not compile.
 */
#ifndef GR_CONVERT_H
#define GR_CONVERT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/base.h"

/** Make a str from a C string, which need not be UTF-8; None for NULL. */
PyObject *gr_py_string(const char *text);

/**
 * Convert a field of a C struct to a Python object. @p value points to the
 * field.
 *
 * @return a new reference, or NULL with an exception set.
 */
typedef PyObject *gr_py_convert_fn(const void *value);

gr_py_convert_fn gr_py_from_bool;
gr_py_convert_fn gr_py_from_u8;
gr_py_convert_fn gr_py_from_i32;
gr_py_convert_fn gr_py_from_u32;
gr_py_convert_fn gr_py_from_i64;
gr_py_convert_fn gr_py_from_u64;
gr_py_convert_fn gr_py_from_i32_or_none; /**< 0: None. */
gr_py_convert_fn gr_py_from_u64_or_none; /**< 0: None. */
gr_py_convert_fn gr_py_from_known_i64;	 /**< INT64_MIN: None. */
gr_py_convert_fn gr_py_from_known_u64;	 /**< UINT64_MAX: None. */
gr_py_convert_fn gr_py_from_number_i32;	 /**< Below 0: None. */
gr_py_convert_fn gr_py_from_number_i64;	 /**< Below 0: None. */
gr_py_convert_fn gr_py_from_type_id;	 /**< UINT32_MAX: None. */
gr_py_convert_fn gr_py_from_addr; /**< uint64_t; repr() shows it in hex. */
gr_py_convert_fn gr_py_from_addr_or_none; /**< The same, 0: None. */
gr_py_convert_fn gr_py_from_char;	  /**< A text of one character. */
gr_py_convert_fn gr_py_from_text;	  /**< NULL: None. */
gr_py_convert_fn gr_py_from_text_or_none; /**< NULL and "": None. */
gr_py_convert_fn gr_py_from_path;	 /**< The name of a file; NULL: None. */
gr_py_convert_fn gr_py_from_root_kind;	 /**< The name of the kind. */
gr_py_convert_fn gr_py_from_target_kind; /**< As gr_py_target_init() takes it. */

/** Make bytes; None for NULL. */
PyObject *gr_py_bytes(const void *data, uint64_t count);

/** Make a tuple of the @p count values at @p values, @p stride bytes apart. */
PyObject *gr_py_tuple(const void *values, size_t stride, size_t count,
		      gr_py_convert_fn *convert);

/** Make a tuple of the texts of an array that ends with NULL. */
PyObject *gr_py_texts(const char *const *texts);

// clang-format off
#define GR_PY_BOOL(value) _Generic((value), bool: gr_py_from_bool)
#define GR_PY_INT(value)                 \
	_Generic((value),                \
		uint8_t: gr_py_from_u8,  \
		int32_t: gr_py_from_i32, \
		uint32_t: gr_py_from_u32, \
		int64_t: gr_py_from_i64, \
		uint64_t: gr_py_from_u64)
#define GR_PY_INT_OR_NONE(value)                 \
	_Generic((value),                        \
		int32_t: gr_py_from_i32_or_none, \
		uint64_t: gr_py_from_u64_or_none)
#define GR_PY_KNOWN(value)                     \
	_Generic((value),                      \
		int64_t: gr_py_from_known_i64, \
		uint64_t: gr_py_from_known_u64)
#define GR_PY_NUMBER(value)                     \
	_Generic((value),                       \
		int32_t: gr_py_from_number_i32, \
		int64_t: gr_py_from_number_i64)
#define GR_PY_TYPE_ID(value) _Generic((value), uint32_t: gr_py_from_type_id)
#define GR_PY_ADDR(value) _Generic((value), uint64_t: gr_py_from_addr)
#define GR_PY_ADDR_OR_NONE(value) \
	_Generic((value), uint64_t: gr_py_from_addr_or_none)
#define GR_PY_STR(value)                       \
	_Generic((value),                      \
		char: gr_py_from_char,         \
		char *: gr_py_from_text,       \
		const char *: gr_py_from_text)
#define GR_PY_STR_OR_NONE(value)                       \
	_Generic((value),                              \
		char *: gr_py_from_text_or_none,       \
		const char *: gr_py_from_text_or_none)
#define GR_PY_PATH(value)                      \
	_Generic((value),                      \
		char *: gr_py_from_path,       \
		const char *: gr_py_from_path)
#define GR_PY_ROOT_KIND(value) \
	_Generic((value), enum gr_root_kind: gr_py_from_root_kind)
#define GR_PY_TARGET_KIND(value) \
	_Generic((value), enum gr_target_kind: gr_py_from_target_kind)
// clang-format on

#endif /* GR_CONVERT_H */
