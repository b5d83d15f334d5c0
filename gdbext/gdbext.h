/* SPDX-License-Identifier: Apache-2.0 */
/**
 * gdbext: the extension module `_goref`. It unpacks arguments, calls one
 * function of the scanner or the profile writer, and wraps what comes back.
 * No logic, no gdb: what gdb knows comes as arguments from python/goref.
 *
 * Names and meaning of everything that Python sees: python/goref/_goref.pyi.
 */
#ifndef GR_GDBEXT_H
#define GR_GDBEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "scanner.h"

#include <time.h>

// ---------------------------------------------------------------- error.c

/** Make the exceptions and add them to the module; 0, or -1 with one set. */
int gr_py_errors_init(PyObject *module);

/**
 * Raise what an error says and free the error. An exception that is already
 * set (a callback raised it) stays.
 *
 * @return NULL, for `return gr_py_raise(err);`
 */
PyObject *gr_py_raise(struct gr_error *err);

/** _goref.ArgumentError, for arguments that only Python can get wrong. */
extern PyObject *gr_py_argument_error;

// --------------------------------------------------------------- target.c

/** A gr_target with all that it points at. */
struct gr_py_target {
	struct gr_target target;
	char *core_path;
	struct gr_target_module *modules;
	struct gr_target_thread *threads;
};

/**
 * Fill in a target from Python's description of it.
 *
 * @param modules sequence of (path, debug path or None, bias or None)
 * @param threads sequence of (lwp, registers as of read_registers())
 * @return 0, or -1 with an exception set.
 */
int gr_py_target_init(struct gr_py_target *t, const char *kind,
		      const char *core_path, int pid, PyObject *modules,
		      PyObject *threads);
void gr_py_target_deinit(struct gr_py_target *t);

/** An array for free() of a sequence as above; -1 with an exception set. */
int gr_py_threads(PyObject *threads, struct gr_target_thread **ret,
		  size_t *count);

// ------------------------------------------------------------ registers.c

/** read_registers(tid): see _goref.pyi. */
PyObject *gr_py_read_registers(PyObject *module, PyObject *args);

// ----------------------------------------------------------------- scan.c

/** One opened target. */
struct gr_py_scan {
	PyObject_HEAD struct gr_scan *scan;
	struct gr_py_target target;
	PyObject *read;		   /**< Callable (address, length) -> buffer. */
	PyObject *progress;	   /**< Callable () or NULL. */
	uint64_t polled_ns;	   /**< When poll last looked for Ctrl-C. */
	bool is_busy;		   /**< A callback must not come back in. */
	bool use_cache;		   /**< As in gr_target. */
	unsigned int copy_threads; /**< As in gr_target. */
	bool is_prepared;	   /**< And not captured: no questions yet. */
	char **names;		   /**< Of places: live as long as the scan. */
	size_t nnames;
};

/** The types; 0, or -1 with an exception set. */
int gr_py_scan_init(PyObject *module);
int gr_py_result_init(PyObject *module);

/** Claim the scanner for one call: false with an exception set if taken. */
bool gr_py_scan_enter(struct gr_py_scan *self);
void gr_py_scan_leave(struct gr_py_scan *self);
/** The same for what comes between prepare and finish. */
bool gr_py_scan_enter_prepared(struct gr_py_scan *self);

/** gr_target_ops.poll for a scan: Ctrl-C, and the progress callback. */
struct gr_error *gr_py_scan_poll(void *ctx);

// ----------------------------------------------------------------- live.c

/** Methods of Scan: see _goref.pyi. */
PyObject *gr_py_scan_estimate(PyObject *obj, PyObject *unused);
PyObject *gr_py_scan_reserve(PyObject *obj, PyObject *unused);
PyObject *gr_py_scan_capture(PyObject *obj, PyObject *args);
PyObject *gr_py_scan_finish(PyObject *obj, PyObject *unused);

// --------------------------------------------------------------- result.c

/** Wrap a result, taking it over; it keeps its scan alive. */
PyObject *gr_py_result_new(struct gr_py_scan *scan, struct gr_result *result);

// -------------------------------------------------------------- convert.c

/** A str of a C string that need not be UTF-8; None for NULL. */
PyObject *gr_py_string(const char *text);
/** The same, None also for "". */
PyObject *gr_py_string_or_none(const char *text);

/** Append a new reference to a list, taking it over; NULL is an error. */
bool gr_py_list_append(PyObject *list, PyObject *value);

/** Put a new reference into a dict, taking it over; NULL is an error. */
bool gr_py_dict_set(PyObject *dict, const char *key, PyObject *value);

PyObject *gr_py_total(const struct gr_total *total);
PyObject *gr_py_ledger(const struct gr_ledger *ledger);
PyObject *gr_py_info(const struct gr_scan_info *info);
PyObject *gr_py_why(const struct gr_why *why);
PyObject *gr_py_verdict(const struct gr_verdict *verdict);

#endif /* GR_GDBEXT_H */
