// SPDX-License-Identifier: Apache-2.0
// class Result: the result of one walk.
#include "gdbext/gdbext.h"

#include "profiles/result_sites.h"
#include "retention/result_dominators.h"
#include "retention/result_retained.h"
#include "walks/result.h"

struct result {
	PyObject_HEAD struct gr_py_scan *scan;
	struct gr_result *result;
};

static PyTypeObject *result_type;

static struct result *cast(PyObject *self)
{
	return (struct result *)self;
}

// -------------------------------------------------------------- life cycle

PyObject *gr_py_result_new(struct gr_py_scan *scan, struct gr_result *result)
{
	PyObject *self = gr_py_type_alloc(result_type);

	if (!self) {
		gr_result_destroy(result);
		return NULL;
	}
	Py_INCREF((PyObject *)scan);
	cast(self)->scan = scan;
	cast(self)->result = result;
	return self;
}

static void result_dealloc(PyObject *obj)
{
	struct result *self = cast(obj);

	// The result points into the scan, so the scan is released after it.
	gr_result_destroy(self->result);
	Py_XDECREF((PyObject *)self->scan);
	gr_py_type_free(obj);
}

// ----------------------------------------------------------------- methods

PyObject *gr_py_phases_of(const void *value)
{
	return gr_py_row_new(&gr_py_phases_row, value);
}

PyObject *gr_py_result_ledger(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return gr_py_row_new(&gr_py_ledger_row,
			     gr_result_ledger(cast(obj)->result));
}

PyObject *gr_py_result_roots(PyObject *obj, PyObject *unused)
{
	size_t count;
	const struct gr_root_total *roots =
		gr_result_roots(cast(obj)->result, &count);

	(void)unused;
	return gr_py_row_list(&gr_py_root_total_row, roots, sizeof(*roots),
			      count);
}

PyObject *gr_py_result_types(PyObject *obj, PyObject *unused)
{
	size_t count;
	const struct gr_type_total *types =
		gr_result_types(cast(obj)->result, &count);

	(void)unused;
	return gr_py_row_list(&gr_py_type_total_row, types, sizeof(*types),
			      count);
}

static PyObject *retained_list(const uint64_t *retained, size_t count)
{
	_cleanup_py_ PyObject *list = PyList_New((Py_ssize_t)count);

	for (size_t i = 0; list && i < count; i++) {
		PyObject *item = retained[i] == UINT64_MAX ?
					 Py_NewRef(Py_None) :
					 gr_py_from_u64(&retained[i]);

		if (!item || PyList_SetItem(list, (Py_ssize_t)i, item))
			return NULL;
	}
	return steal_ptr(list);
}

PyObject *gr_py_result_retained(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct result *self = cast(obj);
	_cleanup_free_ uint64_t *retained = NULL;
	unsigned int max_roots = 0;
	size_t count;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|I:retained",
					 gr_py_result_retained_names,
					 &max_roots) ||
	    !gr_py_scan_enter(self->scan))
		return NULL;
	struct gr_error *err = gr_result_retained(
		self->scan->scan, self->result, max_roots, &retained);
	gr_py_scan_leave(self->scan);
	gr_result_roots(self->result, &count);
	return err ? gr_py_raise(err) : retained_list(retained, count);
}

PyObject *gr_py_result_dominators(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct result *self = cast(obj);
	unsigned int max_depth, max_nodes;
	struct gr_result *view;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "II:dominators",
					 gr_py_result_dominators_names,
					 &max_depth, &max_nodes) ||
	    !gr_py_scan_enter(self->scan))
		return NULL;
	struct gr_error *err = gr_result_dominators(
		self->scan->scan, self->result, max_depth, max_nodes, &view);
	gr_py_scan_leave(self->scan);
	return err ? gr_py_raise(err) : gr_py_result_new(self->scan, view);
}

PyObject *gr_py_result_sites(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct result *self = cast(obj);
	unsigned int max_depth, max_nodes;
	struct gr_result *view;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "II:sites",
					 gr_py_result_sites_names, &max_depth,
					 &max_nodes) ||
	    !gr_py_scan_enter(self->scan))
		return NULL;
	struct gr_error *err = gr_result_sites(self->scan->scan, self->result,
					       max_depth, max_nodes, &view);
	gr_py_scan_leave(self->scan);
	return err ? gr_py_raise(err) : gr_py_result_new(self->scan, view);
}

PyObject *gr_py_result_sampling(PyObject *obj, PyObject *unused)
{
	const struct gr_result_sampling *sampling =
		gr_result_sampling(cast(obj)->result);

	(void)unused;
	return sampling ? gr_py_row_new(&gr_py_sampling_row, sampling) :
			  Py_NewRef(Py_None);
}

PyObject *gr_py_result_write_profile(PyObject *obj, PyObject *args,
				     PyObject *kwargs)
{
	return gr_py_write_profile(cast(obj)->scan, cast(obj)->result, args,
				   kwargs);
}

static PyType_Slot slots[] = {
	{ Py_tp_doc, "What one walk of a target found." },
	{ Py_tp_dealloc, result_dealloc },
	{ Py_tp_methods, gr_py_result_methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.Result",
	.basicsize = sizeof(struct result),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

int gr_py_result_init(PyObject *module)
{
	return gr_py_type_add(module, &spec, &result_type);
}
