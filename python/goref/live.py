# SPDX-License-Identifier: Apache-2.0
"""Reads a running process. It stands still only while it is copied."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from . import front, memory, native, params, pause, procfs, standing
from .errors import Error
from .interrupt import Owned
from .progress import Progress
from .render import units

if TYPE_CHECKING:
    from ._goref import Scan

_STOP_S = 5.0  # a thread that has not stopped by then will not stop soon
_STUCK_S = 0.1  # the same if a thread is known to wait in the kernel
_OF_VALUES = ("values", "save-values")  # extents with objects without pointers

Module = tuple[str, str | None, int | None, str]

_LONG_MS = 500  # a pause for which there should be a better way
_WITH_VALUES = (
    "; objects without pointers are copied, too: the answer reads values"
)


class Deadline(Progress):
    """Ends a stop that takes too long. Nothing is printed meanwhile: the
    process would wait for a terminal that takes nothing."""

    owned: Owned | None = None  # while the process stands still
    end_s: float | None = None

    def __call__(self, step: str = "", done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if self.end_s is not None and now > self.end_s:
            raise TimeoutError
        if self.owned:
            self.owned.check()
            self._check(now)
        else:
            super().__call__(step, done, total)

    @contextmanager
    def held(self, owned: Owned) -> Iterator[None]:
        """A context in which the process stands still, until end_s."""
        self.owned = owned
        try:
            yield
        finally:
            self.owned = None
            self.end_s = None


@contextmanager
def awake() -> Iterator[None]:
    """A context in which this thread, and threads that it starts, do not run
    at idle priority. At idle priority on a busy machine, the process would
    stand still for as long as we wait for a processor."""
    policy = os.sched_getscheduler(0)
    is_idle = policy == os.SCHED_IDLE
    with suppress(OSError):
        if is_idle:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        with suppress(OSError):
            if is_idle:
                os.sched_setscheduler(0, policy, os.sched_param(0))


def say(text: str) -> None:
    front.current.note(f"{text}\n")


def duration(seconds: float) -> str:
    """A time that a process stands still: 1.4 ms, 65 ms, 4.71 s."""
    if seconds < 0.01:
        return f"{seconds * 1e3:.1f} ms"
    return units.seconds(round(seconds * 1e6))


def fork_pause_s(pid: int, pace: pause.Pace) -> float:
    """The expected pause of a process that is made to fork."""
    tables = procfs.status_kb(pid, "VmPTE") // 4
    threads = procfs.count_threads(pid)
    return pause.expect(pause.STOP, pace, threads).pause_s(
        pause.fork_s(pace, tables)
    )


class Look:
    """Reads a process once: first while it runs, then while it stands still,
    then its copy."""

    cost = pause.STOP
    has_stuck_thread = False
    stood_s = 0.0
    """For how long the process was stopped so far."""
    slowed_s: float | None = None
    """For how long its writes were slower after that, by a snapshot; None: not
    at all."""

    def __init__(
        self,
        pid: int,
        modules: list[Module],
        progress: Deadline,
        max_pause_ms: int | None,
        memory_limit: int | None,
        extent: str,
        *,
        threads: int,
        is_held: bool = False,
    ) -> None:
        """Read files and symbols, and find out how much there is to copy.

        modules: as for _goref.Scan().
        extent: the parts of the program that the question needs.
        threads: the number of our threads that copy.
        is_held: the process stands still after copy(), until release()."""
        self.pid = pid
        self.progress = progress
        self.max_pause_ms = max_pause_ms
        self.memory_limit = memory_limit
        self.threads = threads
        self.is_held = is_held
        self.has_values = extent in _OF_VALUES
        self._refuse_frozen()
        try:
            self.process = native.load().Process(pid)
        except native.load().ProcessError as problem:
            raise procfs.why_not_attached(pid, str(problem)) from None
        self.scan = self._open(modules, extent)
        while self.scan.is_unsettled():
            self._search_copy()
        self._expect()

    def _expect(self) -> None:
        """Estimate how long a stop takes, by the number of threads now and by
        the bytes to copy."""
        self.estimate = self.scan.estimate()
        self.pace = pause.measure(self.pid)
        threads = procfs.count_threads(self.pid)
        self.expected = pause.expect(self.cost, self.pace, threads)
        copy_s = pause.copy_s(
            self.pace, self.estimate.copy_us / 1e6, self.threads
        )
        read_s = self.estimate.read_us / 1e6
        self.pause_s = self.expected.pause_s(read_s + copy_s)

    def _refuse_frozen(self) -> None:
        """Error if the process is frozen: no tracer can stop it."""
        group = standing.frozen_group(self.pid)
        if group:
            raise Error(
                f"goref: not attached: process {self.pid} is frozen by its "
                f"control group {group}: thaw it first"
            )

    def _open(self, modules: list[Module], extent: str) -> Scan:
        """Open the process while it runs."""
        scan: Scan = native.load().Scan(
            kind="native",
            read=_read_nothing,
            modules=modules,
            threads=[],
            pid=self.pid,
            progress=self.progress,
            cache=params.cache(),
            copy_threads=self.threads,
            prepare=True,
            memory_limit=self.memory_limit or 0,
            extent=extent,
            held=self.is_held,
        )
        return scan

    def _search_copy(self) -> None:
        """Without debug information, the runtime is found by search, and the
        process may change too fast for that. Then stop it to copy what the
        search reads, and search the copy while the process runs on."""
        self._expect()
        size = units.human_bytes(self.estimate.copy_bytes)
        say(
            f"process {self.pid}: to find the runtime, goref first has to "
            f"copy {size}, which stops it for about {duration(self.pause_s)}"
        )
        self.check_pause()
        self.scan.reserve()
        self._hold(self.scan.copy_searched)
        self.release()
        self.scan.search_copy()

    def announce(self, max_nodes: int) -> None:
        e = self.estimate
        about = "at most" if e.is_rough else "about"
        size = units.human_bytes(e.copy_bytes)
        needed = units.human_bytes(memory.needed_bytes(e, max_nodes))
        say(
            f"process {self.pid}: {self.plan(about, size)}; up to {needed} of "
            f"memory needed, {memory.report(units.human_bytes)}"
            f"{_WITH_VALUES if self.has_values else ''}"
        )

    def plan(self, about: str, size: str) -> str:
        if standing.of(self.pid) is standing.Standing.STOPPED:
            return f"{about} {size} to copy; a signal has stopped it before"
        pause_ms = self.pause_s * 1e3
        shorter = self._way_out(pause_ms / 2) if pause_ms > _LONG_MS else ""
        return (
            f"{about} {size} to copy, which stops it for {about} "
            f"{duration(self.pause_s)}{shorter}"
        )

    def check_pause(self) -> None:
        limit = self.max_pause_ms
        if limit is None or self.pause_s * 1e3 <= limit:
            return
        raise Error(
            f"goref: not attached: process {self.pid} would stop for "
            f"about {duration(self.pause_s)}, longer than --max-pause "
            f"{limit}{self._way_out(limit)}"
        )

    def _way_out(self, limit_ms: int) -> str:
        """The words for a shorter pause; "" if there is none."""
        fork_s = fork_pause_s(self.pid, self.pace)
        if fork_s * 1e3 > limit_ms:
            return ""
        return f" (--snapshot would stop it for about {duration(fork_s)})"

    def copy(self) -> None:
        self.scan.reserve()
        self._hold(self._capture, self.is_held)

    def _capture(self) -> None:
        self.scan.capture(self.process)

    def release(self) -> None:
        """Let the process go on."""
        self.process.release()

    def _hold(self, work: Callable[[], None], stays: bool = False) -> None:
        """Stop the process and do work. stays: the process then stands still
        until release(), unless this fails."""
        before = standing.of(self.pid)
        self.has_stuck_thread = procfs.has_stuck_thread(self.pid)
        begin = None
        in_time = False
        try:
            with Owned() as owned, self.progress.held(owned), awake():
                begin = time.monotonic()
                try:
                    in_time = self._in_time(work, begin)
                finally:
                    if not (stays and in_time):
                        self.release()
                    stood_s = time.monotonic() - begin
                    self.stood_s += stood_s
        except (KeyboardInterrupt, native.load().MemoryLimitError):
            self.release()
            self.progress.clear()
            if begin is not None:
                self.say_outcome(before, time.monotonic() - begin)
            raise
        self.progress.clear()
        if not in_time:
            raise Error(
                f"goref: given up, --max-pause is {self.max_pause_ms}: "
                f"{self._outcome(before, stood_s)}"
            )
        if not stays:
            self.say_outcome(before, stood_s)

    def _outcome(self, before: standing.Standing, stood_s: float) -> str:
        """A sentence: how long the process was stopped, and its state now."""
        after = standing.settled(self.pid, before)
        text = standing.outcome(before, after, duration(stood_s))
        return f"process {self.pid} {text}"

    def say_outcome(self, before: standing.Standing, stood_s: float) -> None:
        say(self._outcome(before, stood_s))

    def _in_time(self, work: Callable[[], None], begin: float) -> bool:
        """Stop the process and do work. False if the time for both, counted
        from begin, has run out."""
        limit = self.max_pause_ms
        try:
            self._stop()
            if limit is not None:
                stopped_s = time.monotonic() - begin
                left_s = self.expected.work_until_s(limit / 1e3, stopped_s)
                self.progress.end_s = begin + left_s
            self.progress()
            work()
        except TimeoutError:
            return False
        return True

    def _stop(self) -> None:
        """Stop the process. A thread that waits in the kernel, such as for a
        disk or for the child of vfork(), may not stop. After a time limit,
        goref reads the process without this thread."""
        try:
            self.process.stop(self._stop_limit_s(), self.progress)
        except native.load().ProcessError as problem:
            raise procfs.why_not_attached(self.pid, str(problem)) from None

    def _stop_limit_s(self) -> float:
        enough_s = _STUCK_S if self.has_stuck_thread else _STOP_S
        limit_s = max(enough_s, 10 * self.pause_s)
        limit_s = min(limit_s, self.progress.left_s())
        if self.max_pause_ms is not None:
            limit_s = min(limit_s, self.max_pause_ms / 2e3)
        return limit_s

    def finish(self) -> None:
        """Read the copy."""
        self.scan.finish()


def _read_nothing(_address: int, _length: int) -> bytes:
    raise OSError  # the scanner itself reads a process on this machine
