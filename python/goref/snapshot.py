# SPDX-License-Identifier: Apache-2.0
"""A process is copied by a fork of its own, and the copy is looked at."""

import subprocess
from typing import Any

import gdb

from . import live, native, target
from .session import warn

_HELPER = "goref-snapshot"
# To stop all threads; to copy a page of page tables, which covers 2 MB.
_STOP_S = 0.005
_TABLE_PAGE_S = 0.00008


class Copy:
    """A context within which there is a stopped copy of a process, which is
    another process's care: it is gone if we are killed, too."""

    def __init__(self, pid: int, max_pause_ms: int | None) -> None:
        path = native.lib_file(_HELPER)
        if not path:
            raise gdb.GdbError(f"goref: no {_HELPER}: not built?")
        self.of = pid
        self.words = [path, str(pid)]
        if max_pause_ms is not None:
            self.words.append(str(max_pause_ms))
        self.pid = 0
        self.pause_us = 0
        self.threads: list[tuple[int, tuple[int, ...]]] = []

    def __enter__(self) -> "Copy":
        self.helper = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            self._read()
        except BaseException:
            self._end()
            raise
        return self

    def _read(self) -> None:
        for line in self.helper.stdout or ():
            key, _, rest = line.rstrip("\n").partition(" ")
            if key == "copy":
                self.pid = int(rest)
            elif key == "pause_us":
                self.pause_us = int(rest)
            elif key == "thread":
                tid, *values = rest.split()
                registers = tuple(int(value, 16) for value in values)
                self.threads.append((int(tid), registers))
            elif key == "ready":
                return
            elif key == "refused":
                raise self._error(rest)
        raise self._error(f"{_HELPER} was killed")

    def _error(self, reason: str) -> gdb.GdbError:
        return gdb.GdbError(
            f"goref: no snapshot of process {self.of}: {reason}"
        )

    def check(self) -> None:
        """What was read of a copy that is dead would be nothing."""
        if target.state(self.pid) != "t":
            raise self._error(
                "it was killed while it was read (is memory short?)"
            )

    def _end(self) -> str:
        """What the helper has to say at the end."""
        said, _ = self.helper.communicate()
        return said.removeprefix("refused ").strip()

    def __exit__(self, *_: object) -> None:
        problem = self._end()
        if problem:
            warn([f"process {self.of}: {problem}"])


class Look(live.Look):
    """A look for which the process stands still only to be forked."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        tables = target.status_kb(self.pid, "VmPTE") / 4
        self.pause_s = _STOP_S + tables * _TABLE_PAGE_S

    def plan(self, about: str, size: str) -> str:
        return (
            f"stands still for {about} {self.pause_s * 1e3:.0f} ms to be "
            f"forked; {about} {size} to copy from the snapshot"
        )

    def copy(self) -> None:
        self.scan.reserve()
        with Copy(self.pid, self.max_pause_ms) as copy:
            self.say_stood(copy.pause_us / 1e6)
            self.scan.capture(copy.threads, copy.pid)
            copy.check()
        self.progress.clear()
