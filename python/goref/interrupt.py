# SPDX-License-Identifier: Apache-2.0
"""Keeps Ctrl-C from a process that we hold. Pure: never imports gdb.

If gdb gets a SIGINT while it attaches, holds or detaches, it passes the signal
on to the process, which may end. SIGINT is therefore blocked from before the
attach until after the detach, and we poll for it ourselves."""

import signal
from collections.abc import Collection

# Ctrl-Z waits, too: it would stop us, and with us the process.
_HELD = (signal.SIGINT, signal.SIGTSTP)


class Owned:
    """A context in which some signals stay pending, by default SIGINT and
    SIGTSTP. If a SIGINT has come, the end of the context raises
    KeyboardInterrupt, unless check() has done so. Where SIGINT was blocked
    before, it is ignored (ended.py)."""

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

    def has_come(self) -> bool:
        """True if a SIGINT is pending. Any thread may ask, for all threads
        block it."""
        is_heeded = signal.SIGINT not in self.before
        return is_heeded and signal.SIGINT in signal.sigpending()

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
