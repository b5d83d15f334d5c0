# SPDX-License-Identifier: Apache-2.0
"""A command that goref starts to trace it from its first moment."""

from __future__ import annotations

import os
import select
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress

from ..errors import Error

_NOT_STARTED = 127


class Command:
    """A child of ours that waits until it may begin its program. If nobody lets
    it, it ends."""

    def __init__(self, words: Sequence[str]) -> None:
        """Raises an Error if there is no such program."""
        self.words = list(words)
        self.is_waiting = True
        self._status: int | None = None
        path = shutil.which(words[0])
        if path is None:
            raise Error(f"goref: {words[0]}: there is no such command")
        self._path = path
        wait, self._go = os.pipe()
        # The child's end closes when its own program begins.
        self._begun, begins = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self._become(wait)
        os.close(wait)
        os.close(begins)

    def _become(self, wait: int) -> None:
        """In the child: wait, then run the program."""
        status = _NOT_STARTED
        try:
            os.close(self._go)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if os.read(wait, 1):
                os.execv(self._path, self.words)
        except OSError as problem:
            text = f"goref: {self._path}: {problem.strerror}\n"
            with suppress(OSError):
                os.write(2, text.encode("utf-8", "surrogateescape"))
        finally:
            os._exit(status)

    def begin(self) -> None:
        """Let it begin its program."""
        self.is_waiting = False
        with suppress(OSError):
            os.write(self._go, b"g")
        os.close(self._go)

    def has_begun(self) -> bool:
        """Does it run its own program, or has it ended?"""
        return bool(select.select([self._begun], [], [], 0)[0])

    def status(self) -> int | None:
        """Its exit status, -N for a signal; None: it runs."""
        if self._status is None:
            with suppress(ChildProcessError):
                found, status = os.waitpid(self.pid, os.WNOHANG)
                if found:
                    self._status = os.waitstatus_to_exitcode(status)
        return self._status
