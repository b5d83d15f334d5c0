// SPDX-License-Identifier: Apache-2.0
// Registers of a thread that gdb traces. gdb's main thread, which we run on,
// is the tracer: asking the kernel directly selects no thread and no frame.
#include "gdbext.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/user.h>

PyObject *gr_py_read_registers(PyObject *module, PyObject *args)
{
	struct user_regs_struct u;
	int tid;

	(void)module;
	if (!PyArg_ParseTuple(args, "i:read_registers", &tid))
		return NULL;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return PyErr_SetFromErrno(PyExc_OSError);
	// enum gr_reg's order, then fs_base.
	return Py_BuildValue("(KKKKKKKKKKKKKKKKKK)", u.rax, u.rdx, u.rcx, u.rbx,
			     u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9, u.r10,
			     u.r11, u.r12, u.r13, u.r14, u.r15, u.rip,
			     u.fs_base);
}
