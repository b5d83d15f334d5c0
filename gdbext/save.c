// SPDX-License-Identifier: Apache-2.0
// Scan.save().
#include "gdbext/gdbext.h"

#include "proto/output.h"
#include "save/save.h"

static struct gr_error *write_to(void *ctx, const void *data, size_t bytes)
{
	return gr_output_write(ctx, data, bytes);
}

static struct gr_error *save(struct gr_scan *scan, const char *path,
			     struct gr_save_options *options)
{
	_cleanup_(gr_output_deinit) struct gr_output out = { .fd = -1 };
	struct gr_error *err = gr_output_init(
		&out, path,
		options->with_values ? GR_OUTPUT_PRIVATE : GR_OUTPUT_PLAIN);

	options->write = write_to;
	options->ctx = &out;
	if (!err)
		err = gr_scan_save(scan, options);
	return err ? err : gr_output_commit(&out);
}

PyObject *gr_py_scan_save(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_save_options options = { .stop = NULL };
	const char *path;
	int with_values = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "s|pzz:save", gr_py_scan_save_names, &path,
		    &with_values, &options.stop, &options.identity) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.with_values = with_values;
	struct gr_error *err = save(self->scan, path, &options);
	gr_py_scan_leave(self);
	return gr_py_none_or_raise(err);
}
