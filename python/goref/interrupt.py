# SPDX-License-Identifier: Apache-2.0
"""Keeps Ctrl-C from interrupting what holds a process. Pure: never imports
gdb.

An exception between a stop and its end could come where nothing lets the
process go. SIGINT is therefore blocked meanwhile, and we poll for it. Nothing
changes for a host with a handler of its own, nor for its other threads."""

import os
import signal
from _thread import get_native_id
from collections.abc import Collection

# Ctrl-Z waits, too: it would stop us, and with us the process.
_HELD = (signal.SIGINT, signal.SIGTSTP)


class Owned:
    """A context in which some signals stay pending, by default SIGINT and
    SIGTSTP. If a SIGINT has come, the end of the context raises
    KeyboardInterrupt, unless check() has done so. Where SIGINT was blocked
    before, it is ignored (ended.py); a handler of the host's own runs at the
    end."""

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
        """Is it up to us to raise KeyboardInterrupt?"""
        if signal.SIGINT in self.before or get_native_id() != os.getpid():
            return False
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.SIG_IGN:
            return False
        return handler is signal.default_int_handler or not callable(handler)

    def has_come(self) -> bool:
        """True if a SIGINT is pending that this thread has to heed: it is the
        main one."""
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
