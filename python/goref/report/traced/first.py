# SPDX-License-Identifier: Apache-2.0
"""The first screen of the page of a trace: how much there is, and who has most
of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render.trace import CONSEQUENCE, signed
from ...render.units import human_bytes, percent, printable
from ..markup import code, el, prose
from ..screens import finding, finding_list, partial_note, subject
from .stacks import innermost, what

if TYPE_CHECKING:
    from ...render.trace import TraceReport
    from ..markup import Element


def screen(report: TraceReport) -> Element:
    ended = f"; ended early: {report.ended}" if report.ended else ""
    return el(
        "div",
        {"class": "first"},
        subject(
            name(report),
            report.exe,
            f"trace of process {report.pid}, mode {report.mode}{ended}",
        ),
        _partial(report),
        finding_list(
            "What has changed",
            _answer(report),
            _resident(report),
            _largest(report),
        ),
    )


def name(report: TraceReport) -> str:
    """The file of the executable."""
    return printable(report.exe.rpartition("/")[2] or "?")


def _partial(report: TraceReport) -> Element | None:
    if not report.partial:
        return None
    lost = "; ".join(report.partial)
    return partial_note("Partial", f"{lost}: {CONSEQUENCE}.")


def _answer(report: TraceReport) -> Element | None:
    """The sum of what the stacks have; the mode rss has it in the next one."""
    if report.mode == "rss":
        return None
    whole = sum(stack.bytes for stack in report.stacks)
    size = human_bytes(whole)
    if report.mode == "kernel":
        title = "Kernel memory"
        said = f"{size} allocated during the trace and still there"
    elif report.native is not None:
        title = "C allocations"
        about = "about " if report.native.is_estimated else ""
        said = f"{about}{size} allocated during the trace{_kept(report)}"
    elif report.is_rate_unknown:
        title = "Sampled allocations"
        said = f"{size} in the samples alone{_freed(report)}"
    else:
        title = "Go allocations"
        about = "about " if (report.sample_rate_bytes or 0) > 1 else ""
        said = f"{about}{size} allocated during the trace{_freed(report)}"
    grade = "warn" if whole else "good"
    return finding(grade, "stacks", title, prose(said))


def _freed(report: TraceReport) -> str:
    return ", freed since or not" if report.look else " and still there"


def _kept(report: TraceReport) -> str:
    """How much of the memory of C nobody holds."""
    stacks = [stack.native for stack in report.stacks if stack.native]
    nobody = sum(stack.nobody_bytes for stack in stacks)
    used = report.native.is_used if report.native else None
    there = " and still in use" if used else ""
    held = f", {human_bytes(nobody)} of which nobody holds" if nobody else ""
    return f"{there}{held}"


def _resident(report: TraceReport) -> Element:
    growth = report.rss_after_bytes - report.rss_before_bytes
    done = "grew" if growth > 0 else "shrank" if growth < 0 else "is unchanged"
    said = (
        f"{signed(growth)} in {report.seconds:.1f} s: "
        f"{human_bytes(report.rss_before_bytes)} → "
        f"{human_bytes(report.rss_after_bytes)}"
    )
    link = "stacks" if report.mode == "rss" and growth > 0 else "classes"
    grade = "warn" if growth > 0 else "good"
    return finding(grade, link, f"Resident memory {done}", prose(said))


def _largest(report: TraceReport) -> Element | None:
    """The stack that a reader looks at first: the largest one, or in the mode
    native the first one in its order."""
    if not report.stacks:
        return None
    stack = report.stacks[0]
    whole = sum(row.bytes for row in report.stacks)
    call = innermost(stack)
    said = f"{human_bytes(stack.bytes)}, {percent(stack.bytes, whole)} of all"
    verdict = [
        prose(said),
        ": ",
        code(call) if call else "no stack was seen",
        [", ", what(stack)] if what(stack) else None,
    ]
    native = report.native
    is_first = native is not None and native.sort != "bytes"
    title = "First stack" if is_first else "Largest stack"
    return finding("warn", "stacks", title, verdict)
