// SPDX-License-Identifier: Apache-2.0
#include "gdbext.h"

static bool parse_kind(const char *text, enum gr_target_kind *ret)
{
	if (!strcmp(text, "core"))
		*ret = GR_TARGET_CORE;
	else if (!strcmp(text, "native"))
		*ret = GR_TARGET_NATIVE;
	else if (!strcmp(text, "snapshot"))
		*ret = GR_TARGET_SNAPSHOT;
	else if (!strcmp(text, "remote"))
		*ret = GR_TARGET_REMOTE;
	else
		return false;
	return true;
}

// A copy for free(); NULL with an exception set.
static char *copy_string(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		PyErr_NoMemory();
	return copy;
}

static int parse_module(PyObject *item, struct gr_target_module *ret)
{
	const char *path, *debug_path;
	PyObject *bias;

	if (!PyArg_ParseTuple(item, "szO;module", &path, &debug_path, &bias))
		return -1;
	ret->bias = UINT64_MAX;
	if (bias != Py_None) {
		ret->bias = PyLong_AsUnsignedLongLong(bias);
		if (PyErr_Occurred())
			return -1;
	}
	ret->path = copy_string(path);
	if (!ret->path)
		return -1;
	if (debug_path)
		ret->debug_path = copy_string(debug_path);
	return debug_path && !ret->debug_path ? -1 : 0;
}

static int parse_modules(struct gr_py_target *t, PyObject *modules)
{
	Py_ssize_t n = PySequence_Size(modules);

	if (n < 0)
		return -1;
	t->modules = calloc((size_t)n + 1, sizeof(*t->modules));
	if (!t->modules) {
		PyErr_NoMemory();
		return -1;
	}
	t->target.modules = t->modules;
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PySequence_GetItem(modules, i);
		// Counted first: what a half parsed one owns is freed too.
		t->target.nmodules++;
		int rc = item ? parse_module(item, &t->modules[i]) : -1;

		Py_XDECREF(item);
		if (rc)
			return -1;
	}
	return 0;
}

static int parse_registers(PyObject *values, struct gr_regs *ret)
{
	for (Py_ssize_t i = 0; i <= GR_NREGS; i++) {
		PyObject *item = PySequence_GetItem(values, i);

		if (!item)
			return -1;
		uint64_t value = PyLong_AsUnsignedLongLongMask(item);
		Py_DECREF(item);
		if (PyErr_Occurred())
			return -1;
		if (i < GR_NREGS)
			ret->value[i] = value;
		else
			ret->fs_base = value;
	}
	return 0;
}

static int parse_thread(PyObject *item, struct gr_target_thread *ret)
{
	PyObject *registers;
	int lwp;

	if (!PyArg_ParseTuple(item, "iO;thread", &lwp, &registers))
		return -1;
	ret->lwp = lwp;
	return parse_registers(registers, &ret->regs);
}

int gr_py_threads(PyObject *threads, struct gr_target_thread **ret,
		  size_t *count)
{
	Py_ssize_t n = PySequence_Size(threads);
	struct gr_target_thread *list;

	if (n < 0)
		return -1;
	list = calloc((size_t)n + 1, sizeof(*list));
	if (!list) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PySequence_GetItem(threads, i);
		int rc = item ? parse_thread(item, &list[i]) : -1;

		Py_XDECREF(item);
		if (rc) {
			free(list);
			return -1;
		}
	}
	*ret = list;
	*count = (size_t)n;
	return 0;
}

int gr_py_target_init(struct gr_py_target *t, const char *kind,
		      const char *core_path, int pid, PyObject *modules,
		      PyObject *threads)
{
	memset(t, 0, sizeof(*t));
	if (!parse_kind(kind, &t->target.kind)) {
		PyErr_Format(gr_py_argument_error, "no kind of target: %s",
			     kind);
		return -1;
	}
	if (core_path) {
		t->core_path = copy_string(core_path);
		if (!t->core_path)
			return -1;
	}
	t->target.core_path = t->core_path;
	t->target.pid = pid;
	if (parse_modules(t, modules) ||
	    gr_py_threads(threads, &t->threads, &t->target.nthreads))
		return -1;
	t->target.threads = t->threads;
	if (!t->target.nmodules) {
		PyErr_SetString(gr_py_argument_error, "no executable");
		return -1;
	}
	return 0;
}

void gr_py_target_deinit(struct gr_py_target *t)
{
	for (size_t i = 0; i < t->target.nmodules; i++) {
		free((char *)(uintptr_t)t->modules[i].path);
		free((char *)(uintptr_t)t->modules[i].debug_path);
	}
	free(t->modules);
	free(t->threads);
	free(t->core_path);
	memset(t, 0, sizeof(*t));
}
