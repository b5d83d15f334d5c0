/* SPDX-License-Identifier: Apache-2.0 */
/**
 * gdbext: the extension module `_goref`. It unpacks arguments, calls one
 * function of the scanner or the profile writer, and wraps the answer in
 * rows. It has no logic and does not use gdb: what a source knows of the
 * target comes as arguments from python/goref.
 *
 * python/goref/_goref.pyi documents everything that Python sees.
 */
#ifndef GR_GDBEXT_H
#define GR_GDBEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "gdbext/convert.h"
#include "inferior/target.h"
#include "mark/options.h"
#include "profiles/site_table.h"
#include "proto/stamp.h"

struct gr_result;
struct gr_scan;

/** `_cleanup_py_ PyObject *object` drops the reference at the end of scope. */
static inline void gr_py_drop(PyObject **object)
{
	Py_XDECREF(*object);
}
#define _cleanup_py_ _cleanup_(gr_py_drop)

// ---------------------------------------------------------------- error.c

/**
 * Make the exceptions and add them to the module.
 *
 * @return 0, or -1 with an exception set.
 */
int gr_py_errors_init(PyObject *module);

/**
 * Raise the exception for an error and free the error. An exception that is
 * already set (a callback raised it) stays.
 *
 * @return NULL, for `return gr_py_raise(err);`
 */
PyObject *gr_py_raise(struct gr_error *err);

/** A value for `return`: None, or NULL after raising @p err. */
PyObject *gr_py_none_or_raise(struct gr_error *err);

/** _goref.ArgumentError, for arguments that only Python can get wrong. */
extern PyObject *gr_py_argument_error;

// ----------------------------------------------------------------- type.c

/**
 * Make a type and add it to the module.
 *
 * @param[out] ret a reference that is never given up, because a script may
 *	delete the name from the module.
 * @return 0, or -1 with an exception set.
 */
int gr_py_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject **ret);

/** Make an object of zeros; NULL with an exception set. */
PyObject *gr_py_type_alloc(PyTypeObject *type);

/** Free an object from gr_py_type_alloc(): the end of its Py_tp_dealloc. */
void gr_py_type_free(PyObject *obj);

// ---------------------------------------------------------------- stamp.c

/** The stamp of a profile, with what keeps its texts. */
struct gr_py_stamp {
	struct gr_profile_stamp stamp;
	struct gr_profile_tag *tags;
	PyObject *texts;
};

/**
 * Take a sequence of pairs (NULL: none) and a time. @p ret needs
 * gr_py_stamp_deinit() even after an error.
 *
 * @return false with an exception set.
 */
bool gr_py_stamp_parse(PyObject *labels, long long time_ns,
		       struct gr_py_stamp *ret);
void gr_py_stamp_deinit(struct gr_py_stamp *stamp);

// ------------------------------------------------------------------ row.c

/** One field of a row. */
struct gr_py_field {
	const char *name;
	size_t offset; /**< Offset of the converted data in the C struct. */
	gr_py_convert_fn *convert;
};

/**
 * A type of rows: a C struct crosses to Python as a named tuple. _goref.pyi
 * declares each, and build-aux/make-rows.py makes its table of fields.
 */
struct gr_py_row {
	const char *name;
	const struct gr_py_field *fields; /**< The last one has no name. */
	PyTypeObject *type;		  /**< NULL until it is used. */
};

/** All types of rows; the last one is NULL. */
extern struct gr_py_row *const gr_py_all_rows[];

/** `__getattr__` and `__dir__` of the module, which have the types of rows. Each
 * type is made when it is first used. */
PyObject *gr_py_rows_getattr(PyObject *module, PyObject *name);
PyObject *gr_py_rows_dir(PyObject *module, PyObject *unused);

/** Make a row from the struct at @p value; NULL with an exception set. */
PyObject *gr_py_row_new(struct gr_py_row *row, const void *value);

/** Make rows from the @p count structs at @p values, @p stride bytes apart. */
PyObject *gr_py_row_tuple(struct gr_py_row *row, const void *values,
			  size_t stride, size_t count);
PyObject *gr_py_row_list(struct gr_py_row *row, const void *values,
			 size_t stride, size_t count);

// ------------------------------------------------------------ lazy_rows.c

struct gr_py_scan;

/** Destroy an answer of the scanner. */
typedef void gr_py_destroy_fn(void *answer);

/** Make the type Rows and add it to the module. @return 0, or -1. */
int gr_py_rows_type_init(PyObject *module);

/**
 * Make an object that keeps an answer and its scan. @p answer belongs to it,
 * even if this fails.
 *
 * @return a new reference, or NULL with an exception set.
 */
PyObject *gr_py_owner_new(struct gr_py_scan *scan, void *answer,
			  gr_py_destroy_fn *destroy);

/**
 * Make a sequence of the @p count structs at @p values, @p stride bytes apart,
 * which belong to what @p owner keeps. Each row is made when it is asked for.
 */
PyObject *gr_py_rows_new(PyObject *owner, struct gr_py_row *row,
			 const void *values, size_t stride, size_t count);

// --------------------------------------------------------------- target.c

/** A gr_target and all memory that it points to. */
struct gr_py_target {
	struct gr_target target;
	char *core_path;
	char *saved_path;
	struct gr_target_module *modules;
	struct gr_target_thread *threads;
};

