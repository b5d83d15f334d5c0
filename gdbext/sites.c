// SPDX-License-Identifier: Apache-2.0
// Scan.sites() and Scan.allocation(), and their rows.
#include "gdbext.h"

GR_DEFINE_CLEANUP(allocation, struct gr_allocation, gr_allocation_destroy)
GR_DEFINE_CLEANUP(site_table, struct gr_site_table, gr_site_table_destroy)

// A row with the stacks that its own is one of.
struct site {
	const struct gr_stacks *stacks;
	struct gr_site_row row;
};

static PyObject *frames_of(const void *value)
{
	const struct site *site = value;

	return gr_py_frames(site->stacks, site->row.stack);
}

static const struct gr_py_field site_fields[] = {
	{ "key", offsetof(struct site, row.key), gr_py_from_text },
	GR_PY_FIELD_OF(stack, frames_of),
	{ "root", offsetof(struct site, row.root), gr_py_from_text },
	{ "root_kind", offsetof(struct site, row.root_kind), gr_py_from_text },
	{ "sampled", offsetof(struct site, row.sampled), gr_py_from_total },
	{ "total", offsetof(struct site, row.total), gr_py_from_total },
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_site_row = { "Site", site_fields, NULL };

static PyObject *rows_of(const void *value)
{
	const struct gr_site_table *table = value;
	size_t count = table->rows.size;
	_cleanup_free_ struct site *sites = calloc(count + 1, sizeof(*sites));

	if (!sites)
		return PyErr_NoMemory();
	for (size_t i = 0; i < count; i++)
		sites[i] = (struct site){ &table->sites.stacks,
					  table->rows.data[i] };
	return gr_py_row_tuple(&gr_py_site_row, sites, sizeof(*sites), count);
}

static PyObject *rate_of(const void *value)
{
	const struct gr_site_table *table = value;

	return PyLong_FromLongLong(table->sites.sampling.rate);
}

static const struct gr_py_field table_fields[] = {
	GR_PY_FIELD_OF(rows, rows_of),
	GR_PY_FIELD(gr_site_table, sampled),
	GR_PY_FIELD(gr_site_table, total),
	GR_PY_FIELD(gr_site_table, heap),
	GR_PY_FIELD_OF(rate, rate_of),
	{ "is_cut", offsetof(struct gr_site_table, sites.is_cut),
	  gr_py_from_bool },
	{ "is_disabled",
	  offsetof(struct gr_site_table, sites.sampling.is_disabled),
	  gr_py_from_bool },
	GR_PY_FIELD(gr_site_table, gaps),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_site_table_row = { "SiteTable", table_fields, NULL };

PyObject *gr_py_scan_sites(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "with_root", "garbage", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_site_table) struct gr_site_table *table = NULL;
	int with_root = 0, is_garbage = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:sites", names,
					 &with_root, &is_garbage) ||
	    !gr_py_scan_enter(self))
		return NULL;
	const struct gr_site_options options = { .with_root = with_root,
						 .is_garbage = is_garbage };
	struct gr_error *err = gr_scan_site_table(self->scan, &options, &table);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_site_table_row, table);
}

static PyObject *stack_of(const void *value)
{
	const struct gr_allocation *allocation = value;

	return gr_py_frames(&allocation->stacks, allocation->stack);
}

static const struct gr_py_field allocation_fields[] = {
	GR_PY_FIELD(gr_allocation, is_sampled),
	GR_PY_FIELD_OF(stack, stack_of),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_allocation_row = { "Allocation", allocation_fields,
					  NULL };

PyObject *gr_py_scan_allocation(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "addr", NULL };
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_allocation) struct gr_allocation *found = NULL;
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K:allocation", names,
					 &addr) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_allocation(self->scan, addr, &found);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_allocation_row, found);
}
