# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGHUP end the command line as they end any program.

gdb alone would exit with status 0 and without an answer. The script `goref`
blocks both signals until watch() has set a handler. The handler raises Ended,
so that a stopped process goes on, and a file that is half written goes.

The script blocks SIGINT, too, which gdb would sometimes lose as it starts. It
remains gdb's signal, and becomes a KeyboardInterrupt. SIGTSTP stays blocked in
the threads that gdb has started by then, so that interrupt.py can hold it.
"""

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_watched: list[signal.Signals] = []
_received = 0


class Ended(BaseException):
    """A signal asked for the end."""


def _handle(number: int, _frame: FrameType | None) -> None:
    global _received
    _received = number
    # The rest is short, and must not be cut short.
    for other in _watched:
        signal.signal(other, signal.SIG_IGN)
    raise Ended


def _unraisable(problem: Any) -> None:
    """Ended may be raised where Python cannot pass it on, as in a callback of
    the garbage collector. The next check() raises it again."""
    if problem.exc_type is not Ended:
        sys.__unraisablehook__(problem)


def is_ignored(number: signal.Signals) -> bool:
    """Did the script find it ignored?"""
    ignored = int(os.environ.get("GOREF_IGNORED") or "0", 16)
    return bool(ignored >> (number - 1) & 1)


def watch() -> None:
    """Raise Ended on the main thread when a signal comes, or came before;
    KeyboardInterrupt for SIGINT. What the script found ignored, as nohup and
    jobs in the background have it, stays so. gdb sets its handler of SIGINT
    again now and then: an ignored one stays blocked, too."""
    sys.unraisablehook = _unraisable
    awaited = []
    for number in (*_SIGNALS, signal.SIGINT):
        if is_ignored(number):
            signal.signal(number, signal.SIG_IGN)
            continue
        awaited.append(number)
        if number in _SIGNALS:
            _watched.append(number)
            signal.signal(number, _handle)
    os.environ.pop("GOREF_IGNORED", None)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [*awaited, signal.SIGTSTP])


def check() -> None:
    """Raise Ended again: gdb prints and drops what its events raise."""
    if _received:
        raise Ended


@contextmanager
def at_once() -> Iterator[None]:
    """A context in which a signal kills: gdb works for long without a look at
    Python's handlers, and nothing is to be cleared away."""
    for number in _watched:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in _watched:
            signal.signal(number, _handle)


def is_due() -> bool:
    return bool(_received)


def block() -> None:
    """Call this when the answer is printed: no signal changes the exit status
    any more. gdb sets its SIGINT handler again as it quits; it must not run."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_SIGNALS, signal.SIGINT])


def die() -> NoReturn:
    """End by the signal that was received."""
    # Children are waited for, as at any end.
    atexit._run_exitfuncs()
    signal.signal(_received, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    os.kill(os.getpid(), _received)
    os._exit(128 + _received)
