// SPDX-License-Identifier: Apache-2.0
// class Result: what one walk found.
#include "gdbext.h"

#include "proto/profile_writer.h"

struct result {
	PyObject_HEAD struct gr_py_scan *scan;
	struct gr_result *result;
};

static PyTypeObject *result_type;

static struct result *cast(PyObject *self)
{
	return (struct result *)self;
}

PyObject *gr_py_result_new(struct gr_py_scan *scan, struct gr_result *result)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(result_type, Py_tp_alloc);
	PyObject *self = alloc(result_type, 0);

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
	PyTypeObject *type = Py_TYPE(obj);
	freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

	// The result points into the scan, which goes after it.
	gr_result_destroy(self->result);
	Py_XDECREF((PyObject *)self->scan);
	free_object(obj);
	Py_DECREF(type);
}

static PyObject *result_ledger(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return gr_py_ledger(gr_result_ledger(cast(obj)->result));
}

static PyObject *root_tuple(const struct gr_root_total *root)
{
	return Py_BuildValue("(NsNNIKKK)", gr_py_string(root->name),
			     gr_root_kind_name(root->kind),
			     gr_py_string(root->goroutine_state),
			     gr_py_string(root->file), root->line,
			     (unsigned long long)root->total.objects,
			     (unsigned long long)root->total.bytes,
			     (unsigned long long)root->goroutine_id);
}

static PyObject *type_tuple(const struct gr_type_total *type)
{
	return Py_BuildValue("(NKK)", gr_py_string(type->type),
			     (unsigned long long)type->total.objects,
			     (unsigned long long)type->total.bytes);
}

static PyObject *result_roots(PyObject *obj, PyObject *unused)
{
	size_t count;
	const struct gr_root_total *roots =
		gr_result_roots(cast(obj)->result, &count);
	PyObject *list = PyList_New(0);

	(void)unused;
	for (size_t i = 0; list && i < count; i++) {
		if (!gr_py_list_append(list, root_tuple(&roots[i])))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *result_types(PyObject *obj, PyObject *unused)
{
	size_t count;
	const struct gr_type_total *types =
		gr_result_types(cast(obj)->result, &count);
	PyObject *list = PyList_New(0);

	(void)unused;
	for (size_t i = 0; list && i < count; i++) {
		if (!gr_py_list_append(list, type_tuple(&types[i])))
			Py_CLEAR(list);
	}
	return list;
}

static struct gr_profile profile_of(const struct result *self,
				    uint64_t max_samples, const char *partial)
{
	const struct gr_scan_info *info = gr_scan_info(self->scan->scan);
	struct gr_profile profile = {
		.ledger = gr_result_ledger(self->result),
		.tool_version = PACKAGE_VERSION,
		.go_version = info->go_version,
		.exe_path = info->exe_path,
		.build_id = info->build_id,
		.max_samples = max_samples,
		.partial = partial,
		.poll = gr_py_scan_poll,
		.ctx = self->scan,
	};

	profile.nodes = gr_result_nodes(self->result, &profile.nnodes);
	profile.roots = gr_result_roots(self->result, &profile.nroots);
	return profile;
}

static PyObject *result_write_profile(PyObject *obj, PyObject *args)
{
	struct result *self = cast(obj);
	struct gr_profile_stats stats;
	unsigned long long max_samples;
	const char *path, *partial = NULL;

	if (!PyArg_ParseTuple(args, "sK|z:write_profile", &path, &max_samples,
			      &partial) ||
	    !gr_py_scan_enter(self->scan))
		return NULL;
	struct gr_profile profile = profile_of(self, max_samples, partial);
	struct gr_error *err = gr_profile_write(&profile, path, &stats);
	gr_py_scan_leave(self->scan);
	if (err)
		return gr_py_raise(err);
	return Py_BuildValue("{s:K,s:K,s:K,s:K}", "samples",
			     (unsigned long long)stats.samples, "folded",
			     (unsigned long long)stats.folded, "objects",
			     (unsigned long long)stats.total.objects, "bytes",
			     (unsigned long long)stats.total.bytes);
}

static PyMethodDef methods[] = {
	{ "ledger", result_ledger, METH_NOARGS, NULL },
	{ "roots", result_roots, METH_NOARGS, NULL },
	{ "types", result_types, METH_NOARGS, NULL },
	{ "write_profile", result_write_profile, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "What one walk of a target found." },
	{ Py_tp_dealloc, result_dealloc },
	{ Py_tp_methods, methods },
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
	// Kept for gr_py_result_new(); the module lives as long as we do.
	result_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return result_type ? PyModule_AddType(module, result_type) : -1;
}
