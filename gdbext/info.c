// SPDX-License-Identifier: Apache-2.0
// Rows: information about the opened target.
#include "gdbext/gdbext.h"

#include "scan/open.h"

PyObject *gr_py_scan_info(PyObject *obj, PyObject *unused)
{
	const struct gr_py_scan *self = (struct gr_py_scan *)obj;

	(void)unused;
	return gr_py_row_new(&gr_py_info_row, gr_scan_info(self->scan));
}

PyObject *gr_py_scan_layout(PyObject *obj, PyObject *unused)
{
	const struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ char *text = gr_scan_layout_text(self->scan);

	(void)unused;
	return text ? gr_py_string(text) : PyErr_NoMemory();
}
