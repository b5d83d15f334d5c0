// SPDX-License-Identifier: Apache-2.0
// Scan.waste(), and its rows.
#include "gdbext/gdbext.h"

#include "waste/waste.h"

GR_DEFINE_CLEANUP(waste, struct gr_waste, gr_waste_destroy)

static bool parse_check(PyObject *item, uint32_t *checks)
{
	const char *text = PyUnicode_AsUTF8AndSize(item, NULL);

	for (int i = 0; text && i < GR_NWASTE_CHECKS; i++) {
		if (strcmp(text, gr_waste_check_name(i)))
			continue;
		*checks |= 1U << i;
		return true;
	}
	if (!text && PyErr_ExceptionMatches(PyExc_MemoryError))
		return false;
	// An item that is not a string, or not valid UTF-8, is not the name of a
	// check either.
	PyErr_Clear();
	PyErr_Format(gr_py_argument_error, "no check of waste: %R", item);
	return false;
}

// The bits of the checks in a tuple of names; all of them without one.
static bool parse_checks(PyObject *names, uint32_t *ret)
{
	Py_ssize_t n;

	if (names != Py_None && !PyTuple_Check(names)) {
		PyErr_SetString(gr_py_argument_error,
				"the checks of waste are a tuple of names");
		return false;
	}
	n = names == Py_None ? 0 : PyTuple_Size(names);
	*ret = names == Py_None ? GR_WASTE_ALL : 0;
	for (Py_ssize_t i = 0; i < n; i++)
		if (!parse_check(PyTuple_GetItem(names, i), ret))
			return false;
	return n >= 0;
}

static bool parse_share(long long min_share, uint32_t *ret)
{
	if (min_share < 0 || min_share > GR_WASTE_WHOLE) {
		PyErr_Format(gr_py_argument_error,
			     "min_share is 0 to %d millionths: %lld",
			     GR_WASTE_WHOLE, min_share);
		return false;
	}
	*ret = (uint32_t)min_share;
	return true;
}

PyObject *gr_py_scan_waste(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_waste) struct gr_waste *waste = NULL;
	struct gr_waste_options options = { .min_share = 0 };
	PyObject *names = Py_None;
	long long min_share = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OL:waste",
					 gr_py_scan_waste_names, &names,
					 &min_share) ||
	    !parse_checks(names, &options.checks) ||
	    !parse_share(min_share, &options.min_share) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_waste(self->scan, &options, &waste);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_waste_row, waste);
}
