// SPDX-License-Identifier: Apache-2.0
// class Scan: one opened target.
#include "gdbext.h"

#include "proto/output.h"

#include <inttypes.h>

enum {
	POLL_NS = 20 * 1000 * 1000, // a person notices from 100 ms on
	/** gdb 13 aborts on requests it cannot allocate. */
	MAX_READ_BYTES = 1 << 20,
	MAX_COMPLETIONS = 10000,
	OBJECTS_BYTES = 1 << 16, // of text that is written at once
	OBJECT_BYTES = 48,	 // of a line, at most
};

static struct gr_py_scan *cast(PyObject *self)
{
	return (struct gr_py_scan *)self;
}

// --------------------------------------------------------------- callbacks

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

// The exception that a callback raised stays set until gr_py_raise().
static struct gr_error *interrupted(void)
{
	return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
}

struct gr_error *gr_py_scan_poll(void *ctx)
{
	struct gr_py_scan *self = ctx;
	uint64_t now = now_ns();

	// Not every reader tells an interruption from memory that is not there.
	if (PyErr_Occurred())
		return interrupted();
	if (now - self->polled_ns < POLL_NS)
		return NULL;
	if (PyErr_CheckSignals())
		return interrupted();
	if (self->progress) {
		uint64_t done = 0, total = 0;

		// There is none yet while it is made.
		if (self->scan)
			gr_scan_progress(self->scan, &done, &total);
		PyObject *ret = PyObject_CallFunction(
			self->progress, "KK", (unsigned long long)done,
			(unsigned long long)total);
		if (!ret)
			return interrupted();
		Py_DECREF(ret);
	}
	self->polled_ns = now_ns();
	return NULL;
}

// gdb could not read: which of our errors is that?
static struct gr_error *read_failed(uint64_t addr, size_t bytes)
{
	if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		return interrupted();
	bool no_memory = PyErr_ExceptionMatches(PyExc_MemoryError);
	PyErr_Clear();
	return no_memory ? &gr_enomem : gr_error_fault(addr, bytes);
}

static struct gr_error *read_part(struct gr_py_scan *self, uint64_t addr,
				  void *buf, size_t bytes)
{
	Py_buffer view;
	PyObject *data = PyObject_CallFunction(self->read, "KK",
					       (unsigned long long)addr,
					       (unsigned long long)bytes);

	if (!data)
		return read_failed(addr, bytes);
	int rc = PyObject_GetBuffer(data, &view, PyBUF_SIMPLE);
	Py_DECREF(data);
	if (rc)
		return read_failed(addr, bytes);
	bool is_whole = (size_t)view.len == bytes;
	if (is_whole)
		memcpy(buf, view.buf, bytes);
	PyBuffer_Release(&view);
	return is_whole ? NULL : gr_error_fault(addr, bytes);
}

static struct gr_error *scan_read(void *ctx, uint64_t addr, void *buf,
				  size_t bytes)
{
	struct gr_error *err = NULL;
	char *next = buf;

	while (bytes && !err) {
		size_t part = bytes < MAX_READ_BYTES ? bytes : MAX_READ_BYTES;

		err = read_part(ctx, addr, next, part);
		addr += part;
		next += part;
		bytes -= part;
	}
	return err;
}

static bool enter(struct gr_py_scan *self, bool is_prepared)
{
	if (self->is_busy) {
		PyErr_SetString(gr_py_argument_error, "a scan is running");
		return false;
	}
	if (self->is_prepared != is_prepared) {
		PyErr_SetString(gr_py_argument_error,
				is_prepared ? "the scan is made already" :
					      "the scan is not yet made");
		return false;
	}
	self->is_busy = true;
	return true;
}

bool gr_py_scan_enter(struct gr_py_scan *self)
{
	return enter(self, false);
}

bool gr_py_scan_enter_prepared(struct gr_py_scan *self)
{
	return enter(self, true);
}

void gr_py_scan_leave(struct gr_py_scan *self)
{
	self->is_busy = false;
}

// -------------------------------------------------------------- life cycle

static void set_callable(PyObject **where, PyObject *value)
{
	PyObject *old = *where;

	*where = value == Py_None ? NULL : Py_NewRef(value);
	Py_XDECREF(old);
}

