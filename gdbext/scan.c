// SPDX-License-Identifier: Apache-2.0
// class Scan: one opened target. Methods for questions are in their own files.
#include "gdbext/gdbext.h"

#include "scan/open.h"

#include <malloc.h>

PyTypeObject *gr_py_scan_type;

static struct gr_py_scan *cast(PyObject *self)
{
	return (struct gr_py_scan *)self;
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

static bool open_target(struct gr_py_scan *self, enum gr_scan_extent extent)
{
	struct gr_target *target = &self->target.target;

	target->ops.read = gr_py_scan_read_target;
	target->ops.poll = gr_py_scan_poll;
	target->ctx = self;
	self->is_busy = true;
	struct gr_error *err =
		self->is_prepared ?
			gr_scan_prepare(target, extent, &self->scan) :
			gr_scan_create(target, extent, &self->scan);
	self->is_busy = false;
	if (err)
		gr_py_raise(err);
	// An estimate may fail without an error; it may have been interrupted.
	return !PyErr_Occurred();
}

static bool parse_extent(const char *name, enum gr_scan_extent *ret)
{
	static const char *const names[] = {
		[GR_EXTENT_HEAP] = "heap",
		[GR_EXTENT_GOROUTINES] = "goroutines",
		[GR_EXTENT_VALUES] = "values",
		[GR_EXTENT_RESIDENCY] = "residency",
		[GR_EXTENT_PAGES] = "pages",
		[GR_EXTENT_NATIVE] = "native",
		[GR_EXTENT_BUCKETS] = "buckets",
		[GR_EXTENT_SITES] = "sites",
		[GR_EXTENT_REPORT] = "report",
		[GR_EXTENT_SAVE] = "save",
		[GR_EXTENT_SAVE_VALUES] = "save-values",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = i;
		return true;
	}
	PyErr_Format(gr_py_argument_error, "no extent: %s", name);
	return false;
}

static PyObject *scan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *read, *modules, *threads, *progress = Py_None;
	const char *kind, *core = NULL, *extent_name = "heap", *saved = NULL;
	enum gr_scan_extent extent;
	int pid = 0, use_cache = 0, is_prepared = 0, is_held = 0;
	unsigned int copy_threads = 1;
	unsigned long long memory_limit = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "sOOO|ziOppIKspz:Scan", gr_py_scan_names,
		    &kind, &read, &modules, &threads, &core, &pid, &progress,
		    &use_cache, &is_prepared, &copy_threads, &memory_limit,
		    &extent_name, &is_held, &saved) ||
	    !parse_extent(extent_name, &extent))
		return NULL;
	_cleanup_py_ PyObject *obj = gr_py_type_alloc(type);
	if (!obj)
		return NULL;
	struct gr_py_scan *self = cast(obj);
	self->is_prepared = is_prepared;
	gr_py_set_callable(&self->read, read);
	gr_py_set_callable(&self->progress, progress);
	if (gr_py_target_init(&self->target, kind, core, pid, saved, modules,
			      threads))
		return NULL;
	self->target.target.use_cache = use_cache;
	self->target.target.is_held = is_held;
	self->target.target.copy_threads = copy_threads;
	self->target.target.memory_limit_bytes = memory_limit;
	return open_target(self, extent) ? steal_ptr(obj) : NULL;
}

/* malloc() keeps up to 64 MiB of freed memory. The next scan may need other
 * sizes, and gdb works on without one, so the system gets it back. */
static void scan_dealloc(PyObject *obj)
{
	struct gr_py_scan *self = cast(obj);

	gr_scan_destroy(self->scan);
	malloc_trim(0);
	gr_py_target_deinit(&self->target);
	Py_XDECREF(self->read);
	Py_XDECREF(self->progress);
	gr_py_type_free(obj);
}

// ----------------------------------------------------------------- methods

PyObject *gr_py_scan_set_progress(PyObject *obj, PyObject *progress)
{
	gr_py_set_callable(&cast(obj)->progress, progress);
	Py_RETURN_NONE;
}

PyObject *gr_py_scan_set_memory_limit(PyObject *obj, PyObject *args,
				      PyObject *kwargs)
{
	unsigned long long limit;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K:set_memory_limit",
					 gr_py_scan_set_memory_limit_names,
					 &limit))
		return NULL;
	gr_scan_set_memory_limit(cast(obj)->scan, limit);
	Py_RETURN_NONE;
}

PyObject *gr_py_scan_extend(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = cast(obj);
	enum gr_scan_extent extent;
	const char *name;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:extend",
					 gr_py_scan_extend_names, &name) ||
	    !parse_extent(name, &extent) || !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_extend(self->scan, extent);
	gr_py_scan_leave(self);
	return gr_py_none_or_raise(err);
}

// The first lines of the text are the signature of the constructor.
static const char doc[] = GR_PY_SCAN_SIGNATURE
	"One stopped target, opened once. See _goref.pyi.";

static PyType_Slot slots[] = {
	{ Py_tp_doc, (void *)(uintptr_t)doc },
	{ Py_tp_new, scan_new },
	{ Py_tp_dealloc, scan_dealloc },
	{ Py_tp_methods, gr_py_scan_methods },
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
	return gr_py_type_add(module, &spec, &gr_py_scan_type);
}
