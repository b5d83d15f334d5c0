// SPDX-License-Identifier: Apache-2.0
// The scanner's callbacks into Python: reading memory, polling, writing text.
#include "gdbext/gdbext.h"

#include <time.h>

#include "proto/output.h"
#include "scan/open.h"

enum {
	POLL_NS = 20 * 1000 * 1000, // a person notices from 100 ms on
	/** gdb 13 aborts on requests it cannot allocate. */
	MAX_READ_BYTES = 1 << 20,
};

void gr_py_set_callable(PyObject **where, PyObject *value)
{
	PyObject *old = *where;

	*where = value == Py_None ? NULL : Py_NewRef(value);
	Py_XDECREF(old);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

// The exception that a callback raised stays set until gr_py_raise().
struct gr_error *gr_py_interrupted(void)
{
	return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
}

struct gr_error *gr_py_scan_poll(void *ctx)
{
	struct gr_py_scan *self = ctx;
	uint64_t now = now_ns();

	// Some readers report an interruption as memory that is not there.
	if (PyErr_Occurred())
		return gr_py_interrupted();
	if (now - self->polled_ns < POLL_NS)
		return NULL;
	if (PyErr_CheckSignals())
		return gr_py_interrupted();
	if (self->progress) {
		struct gr_progress now = { 0 };

		// There is no scan yet while it is being opened.
		if (self->scan)
			now = gr_scan_progress(self->scan);
		PyObject *ret = PyObject_CallFunction(
			self->progress, "sKK", gr_scan_step_name(now.step),
			(unsigned long long)now.done,
			(unsigned long long)now.total);
		if (!ret)
			return gr_py_interrupted();
		Py_DECREF(ret);
	}
	self->polled_ns = now_ns();
	return NULL;
}

// Make the error for a read that failed in Python.
static struct gr_error *read_failed(uint64_t addr, size_t bytes)
{
	if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		return gr_py_interrupted();
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

struct gr_error *gr_py_scan_read_target(void *ctx, uint64_t addr, void *buf,
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

struct gr_error *gr_py_write_to_callable(void *ctx, const char *text,
					 size_t bytes)
{
	_cleanup_py_ PyObject *ret =
		PyObject_CallFunction(ctx, "s#", text, (Py_ssize_t)bytes);

	return ret ? NULL : gr_py_interrupted();
}

struct gr_error *gr_py_write_to_output(void *ctx, const char *text,
				       size_t bytes)
{
	return gr_output_write(ctx, text, bytes);
}
