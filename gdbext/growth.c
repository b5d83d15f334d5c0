// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for a process that is traced.
#include "gdbext/gdbext.h"

#include "growth/alloc_functions.h"
#include "growth/frame_names.h"
#include "growth/growth_blocks.h"
#include "growth/growth_pages.h"
#include "growth/growth_samples.h"
#include "growth/trace_facts.h"

static struct gr_py_scan *cast(PyObject *self)
{
	return (struct gr_py_scan *)self;
}

PyObject *gr_py_scan_trace_facts(PyObject *obj, PyObject *unused)
{
	_cleanup_(gr_trace_facts_deinit) struct gr_trace_facts facts = { 0 };
	struct gr_py_scan *self = cast(obj);

	(void)unused;
	if (!gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err = gr_scan_trace_facts(self->scan, &facts);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_trace_facts_row, &facts);
}

// --------------------------------------------------------------- allocators

PyObject *gr_py_scan_alloc_functions(PyObject *obj, PyObject *args,
				     PyObject *kwargs)
{
	_cleanup_(gr_alloc_functions_deinit) struct gr_alloc_functions
		functions = { 0 };
	struct gr_alloc_question question = { .prefix = "", .object = "" };
	struct gr_py_scan *self = cast(obj);
	int with_mappings = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|ssp:alloc_functions",
					 gr_py_scan_alloc_functions_names,
					 &question.prefix, &question.object,
					 &with_mappings) ||
	    !gr_py_scan_enter_prepared(self))
		return NULL;
	question.with_mappings = with_mappings;
	struct gr_error *err =
		gr_scan_alloc_functions(self->scan, &question, &functions);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_alloc_functions_row, &functions);
}

// ------------------------------------------------------------------- frames

// An array, for free(), of the numbers in a sequence.
static uint64_t *parse_numbers(PyObject *sequence, size_t *count)
{
	Py_ssize_t n = PySequence_Size(sequence);

	if (n < 0)
		return NULL;
	_cleanup_free_ uint64_t *numbers =
		calloc((size_t)n + 1, sizeof(*numbers));
	if (!numbers)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; numbers && i < n; i++) {
		_cleanup_py_ PyObject *item = PySequence_GetItem(sequence, i);

		numbers[i] = item ? PyLong_AsUnsignedLongLong(item) : 0;
		if (PyErr_Occurred())
			return NULL;
	}
	*count = (size_t)n;
	return steal_ptr(numbers);
}

static PyObject *frames_of(const struct gr_frame_names *names)
{
	size_t n = names->ends.size, first = 0;
	_cleanup_py_ PyObject *tuple = PyTuple_New((Py_ssize_t)n);

	for (size_t i = 0; tuple && i < n; i++) {
		size_t end = names->ends.data[i];
		PyObject *item = gr_py_row_tuple(&gr_py_trace_call_row,
						 names->frames.data + first,
						 sizeof(*names->frames.data),
						 end - first);

		if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item))
			return NULL;
		first = end;
	}
	return steal_ptr(tuple);
}

PyObject *gr_py_scan_name_frames(PyObject *obj, PyObject *args,
				 PyObject *kwargs)
{
	_cleanup_(gr_frame_names_deinit) struct gr_frame_names names = { 0 };
	struct gr_py_scan *self = cast(obj);
	PyObject *sequence;
	size_t count;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:name_frames",
					 gr_py_scan_name_frames_names,
					 &sequence))
		return NULL;
	_cleanup_free_ uint64_t *pcs = parse_numbers(sequence, &count);
	if (!pcs || !gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err =
		gr_scan_name_frames(self->scan, pcs, count, &names);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : frames_of(&names);
}

// ------------------------------------------------------------------- labels

