// SPDX-License-Identifier: Apache-2.0
// Methods of Scan for the Python API: vertices as numbers, and iterators.
#include "gdbext/gdbext.h"

#include "naming/vertex.h"
#include "retention/graph_view.h"
#include "retention/named_links.h"

GR_DEFINE_CLEANUP(object_cursor, struct gr_object_cursor,
		  gr_object_cursor_destroy)

// Claim the scanner, call, release it.
#define CALL(self, err, call)                \
	do {                                 \
		if (!gr_py_scan_enter(self)) \
			return NULL;         \
		err = call;                  \
		gr_py_scan_leave(self);      \
	} while (0)

static PyObject *vertex_or_none(uint32_t vertex)
{
	if (vertex == UINT32_MAX)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLong(vertex);
}

PyObject *gr_py_scan_graph_size(PyObject *obj, PyObject *unused)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_graph_size size;
	struct gr_error *err;

	(void)unused;
	CALL(self, err, gr_scan_graph_size(self->scan, &size));
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_graph_size_row, &size);
}

PyObject *gr_py_scan_has_retained(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return PyBool_FromLong(
		gr_scan_has_retained(((struct gr_py_scan *)obj)->scan));
}

PyObject *gr_py_scan_vertex(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_vertex_info info;
	int with_retained = 0;
	struct gr_error *err;
	unsigned int vertex;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|p:vertex",
					 gr_py_scan_vertex_names, &vertex,
					 &with_retained))
		return NULL;
	CALL(self, err,
	     gr_scan_view_vertex(self->scan, vertex, with_retained, &info));
	return err ? gr_py_raise(err) : gr_py_row_new(&gr_py_vertex_row, &info);
}

PyObject *gr_py_scan_content(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ uint8_t *content = NULL;
	struct gr_error *err;
	unsigned int vertex;
	unsigned long long max = 0;
	uint64_t bytes = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|K:content",
					 gr_py_scan_content_names, &vertex,
					 &max))
		return NULL;
	CALL(self, err,
	     gr_scan_object_content(self->scan, vertex, max ? max : UINT64_MAX,
				    &content, &bytes));
	return err ? gr_py_raise(err) :
		     PyBytes_FromStringAndSize((const char *)content,
					       (Py_ssize_t)bytes);
}

PyObject *gr_py_scan_find(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	uint32_t vertex = UINT32_MAX;
	struct gr_error *err;
	struct gr_place place;
	PyObject *item;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:find",
					 gr_py_scan_find_names, &item))
		return NULL;
	if (!gr_py_parse_place(self->scan, item, &place))
		return NULL;
	CALL(self, err, gr_scan_view_find(self->scan, &place, &vertex));
	return err ? gr_py_raise(err) : vertex_or_none(vertex);
}

PyObject *gr_py_scan_dominator(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	uint32_t dominator = UINT32_MAX;
	struct gr_error *err;
	unsigned int vertex;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I:dominator",
					 gr_py_scan_dominator_names, &vertex))
		return NULL;
	CALL(self, err, gr_view_dominator(self->scan, vertex, &dominator));
	return err ? gr_py_raise(err) : vertex_or_none(dominator);
}

// An array of vertices, for free(); NULL with an exception set.
static uint32_t *parse_vertices(PyObject *sequence, uint32_t *count)
{
	Py_ssize_t n = PySequence_Size(sequence);

	if (n < 0)
		return NULL;
	_cleanup_free_ uint32_t *vertices =
		calloc((size_t)n + 1, sizeof(*vertices));
	if (!vertices)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; vertices && i < n; i++) {
		_cleanup_py_ PyObject *item = PySequence_GetItem(sequence, i);
		unsigned int vertex;

		if (!item || !PyArg_Parse(item, "I", &vertex))
			return NULL;
		vertices[i] = vertex;
	}
	*count = (uint32_t)n;
	return steal_ptr(vertices);
}

PyObject *gr_py_scan_retained(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_free_ uint32_t *vertices = NULL;
	struct gr_error *err;
	PyObject *sequence;
	uint32_t count = 0;
	uint64_t bytes = 0, c_bytes = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:retained",
					 gr_py_scan_retained_names, &sequence))
		return NULL;
	vertices = parse_vertices(sequence, &count);
	if (!vertices)
		return NULL;
	CALL(self, err,
	     gr_view_retained(self->scan, vertices, count, &bytes, &c_bytes));
	return err ? gr_py_raise(err) : Py_BuildValue("KK", bytes, c_bytes);
}

static PyObject *path_list(const struct gr_vertex_path *path)
{
	_cleanup_py_ PyObject *list = PyList_New(path->count);

	for (uint32_t i = 0; list && i < path->count; i++) {
		PyObject *item = PyLong_FromUnsignedLong(path->vertices[i]);

		if (!item || PyList_SetItem(list, i, item))
			return NULL;
	}
	return steal_ptr(list);
}

