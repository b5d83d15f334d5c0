// SPDX-License-Identifier: Apache-2.0
// The object graph: the row of a vertex, Scan.graph_phases(), Scan.gaps().
#include "gdbext/gdbext.h"

#include "scan/graph.h"

PyObject *gr_py_scan_graph_phases(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;

	(void)unused;
	return gr_py_row_new(&gr_py_graph_phases_row,
			     gr_scan_graph_phases(self->scan));
}

PyObject *gr_py_scan_gaps(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;

	(void)unused;
	return gr_py_row_new(&gr_py_gaps_row, gr_scan_gaps(self->scan));
}
