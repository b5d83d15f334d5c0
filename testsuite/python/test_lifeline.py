# SPDX-License-Identifier: Apache-2.0
"""The kernel lets a process go on when we die, and only then."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from goref.lifeline import Lifeline


def state(pid):
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0]


def becomes(pid, wanted, timeout):
    end = time.monotonic() + timeout
    while time.monotonic() < end and state(pid) not in wanted:
        time.sleep(0.01)
    return state(pid) in wanted


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "600"])
    process.send_signal(signal.SIGSTOP)
    assert becomes(process.pid, "T", 10)
    yield process
    process.kill()
    process.wait()


def run_child(work):
    """work() in a fork of ours, which is then killed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            work()
            os.write(theirs, b".")
            time.sleep(600)
        finally:
            os._exit(1)
    os.close(theirs)
    assert os.read(ours, 1) == b"."
    os.close(ours)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_killed(sleeper):
    run_child(Lifeline(sleeper.pid).__enter__)
    assert becomes(sleeper.pid, "RS", 10)


def test_killed_with_threads(sleeper):
    """As in gdb, which has some."""

    def work():
        for _ in range(4):
            threading.Thread(target=time.sleep, args=(600,)).start()
        Lifeline(sleeper.pid).__enter__()

    run_child(work)
    assert becomes(sleeper.pid, "RS", 10)


def test_left(sleeper):
    def work():
        with Lifeline(sleeper.pid):
            pass

    run_child(work)
    assert not becomes(sleeper.pid, "RS", 0.5)


def test_program_that_is_started_meanwhile(sleeper):
    """It has not our files: its end means nothing, and not ours any less."""
    programs = []

    def work():
        Lifeline(sleeper.pid).__enter__()
        subprocess.run(["true"], check=True)
        programs.append(subprocess.Popen(["sleep", "5"]))
        assert state(sleeper.pid) == "T"

    run_child(work)
    assert becomes(sleeper.pid, "RS", 3)


def test_ended_process():
    process = subprocess.Popen(["true"])
    process.wait()
    with Lifeline(process.pid):
        pass