static bool open_target(struct gr_py_scan *self, const char *kind,
			const char *core, int pid, PyObject *modules,
			PyObject *threads)
{
	if (gr_py_target_init(&self->target, kind, core, pid, modules, threads))
		return false;
	self->target.target.ops.read = scan_read;
	self->target.target.ops.poll = gr_py_scan_poll;
	self->target.target.ctx = self;
	self->target.target.use_cache = self->use_cache;
	self->target.target.copy_threads = self->copy_threads;
	self->is_busy = true;
	struct gr_error *err =
		self->is_prepared ?
			gr_scan_prepare(&self->target.target, &self->scan) :
			gr_scan_create(&self->target.target, &self->scan);
	self->is_busy = false;
	if (err)
		gr_py_raise(err);
	return !err;
}

static PyObject *scan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "kind",	 "read",  "modules",
				 "threads",	 "core",  "pid",
				 "progress",	 "cache", "prepare",
				 "copy_threads", NULL };
	PyObject *read, *modules, *threads, *progress = Py_None;
	const char *kind, *core = NULL;
	int pid = 0, use_cache = 0, is_prepared = 0;
	unsigned int copy_threads = 1;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "sOOO|ziOppI:Scan", names, &kind, &read,
		    &modules, &threads, &core, &pid, &progress, &use_cache,
		    &is_prepared, &copy_threads))
		return NULL;
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *self = alloc(type, 0);
	if (!self)
		return NULL;
	cast(self)->is_prepared = is_prepared;
	set_callable(&cast(self)->read, read);
	set_callable(&cast(self)->progress, progress);
	cast(self)->use_cache = use_cache;
	cast(self)->copy_threads = copy_threads;
	if (open_target(cast(self), kind, core, pid, modules, threads))
		return self;
	Py_DECREF(self);
	return NULL;
}

static void scan_dealloc(PyObject *obj)
{
	struct gr_py_scan *self = cast(obj);
	PyTypeObject *type = Py_TYPE(obj);
	freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

	gr_scan_destroy(self->scan);
	gr_py_target_deinit(&self->target);
	Py_XDECREF(self->read);
	Py_XDECREF(self->progress);
	for (size_t i = 0; i < self->nnames; i++)
		free(self->names[i]);
	free(self->names);
	free_object(obj);
	Py_DECREF(type);
}

// ------------------------------------------------------------------ places

// Keep a copy of a place's name: the tree of a result may point at it.
static const char *keep_name(struct gr_py_scan *self, const char *name)
{
	for (size_t i = 0; i < self->nnames; i++) {
		if (!strcmp(self->names[i], name))
			return self->names[i];
	}
	char **names =
		realloc(self->names, (self->nnames + 1) * sizeof(*names));
	if (names)
		self->names = names;
	char *copy = names ? strdup(name) : NULL;
	if (!copy) {
		PyErr_NoMemory();
		return NULL;
	}
	return self->names[self->nnames++] = copy;
}

static int parse_place(struct gr_py_scan *self, PyObject *item,
		       struct gr_place *ret)
{
	unsigned long long addr, value;
	unsigned int type;
	const char *name;
	int is_variable;

	if (!PyArg_ParseTuple(item, "sKIpK;place", &name, &addr, &type,
			      &is_variable, &value))
		return -1;
	*ret = (struct gr_place){
		.name = keep_name(self, name),
		.addr = addr,
		.type = type,
		.is_variable = is_variable,
		.value = value,
	};
	return ret->name ? 0 : -1;
}

// An array for free() of the places in a sequence; NULL on failure.
static struct gr_place *parse_places(struct gr_py_scan *self,
				     PyObject *sequence, size_t *count)
{
	Py_ssize_t n = sequence ? PySequence_Size(sequence) : 0;

	if (n < 0)
		return NULL;
	struct gr_place *places = calloc((size_t)n + 1, sizeof(*places));
	if (!places) {
		PyErr_NoMemory();
		return NULL;
	}
	*count = (size_t)n;
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PySequence_GetItem(sequence, i);
		int rc = item ? parse_place(self, item, &places[i]) : -1;

		Py_XDECREF(item);
		if (rc) {
			free(places);
			return NULL;
		}
	}
	return places;
}

// ----------------------------------------------------------------- methods

static bool parse_attribution(const char *text, enum gr_attribution *ret)
{
	if (!strcmp(text, "nearest")) {
		*ret = GR_ATTRIBUTION_NEAREST;
	} else if (!strcmp(text, "first")) {
		*ret = GR_ATTRIBUTION_FIRST;
	} else {
		PyErr_Format(gr_py_argument_error, "no attribution: %s", text);
		return false;
	}
	return true;
}

