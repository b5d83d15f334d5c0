# SPDX-License-Identifier: Apache-2.0
"""An alarm ends what is deaf to everything, and only within its context."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from goref import alarm
from goref.alarm import Alarm
from goref.interrupt import Owned

DEAF = """
import os, signal, sys, time
sys.path[:0] = {path!r}
from goref.alarm import Alarm
from goref.interrupt import Owned
with Owned() as owned, Alarm({seconds}, "last words", owned):
    os.kill(os.getpid(), {number})
    time.sleep(60)
"""
NO_SIGNAL = 0


def run_deaf(seconds, number):
    """Run a program that is deaf to everything, and return how it ended."""
    code = DEAF.format(path=sys.path, seconds=seconds, number=int(number))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=30
    )


@pytest.mark.parametrize(
    "seconds, number, said",
    [
        (0.01, NO_SIGNAL, b"last words\n"),
        (60, signal.SIGINT, b"goref: interrupted\n"),
    ],
    ids=["time", "Ctrl-C"],
)
def test_ends_what_is_deaf(seconds, number, said):
    done = run_deaf(seconds, number)
    assert done.returncode == 1
    assert done.stderr == said


def test_is_silent_when_it_is_over(monkeypatch):
    came = []
    monkeypatch.setattr(alarm, "_exit", came.append)
    for _ in range(100):
        with Owned() as owned:
            it = Alarm(0.001, "over", owned)
        with it:
            time.sleep(0.001)  # It ends in some rounds, and not in others.
        assert not it._thread.is_alive()
    assert {*came} <= {"over"}


def blocked(thread_id):
    """The signals that a thread leaves to others."""
    status = Path(f"/proc/self/task/{thread_id}/status").read_text()
    (line,) = [x for x in status.splitlines() if x.startswith("SigBlk:")]
    mask = int(line.split()[1], 16)
    return {n for n in range(1, 65) if mask >> (n - 1) & 1}


def test_takes_no_signals():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with Owned() as owned:
        it = Alarm(60, "", owned)
    with it:
        theirs = blocked(it._thread.native_id)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM} <= theirs


def test_is_over_when_its_end_is_interrupted():
    """Else it would end this process later."""

    @contextmanager
    def interrupted():
        raise KeyboardInterrupt
        yield

    with Owned() as owned:
        it = Alarm(60, "", owned)
    with pytest.raises(KeyboardInterrupt), it:
        it._lock = interrupted()
    assert it._over.is_set()
    assert not it._thread.is_alive()
