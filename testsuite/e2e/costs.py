# SPDX-License-Identifier: Apache-2.0
"""The costs since the last report of a test, for testsuite/conftest.py: what
the farm made, and the processor time of a server's children, which the system
adds up only when the server has ended."""

import time
from contextlib import contextmanager

_made: list[tuple[str, float]] = []
_used: list[float] = []


@contextmanager
def making(what):
    """Note how long it takes to make one."""
    begin = time.monotonic()
    yield
    _made.append((what, time.monotonic() - begin))


def used(seconds):
    """Note processor time of a process that has ended."""
    _used.append(seconds)


def take():
    """The things made, a (what, seconds) each, and the processor time."""
    taken = _made[:], sum(_used)
    _made.clear()
    _used.clear()
    return taken
