// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for maps, and the iterator over entries of a map.
#include "gdbext/gdbext.h"

#include "values/map_view.h"

enum { BATCH = 128 };

PyObject *gr_py_scan_length(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	unsigned long long header;
	uint64_t length = 0;
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IK:length",
					 gr_py_scan_length_names, &type,
					 &header) ||
	    !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_length(self->scan, type, header, &length);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : PyLong_FromUnsignedLongLong(length);
}

// Make a literal of an integer of Python. False with an exception set.
static bool parse_number(PyObject *key, struct gr_literal *ret)
{
	int overflow;
	long long number = PyLong_AsLongLongAndOverflow(key, &overflow);

	if (number == -1 && PyErr_Occurred())
		return false;
	ret->kind = GR_LITERAL_NUMBER;
	ret->is_negative = number < 0;
	ret->magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
	if (overflow > 0)
		ret->magnitude = PyLong_AsUnsignedLongLong(key);
	if (overflow < 0)
		PyErr_SetString(PyExc_OverflowError,
				"the key has more than 64 bits");
	return !PyErr_Occurred();
}

// The text of a literal belongs to the key.
static bool parse_key(PyObject *key, struct gr_literal *ret)
{
	Py_ssize_t bytes;

	*ret = (struct gr_literal){ .kind = GR_LITERAL_STRING };
	if (PyBool_Check(key)) {
		ret->kind = GR_LITERAL_BOOL;
		ret->truth = key == Py_True;
		return true;
	}
	if (PyLong_Check(key))
		return parse_number(key, ret);
	if (PyBytes_AsStringAndSize(key, &ret->text, &bytes))
		return false;
	ret->text_bytes = (size_t)bytes;
	return true;
}

PyObject *gr_py_scan_map_find(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	unsigned long long header;
	struct gr_literal literal;
	struct gr_error *err;
	uint64_t addr = 0;
	unsigned int type;
	PyObject *key;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IKO:map_find",
					 gr_py_scan_map_find_names, &type,
					 &header, &key) ||
	    !parse_key(key, &literal) || !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_map_find(self->scan, type, header, &literal, &addr);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_from_addr_or_none(&addr);
}

// ------------------------------------------------------------------ iterator

// Entries are read in batches, and returned one by one.
struct iterator {
	PyObject_HEAD struct gr_py_scan *scan;
	struct gr_map_cursor cursor;
	struct gr_map_entry entries[BATCH];
	size_t next, count;
	bool is_end; // no entries follow the batch
};

static PyTypeObject *iterator_type;

static void iterator_dealloc(PyObject *obj)
{
	struct iterator *it = (struct iterator *)obj;

	Py_XDECREF((PyObject *)it->scan);
	gr_py_type_free(obj);
}

static bool read_batch(struct iterator *it)
{
	struct gr_error *err;

	if (!gr_py_scan_enter(it->scan))
		return false;
	err = gr_scan_map_next(it->scan->scan, &it->cursor, it->entries, BATCH,
			       &it->count);
	gr_py_scan_leave(it->scan);
	it->next = 0;
	it->is_end = it->count < BATCH;
	if (err)
		gr_py_raise(err);
	return !err;
}

static PyObject *iterator_next(PyObject *obj)
{
	struct iterator *it = (struct iterator *)obj;

	if (it->next == it->count && !it->is_end && !read_batch(it))
		return NULL;
	// NULL without an exception is the end.
	if (it->next == it->count)
		return NULL;
	const struct gr_map_entry *entry = &it->entries[it->next++];
	return Py_BuildValue("(KK)", (unsigned long long)entry->key_addr,
			     (unsigned long long)entry->elem_addr);
}

PyObject *gr_py_scan_map_entries(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	unsigned long long header;
	struct gr_error *err;
	unsigned int type;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IK:map_entries",
					 gr_py_scan_map_entries_names, &type,
					 &header))
		return NULL;
	_cleanup_py_ PyObject *made = gr_py_type_alloc(iterator_type);
	struct iterator *it = (struct iterator *)made;
	if (!it || !gr_py_scan_enter(self))
		return NULL;
	err = gr_scan_map_begin(self->scan, type, header, &it->cursor);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	Py_INCREF(obj);
	it->scan = self;
	return steal_ptr(made);
}

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Addresses of keys and elements of a map." },
	{ Py_tp_dealloc, iterator_dealloc },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, iterator_next },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.MapEntries",
	.basicsize = sizeof(struct iterator),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

int gr_py_maps_init(PyObject *module)
{
	return gr_py_type_add(module, &spec, &iterator_type);
}
