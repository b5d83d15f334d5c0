# SPDX-License-Identifier: Apache-2.0
"""A process is looked at while it runs on: it stands still for the copy."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextlib import suppress
from typing import Any

import gdb

from . import memory, native, params, pause, standing, target
from .alarm import Alarm
from .interrupt import Owned
from .lifeline import Lifeline
from .progress import Progress
from .render import units
from .session import as_gdb_error, current, warn

_WATCHER = "goref-watcher"
_END_S = 2.0
_STOP_S = 5.0  # what takes much longer to stop never will
_LEAST_STOP_S = 1.0

Stop = Callable[[], AbstractContextManager[Any]]


class _Deadline(Progress):
    """Ends a stop that takes too long. Nothing is printed meanwhile: the
    process would wait for a terminal that takes nothing."""

    owned: Owned | None = None  # while the process stands still
    end_s: float | None = None

    def __call__(self, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if self.end_s is not None and now > self.end_s:
            raise TimeoutError
        if self.owned:
            self.owned.check()
            self._check(now)
        else:
            super().__call__(done, total)

    @contextmanager
    def held(self, owned: Owned) -> Iterator[None]:
        """A context in which the process stands still, until end_s."""
        self.owned = owned
        try:
            yield
        finally:
            self.owned = None
            self.end_s = None


class Watch:
    """A context in which the process that we stop goes on even if we die: a
    watcher process of ours resumes it, or else, until the process stands still,
    the kernel (Lifeline)."""

    def __init__(self, pid: int, is_stopped: bool) -> None:
        """is_stopped: by somebody else, who lets it go on."""
        self.pid = pid
        self.is_stopped = is_stopped
        self.watcher: subprocess.Popen[bytes] | None = None
        self.lifeline = ExitStack()

    def __enter__(self) -> "Watch":
        wish = ["stopped"] if self.is_stopped else []
        start = target.start_time(self.pid)
        path = native.program(_WATCHER)
        if not path:
            raise gdb.GdbError(f"goref: no {_WATCHER}: not built?")
        self.watcher = subprocess.Popen(
            [path, str(self.pid), start or "0", *wish],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._wait_until_ready(self.watcher)
            if not self.is_stopped:
                self.lifeline.enter_context(Lifeline(self.pid))
        except BaseException:
            self.__exit__()
            raise
        return self

    def all_stopped(self) -> None:
        """Call this when gdb has consumed the SIGSTOP of each thread: if we
        die later, the kernel sends no SIGCONT."""
        self.lifeline.close()

    def _wait_until_ready(self, watcher: subprocess.Popen[bytes]) -> None:
        """Nothing is stopped before."""
        assert watcher.stdout
        with watcher.stdout as said:
            if said.readline() != b"ready\n":
                raise gdb.GdbError(f"goref: {_WATCHER} does not start")

    def __exit__(self, *_: object) -> None:
        """The process goes on: the watcher is told, and waited for."""
        if self.watcher is None:
            return
        self.lifeline.close()
        assert self.watcher.stdin
        with suppress(BrokenPipeError), self.watcher.stdin as told:
            told.write(b".")
        try:
            self.watcher.wait(_END_S)
        except subprocess.TimeoutExpired:  # somebody has stopped it
            self.watcher.kill()
            self.watcher.wait()


def say(text: str) -> None:
    gdb.write(f"{text}\n", gdb.STDERR)


def ms(seconds: float) -> str:
    return units.seconds(round(seconds * 1e6))


class Look:
    """One look at a process: what needs it to stand still, and what not."""

    cost = pause.GDB

    def __init__(
        self,
        pid: int,
        stop: Stop,
        progress: _Deadline,
        max_pause_ms: int | None,
        memory_limit: int | None,
        extent: str = "heap",
    ) -> None:
        """Read files and symbols, and find out what there is to copy.
        stop: a context within which the process stands still.
        extent: what the question needs of the program."""
        self.pid = pid
        self.stop = stop
        self.progress = progress
        self.max_pause_ms = max_pause_ms
        self.memory_limit = memory_limit
        self.extent = extent
        self._refuse_frozen()
        described = target.running(pid)
        self.notes = described.notes
        warn(self.notes)
        self._open(described)
        while self.scan.is_unsettled():
            self._search_copy()
        self._expect()

    def _expect(self) -> None:
        """Expect how long a stop takes, by the number of threads now and by
        what is to be copied."""
        self.estimate = self.scan.estimate()
        self.pace = pause.measure(self.pid)
        threads = target.count_threads(self.pid)
        self.expected = pause.expect(self.cost, self.pace, threads)
        copy_s = pause.copy_s(
            self.pace, self.estimate.copy_us / 1e6, params.threads()
        )
        read_s = self.estimate.read_us / 1e6
        self.pause_s = self.expected.pause_s(read_s + copy_s)

    def _refuse_frozen(self) -> None:
        """No tracer can stop it: gdb would wait until it is thawed."""
        group = standing.frozen_group(self.pid)
        if group:
            raise gdb.GdbError(
                f"goref: not attached: process {self.pid} is frozen by its "
                f"control group {group}: thaw it first"
            )

    def _open(self, described: target.Target) -> None:
        """While it runs."""
        self.scan = native.load().Scan(
            kind=described.kind,
            read=target.read_memory(gdb.selected_inferior()),
            modules=described.modules,
            threads=[],
            pid=self.pid,
            progress=self.progress,
            cache=params.cache(),
            copy_threads=params.threads(),
            prepare=True,
            memory_limit=self.memory_limit or 0,
            extent=self.extent,
        )

    def _search_copy(self) -> None:
        """Without debug information, the runtime is found by search, and the
        process may change too fast for that. Then stop it to copy what the
        search reads, and search the copy while the process runs on."""
        self._expect()
        size = units.human_bytes(self.estimate.copy_bytes)
        say(
            f"process {self.pid}: to find the runtime, goref first has to "
            f"copy {size}, which stops it for about {ms(self.pause_s)}"
        )
        self.check_pause()
        self.scan.reserve()
        self._hold(self.scan.copy_searched)
        self.scan.search_copy()

    def announce(self, max_nodes: int) -> None:
        e = self.estimate
        about = "at most" if e.is_rough else "about"
        size = units.human_bytes(e.copy_bytes)
        needed = units.human_bytes(memory.needed_bytes(e, max_nodes))
        say(
            f"process {self.pid}: {self.plan(about, size)}; up to {needed} of "
            f"memory needed, {memory.report(units.human_bytes)}"
        )

    def plan(self, about: str, size: str) -> str:
        if standing.of(self.pid) is standing.Standing.STOPPED:
            return f"{about} {size} to copy; a signal has stopped it before"
        return (
            f"{about} {size} to copy, which stops it for {about} "
            f"{ms(self.pause_s)}"
        )

    def check_pause(self) -> None:
        limit = self.max_pause_ms
        if limit is None or self.pause_s * 1e3 <= limit:
            return
        raise gdb.GdbError(
            f"goref: not attached: process {self.pid} would stop for "
            f"about {self.pause_s * 1e3:.1f} ms, longer than --max-pause "
            f"{limit}"
        )

    def copy(self) -> None:
        self.scan.reserve()
        self._hold(self._capture)

    def _capture(self) -> None:
        self.scan.capture(target.stopped_threads(native.load()))

    def _hold(self, work: Callable[[], None]) -> None:
        """Do what needs the process to stand still."""
        limit = self.max_pause_ms
        before = standing.of(self.pid)
        is_stopped = before is standing.Standing.STOPPED
        begin = None
        try:
            with Owned() as owned, Watch(self.pid, is_stopped) as watch:
                begin = time.monotonic()
                in_time = self._in_time(work, begin, owned, watch)
                stood_s = time.monotonic() - begin
        except (KeyboardInterrupt, native.load().MemoryLimitError):
            self.progress.clear()
            if begin is not None:
                self.say_outcome(before, time.monotonic() - begin)
            raise
        self.progress.clear()
        if not in_time:
            raise gdb.GdbError(
                f"goref: given up, --max-pause is {limit}: "
                f"{self._outcome(before, stood_s)}"
            )
        self.say_outcome(before, stood_s)

    def _outcome(self, before: standing.Standing, stood_s: float) -> str:
        """A sentence: how long the process was stopped, and its state now."""
        after = standing.settled(self.pid, before)
        text = standing.outcome(before, after, ms(stood_s))
        return f"process {self.pid} {text}"

    def say_outcome(self, before: standing.Standing, stood_s: float) -> None:
        say(self._outcome(before, stood_s))

    def _in_time(
        self,
        work: Callable[[], None],
        begin: float,
        owned: Owned,
        watch: Watch,
    ) -> bool:
        """Do work, unless its time, counted from begin, runs out."""
        limit = self.max_pause_ms
        try:
            with self.progress.held(owned), ExitStack() as held:
                self._stop(held, owned)
                watch.all_stopped()
                if limit is not None:
                    stopped_s = time.monotonic() - begin
                    left_s = self.expected.work_until_s(limit / 1e3, stopped_s)
                    self.progress.end_s = begin + left_s
                self.progress()
                work()
        except TimeoutError:
            return False
        return True

    def _stop(self, held: ExitStack, owned: Owned) -> None:
        """Have the process stand still until the stack is closed. A thread
        that waits in the kernel, as for a disk or for the child of vfork(),
        does not stop, nor one that execve() has just ended: gdb would wait for
        ever, and the other threads stand still."""
        limit_s, left_s = self._stop_limit_s(), self.progress.left_s()
        ending = "given up" if limit_s < left_s else "timed out"
        limit_s = min(limit_s, left_s)
        why = (
            f"goref: {ending}: process {self.pid} did not stop within "
            f"{ms(limit_s)}: a thread of it waits in the kernel, or it has "
            "just begun another program; its other threads stood still "
            "meanwhile, and go on"
        )
        with Alarm(limit_s, why, owned):
            held.enter_context(self.stop())

    def _stop_limit_s(self) -> float:
        limit_s = max(_STOP_S, 10 * self.pause_s)
        if self.max_pause_ms is not None:
            limit_s = min(limit_s, max(self.max_pause_ms / 1e3, _LEAST_STOP_S))
        return limit_s

    def finish(self) -> None:
        """The scan is what all further questions are about."""
        self.scan.finish()
        self.progress.clear()
        warn(self.scan.info().warnings)
        current.keep(self.scan, self.notes)


def look(
    pid: int,
    stop: Stop,
    max_pause_ms: int | None,
    memory_limit: int | None,
    max_nodes: int,
    timeout_s: float | None,
    extent: str = "heap",
    way: type[Look] = Look,
) -> None:
    """Have a scan of a process; it goes on when this returns or fails."""
    progress = _Deadline(params.progress(), timeout_s, current.command_begin)
    try:
        it = way(pid, stop, progress, max_pause_ms, memory_limit, extent)
        it.announce(max_nodes)
        params.nodes_within(it.estimate, max_nodes, memory_limit)
        it.check_pause()
        try:
            it.copy()
        except Exception:
            if standing.of(pid) is not standing.Standing.ENDED:
                raise
            raise gdb.GdbError(
                f"goref: process {pid} ended meanwhile"
            ) from None
        it.finish()
    except (Exception, KeyboardInterrupt) as problem:
        raise as_gdb_error(problem, progress.reason) from None
