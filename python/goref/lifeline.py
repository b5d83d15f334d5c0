# SPDX-License-Identifier: Apache-2.0
"""Makes the kernel resume a process when we die. Pure: never imports gdb.

gdb stops a process with SIGSTOP. If gdb is killed before it has waited for each
thread, the process stays stopped. The watcher (helpers/watcher.c) then sends
SIGCONT, but it may be killed together with gdb: by the OOM killer, if the
control group has memory.oom.group, or when a container ends. The last resort
needs no process: a pipe, both ends of which are ours. When we die, the kernel
closes one end first, and then sends SIGCONT to the owner of the other end,
which is the process."""

import fcntl
import os
import signal
from contextlib import suppress


class Lifeline:
    """A context in which our death sends SIGCONT to a process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ends: tuple[int, ...] = ()

    def __enter__(self) -> "Lifeline":
        self.ends = os.pipe()
        with suppress(OSError):  # it has ended, or this is not permitted
            for end in self.ends:
                fcntl.fcntl(end, fcntl.F_SETOWN, self.pid)
                fcntl.fcntl(end, fcntl.F_SETSIG, signal.SIGCONT)
                self._set_async(end, True)
        return self

    @staticmethod
    def _set_async(end: int, is_on: bool) -> None:
        flags = fcntl.fcntl(end, fcntl.F_GETFL) & ~os.O_ASYNC
        fcntl.fcntl(end, fcntl.F_SETFL, flags | (os.O_ASYNC if is_on else 0))

    def __exit__(self, *_: object) -> None:
        for end in self.ends:
            self._set_async(end, False)
        for end in self.ends:
            os.close(end)
        self.ends = ()
