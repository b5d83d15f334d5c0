// SPDX-License-Identifier: Apache-2.0
#include "gdbext/gdbext.h"

#include "process/status.h"

static const char *const kinds[] = {
	[GR_TARGET_CORE] = "core",	   [GR_TARGET_NATIVE] = "native",
	[GR_TARGET_SNAPSHOT] = "snapshot", [GR_TARGET_REMOTE] = "remote",
	[GR_TARGET_SAVED] = "saved",
};

PyObject *gr_py_from_target_kind(const void *value)
{
	const enum gr_target_kind *kind = value;

	return gr_py_string(kinds[*kind]);
}

static bool parse_kind(const char *text, enum gr_target_kind *ret)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(text, kinds[i])) {
			*ret = (enum gr_target_kind)i;
			return true;
		}
	}
	return false;
}

// Copy a string, for free(); NULL with an exception set.
static char *copy_string(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		PyErr_NoMemory();
	return copy;
}

static int parse_module(PyObject *item, struct gr_target_module *ret)
{
	const char *path, *debug_path, *name = NULL;
	PyObject *bias;

	if (!PyArg_ParseTuple(item, "szO|z;module", &path, &debug_path, &bias,
			      &name))
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
	if (name)
		ret->name = copy_string(name);
	return PyErr_Occurred() ? -1 : 0;
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
		// The module is counted first, so that the memory of a half
		// parsed one is freed, too.
		t->target.nmodules++;
		int rc = item ? parse_module(item, &t->modules[i]) : -1;

		Py_XDECREF(item);
		if (rc)
			return -1;
	}
	return 0;
}

// The registers, fs_base, and the number of a system call if that is known.
static int parse_registers(PyObject *values, struct gr_regs *ret)
{
	Py_ssize_t count = PySequence_Size(values);

	for (Py_ssize_t i = 0; i <= GR_NREGS + 1; i++) {
		if (i > GR_NREGS && i >= count)
			break;
		PyObject *item = PySequence_GetItem(values, i);

		if (!item)
			return -1;
		uint64_t value = PyLong_AsUnsignedLongLongMask(item);
		Py_DECREF(item);
		if (PyErr_Occurred())
			return -1;
		if (i < GR_NREGS)
			ret->value[i] = value;
		else if (i == GR_NREGS)
			ret->fs_base = value;
		else
			ret->call = value;
	}
	ret->is_in_call = count > GR_NREGS + 1 && ret->call != GR_CALL_NONE;
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
	int is_process = gr_py_process_threads(threads, ret, count);
	struct gr_target_thread *list;

	if (is_process)
		return is_process < 0 ? -1 : 0;
	Py_ssize_t n = PySequence_Size(threads);
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
		      const char *core_path, int pid, const char *saved_path,
		      PyObject *modules, PyObject *threads)
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
	if (saved_path) {
		t->saved_path = copy_string(saved_path);
		if (!t->saved_path)
			return -1;
	}
	t->target.core_path = t->core_path;
	t->target.saved_path = t->saved_path;
	t->target.pid = pid;
	if (t->target.kind == GR_TARGET_NATIVE)
		t->target.reader = gr_process_reader(pid);
	if (parse_modules(t, modules) ||
	    gr_py_threads(threads, &t->threads, &t->target.nthreads))
		return -1;
	t->target.threads = t->threads;
	// A saved file has the modules itself.
	if (!t->target.nmodules && t->target.kind != GR_TARGET_SAVED) {
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
		free((char *)(uintptr_t)t->modules[i].name);
	}
	free(t->modules);
	free(t->threads);
	free(t->core_path);
	free(t->saved_path);
	memset(t, 0, sizeof(*t));
}
