# SPDX-License-Identifier: Apache-2.0
"""A process as /proc shows it: its executable, its mapped files, its threads,
and why it cannot be attached."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from . import elf
from .errors import Error

_STUCK_S = 0.05  # a wait for a disk is usually shorter

NO_EXE = "it has no executable (it has ended, or belongs to the kernel)"


class NotAttachedError(Error):
    """A process cannot be read."""

    def __init__(self, pid: int, reason: str) -> None:
        super().__init__(f"goref: not attached to process {pid}: {reason}")
        self.pid = pid
        self.reason = reason


def why_not_attached(pid: int, reason: str) -> Error:
    """The error for a process that cannot be read."""
    return NotAttachedError(pid, reason)


def stat(pid: int, field: int) -> str | None:
    """A field of /proc/PID/stat, counted from the one behind the name."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[field].decode()
    except (OSError, IndexError):
        return None


def status_kb(pid: int, key: str) -> int:
    """A size of /proc/PID/status; 0 if it is not there."""
    words = status(str(pid), key)
    return int(words[0]) if words else 0


def start_time(pid: int) -> str | None:
    """The start of a process in ticks. Together with the pid, it identifies a
    process."""
    return stat(pid, 19)


def page_faults(pid: int) -> int:
    """The number of page faults of a process so far that needed no disk."""
    return int(stat(pid, 7) or 0)


def count_threads(pid: int) -> int:
    """The number of threads; 0 if there is no such process."""
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _stuck(pid: int, tid: str) -> str | None:
    """The scheduling counters of a thread in an uninterruptible wait. None:
    the thread is not in such a wait."""
    folder = f"/proc/{pid}/task/{tid}"
    try:
        with open(f"{folder}/stat", "rb") as file:
            if file.read().rpartition(b")")[2].split()[0] != b"D":
                return None
        with open(f"{folder}/schedstat") as file:
            return file.read()
    except (OSError, IndexError):
        return None


def has_stuck_thread(pid: int) -> bool:
    """Does a thread wait in the kernel for longer than a disk takes, such as
    for the child of vfork()? No tracer can stop it."""
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    before = {tid: _stuck(pid, tid) for tid in tids}
    waiting = {tid: told for tid, told in before.items() if told}
    if waiting:
        time.sleep(_STUCK_S)
    return any(_stuck(pid, tid) == told for tid, told in waiting.items())


def run_counts(pid: int) -> tuple[tuple[str, str], ...]:
    """The scheduling counters of each thread. They differ between two calls if
    the process has run in between."""
    counts = []
    folder = f"/proc/{pid}/task"
    try:
        for tid in os.listdir(folder):
            with open(f"{folder}/{tid}/schedstat") as file:
                counts.append((tid, file.read()))
    except OSError:
        return ()
    return tuple(sorted(counts))


def is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


class Executable(NamedTuple):
    """path: a file that we can open; name: the name by which the process
    started it."""

    path: str
    name: str


def _is_build(path: str, proc: str) -> bool:
    """Is it the same file, or one of the same build, such as one that still
    has its debug information?"""
    known = elf.identity(proc)
    return is_same_file(path, proc) or bool(known & elf.identity(path))


def executable(pid: int, path: str | None, notes: list[str]) -> Executable:
    """The file that a process runs. path: the file that is meant; None: any.
    notes: gets a line if it is another one, or if its name does not lead to
    it."""
    proc = f"/proc/{pid}/exe"
    if path and path != proc and _is_build(path, proc):
        return Executable(path, path)
    try:
        link = os.readlink(proc)
        os.stat(proc)
    except OSError as problem:
        if path:
            return Executable(path, path)
        raise Error(
            f"goref: cannot open {proc}: {problem.strerror}"
        ) from None
    if is_same_file(link, proc):
        if path and path != proc:
            notes.append(f"the process runs {link}, not {path}: using {link}")
        return Executable(link, link)
    name = link.removesuffix(" (deleted)")
    if name != link:
        why = "was deleted or replaced since the process started"
    else:
        why = "is not visible here (another mount namespace)"
    notes.append(f"{name} {why}: using {proc}, which is the one that runs")
    return Executable(proc, elf.shown(name))


def status(pid: str, key: str, tid: str | None = None) -> list[str]:
    path = f"/proc/{pid}/task/{tid}/status" if tid else f"/proc/{pid}/status"
    try:
        with open(path, errors="replace") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return line.split()[1:]
    except OSError:
        pass
    return []


def is_nested(pid: int) -> bool:
    """Does the process run in a pid namespace below ours?"""
    return len(status(str(pid), "NSpid")) > 1


def own_tid(pid: int, tid: int) -> int:
    """The number of a thread in its own pid namespace: the runtime of the
    program knows the thread by this number."""
    numbers = status(str(pid), "NSpid", str(tid))
    return int(numbers[-1]) if numbers else tid


def mapped_files(pid: int) -> list[str]:
    """The files with code that a process has mapped, as paths that we can
    open."""
    found: dict[tuple[str, str], str] = {}
    try:
        with open(f"/proc/{pid}/maps", errors="surrogateescape") as file:
            for line in file:
                words = line.rstrip("\n").split(None, 5)
                if len(words) == 6 and "x" in words[1]:
                    found.setdefault((words[3], words[4]), words[5])
    except OSError:
        return []
    names = []
    for path in found.values():
        inside = f"/proc/{pid}/root{path}"
        if path.startswith("/") and os.path.isfile(inside):
            names.append(path if is_same_file(path, inside) else inside)
    return names
