// SPDX-License-Identifier: Apache-2.0
// Scan.cards(), Scan.type_holders(), and their rows.
#include "gdbext/gdbext.h"

#include "retention/cards.h"
#include "retention/type_holders.h"

GR_DEFINE_CLEANUP(cards, struct gr_cards, gr_cards_destroy)
GR_DEFINE_CLEANUP(type_holders, struct gr_type_holders, gr_type_holders_destroy)

// An array of names, for free(); they belong to the sequence, a tuple.
static const char **parse_names(PyObject *sequence, uint32_t *count)
{
	Py_ssize_t n = PyTuple_Size(sequence);

	if (n < 0)
		return NULL;
	_cleanup_free_ const char **names = calloc(n + 1, sizeof(*names));
	if (!names) {
		PyErr_NoMemory();
		return NULL;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(sequence, i),
						   NULL);
		if (!names[i])
			return NULL;
	}
	*count = n;
	return steal_ptr(names);
}

PyObject *gr_py_scan_cards(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_cards) struct gr_cards *cards = NULL;
	struct gr_card_question question = { .ntypes = 0 };
	PyObject *sequence;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "OII:cards", gr_py_scan_cards_names,
		    &sequence, &question.max_objects, &question.max_cards))
		return NULL;
	_cleanup_free_ const char **names =
		parse_names(sequence, &question.ntypes);
	if (!names || !gr_py_scan_enter(self))
		return NULL;
	question.types = names;
	struct gr_error *err = gr_scan_cards(self->scan, &question, &cards);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_cards_row, cards);
}

PyObject *gr_py_scan_type_holders(PyObject *obj, PyObject *args,
				  PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_type_holders) struct gr_type_holders *holders =
		NULL;
	unsigned int max_holders;
	uint32_t ntypes = 0;
	PyObject *sequence;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OI:type_holders",
					 gr_py_scan_type_holders_names,
					 &sequence, &max_holders))
		return NULL;
	_cleanup_free_ const char **names = parse_names(sequence, &ntypes);
	if (!names || !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_type_holders(self->scan, names, ntypes,
						    max_holders, &holders);
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_type_holders_row, holders);
}