// The exception that ended a walk goes if its result stays.
static bool is_kept(const struct gr_result *result)
{
	if (!gr_result_ledger(result)->is_partial)
		return true;
	if (!PyErr_Occurred())
		return true;
	if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		return false;
	PyErr_Clear();
	return true;
}

static PyObject *scan_walk(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "max_depth",	"max_nodes",	 "places",
				 "attribution", "per_goroutine", "keep_partial",
				 NULL };
	struct gr_py_scan *self = cast(obj);
	struct gr_walk_options options = { .max_depth = 0 };
	struct gr_result *result = NULL;
	PyObject *sequence = NULL;
	const char *attribution = "nearest";
	int per_goroutine = 0, keep_partial = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "II|Ospp:walk", names,
					 &options.max_depth, &options.max_nodes,
					 &sequence, &attribution,
					 &per_goroutine, &keep_partial) ||
	    !parse_attribution(attribution, &options.attribution))
		return NULL;
	options.per_goroutine = per_goroutine;
	options.keep_partial = keep_partial;
	struct gr_place *places =
		parse_places(self, sequence, &options.nplaces);
	if (!places || !gr_py_scan_enter(self)) {
		free(places);
		return NULL;
	}
	options.places = places;
	struct gr_error *err = gr_scan_walk(self->scan, &options, &result);
	gr_py_scan_leave(self);
	free(places);
	if (err)
		return gr_py_raise(err);
	if (is_kept(result))
		return gr_py_result_new(self, result);
	gr_result_destroy(result);
	return NULL;
}

static PyObject *scan_why(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "address", "max_depth", "max_nodes",
				 "attribution", NULL };
	struct gr_py_scan *self = cast(obj);
	struct gr_walk_options options = { .max_depth = 0 };
	const char *attribution = "nearest";
	unsigned long long addr;
	struct gr_why *why = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KII|s:why", names,
					 &addr, &options.max_depth,
					 &options.max_nodes, &attribution) ||
	    !parse_attribution(attribution, &options.attribution) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_why(self->scan, &options, addr, &why);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	PyObject *ret = gr_py_why(why);
	gr_why_destroy(why);
	return ret;
}

static PyObject *scan_verify(PyObject *obj, PyObject *args)
{
	struct gr_py_scan *self = cast(obj);
	struct gr_verdict *verdict = NULL;
	Py_ssize_t max_differences;

	if (!PyArg_ParseTuple(args, "n:verify", &max_differences) ||
	    !gr_py_scan_enter(self))
		return NULL;
	size_t max = max_differences > 0 ? (size_t)max_differences : SIZE_MAX;
	struct gr_error *err = gr_scan_verify(self->scan, max, &verdict);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	PyObject *ret = gr_py_verdict(verdict);
	gr_verdict_destroy(verdict);
	return ret;
}

// Lines of text on their way to a file or to a callable.
struct object_list {
	struct gr_py_scan *scan;
	PyObject *write; // NULL: to the file
	struct gr_output output;
	struct gr_total total;
	char *text;
	size_t bytes;
};

static struct gr_error *write_lines(struct object_list *list)
{
	size_t bytes = list->bytes;

	list->bytes = 0;
	if (!list->write)
		return gr_output_write(&list->output, list->text, bytes);
	PyObject *ret = PyObject_CallFunction(list->write, "s#", list->text,
					      (Py_ssize_t)bytes);
	Py_XDECREF(ret);
	return ret ? NULL : interrupted();
}

static struct gr_error *add_object(void *ctx, uint64_t addr, uint64_t bytes)
{
	struct object_list *list = ctx;
	struct gr_error *err = NULL;

	list->total.objects++;
	list->total.bytes += bytes;
	list->bytes += (size_t)snprintf(list->text + list->bytes, OBJECT_BYTES,
					"0x%" PRIx64 " %" PRIu64 "\n", addr,
					bytes);
	if (list->bytes > OBJECTS_BYTES - OBJECT_BYTES)
		err = write_lines(list);
	return err ? err : gr_py_scan_poll(list->scan);
}

static struct gr_error *list_objects(struct object_list *list, const char *path)
{
	struct gr_error *err = NULL;

