// SPDX-License-Identifier: Apache-2.0
// Scan.holders(), and its rows.
#include "gdbext/gdbext.h"

#include "retention/holders.h"

GR_DEFINE_CLEANUP(holders, struct gr_holders, gr_holders_destroy)

PyObject *gr_py_scan_holders(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_holders) struct gr_holders *holders = NULL;
	struct gr_holders_options options = { 0 };
	int all_roots = 0, exclude_weak = 0;
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII|pp:holders",
					 gr_py_scan_holders_names, &addr,
					 &options.max_paths, &options.max_roots,
					 &all_roots, &exclude_weak) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.all_roots = all_roots;
	options.exclude_weak = exclude_weak;
	struct gr_error *err =
		gr_scan_holders(self->scan, addr, &options, &holders);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_holders_row, holders);
}
