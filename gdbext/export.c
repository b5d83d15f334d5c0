// SPDX-License-Identifier: Apache-2.0
// Scan.export(): the object graph as a file for other tools.
#include "gdbext/gdbext.h"

#include "export/export.h"
#include "proto/output.h"

static struct gr_error *write_to_file(void *ctx, const void *data, size_t bytes)
{
	return gr_output_write(ctx, data, bytes);
}

static struct gr_error *export_to(struct gr_scan *scan,
				  enum gr_export_format format,
				  const char *path, struct gr_exported *ret)
{
	_cleanup_(gr_output_deinit) struct gr_output output = { .fd = -1 };
	const struct gr_export_sink sink = { write_to_file, &output };
	struct gr_error *err = gr_output_init(&output, path, GR_OUTPUT_PLAIN);

	if (!err)
		err = gr_scan_export(scan, format, &sink, ret);
	return err ? err : gr_output_commit(&output);
}

static bool parse_format(const char *text, enum gr_export_format *ret)
{
	for (int i = 0; i < GR_NEXPORT_FORMATS; i++) {
		if (strcmp(text, gr_export_format_name(i)))
			continue;
		*ret = i;
		return true;
	}
	PyErr_Format(gr_py_argument_error, "no format of objects: %s", text);
	return false;
}

PyObject *gr_py_scan_export(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	enum gr_export_format format;
	struct gr_exported exported;
	const char *path, *text;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss:export",
					 gr_py_scan_export_names, &path,
					 &text) ||
	    !parse_format(text, &format) || !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = export_to(self->scan, format, path, &exported);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_exported_row, &exported);
}
