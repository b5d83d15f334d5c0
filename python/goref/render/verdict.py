# SPDX-License-Identifier: Apache-2.0
"""The first lines of the overview: everything that is wrong, or that nothing
is; and what is known of that before the heap is walked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .finalization import finding, stuck_finding
from .leaks import leaks_line
from .native_leaks import stands_out, verdict_line
from .panic import cause_text, is_sent
from .stack import place
from .style import styled
from .suspects import overview_line, suspects_line
from .target import target_name
from .waits import deadlocks_line

if TYPE_CHECKING:
    from .._goref import (
        GoroutineCount,
        GoroutineList,
        Info,
        Panic,
        Waits,
    )
    from .overview import OverviewReport

_EARLY = 3  # places of goroutines, before the heap is walked


def verdict_lines(report: OverviewReport) -> list[str]:
    """Everything that is wrong, the worst first; or that nothing is."""
    panic, waits, leaks = report.panic, report.waits, report.leaks
    lines = []
    if panic and not is_sent(panic):
        lines.append(styled(ended_line(panic), "bad"))
    if waits and waits.deadlocks:
        lines.append(styled(deadlocks_line(waits), "bad"))
    elif is_hung(report):
        lines.append(styled(_cause_text(report), report.hung.grade))
    lines += [styled(text, "warn") for text in _finalizers(report)]
    if leaks and leaks.leaked:
        lines.append(styled(leaks_line(leaks), "warn"))
    if report.native_leaks and has_c_leak(report):
        line = verdict_line(report.native_leaks, is_partial_in_c(report))
        lines.append(styled(line, "warn"))
    if report.suspects and report.suspects.suspects:
        line = overview_line(report.suspects, bool(report.partial))
        lines.append(styled(line, "warn"))
    return [*lines, *_nothing(report)]


def _finalizers(report: OverviewReport) -> list[str]:
    """The lines about finalizers, as far as the cause does not say them."""
    found, waits = report.finalization, report.waits
    is_said = is_hung(report) and not (waits and waits.deadlocks)
    texts = ["" if is_said else finding(found), stuck_finding(found)]
    return [text for text in texts if text]


def is_hung(report: OverviewReport) -> bool:
    """True if goroutines wait as they should not, without a deadlock."""
    hung = report.hung
    return bool(hung and hung.grade and hung.cause.kind != "leaks")


def is_blocked(report: OverviewReport) -> bool:
    """True if there is a deadlock or a leak."""
    waits, leaks = report.waits, report.leaks
    return bool((waits and waits.deadlocks) or (leaks and leaks.leaked))


def has_c_leak(report: OverviewReport) -> bool:
    """True if nothing holds much of the memory of C."""
    found = report.native_leaks
    return bool(found and stands_out(found.leaked_bytes, found.in_use_bytes))


def is_partial_in_c(report: OverviewReport) -> bool:
    """True if something may hold blocks of C that could not be read."""
    found = report.native_leaks
    return bool(report.partial or (found and found.missing_bytes))


def _cause_text(report: OverviewReport) -> str:
    return report.hung.cause.text if report.hung else ""


def _nothing(report: OverviewReport) -> list[str]:
    """One line, if nothing is wrong as far as is known."""
    waits, leaks, found = report.waits, report.leaks, report.suspects
    parts = []
    is_ended = report.panic and not is_sent(report.panic)
    if is_blocked(report) or is_ended:
        return []
    unread = report.ledger.gaps.goroutines_skipped
    if unread:
        total = max(report.info.goroutines, unread)
        parts.append(
            f"deadlocks and leaks are not known: {unread:,} of {total:,} "
            "goroutines could not be read"
        )
    elif waits and not is_hung(report):
        is_fact = report.hung and report.hung.cause.kind == "crowd"
        parts.append(_cause_text(report) if is_fact else "no deadlock found")
    if leaks and not unread:
        parts.append(leaks_line(leaks))
    if found and not found.suspects:
        parts.append(suspects_line(found))
    if not parts:
        return []
    is_whole = len(parts) == 3 and not report.partial and not report.unfinished
    is_good = is_whole and not (leaks and leaks.unproven)
    is_good = is_good and bool(report.hung and report.hung.grade is None)
    is_good = is_good and not (_finalizers(report) or has_c_leak(report))
    begin = "in what could be read: " if report.partial and not unread else ""
    begin = "nothing stands out: " if is_good else begin
    return [styled(begin + "; ".join(parts), "good" if is_good else "title")]


def early_lines(
    info: Info,
    panic: Panic | None,
    waits: Waits | None,
    places: GoroutineList | None,
) -> list[str]:
    """The part that is known before the heap is walked."""
    lines = [
        f"{target_name(info)} of {info.exe_path}, {info.go_version}",
        goroutines_line(info),
    ]
    if waits and waits.deadlocks:
        lines.insert(0, deadlocks_line(waits))
    if panic and panic.kind:
        lines.insert(len(lines) if is_sent(panic) else 0, ended_line(panic))
    for group in places.groups[:_EARLY] if places else ():
        at = places.rows[group.first].user if places else None
        if at and at.function:
            lines.append(f"  {group.goroutines:,} in {place(at)}")
    return lines


def ended_line(panic: Panic) -> str:
    """The cause of the program's end, in the runtime's own words."""
    text = cause_text(panic)
    row = panic.goroutine
    if row:
        at = row.user
        text += f"; goroutine {row.id}"
        if at.function:
            text += f" in {at.function}"
        if at.file:
            text += f" at {os.path.basename(at.file)}:{at.line}"
    if panic.kind == "panicking":
        return f"still running deferred calls: {text}"
    return f"ended by {text}"


def goroutines_line(info: Info) -> str:
    rows, system = state_counts(info)
    parts = [_goroutines_text(row) for row in rows]
    if system:
        parts.append(f"{system:,} of the runtime")
    line = f"goroutines: {info.goroutines:,}"
    return f"{line} ({', '.join(parts)})" if parts else line


def state_counts(info: Info) -> tuple[list[GoroutineCount], int]:
    """The user's goroutines by state, and the number of all others."""
    rows = [row for row in info.goroutine_counts if not row.is_system]
    return rows, info.goroutines - sum(row.goroutines for row in rows)


def _goroutines_text(row: GoroutineCount) -> str:
    return f"{row.goroutines:,} {row.wait_reason or row.state}"
