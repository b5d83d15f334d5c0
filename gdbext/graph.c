// SPDX-License-Identifier: Apache-2.0
// The object graph: the row of a vertex, Scan.graph_phases(), Scan.gaps().
#include "gdbext.h"

static const struct gr_py_field vertex_fields[] = {
	GR_PY_FIELD(gr_vertex_info, vertex),
	GR_PY_FIELD(gr_vertex_info, kind),
	GR_PY_FIELD(gr_vertex_info, name),
	GR_PY_FIELD_AS(gr_vertex_info, type, gr_py_from_text_or_none),
	GR_PY_FIELD_AS(gr_vertex_info, addr, gr_py_from_addr_or_none),
	GR_PY_FIELD(gr_vertex_info, bytes),
	GR_PY_FIELD(gr_vertex_info, retained_bytes),
	GR_PY_FIELD_AS(gr_vertex_info, goroutine_id, gr_py_from_u64_or_none),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_vertex_row = { "Vertex", vertex_fields, NULL };

static const struct gr_py_field phases_fields[] = {
#define X(phase) GR_PY_FIELD_AS(gr_graph_phases, phase##_us, gr_py_from_u64),
	GR_GRAPH_PHASES(X)
#undef X
		{ NULL, 0, NULL },
};

struct gr_py_row gr_py_graph_phases_row = { "GraphPhases", phases_fields,
					    NULL };

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
	return gr_py_from_gaps(gr_scan_gaps(self->scan));
}
