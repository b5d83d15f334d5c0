// SPDX-License-Identifier: Apache-2.0
// Scan.list_objects(): a list with types goes to a file or to a callable.
#include "gdbext/gdbext.h"

#include "proto/output.h"
#include "retention/listing.h"

static struct gr_error *ask_callable(void *ctx, const char *type, bool *ret)
{
	_cleanup_py_ PyObject *text = gr_py_string(type);
	_cleanup_py_ PyObject *answer =
		text ? PyObject_CallFunctionObjArgs(ctx, text, NULL) : NULL;
	int truth = answer ? PyObject_IsTrue(answer) : -1;

	*ret = truth > 0;
	return truth < 0 ? gr_py_interrupted() : NULL;
}

static struct gr_error *list_in_file(struct gr_scan *scan,
				     const struct gr_listing_options *options,
				     const char *path, struct gr_listed *ret)
{
	_cleanup_(gr_output_deinit) struct gr_output output = { .fd = -1 };
	const struct gr_listing_sink sink = { gr_py_write_to_output, &output };
	struct gr_error *err = gr_output_init(&output, path, GR_OUTPUT_PLAIN);

	if (!err)
		err = gr_scan_list_objects(scan, options, &sink, ret);
	return err ? err : gr_output_commit(&output);
}

static bool parse_order(const char *text, enum gr_listing_order *ret)
{
	for (int i = 0; i < GR_NLISTING_ORDERS; i++) {
		if (strcmp(text, gr_listing_order_name(i)))
			continue;
		*ret = i;
		return true;
	}
	PyErr_Format(gr_py_argument_error, "no order of objects: %s", text);
	return false;
}

PyObject *gr_py_scan_list_objects(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	PyObject *where, *is_wanted = Py_None;
	struct gr_listing_options options = { .limit = 0 };
	unsigned long long min_bytes = 0, limit = 0;
	const char *order = "address", *path = NULL;
	struct gr_listed listed;
	int with_retained = 0, merged_types = 0, with_kind = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OKKsppp:list_objects",
					 gr_py_scan_list_objects_names, &where,
					 &is_wanted, &min_bytes, &limit, &order,
					 &with_retained, &merged_types,
					 &with_kind) ||
	    !parse_order(order, &options.order) ||
	    (!PyCallable_Check(where) &&
	     !PyArg_Parse(where, "s:list_objects", &path)) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.min_bytes = min_bytes;
	options.limit = limit;
	options.with_retained = with_retained;
	options.with_merged_types = merged_types;
	options.with_kind = with_kind;
	if (is_wanted != Py_None) {
		options.is_wanted = ask_callable;
		options.ctx = is_wanted;
	}
	const struct gr_listing_sink sink = { gr_py_write_to_callable, where };
	struct gr_error *err =
		path ? list_in_file(self->scan, &options, path, &listed) :
		       gr_scan_list_objects(self->scan, &options, &sink,
					    &listed);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_listed_row, &listed);
}
