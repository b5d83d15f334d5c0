# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGHUP end the command line as they end any program.

The handler raises Ended, so that a stopped process goes on and a half-written
file is removed. The script `goref` blocks these signals and SIGINT until
watch() has set the handlers: none may arrive while Python loads modules.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_watched: list[signal.Signals] = []
_received = 0
_has_lost_interrupt = False


class Ended(BaseException):
    """A signal asked for the end."""


def _handle(number: int, _frame: FrameType | None) -> None:
    global _received
    _received = number
    # The rest is short. A second signal must not interrupt it.
    for other in _watched:
        signal.signal(other, signal.SIG_IGN)
    raise Ended


def _unraisable(problem: Any) -> None:
    """Print what Python cannot pass on, as from a callback of its own imports.
    Ended and KeyboardInterrupt are raised again by the next check()."""
    global _has_lost_interrupt
    if problem.exc_type is KeyboardInterrupt:
        _has_lost_interrupt = True
    elif problem.exc_type is not Ended:
        sys.__unraisablehook__(problem)


def watch() -> None:
    """From now on, a signal raises Ended on the main thread, and SIGINT raises
    KeyboardInterrupt; so does a signal that is pending. A signal that is
    ignored, as under nohup and in background jobs, stays ignored."""
    sys.unraisablehook = _unraisable
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            _watched.append(number)
            signal.signal(number, _handle)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [*_SIGNALS, signal.SIGINT])


def check() -> None:
    """Raise Ended or KeyboardInterrupt again, if something has dropped it."""
    global _has_lost_interrupt
    if _received:
        raise Ended
    if _has_lost_interrupt:
        _has_lost_interrupt = False
        raise KeyboardInterrupt


def is_due() -> bool:
    return bool(_received)


def block() -> None:
    """Call this when the answer is printed: from then on, no signal changes
    the exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_SIGNALS, signal.SIGINT])


def die() -> NoReturn:
    """End by the signal that was received."""
    signal.signal(_received, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    os.kill(os.getpid(), _received)
    os._exit(128 + _received)