static PyObject *paths_list(const struct gr_vertex_paths *paths)
{
	_cleanup_py_ PyObject *list = PyList_New(paths->count);

	for (uint32_t i = 0; list && i < paths->count; i++) {
		PyObject *item = path_list(&paths->paths[i]);

		if (!item || PyList_SetItem(list, i, item))
			return NULL;
	}
	return steal_ptr(list);
}

PyObject *gr_py_scan_paths(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_vertex_paths_deinit) struct gr_vertex_paths paths = { 0 };
	unsigned int vertex, max_paths;
	struct gr_error *err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "II:paths",
					 gr_py_scan_paths_names, &vertex,
					 &max_paths))
		return NULL;
	CALL(self, err,
	     gr_scan_vertex_paths(self->scan, vertex, max_paths, &paths));
	return err ? gr_py_raise(err) : paths_list(&paths);
}

PyObject *gr_py_scan_links(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_named_links_deinit) struct gr_named_links links = { 0 };
	unsigned int source, target, max = 0;
	struct gr_error *err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "II|I:links",
					 gr_py_scan_links_names, &source,
					 &target, &max))
		return NULL;
	CALL(self, err,
	     gr_scan_named_links(self->scan, source, target, max, &links));
	return err ? gr_py_raise(err) :
		     gr_py_row_list(&gr_py_named_link_row, links.links,
				    sizeof(*links.links), links.count);
}

// ----------------------------------------------------------------- iterators

// An iterator over vertices: objects by a cursor, or neighbours of a vertex.
struct iterator {
	PyObject_HEAD struct gr_py_scan *scan;
	struct gr_object_cursor *cursor; // NULL: neighbours
	uint32_t vertex, next;
	enum gr_neighbours which;
};

static PyTypeObject *iterator_type;

static struct iterator *iterator_new(struct gr_py_scan *scan)
{
	struct iterator *it =
		(struct iterator *)gr_py_type_alloc(iterator_type);

	if (it) {
		Py_INCREF((PyObject *)scan);
		it->scan = scan;
	}
	return it;
}

static void iterator_dealloc(PyObject *obj)
{
	struct iterator *it = (struct iterator *)obj;

	gr_object_cursor_destroy(it->cursor);
	Py_XDECREF((PyObject *)it->scan);
	gr_py_type_free(obj);
}

static PyObject *iterator_next(PyObject *obj)
{
	struct iterator *it = (struct iterator *)obj;
	uint32_t vertex = UINT32_MAX;
	struct gr_error *err;

	CALL(it->scan, err,
	     it->cursor ?
		     gr_scan_next_object(it->scan->scan, it->cursor, &vertex) :
		     gr_scan_neighbour(it->scan->scan, it->vertex, it->which,
				       it->next++, &vertex));
	if (err)
		return gr_py_raise(err);
	// NULL without an exception is the end.
	return vertex == UINT32_MAX ? NULL : PyLong_FromUnsignedLong(vertex);
}

PyObject *gr_py_scan_iterate(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	_cleanup_(gr_cleanup_object_cursor) struct gr_object_cursor *cursor =
		NULL;
	unsigned long long min_bytes = 0;
	const char *type = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|zK:iterate",
					 gr_py_scan_iterate_names, &type,
					 &min_bytes))
		return NULL;
	struct gr_error *err =
		gr_object_cursor_create(type, min_bytes, &cursor);
	if (err)
		return gr_py_raise(err);
	struct iterator *it = iterator_new((struct gr_py_scan *)obj);
	if (it)
		it->cursor = steal_ptr(cursor);
	return (PyObject *)it;
}

PyObject *gr_py_scan_neighbours(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static const char *const words[] = {
		[GR_REFERENCES] = "references",
		[GR_REFERRERS] = "referrers",
		[GR_DOMINATED] = "dominated",
	};
	const char *which;
	unsigned int vertex;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Is:neighbours",
					 gr_py_scan_neighbours_names, &vertex,
					 &which))
		return NULL;
	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(which, words[i]) != 0)
			continue;
		struct iterator *it = iterator_new((struct gr_py_scan *)obj);
		if (it) {
			it->vertex = vertex;
			it->which = i;
		}
		return (PyObject *)it;
	}
	PyErr_Format(gr_py_argument_error, "no kind of neighbours: %s", which);
	return NULL;
}

static PyType_Slot slots[] = {
	{ Py_tp_doc, "Numbers of vertices, one by one." },
	{ Py_tp_dealloc, iterator_dealloc },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, iterator_next },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.Vertices",
	.basicsize = sizeof(struct iterator),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
		 Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

int gr_py_view_init(PyObject *module)
{
	return gr_py_type_add(module, &spec, &iterator_type);
}
