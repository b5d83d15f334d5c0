# SPDX-License-Identifier: Apache-2.0
"""The grounds of an answer of goref trace: what was seen, what was not, and
what that cost the process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..live import duration
from . import kernel_memory, native_memory
from .style import styled
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .report import Document
    from .trace import TraceReport

# The reasons of the helper for events that were not seen, in words.
LOST = {
    "ring_full": "the buffer between the kernel and goref was full",
    "over_budget": "the budget of --max-overhead was overdrawn",
    "table_full": "goref's own tables were full",
    "missed": "an event, of this process or another one, came while its "
    "processor handled one",
    "too_early": "the program was not yet known",
    "frees": "frees were not seen, so blocks may count that are free",
}
_UNREAD = "unread"  # counts reads that failed, and no events
_MISSED = "missed"  # runs that the kernel left out, perhaps for others

# Why events that were seen had no stack.
WITHOUT = {
    "over_budget": "the budget of --max-overhead was overdrawn",
    "ring_filling": "the buffer between the kernel and goref was filling",
    "unreadable": "the stack could not be read",
}


class Losses(NamedTuple):
    """Events that were not seen, or had no stack, by reason."""

    reason: str
    count: int


class Coverage(NamedTuple):
    """Beside the number of events and the losses.

    with_stack: events; None: not counted. given_back: events of memory that
    the process gave back, which have no stack. without_stack: the others, by
    reason. off_s: for how long the probes were taken away because the limit
    was reached. pause_s: for how long the look at the end stopped the process,
    and slowed_s: for how long its writes were slower after that; None: there
    was no look, or it is not known."""

    with_stack: int | None = None
    given_back: int = 0
    without_stack: Sequence[Losses] = ()
    off_s: float = 0.0
    pause_s: float | None = None
    slowed_s: float | None = None


def grounds(report: TraceReport) -> list[str]:
    """The grounds of this answer, and its gaps: a line each."""
    return [
        "memory that was there before the start is not explained here",
        *_coverage(report),
        *([] if report.native else [_events_line(report)]),
        *_gap_lines(report),
        *_cost_lines(report),
        *_look_lines(report),
    ]


def _sampling(rate: int) -> str:
    if rate == 1:
        return "the runtime samples each allocation: bytes are exact"
    return (
        "bytes are estimated from the runtime's samples, one for about "
        f"{human_bytes(rate)} allocated"
    )


def _coverage(report: TraceReport) -> list[str]:
    """The part of the growth that the stacks explain."""
    lines = []
    if report.is_rate_unknown:
        lines.append(
            "the program does not tell how much a sample stands for: only "
            "the sampled allocations themselves are counted"
        )
        if not report.events:
            lines.append(
                "no sample was seen: the program allocated little, or its "
                "linker has switched sampling off"
            )
    elif report.mode == "go":
        lines.append(_sampling(report.sample_rate_bytes or 0))
    elif report.native is not None:
        lines += native_memory.grounds(report.native, report)
    elif report.kernel is not None:
        lines += kernel_memory.honest_lines(report.kernel)
    elif report.unattributed_bytes is not None:
        lines += _page_lines(report)
    if report.samples_without_labels:
        what = "sample" if report.native is None else "block"
        lines.append(
            f"the labels of {counted(report.samples_without_labels, what)} "
            "are not known: only those that are read before the next garbage "
            "collection ends are certain"
        )
    if report.unfinished_stacks:
        lines.append(
            f"{counted(report.unfinished_stacks, 'stack')} could not be "
            "followed to the start"
        )
    return lines


def _page_lines(report: TraceReport) -> list[str]:
    """The share of the new pages that have a stack. Pages that were gone at
    the look have none."""
    gone = report.gone_before_look_bytes
    there = report.new_bytes - gone
    known = sum(stack.bytes for stack in report.stacks if stack.frames)
    lines = []
    if gone:
        lines.append(
            f"{human_bytes(gone)} of the new pages went between the last "
            "interval and the look at the end: no stack has them"
        )
    if there > 0:
        left = " that were left" if gone else ""
        least = "at least " if report.stacks_left_out_bytes else ""
        lines.append(
            f"{least}{percent(known, there)} of the new pages{left} have a "
            "stack"
        )
    return lines


# --------------------------------------------------------------------- events


def _events_line(report: TraceReport) -> str:
    """How many events there were, and how many of them were seen."""
    count = {lost.reason: lost.count for lost in report.losses}
    came = report.events
    not_events = count.get(_MISSED, 0) + count.get(_UNREAD, 0)
    seen = max(came - report.dropped + not_events, 0)
    while_on = " while the probes were on" if report.coverage.off_s else ""
    if not came:
        return f"there were no events{while_on}"
    number = "all" if seen == came else f"{seen:,}"
    text = f"{counted(came, 'event')}{while_on}, of which {number} were seen"
    coverage, without = report.coverage, report.events_without_stack
    if coverage.with_stack is None:
        return f"{text}, {without:,} of these without a stack"
    text += f": {coverage.with_stack:,} with a stack, {without:,} without"
    if coverage.given_back:
        text += f", and {coverage.given_back:,} for memory given back"
    return text


def _gap_lines(report: TraceReport) -> list[str]:
    """A line for each reason for which something is not known."""
    lines = []
    for row in report.coverage.without_stack:
        lines.append(
            f"{counted(row.count, 'event')} had no stack: "
            f"{WITHOUT.get(row.reason, row.reason)}"
        )
    for lost in report.losses:
        if lost.reason == _UNREAD:
            reads = counted(lost.count, "read")
            text = f"{reads} of the kernel's table failed"
        else:
            why = LOST.get(lost.reason, lost.reason)
            most = "up to " if lost.reason == _MISSED else ""
            text = f"{most}{counted(lost.count, 'event')} not seen: {why}"
        lines.append(styled(text, "warn"))
    if report.coverage.off_s:
        text = (
            f"the probes were off for {report.coverage.off_s:.1f} s of "
            f"{report.seconds:.1f} s, to stay below --max-overhead: events in "
            "that time are not counted"
        )
        lines.append(styled(text, "warn"))
    return lines


# ----------------------------------------------------------------------- cost


def _cost_lines(report: TraceReport) -> list[str]:
    share, limit = report.overhead_percent, report.max_overhead_percent
    if share is None:
        return ["it is not known what the probes cost"]
    helper = (
        f", and goref-trace {report.helper_percent:.2f} %"
        if report.helper_percent is not None
        else ""
    )
    lines = [f"the probes took {share:.2f} % of a processor{helper}"]
    # A difference that nobody can read is none.
    if limit is not None and min(share, round(share, 4)) > limit:
        digits = 2 if round(share, 2) > limit else 4
        text = (
            f"the probes took {share:.{digits}f} %, more than --max-overhead "
            f"{limit:g} %"
        )
        lines.append(styled(text, "warn"))
    return lines


def _look_lines(report: TraceReport) -> list[str]:
    """The cost of the look at the end, or why there was none."""
    lines = []
    pause_s, slowed_s = report.coverage.pause_s, report.coverage.slowed_s
    if pause_s is not None:
        slowed = (
            f", and was slowed down for another {duration(slowed_s)}"
            if slowed_s
            else ""
        )
        lines.append(
            "for the look at the end, the process stood still for "
            f"{duration(pause_s)}{slowed}"
        )
    if report.look:
        what = "it is not known what the new pages hold"
        if report.mode == "go":
            what = "allocations that were freed since count, too"
        elif report.mode == "native":
            what = "it is not known which blocks are in use or who holds them"
        lines.append(f"there was no look at the end ({report.look}): {what}")
    return lines


# ----------------------------------------------------------------------- JSON


def document(coverage: Coverage) -> Document:
    """The keys of an answer that say what it rests on."""
    return {
        "events_with_stack": coverage.with_stack,
        "events_given_back": coverage.given_back,
        "without_stack": [row._asdict() for row in coverage.without_stack],
        "off_seconds": round(coverage.off_s, 3),
        "pause_s": _rounded(coverage.pause_s),
        "slowed_s": _rounded(coverage.slowed_s),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