	if (path)
		err = gr_output_init(&list->output, path, GR_OUTPUT_PLAIN);
	if (!err)
		err = gr_scan_objects(list->scan->scan, add_object, list);
	if (!err && list->bytes)
		err = write_lines(list);
	if (!err && path)
		err = gr_output_commit(&list->output);
	return err;
}

static PyObject *scan_objects(PyObject *obj, PyObject *args)
{
	struct object_list list = { .scan = cast(obj), .output.fd = -1 };
	PyObject *where;
	const char *path = NULL;

	if (!PyArg_ParseTuple(args, "O:objects", &where))
		return NULL;
	if (PyCallable_Check(where))
		list.write = where;
	else if (!PyArg_ParseTuple(args, "s:objects", &path))
		return NULL;
	if (!gr_py_scan_enter(list.scan))
		return NULL;
	list.text = malloc(OBJECTS_BYTES);
	struct gr_error *err = list.text ? list_objects(&list, path) :
					   &gr_enomem;
	gr_output_deinit(&list.output);
	free(list.text);
	gr_py_scan_leave(list.scan);
	return err ? gr_py_raise(err) : gr_py_total(&list.total);
}

static PyObject *scan_resolve(PyObject *obj, PyObject *args)
{
	struct gr_py_scan *self = cast(obj);
	struct gr_place place;
	const char *text;

	if (!PyArg_ParseTuple(args, "s:resolve", &text) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_resolve(self->scan, text, &place);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	return Py_BuildValue("(NKIOK)", gr_py_string(place.name),
			     (unsigned long long)place.addr, place.type,
			     place.is_variable ? Py_True : Py_False,
			     (unsigned long long)place.value);
}

static PyObject *scan_complete(PyObject *obj, PyObject *args)
{
	struct gr_py_scan *self = cast(obj);
	const char **found = NULL, *prefix;
	size_t count = 0;

	if (!PyArg_ParseTuple(args, "s:complete", &prefix) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_complete(
		self->scan, prefix, MAX_COMPLETIONS, &found, &count);
	gr_py_scan_leave(self);
	if (err)
		return gr_py_raise(err);
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < count; i++) {
		PyObject *name = gr_py_string(found[i]);

		if (!name || PyList_Append(list, name))
			Py_CLEAR(list);
		Py_XDECREF(name);
	}
	free(found);
	return list;
}

static PyObject *scan_info(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return gr_py_info(gr_scan_info(cast(obj)->scan));
}

static PyObject *scan_layout(PyObject *obj, PyObject *unused)
{
	(void)unused;
	char *text = gr_scan_layout_text(cast(obj)->scan);
	if (!text)
		return PyErr_NoMemory();
	PyObject *ret = gr_py_string(text);
	free(text);
	return ret;
}

static PyObject *scan_set_progress(PyObject *obj, PyObject *progress)
{
	set_callable(&cast(obj)->progress, progress);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "walk", (PyCFunction)(void (*)(void))scan_walk,
	  METH_VARARGS | METH_KEYWORDS, NULL },
	{ "why", (PyCFunction)(void (*)(void))scan_why,
	  METH_VARARGS | METH_KEYWORDS, NULL },
	{ "verify", scan_verify, METH_VARARGS, NULL },
	{ "objects", scan_objects, METH_VARARGS, NULL },
	{ "resolve", scan_resolve, METH_VARARGS, NULL },
	{ "complete", scan_complete, METH_VARARGS, NULL },
	{ "info", scan_info, METH_NOARGS, NULL },
	{ "layout", scan_layout, METH_NOARGS, NULL },
	{ "set_progress", scan_set_progress, METH_O, NULL },
	{ "estimate", gr_py_scan_estimate, METH_NOARGS, NULL },
	{ "reserve", gr_py_scan_reserve, METH_NOARGS, NULL },
	{ "capture", gr_py_scan_capture, METH_VARARGS, NULL },
	{ "finish", gr_py_scan_finish, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "One stopped target, opened once." },
	{ Py_tp_new, scan_new },
	{ Py_tp_dealloc, scan_dealloc },
	{ Py_tp_methods, methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.Scan",
	.basicsize = sizeof(struct gr_py_scan),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};

int gr_py_scan_init(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);

	if (!type)
		return -1;
	int rc = PyModule_AddType(module, (PyTypeObject *)type);
	Py_DECREF(type);
	return rc;
}
