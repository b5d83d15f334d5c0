# SPDX-License-Identifier: Apache-2.0
"""Ends what gdb waits for, after a time. While it waits for a process to stop,
gdb heeds no callback and no clock of ours, and SIGINT only sometimes."""

import os
import select
import signal
import threading
from contextlib import suppress
from typing import NoReturn

_GRACE_S = 1.0


class Alarm:
    """A context that lasts some seconds at most. Then SIGINT comes, as if by
    Ctrl-C, and has_rung tells so. If gdb is deaf to that, this process ends:
    nothing else lets the one that it has stopped go on."""

    def __init__(self, seconds: float, last_words: str) -> None:
        """last_words: the error message for the latter case."""
        self.has_rung = False
        self._seconds = seconds
        self._last_words = last_words
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        if self._over.wait(self._seconds):
            return
        with self._lock:
            if self._over.is_set():
                return
            self.has_rung = True
            # Not to this thread: gdb would not wake up.
            main = threading.main_thread().ident or 0
            signal.pthread_kill(main, signal.SIGINT)
        if not self._over.wait(_GRACE_S):
            self._end()

    def _end(self) -> NoReturn:
        """Not held up by a terminal that takes nothing."""
        with suppress(OSError, ValueError):
            if select.select([], [2], [], 0)[1]:
                os.write(2, f"{self._last_words}\n".encode())
        os._exit(1)

    def __enter__(self) -> None:
        """The thread takes no signal of the process: they are gdb's."""
        every = signal.valid_signals()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, every)
        try:
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __exit__(self, *_: object) -> None:
        try:
            with self._lock:
                self._over.set()
        finally:
            # SIGINT may come while this thread waits for the lock.
            self._over.set()
            self._thread.join()
