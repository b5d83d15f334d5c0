# SPDX-License-Identifier: Apache-2.0
"""One trace, from its start to its end."""

from __future__ import annotations

import os
import signal
import time
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .. import ended, live, native, params, procfs, standing
from ..errors import Error
from ..interrupt import Owned
from ..session import as_error
from ..sources import process
from . import (
    allocators,
    facts,
    idle,
    look,
    native_look,
    outside,
    plan as plans,
    watch,
)
from .command import Command, CommandError
from .gathered import Gathered
from .labels import LabelSets, Word
from .helper import Helper, Started
from .program import Program

if TYPE_CHECKING:
    from .._goref import Growth, GrowthTick, Scan, TraceFacts
    from ..render.idle import IdleMemory
    from .allocators import Allocators
    from .blocks import Record
    from .watch import Interval

_RATE_S = 0.3  # for which page faults are counted before the start
_BEGIN_S = 10.0  # in which a command becomes a Go program
_RETRY_S = 0.05
_LOADING_S = 2.0  # in which a command loads its libraries
_MOST_GROUPS = 100_000

# The way out where a snapshot is refused, of `goref attach' and of ours.
_WAY_OUT = "attach without a snapshot", "use --look attach"

_BEGAN_ANOTHER = (
    "goref: {} began another program before its trace: trace it again"
)
_SIGNALLED = "goref: a signal has ended the trace, which has no result"

# Why the runtime samples no allocations.
_OFF = {
    "removed": "the program samples no allocations: its linker has switched "
    "that off, as nothing in it uses runtime.MemProfile",
    "off": "the program samples no allocations: runtime.MemProfileRate is 0",
}


class Outcome(NamedTuple):
    """All that a trace has found.

    plan: as it was carried out: the mode may be another one. exe: the path of
    the executable, or "". intervals: the first one, and the last one if that is
    another one. gone_bytes: pages that went in all of them. ended: why it ended
    before its time, or "". outside: the memory beside the resident pages,
    before and after. look: what the look at the end has found. idle: what was
    not accessed meanwhile; None: not asked for, or the process has ended.
    allocators: of the mode native, else None. span_ns: when the probes were set
    and when they were taken away, by CLOCK_MONOTONIC."""

    plan: plans.Plan
    pid: int
    exe: str
    begin_time: float
    intervals: Sequence[Interval]
    gone_bytes: int
    gathered: Gathered
    growth: Growth
    facts: TraceFacts
    ended: str
    outside: tuple[outside.Outside, outside.Outside]
    look: look.Seen
    idle: IdleMemory | None
    allocators: Allocators | None = None
    span_ns: tuple[int, int] = (0, 0)

    @property
    def before(self) -> GrowthTick:
        return self.intervals[0].before

    @property
    def after(self) -> GrowthTick:
        return self.intervals[-1].tick

    @property
    def seconds(self) -> float:
        return self.intervals[-1].end_s


def _ended_early(word: str, why: str) -> str:
    """why: the reason why it could not be read so far; "": none is known."""
    reason = f": {why}" if why else ""
    return f"goref: {word} ended before it could be read{reason}"


