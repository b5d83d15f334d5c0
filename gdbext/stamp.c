// SPDX-License-Identifier: Apache-2.0
// The labels and the time of a profile, as Python has them.
#include "gdbext/gdbext.h"

void gr_py_stamp_deinit(struct gr_py_stamp *stamp)
{
	free(stamp->tags);
	Py_CLEAR(stamp->texts);
}

// Take a pair of texts. They stay valid as long as the pair.
static bool parse_tag(PyObject *pair, struct gr_profile_tag *ret)
{
	if (!PyTuple_Check(pair)) {
		PyErr_SetString(gr_py_argument_error, "a label is a pair");
		return false;
	}
	return PyArg_ParseTuple(pair, "ss;label", &ret->key, &ret->value);
}

bool gr_py_stamp_parse(PyObject *labels, long long time_ns,
		       struct gr_py_stamp *ret)
{
	*ret = (struct gr_py_stamp){ .stamp.time_ns = time_ns };
	if (!labels)
		return true;
	ret->texts = PySequence_Tuple(labels);
	if (!ret->texts)
		return false;
	Py_ssize_t n = PyTuple_Size(ret->texts);
	ret->tags = calloc((size_t)n + 1, sizeof(*ret->tags));
	if (!ret->tags) {
		PyErr_NoMemory();
		return false;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		if (!parse_tag(PyTuple_GetItem(ret->texts, i), &ret->tags[i]))
			return false;
	ret->stamp.tags = ret->tags;
	ret->stamp.ntags = (size_t)n;
	return true;
}
