// SPDX-License-Identifier: Apache-2.0
// class Process: a process that goref itself holds still.
#include "gdbext/gdbext.h"

#include <errno.h>

#include "process/process.h"
#include "process/refusal.h"
#include "process/status.h"

struct gr_py_process {
	PyObject_HEAD struct gr_process *process;
	bool is_busy; /**< It is being stopped. */
	/** The ones beside it in the list of all. */
	struct gr_py_process *before, *after;
};

static PyTypeObject *process_type;

// All that exist: the end of the interpreter lets their processes go.
static struct gr_py_process *all;

static struct gr_py_process *cast(PyObject *self)
{
	return (struct gr_py_process *)self;
}

// -------------------------------------------------------------- life cycle

static void list_add(struct gr_py_process *self)
{
	self->after = all;
	if (all)
		all->before = self;
	all = self;
}

static void list_remove(struct gr_py_process *self)
{
	if (self->before)
		self->before->after = self->after;
	else if (all == self)
		all = self->after;
	if (self->after)
		self->after->before = self->before;
}

/* Release all processes when the interpreter has ended. */
static void release_all(void)
{
	for (struct gr_py_process *p = all; p; p = p->after)
		gr_process_release(p->process);
}

static PyObject *process_new(PyTypeObject *type, PyObject *args,
			     PyObject *kwargs)
{
	struct gr_process *process;
	int pid;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i:Process",
					 gr_py_process_names, &pid))
		return NULL;
	struct gr_error *err = gr_process_create(pid, &process);
	if (err)
		return gr_py_raise(err);
	PyObject *obj = gr_py_type_alloc(type);
	if (!obj) {
		gr_process_destroy(process);
		return NULL;
	}
	cast(obj)->process = process;
	list_add(cast(obj));
	return obj;
}

static void process_dealloc(PyObject *obj)
{
	struct gr_py_process *self = cast(obj);

	list_remove(self);
	gr_process_destroy(self->process);
	gr_py_type_free(obj);
}

// ----------------------------------------------------------------- methods

/* Check for Ctrl-C, let other threads of Python run, and call the caller's
 * function. stop() keeps the interpreter at all other times. */
static struct gr_error *poll(void *ctx)
{
	PyObject *callable = ctx;

	if (PyErr_CheckSignals())
		return gr_py_interrupted();
	Py_BEGIN_ALLOW_THREADS;
	Py_END_ALLOW_THREADS;
	if (!callable)
		return NULL;
	_cleanup_py_ PyObject *ret = PyObject_CallNoArgs(callable);
	return ret ? NULL : gr_py_interrupted();
}

/* Return false with an exception if the limit makes no sense. */
static bool parse_limit(double limit_s, int64_t *ret)
{
	static const double most_s = 1e9;

	if (!(limit_s >= 0)) {
		PyErr_SetString(gr_py_argument_error, "no time limit");
		return false;
	}
	*ret = (int64_t)((limit_s < most_s ? limit_s : most_s) * 1e6);
	return true;
}

/* Claim the process for one call; false with an exception if it is busy. */
static bool enter(struct gr_py_process *self)
{
	if (self->is_busy)
		PyErr_SetString(gr_py_argument_error,
				"the process is being stopped");
	return !self->is_busy;
}

PyObject *gr_py_process_stop(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_process *self = cast(obj);
	PyObject *callable = Py_None;
	struct gr_process_stop stop;
	double limit_s;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "d|O:stop",
					 gr_py_process_stop_names, &limit_s,
					 &callable))
		return NULL;
	struct gr_process_patience patience = {
		.poll = poll,
		.ctx = callable == Py_None ? NULL : callable,
	};
	if (!parse_limit(limit_s, &patience.limit_us) || !enter(self))
		return NULL;
	self->is_busy = true;
	struct gr_error *err = gr_process_stop(self->process, &patience, &stop);
	self->is_busy = false;
	if (err)
		return gr_py_raise(err);
	PyObject *row = gr_py_row_new(&gr_py_stop_row, &stop);
	if (!row)
		gr_process_release(self->process);
	return row;
}

PyObject *gr_py_process_release(PyObject *obj, PyObject *unused)
{
	(void)unused;
	if (!enter(cast(obj)))
		return NULL;
	return PyLong_FromLongLong(gr_process_release(cast(obj)->process));
}

PyObject *gr_py_process_is_held(PyObject *obj, PyObject *unused)
{
	(void)unused;
	return PyBool_FromLong(gr_process_is_held(cast(obj)->process));
}

int gr_py_process_threads(PyObject *obj, struct gr_target_thread **ret,
			  size_t *count)
{
	const struct gr_target_thread *threads;

	if (!PyObject_TypeCheck(obj, process_type))
		return 0;
	threads = gr_process_threads(cast(obj)->process, count);
	if (!threads || cast(obj)->is_busy) {
		PyErr_SetString(gr_py_argument_error,
				"the process is not held");
		return -1;
	}
	*ret = calloc(*count + 1, sizeof(**ret));
	if (!*ret) {
		PyErr_NoMemory();
		return -1;
	}
	memcpy(*ret, threads, *count * sizeof(**ret));
	return 1;
}

// The first lines of the text are the signature of the constructor.
static const char doc[] = GR_PY_PROCESS_SIGNATURE
	"A process that goref holds still. See _goref.pyi.";

static PyType_Slot slots[] = {
	{ Py_tp_doc, (void *)(uintptr_t)doc },
	{ Py_tp_new, process_new },
	{ Py_tp_dealloc, process_dealloc },
	{ Py_tp_methods, gr_py_process_methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_goref.Process",
	.basicsize = sizeof(struct gr_py_process),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};

int gr_py_process_init(PyObject *module)
{
	if (Py_AtExit(release_all))
		return -1;
	return gr_py_type_add(module, &spec, &process_type);
}

// --------------------------------------------------- functions of the module

static bool parse_pid(PyObject *args, PyObject *kwargs, char **names, int *ret)
{
	return PyArg_ParseTupleAndKeywords(args, kwargs, "i", names, ret);
}

PyObject *gr_py_process_reader(PyObject *module, PyObject *args,
			       PyObject *kwargs)
{
	int pid;

	(void)module;
	if (!parse_pid(args, kwargs, gr_py_process_reader_names, &pid))
		return NULL;
	return PyLong_FromLong(gr_process_reader(pid));
}

PyObject *gr_py_why_not_traced(PyObject *module, PyObject *args,
			       PyObject *kwargs)
{
	int pid;

	(void)module;
	if (!parse_pid(args, kwargs, gr_py_why_not_traced_names, &pid))
		return NULL;
	struct gr_error *err = gr_refusal_of(pid, pid, EPERM);
	_cleanup_py_ PyObject *text = gr_py_string(err->message);
	gr_error_destroy(err);
	return steal_ptr(text);
}
