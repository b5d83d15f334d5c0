# SPDX-License-Identifier: Apache-2.0
"""Tests wait for a state and not for a time, so they pass however busy the
machine is. The bound only ends a test that has failed."""

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

LONGEST_S = 120
# More than there is time for while goref holds a process, on an idle machine.
MOST_LOOKS = 1500


def looks(timeout=LONGEST_S):
    """Begin a look at some state again and again, until the time is over."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        yield
        time.sleep(0.001)


# A thread that waits for a processor is late for a snapshot, which is refused.
LATE = re.compile(r"thread \d+ does not stop \(state R\): try again later")


def again(ask, said):
    """Ask, and ask again while the answer says that a thread is late."""
    for _ in looks():
        answer = ask()
        if not LATE.search(said(answer)):
            break
    return answer


def comes(condition, timeout=LONGEST_S):
    """Does the condition come true?"""
    return any(condition() for _ in looks(timeout))


def states_of(pid):
    """The states of its threads, a letter each. One may end meanwhile."""
    states = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            stat = (task / "stat").read_text()
            states.add(stat.rpartition(")")[2].split()[0])
    return states


def is_stopped(pid):
    """Has a signal stopped all its threads?"""
    return states_of(pid) == {"T"}


def stop(pid):
    """Stop a process by a signal, which each thread obeys only when it next
    runs."""
    os.kill(pid, signal.SIGSTOP)
    assert comes(lambda: is_stopped(pid))


def some_moment(lasts, rng, most=MOST_LOOKS):
    """Look at a state until some moment of it, or until it is over. Most moments
    are early: the process is still being stopped then."""
    for _ in range(int(most * rng.random() ** 3)):
        if not lasts():
            return


def ticks_of(pid):
    """The processor time of a process so far, in the user's mode, in ticks of
    10 ms. It tells how far a process has come, however busy the machine is."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[11])


def works(pid, ticks):
    """Wait until a process has worked for so many ticks more."""
    before = ticks_of(pid)
    comes(lambda: ticks_of(pid) >= before + ticks)


def faults_of(pid):
    """The page faults of a process so far. They tell how far it has come, on a
    busy machine as on an idle one; those of an ended one stay until it is
    waited for."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[7])


def reaches(pid, faults):
    """Wait until a child has had so many page faults, or has ended: those of
    its whole run. It is not waited for here."""
    comes(lambda: faults_of(pid) >= faults or states_of(pid) == {"Z"})
    return faults_of(pid)


def faults_of_all(pid):
    """The page faults of the whole run of a child."""
    return reaches(pid, 1 << 62)


def has_file_in(pid, folder, nbytes=0):
    """Does a process have a file of so many bytes open in a folder? It may
    have no name."""
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{number}"
            with suppress(OSError):
                is_there = os.readlink(path).startswith(f"{folder}/")
                if is_there and os.stat(path).st_size >= nbytes:
                    return True
    return False
