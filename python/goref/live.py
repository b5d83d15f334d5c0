# SPDX-License-Identifier: Apache-2.0
"""A process is looked at while it runs on: it stands still for the copy."""

import atexit
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import gdb

from . import memory, native, params, render, target
from .progress import Progress
from .session import as_gdb_error, current, warn

# What gdb takes to stop a process and to let it go, and for each thread.
_ATTACH_S = 0.025
_THREAD_S = 0.0001

# A process's number, and when it began; ours, our group, when we began, our
# command. The process's threads were stopped by signals: if whoever traces
# them is killed, they wait for another one. Some of these signals arrive
# only then, so it is watched until it has run on for a second. That we are
# gone is told by our children's new parent, not by the end of a pipe: when
# gdb attaches for the first time it forks itself, to try what the kernel can
# do, and if it is killed then that copy stays behind, stopped, with all that
# gdb had open. It is ended: what is stopped, has begun later than gdb, and
# has its command and its group, which other jobs have not.
_WATCH = r"""
trap 'exit 0' TERM
pid=$1 begin=$2 gdb=$3 group=$4 start=$5 command=$6 quiet=0 rounds=0
stat_of() {
    { read -r rest <"/proc/$1/stat"; } 2>/dev/null && rest=${rest##*) }
}
command_of() {
    tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null
}
while stat_of $$ && set -- $rest && [ "$2" = "$gdb" ]; do
    sleep 0.05
done
parent=$2
end_copies() {
    for copy in /proc/[0-9]*; do
        copy=${copy#/proc/}
        stat_of "$copy" && set -- $rest || continue
        case $1 in T | t) ;; *) continue ;; esac
        [ "$2 $3" = "$parent $group" ] && [ "${20}" -ge "$start" ] &&
            [ "$(command_of "$copy")" = "$command" ] && kill -KILL "$copy"
    done
}
while [ "$quiet" -lt 20 ] && [ "$rounds" -lt 400 ]; do
    rounds=$((rounds + 1)) quiet=$((quiet + 1))
    end_copies
    stat_of "$pid" && set -- $rest || exit 0
    [ "${20}" = "$begin" ] || exit 0
    case $1 in
    T) kill -CONT "$pid"; quiet=0 ;;
    t) quiet=0 ;;
    esac
    sleep 0.05
done
"""

# Of a longest pause, for the end of what is being copied and for letting go.
_RESERVE = 0.25

Stop = Callable[[], AbstractContextManager[Any]]


class _Deadline(Progress):
    """Ends a stop that takes too long."""

    end_s: float | None = None

    def __call__(self, done: int = 0, total: int = 0) -> None:
        if self.end_s is not None and time.monotonic() > self.end_s:
            raise TimeoutError
        super().__call__(done, total)


