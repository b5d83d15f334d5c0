// SPDX-License-Identifier: Apache-2.0
// class Scan: one opened target. Methods for questions are in their own files.
#include "gdbext.h"

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

	target->ops.read = gr_py_scan_read;
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
	static char *names[] = { "kind",	 "read",	 "modules",
				 "threads",	 "core",	 "pid",
				 "progress",	 "cache",	 "prepare",
				 "copy_threads", "memory_limit", "extent",
				 "held",	 "saved",	 NULL };
	PyObject *read, *modules, *threads, *progress = Py_None;
	const char *kind, *core = NULL, *extent_name = "heap", *saved = NULL;
	enum gr_scan_extent extent;
	int pid = 0, use_cache = 0, is_prepared = 0, is_held = 0;
	unsigned int copy_threads = 1;
	unsigned long long memory_limit = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "sOOO|ziOppIKspz:Scan", names, &kind, &read,
		    &modules, &threads, &core, &pid, &progress, &use_cache,
		    &is_prepared, &copy_threads, &memory_limit, &extent_name,
		    &is_held, &saved) ||
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

static void scan_dealloc(PyObject *obj)
{
	struct gr_py_scan *self = cast(obj);

	gr_scan_destroy(self->scan);
	gr_py_target_deinit(&self->target);
	Py_XDECREF(self->read);
	Py_XDECREF(self->progress);
	gr_py_type_free(obj);
}

// ----------------------------------------------------------------- methods

static PyObject *scan_set_progress(PyObject *obj, PyObject *progress)
{
	gr_py_set_callable(&cast(obj)->progress, progress);
	Py_RETURN_NONE;
}

static PyObject *scan_set_memory_limit(PyObject *obj, PyObject *args,
				       PyObject *kwargs)
{
	static char *names[] = { "limit", NULL };
	unsigned long long limit;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K:set_memory_limit",
					 names, &limit))
		return NULL;
	gr_scan_set_memory_limit(cast(obj)->scan, limit);
	Py_RETURN_NONE;
}

static PyObject *scan_extend(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "extent", NULL };
	struct gr_py_scan *self = cast(obj);
	enum gr_scan_extent extent;
	const char *name;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:extend", names,
					 &name) ||
	    !parse_extent(name, &extent) || !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_extend(self->scan, extent);
	gr_py_scan_leave(self);
	return gr_py_none_or_raise(err);
}

