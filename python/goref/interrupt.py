# SPDX-License-Identifier: Apache-2.0
"""Keeps Ctrl-C from a process that we hold. Pure: never imports gdb.

gdb sends a SIGINT that it gets while it attaches, holds or detaches on to the
process, which it may end. SIGINT is therefore blocked from before the attach
until after the detach, and we look for it ourselves."""

import signal

# Ctrl-Z waits, too: it would stop us, and with us the process.
_HELD = (signal.SIGINT, signal.SIGTSTP)


def has_come() -> bool:
    """True if a SIGINT is pending. Any thread may ask, for all threads block
    it."""
    return signal.SIGINT in signal.sigpending()


def check() -> None:
    """Raise KeyboardInterrupt if a SIGINT is pending."""
    if has_come():
        raise KeyboardInterrupt


class Owned:
    """A context in which SIGINT and SIGTSTP stay pending. If a SIGINT has
    come, the end of the context raises KeyboardInterrupt, unless check() has
    done so."""

    def __enter__(self) -> None:
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            # This raises KeyboardInterrupt for a SIGINT that came before.
            signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
        except BaseException:
            self._restore()
            raise

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            came = signal.sigtimedwait({signal.SIGINT}, 0) is not None
        finally:
            self._restore()
        if came and kind is None:
            raise KeyboardInterrupt

    def _restore(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)
