// SPDX-License-Identifier: Apache-2.0
// Errors cross from C to Python only in this file.
#include "gdbext/gdbext.h"

// Errors with an exception of their own: code, class, its documentation.
#define EXCEPTIONS(X)                                                        \
	X(GR_ERROR_FAULT, FaultError, "Target memory is not there.")         \
	X(GR_ERROR_IO, FileError, "A file of the host failed.")              \
	X(GR_ERROR_FORMAT, FormatError, "A file is not what it should be.")  \
	X(GR_ERROR_ARCH, ArchitectureError, "Not an architecture we read.")  \
	X(GR_ERROR_NOT_GO, NotGoError, "The target is no Go program.")       \
	X(GR_ERROR_NO_DWARF, NoDwarfError, "No debug information.")          \
	X(GR_ERROR_LAYOUT, LayoutError, "The runtime lacks what we need.")   \
	X(GR_ERROR_UNSETTLED, UnsettledError, "The process runs on.")        \
	X(GR_ERROR_MISMATCH, MismatchError, "Executable is not the core's.") \
	X(GR_ERROR_ARGUMENT, ArgumentError, "The argument makes no sense.")  \
	X(GR_ERROR_NOT_FOUND, NotFoundError, "The name does not exist.")     \
	X(GR_ERROR_LIMIT, LimitError, "More than we can number.")            \
	X(GR_ERROR_MEMORY_LIMIT, MemoryLimitError, "More than it may take.") \
	X(GR_ERROR_NOT_SAVED, NoMemoryError, "The saved file lacks it.")     \
	X(GR_ERROR_PROCESS, ProcessError, "It cannot be stopped.")

// References borrowed from the module, which lives as long as the process.
#define X(code, name, doc) static PyObject *exception_##name;
EXCEPTIONS(X)
#undef X
static PyObject *base_error;
PyObject *gr_py_argument_error;

static int add_exception(PyObject *module, const char *name, const char *doc,
			 PyObject *base, PyObject **ret)
{
	char full[64];

	snprintf(full, sizeof(full), "_goref.%s", name);
	*ret = PyErr_NewExceptionWithDoc(full, doc, base, NULL);
	return *ret ? PyModule_AddObjectRef(module, name, *ret) : -1;
}

/* The class goref.errors.Error, from which all errors of goref derive. NULL
 * without an exception: the module was loaded without the package. */
static PyObject *package_error(void)
{
	PyObject *errors = PyImport_ImportModule("goref.errors");
	PyObject *ret = errors ? PyObject_GetAttrString(errors, "Error") : NULL;

	Py_XDECREF(errors);
	if (!ret)
		PyErr_Clear();
	return ret;
}

int gr_py_errors_init(PyObject *module)
{
	PyObject *base = package_error();
	int rc = add_exception(module, "Error", "What the scanner cannot do.",
			       base, &base_error);

	Py_XDECREF(base);
	if (rc)
		return -1;
#define X(code, name, doc)                                                    \
	if (add_exception(module, #name, doc, base_error, &exception_##name)) \
		return -1;
	EXCEPTIONS(X)
#undef X
	gr_py_argument_error = exception_ArgumentError;
	return 0;
}

static PyObject *exception_of(enum gr_error_code code)
{
	switch (code) {
	case GR_ERROR_NO_MEMORY:
		return PyExc_MemoryError;
	case GR_ERROR_INTERRUPTED:
		return PyExc_KeyboardInterrupt;
#define X(code, name, doc) \
	case code:         \
		return exception_##name;
		EXCEPTIONS(X)
#undef X
	}
	return base_error;
}

PyObject *gr_py_raise(struct gr_error *err)
{
	if (!PyErr_Occurred()) {
		PyObject *text = gr_py_string(err->message);

		if (text)
			PyErr_SetObject(exception_of(err->code), text);
		Py_XDECREF(text);
	}
	gr_error_destroy(err);
	return NULL;
}

PyObject *gr_py_none_or_raise(struct gr_error *err)
{
	if (err)
		return gr_py_raise(err);
	// An estimate may fail without an error; it may have been interrupted.
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}