static PyMethodDef methods[] = {
	GR_PY_METHOD(walk, gr_py_scan_walk,
		     "($self, max_depth, max_nodes, places=(), "
		     "attribution='nearest', per_goroutine=False, "
		     "keep_partial=False)"),
	GR_PY_METHOD(why, gr_py_scan_why,
		     "($self, addr, max_depth, max_nodes, "
		     "attribution='nearest')"),
	GR_PY_METHOD(goroutines, gr_py_scan_goroutines,
		     "($self, filters, with_system=False, group=None, "
		     "max_rows=0, group_label=None, channel=0, "
		     "with_bytes=False)"),
	GR_PY_METHOD(backtrace, gr_py_scan_backtrace,
		     "($self, goroutine_id, max_calls=0, "
		     "with_variables=False, first_call=0, ncalls=0, "
		     "max_string=64, max_elements=64, max_depth=1)"),
	GR_PY_METHOD(goroutine_profile, gr_py_scan_goroutine_profile,
		     "($self, selection, path=None, partial=None, labels=(), "
		     "time_ns=0)"),
	GR_PY_METHOD(goroutine_wait, gr_py_scan_goroutine_wait,
		     "($self, goroutine_id, may_walk=True, max_string=64, "
		     "max_elements=64, max_depth=1)"),
	GR_PY_METHOD(panic, gr_py_scan_panic,
		     "($self, max_string=64, max_elements=64, max_depth=1)"),
	GR_PY_METHOD(bucket_profile, gr_py_scan_bucket_profile,
		     "($self, name, path, partial=None, labels=(), time_ns=0, "
		     "now=False)"),
	GR_PY_METHOD(allocation, gr_py_scan_allocation, "($self, addr)"),
	GR_PY_METHOD(waits, gr_py_scan_waits,
		     "($self, goroutine_id=0, max_groups=0, max_ids=0, "
		     "with_paths=True)"),
	GR_PY_METHOD(verify, gr_py_scan_verify, "($self, max_differences)"),
	GR_PY_METHOD(holders, gr_py_scan_holders,
		     "($self, addr, max_paths, max_roots, all_roots=False, "
		     "exclude_weak=False)"),
	GR_PY_METHOD(merge_type, gr_py_scan_merge_type,
		     "($self, type, max_branches, exclude_weak=False)"),
	GR_PY_METHOD(object_info, gr_py_scan_object,
		     "($self, addr, max_references, max_referrers, "
		     "group_references=False, group_referrers=False)"),
	GR_PY_METHOD(print_value, gr_py_scan_print_value,
		     "($self, place, max_string=64, max_elements=64, "
		     "max_depth=1)"),
	GR_PY_METHOD(objects, gr_py_scan_objects, "($self, where)"),
	GR_PY_METHOD(resolve, gr_py_scan_resolve, "($self, text)"),
	GR_PY_METHOD(variable, gr_py_scan_variable, "($self, place, max_held)"),
	GR_PY_METHOD(complete, gr_py_scan_complete, "($self, prefix)"),
	GR_PY_METHOD(dominators, gr_py_scan_dominators,
		     "($self, places=(), max_depth=1, max_children=0, "
		     "max_rows=0, min_bytes=0)"),
	GR_PY_GETTER(suspects, gr_py_scan_suspects),
	GR_PY_METHOD(leaks, gr_py_scan_leaks, "($self, ignored=())"),
	GR_PY_GETTER(scheduler, gr_py_scan_scheduler),
	GR_PY_METHOD(goroutine_of_thread, gr_py_scan_goroutine_of_thread,
		     "($self, thread_id)"),
	GR_PY_METHOD(rss, gr_py_scan_rss, "($self, marked=True)"),
	GR_PY_METHOD(save, gr_py_scan_save,
		     "($self, path, values=False, stop=None, identity=None)"),
	GR_PY_METHOD(list_objects, gr_py_scan_list_objects,
		     "($self, where, is_wanted=None, min_bytes=0, limit=0, "
		     "order='address', with_retained=False, "
		     "merged_types=False)"),
	GR_PY_METHOD(export, gr_py_scan_export, "($self, path, format)"),
	GR_PY_METHOD(histogram, gr_py_scan_histogram,
		     "($self, by='type', with_retained=False, garbage=False, "
		     "exact=None)"),
	GR_PY_METHOD(sites, gr_py_scan_sites,
		     "($self, with_root=False, garbage=False)"),
	GR_PY_GETTER(graph_phases, gr_py_scan_graph_phases),
	GR_PY_GETTER(gaps, gr_py_scan_gaps),
	GR_PY_GETTER(graph_size, gr_py_scan_graph_size),
	GR_PY_GETTER(has_retained, gr_py_scan_has_retained),
	GR_PY_METHOD(vertex, gr_py_scan_vertex,
		     "($self, vertex, with_retained=False)"),
	GR_PY_METHOD(content, gr_py_scan_content, "($self, vertex)"),
	GR_PY_METHOD(find, gr_py_scan_find, "($self, place)"),
	GR_PY_METHOD(dominator, gr_py_scan_dominator, "($self, vertex)"),
	GR_PY_METHOD(retained, gr_py_scan_retained, "($self, vertices)"),
	GR_PY_METHOD(paths, gr_py_scan_paths, "($self, vertex, max_paths)"),
	GR_PY_METHOD(links, gr_py_scan_links, "($self, source, target, max=0)"),
	GR_PY_METHOD(iterate, gr_py_scan_iterate,
		     "($self, type=None, min_bytes=0)"),
	GR_PY_METHOD(neighbours, gr_py_scan_neighbours,
		     "($self, vertex, which)"),
	GR_PY_METHOD(type_info, gr_py_scan_type_info, "($self, type)"),
	GR_PY_METHOD(dynamic_type, gr_py_scan_dynamic_type,
		     "($self, interface, word)"),
	GR_PY_METHOD(read, gr_py_scan_read_memory, "($self, addr, bytes)"),
	GR_PY_METHOD(show, gr_py_scan_show,
		     "($self, type, addr, content=None, max_string=64, "
		     "max_elements=64, max_depth=1)"),
	GR_PY_METHOD(value_place, gr_py_scan_value_place, "($self, vertex)"),
	GR_PY_METHOD(local_values, gr_py_scan_local_values,
		     "($self, goroutine_id, first_call, ncalls)"),
	GR_PY_METHOD(length, gr_py_scan_length, "($self, type, header)"),
	GR_PY_METHOD(map_find, gr_py_scan_map_find,
		     "($self, type, header, key)"),
	GR_PY_METHOD(map_entries, gr_py_scan_map_entries,
		     "($self, type, header)"),
	GR_PY_GETTER(info, gr_py_scan_info),
	GR_PY_GETTER(layout, gr_py_scan_layout),
	GR_PY_GETTER(estimate, gr_py_scan_estimate),
	GR_PY_GETTER(is_unsettled, gr_py_scan_is_unsettled),
	GR_PY_GETTER(copy_searched, gr_py_scan_copy_searched),
	GR_PY_GETTER(search_copy, gr_py_scan_search_copy),
	GR_PY_GETTER(reserve, gr_py_scan_reserve),
	GR_PY_METHOD(capture, gr_py_scan_capture,
		     "($self, threads, copy_pid=0)"),
	GR_PY_GETTER(finish, gr_py_scan_finish),
	{ "set_progress", scan_set_progress, METH_O,
	  "set_progress($self, progress, /)\n--\n\nSee _goref.pyi." },
	GR_PY_METHOD(set_memory_limit, scan_set_memory_limit, "($self, limit)"),
	GR_PY_METHOD(extend, scan_extend, "($self, extent)"),
	{ NULL, NULL, 0, NULL },
};

// The first lines of the text are the signature of the constructor.
static const char doc[] =
	"Scan(kind, read, modules, threads, core=None, pid=0, progress=None, "
	"cache=False, prepare=False, copy_threads=1, memory_limit=0, "
	"extent='heap', held=False, saved=None)\n--\n\n"
	"One stopped target, opened once. See _goref.pyi.";

static PyType_Slot slots[] = {
	{ Py_tp_doc, (void *)(uintptr_t)doc },
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
	PyTypeObject *type;

	return gr_py_type_add(module, &spec, &type);
}
