// SPDX-License-Identifier: Apache-2.0
// Registers of a thread that gdb traces. This code runs on gdb's main thread,
// which is the tracer. It asks the kernel directly, so that no thread and no
// frame is selected in gdb.
#include "gdbext/gdbext.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/user.h>

PyObject *gr_py_read_registers(PyObject *module, PyObject *args,
			       PyObject *kwargs)
{
	struct user_regs_struct u;
	int tid;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i:read_registers",
					 gr_py_read_registers_names, &tid))
		return NULL;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return PyErr_SetFromErrno(PyExc_OSError);
	// The order is that of enum gr_reg, then fs_base and orig_rax.
	return Py_BuildValue("(KKKKKKKKKKKKKKKKKKK)", u.rax, u.rdx, u.rcx,
			     u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9,
			     u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip,
			     u.fs_base, u.orig_rax);
}
