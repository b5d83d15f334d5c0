# SPDX-License-Identifier: Apache-2.0
"""goref-watcher: a process goes on when whoever has stopped it is killed. In
place of gdb there is a program of these tests, which stops by SIGSTOP."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from session import environment
from snapshots import PAUSE
from waiting import comes, stop

PR_SET_CHILD_SUBREAPER = 36
POLL = "7"  # of x86-64
FOREVER = 0xFFFFFFFF  # -1, the timeout of poll() as an int
QUIET_ROUNDS = 100  # after which the watcher ends, if there is something left
WATCHER = Path(environment()["GOREF_BUILD_DIR"]) / "goref-watcher"

# Starts a watcher as gdb does, tells its number, and does what it is told.
PARENT = r"""
import json, os, signal, subprocess, sys
watcher = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
ready = watcher.stdout.readline().decode()
print(json.dumps([watcher.pid, ready]), flush=True)
for line in sys.stdin:
    if line == "done\n":
        watcher.stdin.write(b".")
        watcher.stdin.close()
        print(watcher.wait(), flush=True)
    if line in ("copy\n", "other\n"):
        pid = os.fork()
        if not pid:
            if line == "other\n":
                os.execvp("sleep", ["sleep", "1000"])
            signal.pause()
        print(pid, flush=True)
"""


def stat_of(pid):
    """The fields behind the name; none if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def state(pid):
    fields = stat_of(pid)
    return fields[0] if fields else "X"


def start_of(pid):
    return stat_of(pid)[19]


def stays_stopped(pid, seconds=1.5):
    return not comes(lambda: state(pid) != "T", seconds)


class Parent:
    """What stands for gdb."""

    def __init__(self, pid, start=None, more=()):
        self.popen = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(WATCHER), str(pid),
             start or start_of(pid), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.watcher, self.ready = json.loads(self.popen.stdout.readline())

    def ask(self, text):
        self.popen.stdin.write(text + "\n")
        self.popen.stdin.flush()
        return int(self.popen.stdout.readline())

    def kill(self):
        self.popen.kill()
        self.popen.wait()

    def close(self):
        self.kill()
        self.popen.stdin.close()
        self.popen.stdout.close()


@pytest.fixture
def parent():
    """parent(pid, start): something like gdb, with a watcher."""
    made = []

    def make(*arguments):
        made.append(Parent(*arguments))
        return made[-1]

    yield make
    for it in made:
        it.close()


@pytest.mark.parametrize(
    "words", [[], ["1"], ["0", "1"], ["x", "1"], ["1", "1", "x"]]
)
def test_usage(words):
    done = subprocess.run(
        [str(WATCHER), *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")


def test_lets_go_when_the_parent_is_killed(waiting, parent):
    pid = waiting(PAUSE).pid
    gdb = parent(pid)
    assert gdb.ready == "ready\n"
    stop(pid)
    assert stays_stopped(pid, 0.3)
    gdb.kill()
    assert comes(lambda: state(pid) == "S")
    # It has nothing left to do, and whoever took it over has waited.
    assert comes(lambda: state(gdb.watcher) in "ZX")


def test_lets_go_what_stops_late(waiting, parent):
    """Stops that were asked for may come when their tracer has gone."""
    pid = waiting(PAUSE).pid
    gdb = parent(pid)
    gdb.kill()
    time.sleep(0.2)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.1)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.2)
    assert comes(lambda: state(pid) == "S")


def test_later_stops_are_not_its_own(waiting, parent):
    pid = waiting(PAUSE).pid
    gdb = parent(pid)
    gdb.kill()
    assert comes(lambda: state(gdb.watcher) in "ZX")
    stop(pid)
    assert stays_stopped(pid)


def test_what_a_signal_has_stopped_stays_so(waiting, parent):
    """Only the stopped copies of gdb end."""
    pid = waiting(PAUSE).pid
    stop(pid)
    gdb = parent(pid, None, ["stopped"])
    copy = gdb.ask("copy")
    stop(copy)
    gdb.kill()
    assert comes(lambda: state(copy) in "ZX")
    assert comes(lambda: state(gdb.watcher) in "ZX")
    assert state(pid) == "T"


def test_ends_when_told(waiting, parent):
    """A process that is stopped then is not its business."""
    pid = waiting(PAUSE).pid
    gdb = parent(pid)
    stop(pid)
    assert gdb.ask("done") == 0
    assert state(gdb.watcher) == "X"
    gdb.kill()
    assert stays_stopped(pid)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]
)
def test_signals_mean_nothing(waiting, parent, number):
    """Nor does a signal make it believe that its parent has gone."""
    pid = waiting(PAUSE).pid
    gdb = parent(pid)
    stop(pid)
    os.kill(gdb.watcher, number)
    assert stays_stopped(pid, 0.5)
    assert state(gdb.watcher) == "S"
    assert os.getsid(gdb.watcher) == gdb.watcher
    gdb.kill()
    assert comes(lambda: state(pid) == "S")


def test_number_that_is_used_again(waiting, parent):
    """It was another process that had this number."""
    pid = waiting(PAUSE).pid
    gdb = parent(pid, str(int(start_of(pid)) - 1))
    assert gdb.ready == ""
    stop(pid)
    gdb.kill()
    assert stays_stopped(pid)


@pytest.fixture
def reaper():
    """Processes whose parent has ended are ours."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_process_ends_meanwhile(waiting, parent, reaper):
    """There is nothing to wait for, so it does not sleep again and again."""
    popen = waiting(PAUSE)
    gdb = parent(popen.pid)
    popen.kill()
    popen.wait()
    gdb.kill()
    usage = os.wait4(gdb.watcher, 0)[2]
    assert usage.ru_nvcsw < QUIET_ROUNDS / 2


def test_costs_nothing(waiting, parent):
    """It does not look every now and then: it is told."""
    gdb = parent(waiting(PAUSE).pid)
    call = Path(f"/proc/{gdb.watcher}/syscall")

    def is_told():
        words = call.read_text().split()  # number and arguments, or "running"
        return words[0] == POLL and int(words[3], 16) & FOREVER == FOREVER

    assert comes(is_told)


def test_ends_stopped_copies(waiting, parent):
    """Of the parent's own program, and nothing else that is stopped."""
    pid = waiting(PAUSE).pid
    gdb = parent(pid)
    copy, running, other = (gdb.ask(w) for w in ("copy", "copy", "other"))
    # The parent's own text names it, too: only its executable tells.
    assert comes(lambda: os.readlink(f"/proc/{other}/exe").endswith("sleep"))
    try:
        for number in (copy, other, pid):
            stop(number)
        gdb.kill()
        assert comes(lambda: state(copy) in "ZX")
        assert comes(lambda: state(pid) == "S")
        assert comes(lambda: state(gdb.watcher) in "ZX")
        assert state(other) == "T"
        assert state(running) == "S"
    finally:
        for number in (copy, running, other):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