/**
 * Fill in a target from Python's description of it.
 *
 * @param modules sequence of (path, debug path or None, bias or None), and the
 *	name in answers if that is not the path
 * @param threads sequence of (lwp, registers as of read_registers()), or a
 *	Process that is held
 * @return 0, or -1 with an exception set.
 */
int gr_py_target_init(struct gr_py_target *t, const char *kind,
		      const char *core_path, int pid, const char *saved_path,
		      PyObject *modules, PyObject *threads);
void gr_py_target_deinit(struct gr_py_target *t);

/**
 * Make an array, for free(), from a sequence of threads as above.
 *
 * @return 0, or -1 with an exception set.
 */
int gr_py_threads(PyObject *threads, struct gr_target_thread **ret,
		  size_t *count);

// -------------------------------------------------------------- process.c

/** Make the type Process and add it to the module. @return 0, or -1. */
int gr_py_process_init(PyObject *module);

/**
 * The threads of a Process that is held, as an array for free().
 *
 * @return 1; 0 if @p obj is no Process; or -1 with an exception set.
 */
int gr_py_process_threads(PyObject *obj, struct gr_target_thread **ret,
			  size_t *count);

// ----------------------------------------------------------------- scan.c

/** One opened target. */
struct gr_py_scan {
	PyObject_HEAD struct gr_scan *scan;
	struct gr_py_target target;
	PyObject *read;	    /**< Callable (address, length) -> buffer. */
	PyObject *progress; /**< Callable () or NULL. */
	uint64_t polled_ns; /**< Time of the last check for Ctrl-C. */
	bool is_busy;	    /**< A call runs; callbacks must not start one. */
	bool is_prepared;   /**< Prepared, not finished: no questions yet. */
};

/** The type Scan, for arguments. */
extern PyTypeObject *gr_py_scan_type;

/** Make the types. @return 0, or -1 with an exception set. */
int gr_py_scan_init(PyObject *module);
int gr_py_result_init(PyObject *module);
int gr_py_view_init(PyObject *module);
int gr_py_maps_init(PyObject *module);

/** Claim the scanner for one call; false with an exception set if busy. */
bool gr_py_scan_enter(struct gr_py_scan *self);
void gr_py_scan_leave(struct gr_py_scan *self);
/** The same for the calls between prepare and finish. */
bool gr_py_scan_enter_prepared(struct gr_py_scan *self);

// ---------------------------------------------------------- growth_type.c

/** Make the type Growth and add it to the module. @return 0, or -1. */
int gr_py_growth_init(PyObject *module);

// ------------------------------------------------------------ callbacks.c

/** Set gr_py_scan.read or .progress; None is NULL. */
void gr_py_set_callable(PyObject **where, PyObject *value);

/**
 * The gr_target_ops of a scan, which is the context. The first calls Python's
 * read callback; the second checks for Ctrl-C and calls the progress callback.
 */
struct gr_error *gr_py_scan_read_target(void *ctx, uint64_t addr, void *buf,
					size_t bytes);
struct gr_error *gr_py_scan_poll(void *ctx);

/** The error for an exception that is set; gr_py_raise() keeps that one. */
struct gr_error *gr_py_interrupted(void);

/** Write a piece of text: @p ctx is a callable of Python, which gets a str. */
struct gr_error *gr_py_write_to_callable(void *ctx, const char *text,
					 size_t bytes);

/** Write a piece of text: @p ctx is a struct gr_output. */
struct gr_error *gr_py_write_to_output(void *ctx, const char *text,
				       size_t bytes);

// ---------------------------------------------------------------- methods

/** A method whose arguments may be given by name. */
typedef PyObject *gr_py_method_fn(PyObject *self, PyObject *args,
				  PyObject *kwargs);

/** A method without arguments, or with one that has no name. */
typedef PyObject *gr_py_getter_fn(PyObject *self, PyObject *unused);

/** Parse an argument of several methods. False with an exception set. */
bool gr_py_parse_attribution(const char *text, enum gr_attribution *ret);
bool gr_py_parse_weight(const char *text, enum gr_weight *ret);

/** Read a place from its tuple; false with an exception set. Its name belongs to
 * the scan. */
bool gr_py_parse_place(struct gr_scan *scan, PyObject *item,
		       struct gr_place *ret);

/**
 * Make an array, for free(), of the places in a sequence. Their names belong to
 * the scan.
 *
 * @return NULL with an exception set.
 */
struct gr_place *gr_py_parse_places(struct gr_scan *scan, PyObject *sequence,
				    size_t *count);

/** Wrap a result and take ownership of it. The wrapper keeps the scan alive. */
PyObject *gr_py_result_new(struct gr_py_scan *scan, struct gr_result *result);

/** A sample of a profile of goroutines, with the stacks that its own is of. */
struct gr_py_sample {
	const struct gr_stacks *stacks;
	uint32_t stack;
	uint64_t goroutines, stack_space;
};

/** A row of a table of sites, with the stacks that its own is one of. */
struct gr_py_site {
	const struct gr_stacks *stacks;
	struct gr_site_row row;
};

/** The calls of a stack as a tuple of rows, the innermost first
 * (runtime_profiles.c). */
PyObject *gr_py_frames(const struct gr_stacks *stacks, uint32_t stack);

/** Result.write_profile(). */
PyObject *gr_py_write_profile(struct gr_py_scan *scan,
			      const struct gr_result *result, PyObject *args,
			      PyObject *kwargs);

// The rows, the methods with the names of their arguments, and the tables of
// methods: all that _goref.pyi declares.
#include "gdbext/declared.h"

#endif /* GR_GDBEXT_H */