class Watch:
    """A context within which another process of ours waits for us to die, so
    that the one that we stopped goes on even then."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.watcher: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> None:
        if target.state(self.pid) == "T":
            return  # somebody else's wish
        # Told, not asked: we may be gone when it asks.
        with open("/proc/self/cmdline", "rb") as file:
            command = file.read().replace(b"\0", b"\n").rstrip(b"\n")
        own = os.getpid()
        times = [target.start_time(pid) or "" for pid in (self.pid, own)]
        self.watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, "goref", str(self.pid), times[0],
             str(own), str(os.getpgrp()), times[1], command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def __exit__(self, *_: object) -> None:
        # Not by force: what it runs just now would be left to others.
        if self.watcher is not None:
            self.watcher.terminate()
            atexit.register(self.watcher.wait)


def _say(text: str) -> None:
    gdb.write(f"{text}\n", gdb.STDERR)


def _ms(seconds: float) -> str:
    return render.seconds(round(seconds * 1e6))


class Look:
    """One look at a process: what needs it to stand still, and what not."""

    def __init__(
        self,
        pid: int,
        stop: Stop,
        progress: _Deadline,
        max_pause_ms: int | None,
    ) -> None:
        """Read files and symbols, and find out what there is to copy.
        stop: a context within which the process stands still."""
        self.pid = pid
        self.stop = stop
        self.progress = progress
        self.max_pause_ms = max_pause_ms
        described = target.running(pid)
        self.notes = described.notes
        warn(self.notes)
        begin = time.monotonic()
        try:
            self._open(described, [])
        except native.load().UnsettledError:
            # Of three tries, none of which came to the end.
            self.pause_s = _ATTACH_S + (time.monotonic() - begin) / 2
            self._open_stopped(described)
        self.estimate = self.scan.estimate()
        self.pause_s = (
            _ATTACH_S
            + _THREAD_S * target.count_threads(pid)
            + (self.estimate["read_us"] + self.estimate["copy_us"]) / 1e6
        )

    def _open(self, described: target.Target, threads: list[Any]) -> None:
        """threads: of a process that stands still; none: it runs on."""
        self.scan = native.load().Scan(
            kind=described.kind,
            read=target.read_memory(gdb.selected_inferior()),
            modules=described.modules,
            threads=threads,
            pid=self.pid,
            progress=self.progress,
            cache=params.cache(),
            copy_threads=params.threads(),
            prepare=True,
        )

    def _open_stopped(self, described: target.Target) -> None:
        """Without debug information the runtime is searched, and what is
        searched may change too fast for that."""
        _say(
            f"process {self.pid}: to find the runtime, it has to stand still "
            f"for about {_ms(self.pause_s)} first"
        )
        self.check_pause()
        self._hold(
            lambda: self._open(
                described, target.stopped_threads(native.load())
            )
        )

    def announce(self, max_nodes: int) -> None:
        e = self.estimate
        about = "at most" if e["is_rough"] else "about"
        size = render.human_bytes(e["copy_bytes"])
        needed = render.human_bytes(memory.needed_bytes(e, max_nodes))
        _say(
            f"process {self.pid}: {self.plan(about, size)}; up to {needed} of "
            f"memory needed, {memory.report(render.human_bytes)}"
        )

    def plan(self, about: str, size: str) -> str:
        return (
            f"{about} {size} to copy, for which it stands still for {about} "
            f"{_ms(self.pause_s)}"
        )

    def check_pause(self) -> None:
        limit = self.max_pause_ms
        if limit is None or self.pause_s * 1e3 <= limit:
            return
        raise gdb.GdbError(
            f"goref: not attached: process {self.pid} would stand still for "
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
        with Watch(self.pid):
            begin = time.monotonic()
            if limit is not None:
                self.progress.end_s = begin + limit / 1e3 * (1 - _RESERVE)
            try:
                in_time = self._in_time(work)
            except KeyboardInterrupt:
                self.progress.clear()
                self.say_stood(time.monotonic() - begin)
                raise
            stood_s = time.monotonic() - begin
        self.progress.end_s = None
        self.progress.clear()
        if not in_time:
            raise gdb.GdbError(
                f"goref: given up: process {self.pid} stood still for "
                f"{_ms(stood_s)}, --max-pause is {limit}; it goes on"
            )
        self.say_stood(stood_s)

    def say_stood(self, seconds: float) -> None:
        _say(f"process {self.pid} stood still for {_ms(seconds)} and goes on")

    def _in_time(self, work: Callable[[], None]) -> bool:
        """Whether there was time for it."""
        try:
            with self.stop():
                work()
        except TimeoutError:
            return False
        return True

    def finish(self) -> None:
        """The scan is what all further questions are about."""
        self.scan.finish()
        self.progress.clear()
        warn(self.scan.info()["warnings"])
        current.keep(self.scan, self.notes)


def look(
    pid: int,
    stop: Stop,
    max_pause_ms: int | None,
    memory_limit: int | None,
    max_nodes: int,
    way: type[Look] = Look,
) -> None:
    """Have a scan of a process; it goes on when this returns or fails."""
    # A process may grow faster than it was estimated.
    progress = _Deadline(params.progress(), memory_limit=memory_limit)
    try:
        it = way(pid, stop, progress, max_pause_ms)
        it.announce(max_nodes)
        params.nodes_within(it.estimate, max_nodes, memory_limit)
        it.check_pause()
        try:
            it.copy()
        except Exception:
            if target.state(pid) not in (None, "Z", "X"):
                raise
            raise gdb.GdbError(
                f"goref: process {pid} ended meanwhile"
            ) from None
        it.finish()
    except (Exception, KeyboardInterrupt) as problem:
        raise as_gdb_error(problem, progress.reason) from None
