# SPDX-License-Identifier: Apache-2.0
"""goref-readahead, which our scripts start before gdb, is a child of gdb then. It
is waited for: whoever takes gdb's children over may not do it. In a container
that is the program itself."""

import atexit
import os
import signal


def end_with_gdb() -> None:
    """Once; without such a child, nothing."""
    pid = os.environ.pop("GOREF_READAHEAD", "")
    if pid.isdigit():
        atexit.register(_end, int(pid))


def _end(pid: int) -> None:
    try:
        if not os.waitpid(pid, os.WNOHANG)[0]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # gdb has waited for it, or it is not ours