PyObject *gr_py_scan_labels_at(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	_cleanup_(gr_arena_deinit) struct gr_arena arena = { 0 };
	const struct gr_label_set *set = NULL;
	struct gr_py_scan *self = cast(obj);
	unsigned long long address;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K:labels_at",
					 gr_py_scan_labels_at_names,
					 &address) ||
	    !gr_py_scan_enter_prepared(self))
		return NULL;
	struct gr_error *err =
		gr_scan_labels_at(self->scan, address, &arena, &set);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	return gr_py_row_tuple(&gr_py_label_row, set ? set->labels : NULL,
			       sizeof(*set->labels), set ? set->nlabels : 0);
}

// -------------------------------------------------------------------- pages

PyObject *gr_py_scan_growth_pages(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct gr_py_scan *self = cast(obj);
	struct gr_growth_pages *pages = NULL;
	unsigned int max;
	Py_buffer data;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*I:growth_pages",
					 gr_py_scan_growth_pages_names, &data,
					 &max))
		return NULL;
	size_t n = (size_t)data.len / sizeof(struct gr_mapped_pages);
	_cleanup_free_ struct gr_mapped_pages *list =
		calloc(n + 1, sizeof(*list));
	if (!list) {
		PyErr_NoMemory();
	} else if ((size_t)data.len % sizeof(*list)) {
		PyErr_SetString(gr_py_argument_error,
				"these are no pages of a growth");
	} else if (gr_py_scan_enter(self)) {
		memcpy(list, data.buf, n * sizeof(*list));
		struct gr_error *err =
			gr_scan_growth_pages(self->scan, list, n, max, &pages);
		gr_py_scan_leave(self);
		if (err)
			gr_py_raise(err);
	}
	PyBuffer_Release(&data);
	return pages ? gr_py_keep_growth_pages(self, pages) : NULL;
}

// ------------------------------------------------------------------ samples

PyObject *gr_py_scan_growth_samples(PyObject *obj, PyObject *args,
				    PyObject *kwargs)
{
	struct gr_py_scan *self = cast(obj);
	struct gr_growth_samples *samples = NULL;
	Py_buffer data;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*:growth_samples",
					 gr_py_scan_growth_samples_names,
					 &data))
		return NULL;
	size_t n = (size_t)data.len / sizeof(uint64_t);
	_cleanup_free_ uint64_t *addrs = calloc(n + 1, sizeof(*addrs));
	if (!addrs) {
		PyErr_NoMemory();
	} else if ((size_t)data.len % sizeof(*addrs)) {
		PyErr_SetString(gr_py_argument_error,
				"addresses have 8 bytes each");
	} else if (gr_py_scan_enter(self)) {
		memcpy(addrs, data.buf, n * sizeof(*addrs));
		struct gr_error *err =
			gr_scan_growth_samples(self->scan, addrs, n, &samples);
		gr_py_scan_leave(self);
		if (err)
			gr_py_raise(err);
	}
	PyBuffer_Release(&data);
	return samples ? gr_py_keep_growth_samples(self, samples) : NULL;
}

// ------------------------------------------------------------------- blocks

PyObject *gr_py_scan_growth_blocks(PyObject *obj, PyObject *args,
				   PyObject *kwargs)
{
	struct gr_py_scan *self = cast(obj);
	struct gr_growth_blocks *blocks = NULL;
	int are_walked = 0;
	Py_buffer data;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*|p:growth_blocks",
					 gr_py_scan_growth_blocks_names, &data,
					 &are_walked))
		return NULL;
	size_t n = (size_t)data.len / sizeof(struct gr_block_record);
	_cleanup_free_ struct gr_block_record *records =
		calloc(n + 1, sizeof(*records));
	if (!records) {
		PyErr_NoMemory();
	} else if ((size_t)data.len % sizeof(*records)) {
		PyErr_SetString(gr_py_argument_error,
				"records of blocks have 16 bytes each");
	} else if (gr_py_scan_enter(self)) {
		memcpy(records, data.buf, n * sizeof(*records));
		struct gr_error *err = gr_scan_growth_blocks(
			self->scan, records, n, are_walked, &blocks);
		gr_py_scan_leave(self);
		if (err)
			gr_py_raise(err);
	}
	PyBuffer_Release(&data);
	return blocks ? gr_py_keep_growth_blocks(self, blocks) : NULL;
}
