// SPDX-License-Identifier: Apache-2.0
// class Rows: many rows, of which each is made when it is asked for. A hundred
// thousand named tuples with their strings would be larger than the scan.
#include "gdbext/gdbext.h"

struct rows {
	PyObject_HEAD PyObject *owner;
	struct gr_py_row *row;
	const char *values;
	size_t stride;
	Py_ssize_t count;
};

static PyTypeObject *rows_type;

static struct rows *cast(PyObject *self)
{
	return (struct rows *)self;
}

// ------------------------------------------------------------------- owners

// An answer, which a capsule owns, and its scan.
struct owned {
	PyObject *scan;
	void *answer;
	gr_py_destroy_fn *destroy;
};

static void destroy_owned(PyObject *capsule)
{
	struct owned *owned = PyCapsule_GetPointer(capsule, NULL);

	// The answer points into the scan, so the scan is released after it.
	owned->destroy(owned->answer);
	Py_DECREF(owned->scan);
	free(owned);
}

PyObject *gr_py_owner_new(struct gr_py_scan *scan, void *answer,
			  gr_py_destroy_fn *destroy)
{
	struct owned *owned = calloc(1, sizeof(*owned));
	PyObject *capsule;

	if (!owned) {
		destroy(answer);
		return PyErr_NoMemory();
	}
	*owned = (struct owned){ (PyObject *)scan, answer, destroy };
	capsule = PyCapsule_New(owned, NULL, destroy_owned);
	if (!capsule) {
		destroy(answer);
		free(owned);
		return NULL;
	}
	Py_INCREF((PyObject *)scan);
	return capsule;
}

// --------------------------------------------------------------- life cycle

PyObject *gr_py_rows_new(PyObject *owner, struct gr_py_row *row,
			 const void *values, size_t stride, size_t count)
{
	PyObject *self = gr_py_type_alloc(rows_type);

	if (!self)
		return NULL;
	cast(self)->owner = Py_NewRef(owner);
	cast(self)->row = row;
	cast(self)->values = values;
	cast(self)->stride = stride;
	cast(self)->count = (Py_ssize_t)count;
	return self;
}

static void rows_dealloc(PyObject *obj)
{
	Py_XDECREF(cast(obj)->owner);
	gr_py_type_free(obj);
}

// ----------------------------------------------------------------- elements

static Py_ssize_t rows_length(PyObject *obj)
{
	return cast(obj)->count;
}

// The row of a number that counts from the start.
static PyObject *rows_item(PyObject *obj, Py_ssize_t i)
{
	const struct rows *self = cast(obj);

	if (i < 0 || i >= self->count) {
		PyErr_SetString(PyExc_IndexError, "there is no such row");
		return NULL;
	}
	return gr_py_row_new(self->row,
			     self->values + (size_t)i * self->stride);
}

static PyObject *rows_slice(PyObject *obj, PyObject *slice)
{
	Py_ssize_t start, stop, step, count;

	if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
		return NULL;
	count = PySlice_AdjustIndices(cast(obj)->count, &start, &stop, step);
	_cleanup_py_ PyObject *tuple = PyTuple_New(count);
	for (Py_ssize_t i = 0; tuple && i < count; i++) {
		PyObject *item = rows_item(obj, start + i * step);

		if (!item || PyTuple_SetItem(tuple, i, item))
			return NULL;
	}
	return steal_ptr(tuple);
}

static PyObject *rows_subscript(PyObject *obj, PyObject *key)
{
	if (PySlice_Check(key))
		return rows_slice(obj, key);
	Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);

	if (i == -1 && PyErr_Occurred())
		return NULL;
	return rows_item(obj, i < 0 ? i + cast(obj)->count : i);
}

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Rows of an answer, each made when it is asked for." },
	{ Py_tp_dealloc, rows_dealloc },
	{ Py_sq_length, rows_length },
	{ Py_sq_item, rows_item },
	{ Py_mp_length, rows_length },
	{ Py_mp_subscript, rows_subscript },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.Rows",
	.basicsize = sizeof(struct rows),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

int gr_py_rows_type_init(PyObject *module)
{
	return gr_py_type_add(module, &spec, &rows_type);
}
