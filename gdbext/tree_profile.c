// SPDX-License-Identifier: Apache-2.0
// write_tree_profile(): a tree that Python has made.
#include "gdbext/gdbext.h"

#include "proto/tree_profile.h"

// A tree, with what keeps its texts.
struct tree {
	struct gr_tree_profile tree;
	struct gr_tree_place *places;
	struct gr_tree_labels *labels;
	struct gr_tree_node *nodes;
	struct gr_py_stamp *sets; // of labels
	size_t nsets;
};

static void tree_deinit(struct tree *t)
{
	for (size_t i = 0; i < t->nsets; i++)
		gr_py_stamp_deinit(&t->sets[i]);
	free(t->sets);
	free(t->places);
	free(t->labels);
	free(t->nodes);
}

// Make room for the items of a list. NULL: an exception is set.
static void *array_for(PyObject *list, size_t bytes, size_t *count)
{
	void *array;

	*count = (size_t)PyList_Size(list);
	array = calloc(*count + 1, bytes);
	return array ? array : PyErr_NoMemory();
}

static bool parse_places(struct tree *t, PyObject *list)
{
	size_t n;

	t->tree.places = t->places = array_for(list, sizeof(*t->places), &n);
	for (size_t i = 0; t->places && i < n; i++) {
		struct gr_tree_place *place = &t->places[i];

		if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i),
				      "szI;place", &place->name, &place->file,
				      &place->line))
			return false;
	}
	t->tree.nplaces = n;
	return t->places;
}

static bool parse_labels(struct tree *t, PyObject *list)
{
	size_t n;

	t->tree.labels = t->labels = array_for(list, sizeof(*t->labels), &n);
	t->sets = array_for(list, sizeof(*t->sets), &n);
	if (!t->labels || !t->sets)
		return false;
	for (size_t i = 0; i < n; i++) {
		t->nsets++;
		if (!gr_py_stamp_parse(PyList_GetItem(list, (Py_ssize_t)i), 0,
				       &t->sets[i]))
			return false;
		t->labels[i] =
			(struct gr_tree_labels){ t->sets[i].stamp.tags,
						 t->sets[i].stamp.ntags };
	}
	t->tree.nlabels = n;
	return true;
}

static bool parse_node(PyObject *item, struct gr_tree_node *ret)
{
	long long parent, objects, bytes;

	if (!PyArg_ParseTuple(item, "LIILL;node", &parent, &ret->place,
			      &ret->labels, &objects, &bytes))
		return false;
	ret->parent = parent < 0 ? GR_TREE_NO_PARENT : (uint32_t)parent;
	ret->objects = objects;
	ret->bytes = bytes;
	return true;
}

static bool parse_nodes(struct tree *t, PyObject *list)
{
	size_t n;

	t->tree.nodes = t->nodes = array_for(list, sizeof(*t->nodes), &n);
	for (size_t i = 0; t->nodes && i < n; i++)
		if (!parse_node(PyList_GetItem(list, (Py_ssize_t)i),
				&t->nodes[i]))
			return false;
	t->tree.nnodes = n;
	return t->nodes;
}

PyObject *gr_py_write_tree_profile(PyObject *module, PyObject *args,
				   PyObject *kwargs)
{
	_cleanup_(gr_py_stamp_deinit) struct gr_py_stamp stamp = { 0 };
	_cleanup_(tree_deinit) struct tree t = { .nsets = 0 };
	struct gr_profile_target target = { .tool_version = PACKAGE_VERSION };
	PyObject *places, *sets, *nodes, *labels = NULL;
	const char *path;
	long long time_ns = 0;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "sO!O!O!|zzzzOL:write_tree_profile",
		    gr_py_write_tree_profile_names, &path, &PyList_Type,
		    &places, &PyList_Type, &sets, &PyList_Type, &nodes,
		    &t.tree.comment, &target.partial, &target.exe_path,
		    &target.build_id, &labels, &time_ns) ||
	    !gr_py_stamp_parse(labels, time_ns, &stamp) ||
	    !parse_places(&t, places) || !parse_labels(&t, sets) ||
	    !parse_nodes(&t, nodes))
		return NULL;
	target.stamp = stamp.stamp;
	return gr_py_none_or_raise(
		gr_tree_profile_write(&t.tree, &target, path));
}
