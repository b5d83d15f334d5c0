# SPDX-License-Identifier: Apache-2.0
"""goref hung --sched: the scheduler on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import syscalls
from .report import Report, fields_of, partial_lines
from .table import table
from .target import collector_text
from .units import counted
from .stack import place

if TYPE_CHECKING:
    from .._goref import Scheduler, SchedulerM, SchedulerP
    from .report import Document

_PS = 16  # as text
_MS = 16
_IDS = 8
_SECOND = 10**9
# Ms that do something come first.
_STATES = (
    "ending the program",
    "running",
    "waiting for a P",
    "in C",
    "in a system call",
    "spinning",
    "scheduling",
    "starting",
    "in the runtime",
    "system monitor",
    "template thread",
    "waiting for a signal",
    "idle, locked",
    "idle",
)
_OUTSIDE = ("in C", "in a system call")


def scheduler_cause(found: Scheduler) -> str:
    """The answer in one line."""
    if found.is_freezing:
        return "the program is ending, and the runtime stops all Ps"
    if found.is_stopping:
        return _stop_cause(found)
    if found.is_user_disabled:
        return (
            f"only the runtime's own goroutines may run; "
            f"goroutines of the user that wait to run: {found.disabled:,}"
        )
    return _run_cause(found)


def _run_cause(found: Scheduler) -> str:
    runnable = counted(found.runnable, "goroutine")
    are = "is" if found.runnable == 1 else "are"
    idle = sum(p.status == "idle" for p in found.ps)
    outside = sum(m.state in _OUTSIDE for m in found.ms)
    if found.runnable and found.ps and not idle:
        return f"no P is free, and {runnable} {are} runnable"
    if found.runnable and not _is_looking(found):
        return f"{runnable} {are} runnable, and nothing runs them"
    is_idle = found.ps and idle == len(found.ps) and not found.runnable
    if is_idle and outside:
        return (
            f"no goroutine runs or is runnable: "
            f"{counted(outside, 'thread')} {_is(outside)} in system "
            f"calls or in C"
        )
    if is_idle:
        return "no goroutine runs or is runnable: all of them wait"
    return (
        f"the scheduler works: {idle} of {counted(len(found.ps), 'P')} "
        f"{_is(idle)} idle, {runnable} {are} runnable"
    )


def _is_looking(found: Scheduler) -> bool:
    """Does a thread look for goroutines, or run them?"""
    return any(
        m.state in ("running", "spinning", "scheduling", "starting")
        for m in found.ms
    )


def _stop_cause(found: Scheduler) -> str:
    stopper = next((p for p in found.ps if p.stops_world), None)
    who = "a goroutine"
    if stopper and stopper.running:
        who = f"goroutine {stopper.running}"
    if not found.stop_wait:
        return f"the world is stopped, by {who}"
    awaited = [p for p in found.ps if p.is_awaited]
    names = [
        f"goroutine {p.running}" if p.running else f"P {p.id}"
        for p in awaited[:_IDS]
    ]
    line = f"{who} stops the world, which waits for "
    line += ", ".join(names) or counted(found.stop_wait, "P")
    if len(awaited) > _IDS:
        line += f" and {len(awaited) - _IDS} more"
    return line


class SchedulerReport(Report):
    """Ps, Ms, run queues, the collector."""

    found: Scheduler

    def __post_init__(self) -> None:
        self.ps = self.found.ps
        self.ms = sorted(self.found.ms, key=lambda m: _STATES.index(m.state))

    # -------------------------------------------------------------- sections

    def lines(self) -> list[str]:
        return [
            scheduler_cause(self.found),
            *partial_lines(self.partial, "what is missing is not shown"),
            "",
            *self._p_lines(),
            *self._queue_lines(),
            "",
            *self._m_lines(),
            "",
            *self._collector_lines(),
            *self._other_lines(),
        ]

    def _p_lines(self) -> list[str]:
        shown = sorted(self.ps, key=lambda p: p.status in ("idle", "dead"))
        head = ["P", "status", "M", "goroutine", "queued", "what it does"]
        rows = [
            [
                str(p.id),
                p.status,
                _number(p.m_id),
                _number(p.running),
                f"{p.queued:,}",
                self._doing(p),
            ]
            for p in shown[:_PS]
        ]
        lines = table([head, *rows], left=[1, 5], has_head=True)
        left = shown[_PS:]
        if left:
            idle = sum(p.status == "idle" for p in left)
            lines.append(f"  and {counted(len(left), 'more P')}, {idle} idle")
        return lines

    def _doing(self, p: SchedulerP) -> str:
        """The work of a P, and for how long."""
        m = next((m for m in self.ms if m.id == p.m_id), None)
        words = []
        if p.stops_world:
            words.append("stops the world")
        if p.is_awaited:
            words.append("has not stopped")
        if p.mark_worker:
            words.append(f"marks ({p.mark_worker})")
        if m and p.running and m.running == p.running:
            words.append(place(m.at))
        if p.same_ns and p.same_ns >= _SECOND:
            words.append(f"the same for at least {_duration(p.same_ns)}")
        if p.is_asked:
            words.append("asked to let others run")
        return ", ".join(words)

    def _queue_lines(self) -> list[str]:
        found = self.found
        local = sum(p.queued for p in self.ps)
        line = f"runnable: {counted(found.runnable, 'goroutine')}"
        parts = [f"{local:,} in queues of Ps"]
        if found.is_known:
            parts.append(f"{found.queued:,} in the global queue")
        if found.queue_head:
            parts[-1] += f", goroutine {found.queue_head} first"
        return [f"{line} ({'; '.join(parts)})"]

    def _m_lines(self) -> list[str]:
        idle = [m for m in self.ms if m.state == "idle"]
        busy = [m for m in self.ms if m.state != "idle"]
        head = ["M", "thread", "state", "P", "goroutine", "what it does"]
        rows = [
            [
                _number(m.id),
                _number(m.thread_id),
                m.state,
                _number(m.p_id),
                _number(m.running),
                _m_text(m),
            ]
            for m in busy[:_MS]
        ]
        lines = table([head, *rows], left=[2, 5], has_head=True)
        if len(busy) > _MS:
            lines.append(f"  and {counted(len(busy) - _MS, 'more M')}")
        if idle:
            ids = ", ".join(_number(m.id) for m in idle[:_IDS])
            more = ", ..." if len(idle) > _IDS else ""
            lines.append(f"  {counted(len(idle), 'idle M')}: {ids}{more}")
        return lines

    def _collector_lines(self) -> list[str]:
        found = self.found
        line = f"collector: {collector_text(found.phase)}"
        if found.cycles:
            line += f", {counted(found.cycles, 'cycle')} begun"
        workers = sum(bool(p.mark_worker) for p in self.ps)
        if workers:
            line += f", {counted(workers, 'worker')}"
        lines = [line]
        if found.is_stopping and not found.is_freezing:
            state = (
                f"waits for {counted(found.stop_wait, 'P')}"
                if found.stop_wait
                else "is complete"
            )
            lines.append(f"stop of the world: {state}")
        return lines

    def _other_lines(self) -> list[str]:
        found = self.found
        lines = []
        if found.gomaxprocs:
            cpus = found.ncpu and f" of {counted(found.ncpu, 'processor')}"
            lines.append(f"GOMAXPROCS: {found.gomaxprocs}{cpus or ''}")
        if not found.is_known:
            lines.append(
                "runtime.sched is not known: the program has no debug "
                "information"
            )
            return lines
        asleep = "asleep" if found.is_sysmon_asleep else "awake"
        lines.append(f"system monitor: {asleep}")
        lines.append(
            f"poller: {counted(found.poll_waiters, 'goroutine')} "
            f"{'waits' if found.poll_waiters == 1 else 'wait'} for it"
        )
        return lines

    # -------------------------------------------------------------- document

    def body(self) -> Document:
        found = self.found
        return {
            "cause": scheduler_cause(self.found),
            "scheduler": {
                "known": found.is_known,
                "gomaxprocs": found.gomaxprocs,
                "processors": found.ncpu,
                "runnable": found.runnable,
                "global_queue": found.queued,
                "global_queue_first": found.queue_head,
                **fields_of(
                    found, "idle_ps idle_ms idle_locked_ms spinning_ms"
                ),
                "user_disabled": found.is_user_disabled,
                "stopping_world": found.is_stopping,
                "stop_wait": found.stop_wait,
                "ending": found.is_freezing,
                "safe_point_wait": found.safe_point_wait,
                "collector": found.phase,
                "collections": found.cycles,
                "system_monitor_asleep": found.is_sysmon_asleep,
                "poll_waiters": found.poll_waiters,
                "ps": [_p_document(p) for p in self.ps],
                "ms": [_m_document(m) for m in found.ms],
            },
        }


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _duration(nanoseconds: int) -> str:
    seconds = nanoseconds // _SECOND
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min"


def _m_text(m: SchedulerM) -> str:
    words = []
    if m.running:
        words.append(place(m.at))
    if m.number is not None:
        name = syscalls.name(m.number)
        call = f"{name} ({m.number})" if name else f"call {m.number}"
        words.append(f"in system call {call}")
    if m.locked:
        words.append(f"locked by goroutine {m.locked}")
    if m.dying:
        words.append("ends the program")
    return ", ".join(words)


def _p_document(p: SchedulerP) -> Document:
    return {
        "id": p.id,
        "status": p.status,
        "m": p.m_id,
        "goroutine_id": p.running,
        "next": p.next_id,
        **fields_of(p, "queued schedtick syscalltick same_ns mark_worker"),
        "asked_to_preempt": p.is_asked,
        "stops_world": p.stops_world,
        "awaited": p.is_awaited,
    }


def _m_document(m: SchedulerM) -> Document:
    return {
        **fields_of(m, "id thread_id state"),
        "p": m.p_id,
        "goroutine_id": m.running,
        "wait_reason": m.wait_reason,
        **fields_of(m.at, "function file line"),
        "start_function": m.start_function,
        "syscall": None
        if m.number is None
        else {"number": m.number, "name": syscalls.name(m.number)},
        "locked_by": m.locked,
        **fields_of(m, "mallocing throwing locks dying"),
        "cgo_calls": m.ncgo,
        "spinning": m.is_spinning,
        "blocked": m.is_blocked,
        "extra": m.is_extra,
    }
