# SPDX-License-Identifier: Apache-2.0
"""Holds back Ctrl-C while a process stands still. Pure: never imports gdb.

KeyboardInterrupt could otherwise come at a point where no code releases the
process. SIGINT is therefore blocked in this thread, and goref polls for it. A
SIGINT handler of the host still gets the signal, at the end; other threads of
the host are not affected."""

import os
import signal
from _thread import get_native_id
from collections.abc import Collection

# Ctrl-Z has to wait, too: it would stop us while the process stands still.
_HELD = (signal.SIGINT, signal.SIGTSTP)


class Owned:
    """A context in which some signals stay pending, by default SIGINT and
    SIGTSTP. If a SIGINT has come, the end of the context raises
    KeyboardInterrupt, unless check() has raised it before. If SIGINT was
    already blocked, nothing is raised. If the host has its own handler, that
    one runs at the end."""

    def __init__(self, signals: Collection[signal.Signals] = _HELD) -> None:
        self.signals = signals

    def __enter__(self) -> "Owned":
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            # This raises KeyboardInterrupt for a SIGINT that came before.
            signal.pthread_sigmask(signal.SIG_BLOCK, self.signals)
        except BaseException:
            self._restore()
            raise
        return self

    def _is_heeded(self) -> bool:
        """Do we have to raise KeyboardInterrupt?"""
        if signal.SIGINT in self.before or get_native_id() != os.getpid():
            return False
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.SIG_IGN:
            return False
        return handler is signal.default_int_handler or not callable(handler)

    def has_come(self) -> bool:
        """True if a SIGINT is pending that this thread, as the main one, has
        to handle."""
        return self._is_heeded() and signal.SIGINT in signal.sigpending()

    def check(self) -> None:
        """Raise KeyboardInterrupt if a SIGINT is pending."""
        if self.has_come():
            raise KeyboardInterrupt

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            came = self.has_come()
            if came:
                signal.sigtimedwait({signal.SIGINT}, 0)
        finally:
            self._restore()
        if came and kind is None:
            raise KeyboardInterrupt

    def _restore(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)
