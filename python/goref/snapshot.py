# SPDX-License-Identifier: Apache-2.0
"""Makes a process fork, and reads the fork."""

from __future__ import annotations

import math
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

from . import live, native, procfs, standing
from .errors import Error
from .front import warn
from .interrupt import Owned

_HELPER = "goref-snapshot"
_MOST_MS = 3600000  # that the helper takes
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDING_S = 5.0  # signals wait no longer for the end of the helper


class Copy:
    """A context with a stopped copy of a process. A helper process keeps the
    copy, and removes it even if we are killed."""

    def __init__(self, pid: int, max_pause_ms: int | None) -> None:
        path = native.program(_HELPER)
        if not path:
            raise Error(f"goref: no {_HELPER}: not built?")
        self.of = pid
        self.words = [path, str(pid)]
        if max_pause_ms is not None:
            self.words.append(str(min(math.ceil(max_pause_ms), _MOST_MS)))
        self.helper: subprocess.Popen[str] | None = None
        self.pid = 0
        self.pause_us = 0
        self.threads: list[tuple[int, tuple[int, ...]]] = []

    def __enter__(self) -> "Copy":
        try:
            # A signal must not come when there is a helper that we do not know.
            with Owned(_ENDING):
                self.helper = subprocess.Popen(
                    self.words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            self._read(self.helper)
        except BaseException:
            if self.helper:
                self._end(self.helper)
            raise
        return self

    def _read(self, helper: subprocess.Popen[str]) -> None:
        for line in helper.stdout or ():
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

    def _error(self, reason: str) -> Error:
        return Error(
            f"goref: no snapshot of process {self.of}: {reason}"
        )

    def check(self) -> None:
        """Check that the copy still exists: reads of an ended one return
        nothing."""
        if standing.of(self.pid) is not standing.Standing.TRACED:
            raise self._error(
                "it was killed while it was read (is memory short?)"
            )

    @staticmethod
    def _end(helper: subprocess.Popen[str]) -> str:
        """End the helper; returns the error that it reports, or "". The end of
        its input is not enough: a fork of ours may have it open.

        The helper holds the process once more while it ends. Signals wait for
        that, so that nobody holds the process when we have ended."""
        with Owned(_ENDING), suppress(subprocess.TimeoutExpired):
            helper.communicate("\n", timeout=_ENDING_S)
        said, _ = helper.communicate()
        return said.removeprefix("refused ").strip()

    def __exit__(self, *_: object) -> None:
        problem = self._end(self.helper) if self.helper else ""
        if problem:
            warn([f"process {self.of}: {problem}"])


class Look(live.Look):
    """Reads a snapshot: the process stands still only while it forks."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.pause_s = live.fork_pause_s(self.pid, self.pace)

    def _way_out(self, limit_ms: int) -> str:
        return ""

    def plan(self, about: str, size: str) -> str:
        return (
            f"stops for {about} {live.duration(self.pause_s)} to be forked; "
            f"{about} {size} to copy from the snapshot"
        )

    def copy(self) -> None:
        self.scan.reserve()
        before = standing.of(self.pid)
        with Copy(self.pid, self.max_pause_ms) as copy:
            begin, faults = time.monotonic(), procfs.page_faults(self.pid)
            self.stood_s += copy.pause_us / 1e6
            self.say_outcome(before, copy.pause_us / 1e6)
            self.scan.capture(copy.threads, copy.pid)
            copy.check()
            faults = procfs.page_faults(self.pid) - faults
        self.progress.clear()
        if faults > 0:
            self.slowed_s = time.monotonic() - begin
        self._say_slowed(time.monotonic() - begin, faults)

    def _say_slowed(self, seconds: float, faults: int) -> None:
        """Report the cost that the copy has beside the pause: while the copy
        existed, the first write to each page copied that page."""
        if faults > 0:
            live.say(
                f"process {self.pid} was slowed down for another "
                f"{live.duration(seconds)}, by {faults:,} page faults: its first "
                "write to each page copied that page"
            )
