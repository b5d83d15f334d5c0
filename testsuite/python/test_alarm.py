# SPDX-License-Identifier: Apache-2.0
"""An alarm ends what is deaf to everything, and only within its context."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from goref.alarm import Alarm

DEAF = """
import signal, sys, time
sys.path[:0] = {path!r}
from goref.alarm import Alarm
signal.signal(signal.SIGINT, signal.SIG_IGN)
with Alarm(0.01, "last words"):
    time.sleep(60)
"""


def test_rings():
    alarm = Alarm(0.01, "")
    with pytest.raises(KeyboardInterrupt), alarm:
        time.sleep(60)
    assert alarm.has_rung


def test_is_silent_when_it_is_over():
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(1))
    try:
        for _ in range(100):
            alarm = Alarm(0.001, "")
            with alarm:
                time.sleep(0.001)
            count = len(came)
            assert count or not alarm.has_rung
            time.sleep(0.001)
            assert len(came) == count
    finally:
        signal.signal(signal.SIGINT, before)


def test_ends_what_is_deaf():
    code = DEAF.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr == b"last words\n"


def blocked(thread_id):
    """The signals that a thread leaves to others."""
    status = Path(f"/proc/self/task/{thread_id}/status").read_text()
    (line,) = [x for x in status.splitlines() if x.startswith("SigBlk:")]
    mask = int(line.split()[1], 16)
    return {n for n in range(1, 65) if mask >> (n - 1) & 1}


def test_takes_no_signals():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    alarm = Alarm(60, "")
    with alarm:
        theirs = blocked(alarm._thread.native_id)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM} <= theirs


def test_is_over_when_its_end_is_interrupted():
    """Else it would end this process later."""

    @contextmanager
    def interrupted():
        raise KeyboardInterrupt
        yield

    alarm = Alarm(60, "")
    with pytest.raises(KeyboardInterrupt), alarm:
        alarm._lock = interrupted()
    assert alarm._over.is_set()
    assert not alarm._thread.is_alive()
