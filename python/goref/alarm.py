# SPDX-License-Identifier: Apache-2.0
"""Ends what gdb waits for, after a time. While it waits for a process to stop,
gdb heeds no callback and no clock of ours, and a SIGINT that it heeds goes to
the process."""

import os
import select
import signal
import threading
import time
from contextlib import suppress
from typing import NoReturn

from .interrupt import Owned

_STEP_S = 0.05
_GRACE_S = 0.4
_INTERRUPTED = "goref: interrupted"


class Alarm:
    """A context with a time limit. At the limit, or at Ctrl-C if gdb makes no
    progress, our process exits: nothing else resumes the process that gdb has
    stopped."""

    def __init__(self, seconds: float, last_words: str, owned: Owned) -> None:
        """last_words: the error message if the time is over.
        owned: the context that holds Ctrl-C."""
        self._owned = owned
        self._end_s = time.monotonic() + seconds
        self._last_words = last_words
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        """It takes long to attach to many threads. While gdb makes progress,
        Ctrl-C waits: if gdb ended now, the process would get a SIGCONT."""
        worked_s, worked_at = -1.0, 0.0
        now = time.monotonic()
        while not self._over.wait(min(max(self._end_s - now, 0.0), _STEP_S)):
            now = time.monotonic()
            if now >= self._end_s:
                self._end(self._last_words)
            spent_s = time.clock_gettime(self._clock)
            if spent_s != worked_s or not self._owned.has_come():
                worked_s, worked_at = spent_s, now
            elif now - worked_at > _GRACE_S:
                self._end(_INTERRUPTED)

    def _end(self, last_words: str) -> None:
        with self._lock:
            if not self._over.is_set():
                _exit(last_words)

    def __enter__(self) -> None:
        """The thread takes no signal of the process: they are gdb's."""
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
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
            # An exception may come while this thread waits for the lock.
            self._over.set()
            self._thread.join()


def _exit(last_words: str) -> NoReturn:
    """Exit without waiting for a terminal that takes nothing."""
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"{last_words}\n".encode())
    os._exit(1)
