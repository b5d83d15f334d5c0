// SPDX-License-Identifier: Apache-2.0
// class Growth: the resident memory of a process that runs, tick by tick.
#include "gdbext/gdbext.h"

#include "growth/growth.h"

struct gr_py_growth {
	PyObject_HEAD struct gr_growth *growth;
	struct gr_py_scan *scan;
};

static struct gr_py_growth *cast(PyObject *self)
{
	return (struct gr_py_growth *)self;
}

// -------------------------------------------------------------- life cycle

static PyObject *growth_new(PyTypeObject *type, PyObject *args,
			    PyObject *kwargs)
{
	PyObject *scan;
	int from_empty = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|p:Growth",
					 gr_py_growth_names, gr_py_scan_type,
					 &scan, &from_empty))
		return NULL;
	_cleanup_py_ PyObject *obj = gr_py_type_alloc(type);
	if (!obj)
		return NULL;
	cast(obj)->scan = (struct gr_py_scan *)Py_NewRef(scan);
	struct gr_error *err = gr_growth_create(cast(obj)->scan->scan,
						from_empty, &cast(obj)->growth);
	return err ? gr_py_raise(err) : steal_ptr(obj);
}

static void growth_dealloc(PyObject *obj)
{
	gr_growth_destroy(cast(obj)->growth);
	Py_XDECREF((PyObject *)cast(obj)->scan);
	gr_py_type_free(obj);
}

// ----------------------------------------------------------------- methods

PyObject *gr_py_growth_tick(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_growth *self = cast(obj);
	struct gr_growth_tick tick;
	int has_gaps = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:tick",
					 gr_py_growth_tick_names, &has_gaps))
		return NULL;
	if (!gr_py_scan_enter_prepared(self->scan))
		return NULL;
	struct gr_error *err =
		gr_growth_take_tick(self->growth, has_gaps, &tick);
	gr_py_scan_leave(self->scan);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_growth_tick_row, &tick);
}

PyObject *gr_py_growth_add_events(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	Py_buffer data;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*:add_events",
					 gr_py_growth_add_events_names, &data))
		return NULL;
	struct gr_error *err = gr_growth_add_events(cast(obj)->growth, data.buf,
						    (size_t)data.len);
	PyBuffer_Release(&data);
	return gr_py_none_or_raise(err);
}

PyObject *gr_py_growth_add_stack_pointer(PyObject *obj, PyObject *args,
					 PyObject *kwargs)
{
	unsigned long long addr;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K:add_stack_pointer",
					 gr_py_growth_add_stack_pointer_names,
					 &addr))
		return NULL;
	return gr_py_none_or_raise(
		gr_growth_add_stack_pointer(cast(obj)->growth, addr));
}

static PyObject *rows_of(const struct gr_growth_stack_vector *list,
			 unsigned int max)
{
	return gr_py_row_tuple(&gr_py_growth_stack_row, list->data,
			       sizeof(*list->data),
			       list->size < max ? list->size : max);
}

PyObject *gr_py_growth_stacks(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	unsigned int max;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:stacks",
					 gr_py_growth_stacks_names, &max))
		return NULL;
	return rows_of(gr_growth_stacks(cast(obj)->growth), max);
}

PyObject *gr_py_growth_untouched(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	unsigned int max;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:untouched",
					 gr_py_growth_untouched_names, &max))
		return NULL;
	return rows_of(gr_growth_untouched(cast(obj)->growth), max);
}

PyObject *gr_py_growth_mappings(PyObject *obj, PyObject *unused)
{
	const struct gr_mapping_class_vector *list =
		gr_growth_mappings(cast(obj)->growth);

	(void)unused;
	return gr_py_row_tuple(&gr_py_growth_mapping_row, list->data,
			       sizeof(*list->data), list->size);
}

PyObject *gr_py_growth_pages(PyObject *obj, PyObject *unused)
{
	_cleanup_(gr_mapped_vector_deinit) struct gr_mapped_vector list = { 0 };
	struct gr_error *err = gr_growth_pages(cast(obj)->growth, &list);

	(void)unused;
	return err ? gr_py_raise(err) :
		     PyBytes_FromStringAndSize(
			     (const char *)list.data,
			     (Py_ssize_t)(list.size * sizeof(*list.data)));
}

// The first lines of the text are the signature of the constructor.
static const char doc[] = GR_PY_GROWTH_SIGNATURE
	"The resident memory of a process that runs. See _goref.pyi.";

static PyType_Slot slots[] = {
	{ Py_tp_doc, (void *)(uintptr_t)doc },
	{ Py_tp_new, growth_new },
	{ Py_tp_dealloc, growth_dealloc },
	{ Py_tp_methods, gr_py_growth_methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.Growth",
	.basicsize = sizeof(struct gr_py_growth),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};

int gr_py_growth_init(PyObject *module)
{
	PyTypeObject *type;

	return gr_py_type_add(module, &spec, &type);
}
