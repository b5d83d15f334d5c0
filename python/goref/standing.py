# SPDX-License-Identifier: Apache-2.0
"""Finds out whether a process runs, and otherwise what stops it. Pure: never
imports gdb."""

import os
import time
from collections.abc import Iterator
from enum import Enum

# A process that is let go takes its old state up again within this time.
_SETTLE_S = 0.2
_STEP_S = 0.002


class Standing(Enum):
    """The states in which a process may be."""

    RUNS = "it runs or waits for something"
    STOPPED = "a signal such as SIGSTOP has stopped it"
    TRACED = "a tracer has stopped it"
    FROZEN = "its control group is frozen"
    ENDED = "it has ended"


_BY_STATE = {
    "T": Standing.STOPPED,
    "t": Standing.TRACED,
    "Z": Standing.ENDED,
    "X": Standing.ENDED,
    "x": Standing.ENDED,
}

# Folders of control groups, the file, and its line that says "frozen".
_V1 = (("/sys/fs/cgroup/freezer",), "freezer.state", ("FROZEN", "FREEZING"))
_V2 = (
    ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
    "cgroup.events",
    ("frozen 1",),
)


def _lines(path: str) -> list[str]:
    """Empty if there is no such file, or not any more."""
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _groups(pid: int, proc: str) -> Iterator[str]:
    """Folders of the control groups that can freeze a process."""
    for line in _lines(f"{proc}/{pid}/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not path:
            continue
        if not controllers:
            yield from (root + path for root in _V2[0])
        elif "freezer" in controllers.split(","):
            yield from (root + path for root in _V1[0])


def frozen_group(pid: int, proc: str = "/proc", top: str = "") -> str | None:
    """The folder of the control group that freezes a process.

    proc, top: for tests, in place of /proc and before /sys."""
    for group in _groups(pid, proc):
        for _, name, words in (_V1, _V2):
            for line in _lines(f"{top}{group}/{name}"):
                if line in words:
                    return group.rstrip("/")
    return None


def _letter(path: str) -> str:
    """The state in a file stat of /proc; X if there is no such file."""
    words = "\n".join(_lines(path)).rpartition(")")[2].split()
    return words[0] if words else "X"


def _state(pid: int, proc: str) -> str:
    """The state of the first thread, or of another one if the first has
    ended."""
    found = _letter(f"{proc}/{pid}/stat")
    if found != "Z":
        return found
    try:
        tids = os.listdir(f"{proc}/{pid}/task")
    except OSError:
        return found
    letters = (_letter(f"{proc}/{pid}/task/{tid}/stat") for tid in tids)
    return next((it for it in letters if it not in "ZXx"), found)


def of(pid: int, proc: str = "/proc", top: str = "") -> Standing:
    """The state of a process now, by one of its threads."""
    found = _BY_STATE.get(_state(pid, proc), Standing.RUNS)
    if found is Standing.RUNS and frozen_group(pid, proc, top):
        return Standing.FROZEN
    return found


def settled(pid: int, before: Standing) -> Standing:
    """The state of a process after it was let go. A process that was stopped
    before seems to run for a moment, and one that ran may seem stopped."""
    end = time.monotonic() + _SETTLE_S
    while True:
        now = of(pid)
        if now in (before, Standing.ENDED) or time.monotonic() > end:
            return now
        time.sleep(_STEP_S)


_SINCE = {
    Standing.RUNS: "goes on",
    Standing.STOPPED: "is now stopped by a signal (SIGCONT lets it go on)",
    Standing.TRACED: "is now stopped by another tracer",
    Standing.FROZEN: "is now frozen by its control group",
    Standing.ENDED: "has ended since",
}


def outcome(before: Standing, after: Standing, stood: str) -> str:
    """The end of a sentence about a process that we stopped: its state
    now.

    stood: the time, as a person reads it."""
    if before is not Standing.STOPPED:
        return f"stood still for {stood} and {_SINCE[after]}"
    if after is Standing.STOPPED:
        return (
            f"was stopped by a signal before, and stays stopped; goref held "
            f"it for {stood}"
        )
    then = {
        Standing.RUNS: "somebody else lets it go on",
    }.get(after, f"it {_SINCE[after]}")
    return (
        f"was stopped by a signal before; goref held it for {stood}, and "
        f"meanwhile {then}"
    )
