# SPDX-License-Identifier: Apache-2.0
"""goref hung: why a service hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, native, params, partial
from ..render.hung import GROUPS, HungReport, Outside
from ..render.hung_cause import blockers_of, pile_of
from ..render.hung_stop import ended_text, runnable_text, scheduler_text
from ..render.scheduler import SchedulerReport
from ..session import current, running
from .base import answer_report, how
from .leaks import check_leaks
from .waits import check_deadlocks, stacks

if TYPE_CHECKING:
    from .._goref import Backtrace, Finalization, GoroutineList
    from .._goref import GoroutineWait, Leaks, Panic, Scan, Scheduler, Waits

_GROUPS = 100  # of waiters: few with a lost lock, behind many idle ones
_IDS = 8
_EXAMPLES = 8  # goroutines of a group
_OUTSIDE = 8  # places outside of Go
_CALLS = 40
_PANIC = (120, 4, 2)  # the longest text, elements, depth of its value
_OUTSIDE_GO = (("state", False, "syscall"),)


def extent(options: Any) -> str:
    """--sched needs no heap: the scheduler's records lie elsewhere."""
    return "goroutines" if options.sched else "heap"


def check(options: Any) -> None:
    if options.sched and (options.fail_on_deadlock or options.fail_on_leaks):
        raise args.UsageError(
            "--sched looks for no deadlocks and no leaks: leave out --fail-..."
        )


def run(options: Any) -> list[str]:
    return _scheduler(options) if options.sched else _hung(options)


def _scheduler(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as scan:
        found = scan.scheduler()
        lost = partial.reasons(scan.info(), None)
    report = SchedulerReport(
        tool_version=native.load().VERSION, partial=lost, found=found
    )
    answer_report(report, options)
    return lost


def _hung(options: Any) -> list[str]:
    with running(options.memory_limit, options.timeout) as scan:
        found = report(scan)
    answer_report(found, options)
    check_deadlocks("hung", found.found, options)
    check_leaks("hung", found.leaks, options)
    return list(found.partial)


def report(
    scan: Scan,
    known: Leaks | None = None,
    finalization: Finalization | None = None,
) -> HungReport:
    """known, finalization: the leaks and the finalizers, if they were found
    before."""
    found = _waits(scan)
    listed = scan.goroutines((), False, "wait", _EXAMPLES)
    outside = _outside(scan)
    leaks, unknown, is_ended = known, "", False
    if known is None:
        leaks, unknown, is_ended = _leaks(scan)
    if not finalization and not unknown:
        finalization = find_finalization(scan, False)
    records = _records(scan)
    info = scan.info()
    lost = partial.reasons(info, leaks)
    return HungReport(
        tool_version=native.load().VERSION,
        partial=[*lost, unknown] if is_ended else lost,
        states=info.goroutine_counts,
        listed=listed,
        found=found,
        leaks=leaks,
        unknown=unknown,
        outside=outside,
        stacks={} if is_ended else _stacks(scan, found, listed),
        awaits={} if is_ended else _awaits(scan, found),
        ended=ended_text(_panic(scan)),
        scheduler=scheduler_text(records, _most(found)),
        runnable=runnable_text(records),
        finalization=finalization,
        how=how(),
    )


def _waits(scan: Scan) -> Waits:
    """With addresses instead of names if there is no memory for a graph."""
    goref = native.load()
    try:
        return scan.waits(0, _GROUPS, _IDS)
    except (goref.LimitError, MemoryError):
        return scan.waits(0, _GROUPS, _IDS, False)


def _leaks(scan: Scan) -> tuple[Leaks | None, str, bool]:
    """Who has leaked; or why that is not known, and whether because it was
    ended."""
    goref = native.load()
    try:
        return scan.leaks(), "", False
    except (goref.MemoryLimitError, MemoryError) as problem:
        return None, params.no_memory(problem), False
    except goref.LimitError as problem:
        return None, str(problem), False
    except KeyboardInterrupt:
        ended = current.progress.reason if current.progress else ""
        return None, ended or "interrupted", True


def find_finalization(scan: Scan, with_pools: bool) -> Finalization | None:
    """Finalizers, cleanups and pools; None: there is no memory for it."""
    try:
        return scan.finalization(with_pools)
    except (native.load().Error, MemoryError):
        return None


def _panic(scan: Scan) -> Panic | None:
    """The end of the program; None: not known."""
    try:
        return scan.panic(*_PANIC)
    except (native.load().Error, MemoryError):
        return None


def _records(scan: Scan) -> Scheduler | None:
    """Those of the scheduler; None: the target does not have them."""
    try:
        return scan.scheduler()
    except (native.load().Error, MemoryError):
        return None


def _most(found: Waits) -> int:
    return max((group.waiters for group in found.groups), default=0)


def _stacks(
    scan: Scan, found: Waits, listed: GoroutineList
) -> dict[int, Backtrace]:
    """The calls of those that wait for each other, or keep others waiting, and
    of the examples that are shown."""
    shown = [
        row.id
        for group in listed.groups[:GROUPS]
        for row in listed.rows[group.first : group.first + group.nrows]
    ]
    shown += [blocker.owner.id for blocker in blockers_of(found)[:1]]
    pile = pile_of(found)
    shown += pile.ids[:1] if pile else ()
    return {
        **stacks(scan, found),
        **{number: scan.backtrace(number, _CALLS) for number in shown},
    }


def _awaits(scan: Scan, found: Waits) -> dict[int, GoroutineWait]:
    """The waits of those who keep others waiting."""
    return {
        blocker.owner.id: scan.goroutine_wait(blocker.owner.id, False)
        for blocker in blockers_of(found)[:1]
    }


def _outside(scan: Scan) -> list[Outside]:
    """Who is in a system call or in C, by the user's line."""
    listed: GoroutineList = scan.goroutines(_OUTSIDE_GO, False, "wait", 1)
    rows = []
    for group in listed.groups[:_OUTSIDE]:
        first = listed.rows[group.first]
        waits = scan.goroutine_wait(first.id, False).waits
        calls = scan.backtrace(first.id, _CALLS)
        rows.append(Outside(group, first, waits[0] if waits else None, calls))
    return sorted(rows, key=lambda row: not row.is_in_c)