def _exe(pid: int) -> str:
    """The path of the executable; "" if it cannot be read."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


class Session:
    """A trace as it runs."""

    def __init__(
        self,
        plan: plans.Plan,
        limits: tuple[int | None, int | None],
        show: Callable[[Interval], None],
        announce: Callable[[Session, Started], None],
        show_call: Callable[[Session, Record], None] = lambda *_: None,
    ) -> None:
        """limits: of a pause in ms, and of memory in bytes. show: called with
        each interval as it ends. announce: called with what is probed, before
        the start and before the command begins. show_call: called with each
        call of an allocator, with --each."""
        self.plan = plan
        self.limits = limits
        self.show = show
        self.announce = announce
        self.progress = live.Deadline(params.progress())
        self.command: Command | None = None
        self.pid = plan.pid or 0
        self.gathered = Gathered(lambda call: show_call(self, call))
        self.allocators: Allocators | None = None
        self.begin_ns = 0  # when the probes were set
        self.span_ns = 0, 0
        self.faults_per_s: float | None = None
        self.idle: IdleMemory | None = None
        self.notes: list[str] = []
        self.is_watched = False  # the trace has begun
        self.program: Program | None = None  # that was read
        self.gone_bytes = 0

    def run(self) -> Outcome:
        """Trace. If a command of ours is left, its number is said."""
        try:
            outcome = self._run()
        except BaseException as problem:
            self.progress.clear()
            raise self._failed(problem) from None
        finally:
            self.progress.end()
            if self.program:
                self.program.close()
        if self._has_command_left():
            live.say(self._goes_on())
        return outcome

    def _failed(self, problem: BaseException) -> BaseException:
        """The problem as one for a person. Says what an error would say where
        there is none: at Ctrl-C and at a signal that ends us."""
        error = as_error(problem, self.progress.reason)
        if self._has_ended_before(error):
            return Error(f"goref: {self._name()} ended before its trace began")
        if self._has_begun_another(error):
            return Error(_BEGAN_ANOTHER.format(self._name()))
        if isinstance(error, procfs.NotAttachedError):
            error = Error(
                f"goref: cannot trace process {error.pid}: {error.reason}"
            )
        left = self._goes_on() if self._has_command_left() else ""
        if isinstance(error, Error):
            return Error(f"{error}; {left}") if left else error
        if isinstance(error, ended.Ended):
            live.say("; ".join(filter(None, (_SIGNALLED, left))))
        elif left:
            live.say(left)
        return error

    def _has_ended_before(self, error: BaseException) -> bool:
        """Has the process ended while the trace was prepared? That is the
        reason of all errors then."""
        return (
            isinstance(error, Error)
            and not isinstance(error, CommandError)
            and self.was_there
            and not self.is_watched
            and standing.of(self.pid) is standing.Standing.ENDED
        )

    def _has_begun_another(self, error: BaseException) -> bool:
        """Has the process begun another program while the trace was prepared?
        What was read of it is that of the old one. A command may begin some."""
        return (
            isinstance(error, Error)
            and self.command is None
            and not self.is_watched
            and self.program is not None
            and self.program.has_gone()
        )

    def _name(self) -> str:
        return self.command.words[0] if self.command else f"process {self.pid}"

    def _run(self) -> Outcome:
        begin = time.time()
        self.was_there = (
            self.plan.pid is None
            or standing.of(self.pid) is not standing.Standing.ENDED
        )
        with Owned((signal.SIGINT,)) as owned:
            setup = self._prepare(owned)
            if self.plan.idle:
                idle.check(self.pid)
            with Helper(self.pid, setup) as helper:
                intervals, why = self._watched(helper, owned)
            # Ctrl-C often ends a command of ours, too, or comes at the end.
            if owned.has_come():
                signal.sigtimedwait({signal.SIGINT}, 0)
                why = why or watch.INTERRUPTED
        after, seen = outside.read(self.pid), self._look(why)
        return Outcome(
            self.plan,
            self.pid,
            self.exe,
            begin,
            intervals,
            self.gone_bytes,
            self.gathered,
            self.growth,
            self.facts,
            why,
            (self.outside, after),
            seen,
            self.idle,
            self.allocators,
            self.span_ns,
        )

    # ---------------------------------------------------------------- program

    def _prepare(self, owned: Owned) -> list[str]:
        """Find the process, or make it. Returns what the helper is told."""
        if self.plan.pid is not None:
            self._open(self.pid)
            if self.plan.mode == "rss":
                self._rate()
            return self._setup(owned)
        self.command = Command(self.plan.command)
        self.pid = self.command.pid
        if self.plan.mode not in ("go", "native"):
            return facts.setup(self.plan, None)
        # The probe has a place in the program, which has to be there.
        self._begin_command(self.command, None, owned)
        return self._setup(owned)

    def _setup(self, owned: Owned) -> list[str]:
        """Lines for the helper, once the program is there."""
        lines = facts.setup(self.plan, self.facts)
        if self.plan.mode != "native":
            return lines
        self.allocators = self._find_allocators(owned)
        for sampler in self.allocators.samplers:
            name = allocators.base_name(sampler.object)
            self.notes.append(
                f"{name} samples its own allocations: tracing these samples "
                "instead of functions"
            )
        return [*lines, *allocators.setup(self.plan, self.allocators)]

    def _find_allocators(self, owned: Owned) -> Allocators:
        """Find the functions to probe. A command that has just begun may still
        load its libraries: two looks have to find the same."""
        if self.command is None:
            return allocators.find(self.scan, self.pid, self.plan.native)
        before, end = None, time.monotonic() + _LOADING_S
        while True:
            owned.check()
            problem, found = None, None
            try:
                found = allocators.find(self.scan, self.pid, self.plan.native)
            except Error as error:
                problem = error
            is_late = time.monotonic() > end
            if found is not None and (is_late or found == before):
                return found
            if problem is not None and is_late:
                raise problem
            before = found
            self._pause(_RETRY_S)
            self._open(self.pid)

    def _open(self, pid: int) -> None:
        """Read the program while it runs."""
        if self.program:
            self.program.close()
        self.program = Program(pid)
        source = process.Process(pid, "residency")
        prepared = source.prepare(self.progress, self.limits[1], "residency")
        self.scan: Scan = prepared.scan
        self.exe = _exe(pid)
        self.facts: TraceFacts = self.scan.trace_facts()
        self.growth: Growth = native.load().Growth(
            self.scan, from_empty=self.command is not None
        )
        sweepgen = Word(pid, self.facts.sweepgen_addr)
        labels = LabelSets(self.scan, sweepgen.read)
        self.gathered.open(self.scan, self.growth, labels)
        self._choose_mode()

    def _choose_mode(self) -> None:
        """The mode go needs the runtime's sampling."""
        found = self.facts
        if self.plan.mode != "go":
            return
        why = _OFF.get(found.profiling, "")
        if not why and found.probe is None:
            why = "the function runtime.mProf_Malloc was not found"
        if why:
            since = ", from now on" if self.command else ""
            self.notes.append(f"{why}: tracing rss instead{since}")
            self.plan = self.plan._replace(mode="rss")

    def _rate(self) -> None:
        """Count page faults for a moment, for the forecast."""
        self.faults_per_s = watch.faults_per_s(
            self.pid, _RATE_S, lambda: self._pause(_RETRY_S)
        )

    def _pause(self, seconds: float) -> None:
        self.progress()
        time.sleep(seconds)

    # ------------------------------------------------------------------ events

    def _watched(
        self, helper: Helper, owned: Owned
    ) -> tuple[list[Interval], str]:
        """The first and the last interval, and why they ended before their
        time."""
        started = helper.start(owned.check)
        self.begin_ns = time.monotonic_ns()
        # From now on, the helper sees it.
        if self.program and self.program.has_gone():
            raise Error(_BEGAN_ANOTHER.format(self._name()))
        self.announce(self, started)
        if self.command and self.command.is_waiting:
            self._begin_command(self.command, helper, owned)
        self.outside = outside.read(self.pid)
        it = watch.Watch(
            self.pid,
            helper,
            self.gathered,
            self.progress,
            owned,
            from_empty=self.command is not None,
            forgets=self.command is None and self.plan.mode == "rss",
            begun=self._begun,
        )
        found: list[Interval] = []
        for interval in it.intervals(self.plan.end_s, self.plan.seconds):
            self.progress.clear()
            self.show(interval)
            found[1:] = [interval]  # a long trace has very many
            self.gone_bytes += interval.tick.gone_bytes
            if self.command and self.command.status() is not None:
                it.ended = it.ended or f"process {self.pid} has ended"
        # The look at the end would access what it reads.
        if self.plan.idle and it.ended in ("", watch.INTERRUPTED):
            self.idle = idle.read(self.pid, self.growth.mappings())
        self.span_ns = self.begin_ns, time.monotonic_ns()
        it.finish()
        return found, it.ended

    def _begun(self) -> None:
        """The first tick is there."""
        self.is_watched = True
        if self.plan.idle:
            idle.clear(self.pid)

    def _begin_command(
        self, command: Command, helper: Helper | None, owned: Owned
    ) -> None:
        """Let the command begin, and open it as soon as it is a Go program.
        helper: sees it already."""
        command.begin()
        self.progress.doing = "waiting for a Go program"
        end, why = time.monotonic() + _BEGIN_S, ""
        while True:
            owned.check()
            self.progress()
            self._read_or_wait(helper)
            has_begun = command.has_begun()
            if command.status() is not None:
                raise CommandError(_ended_early(command.words[0], why))
            if not has_begun:
                continue
            problem = self._try_to_open(command.pid)
            if not problem:
                break
            if standing.of(command.pid) is not standing.Standing.ENDED:
                why = problem
            if time.monotonic() > end:
                raise Error(f"goref: {problem}")
        for line in facts.program(self.facts) if helper else ():
            helper.tell(line)

    def _try_to_open(self, pid: int) -> str:
        """Open a process. Returns why that failed; "": it has not."""
        try:
            self._open(pid)
        except (Error, native.load().Error) as problem:
            return str(problem).removeprefix("goref: ")
        return ""

    def _read_or_wait(self, helper: Helper | None) -> None:
        """Pass a moment."""
        if helper is None:
            time.sleep(_RETRY_S)
            return
        for message in helper.read(_RETRY_S):
            self.gathered.take(message)

    def _has_command_left(self) -> bool:
        """Does a command of ours still run?"""
        return (
            self.command is not None
            and not self.command.is_waiting
            and self.command.status() is None
        )

    def _goes_on(self) -> str:
        return f"the command goes on as process {self.pid}"

    # --------------------------------------------------------------------- end

    def _look(self, why: str) -> look.Seen:
        if self.plan.mode == "kernel":
            return look.Seen(None)
        if self.plan.look == "none":
            return look.Seen(None, "--look none")
        if why and why != watch.INTERRUPTED:
            return look.Seen(None, why)
        is_native = self.plan.mode == "native"
        self.progress.doing = "looking at what the new pages hold"
        if is_native:
            self.progress.doing = "looking at who holds the blocks"
        question = self._ask_blocks if is_native else self._ask_pages
        if self.plan.mode == "go":
            question = self._ask_samples
        seen = look.ask(
            self.pid, self.plan.look, question, self.progress, self.limits
        )
        return seen._replace(problem=seen.problem.replace(*_WAY_OUT))

    def _ask_pages(self, scan: Scan) -> object:
        return scan.growth_pages(self.growth.pages(), _MOST_GROUPS)

    def _ask_samples(self, scan: Scan) -> object:
        addresses = array("Q", self.gathered.samples)
        return scan.growth_samples(addresses.tobytes())

    def _ask_blocks(self, scan: Scan) -> object:
        assert self.allocators is not None
        return native_look.question(
            scan,
            self.gathered.blocks,
            self.allocators.are_walked,
            self.plan.native.holders,
        )
