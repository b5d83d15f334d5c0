// SPDX-License-Identifier: Apache-2.0
// Scan.sites() and Scan.allocation(), and their rows.
#include "gdbext/gdbext.h"

#include "profiles/allocation.h"
#include "profiles/site_table.h"

GR_DEFINE_CLEANUP(allocation, struct gr_allocation, gr_allocation_destroy)
GR_DEFINE_CLEANUP(site_table, struct gr_site_table, gr_site_table_destroy)

PyObject *gr_py_site_stack(const void *value)
{
	const struct gr_py_site *site = value;

	return gr_py_frames(site->stacks, site->row.stack);
}

PyObject *gr_py_site_rows(const void *value)
{
	const struct gr_site_table *table = value;
	size_t count = table->rows.size;
	_cleanup_free_ struct gr_py_site *sites =
		calloc(count + 1, sizeof(*sites));

	if (!sites)
		return PyErr_NoMemory();
	for (size_t i = 0; i < count; i++)
		sites[i] = (struct gr_py_site){ &table->sites.stacks,
						table->rows.data[i] };
	return gr_py_row_tuple(&gr_py_site_row, sites, sizeof(*sites), count);
}

PyObject *gr_py_scan_sites(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_site_table) struct gr_site_table *table = NULL;
	int with_root = 0, is_garbage = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:sites",
					 gr_py_scan_sites_names, &with_root,
					 &is_garbage) ||
	    !gr_py_scan_enter(self))
		return NULL;
	const struct gr_site_options options = { .with_root = with_root,
						 .is_garbage = is_garbage };
	struct gr_error *err = gr_scan_site_table(self->scan, &options, &table);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_site_table_row, table);
}

PyObject *gr_py_allocation_stack(const void *value)
{
	const struct gr_allocation *allocation = value;

	return gr_py_frames(&allocation->stacks, allocation->stack);
}

PyObject *gr_py_scan_allocation(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_allocation) struct gr_allocation *found = NULL;
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K:allocation",
					 gr_py_scan_allocation_names, &addr) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_allocation(self->scan, addr, &found);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_allocation_row, found);
}
