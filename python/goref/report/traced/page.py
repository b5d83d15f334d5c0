# SPDX-License-Identifier: Apache-2.0
"""The page of a trace: how much the process grew, when, and who let it grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...render.trace import LOST, signed
from ...render.traced_stack import (
    TracedStack,
    caller,
    frame_text,
    holder_words,
)
from ...render.units import counted, human_bytes, printable
from ..markup import el, empty, note, prose, section
from ..shell import Sheet, scripts, shell
from ..tables import Cell, Column, bytes_, number, share, table, text
from .area import area, bands, color

if TYPE_CHECKING:
    from ...render.trace import TracedInterval, TraceReport
    from ..markup import Element

_MOST_STACKS = 500
_MOST_CALLS = 40  # of a stack


def page(report: TraceReport, intervals: Sequence[TracedInterval]) -> str:
    """The page of a trace that has ended."""
    parts = [
        ("time", "Over time", _time(intervals)),
        ("classes", "Classes", _classes(report)),
        ("stacks", "Stacks", _stacks(report)),
        *_untouched(report),
        ("about", "About", _about(report)),
    ]
    return shell(
        Sheet(
            title=f"{_name(report)}: trace by goref",
            links=[(name, title) for name, title, _ in parts],
            main=[_first(report), [part for _, _, part in parts]],
            data={},
            scripts=scripts(),
        )
    )


def _first(report: TraceReport) -> Element:
    growth = report.rss_after_bytes - report.rss_before_bytes
    verdict = (
        f"{signed(growth)} in {report.seconds:.1f} s: "
        f"{human_bytes(report.rss_before_bytes)} → "
        f"{human_bytes(report.rss_after_bytes)}"
    )
    what = "grew" if growth > 0 else "shrank" if growth < 0 else "is unchanged"
    return el(
        "div",
        {"class": "first"},
        el("div", {"class": "subject"},
           el("h1", {"title": report.exe}, _name(report)),
           el("p", {"class": "target"},
              f"process {report.pid}, trace of {report.mode}")),
        _partial(report),
        el("ul", {"class": "findings", "aria-label": "What has changed"},
           el("li", None,
              el("a", {"class": "finding warn", "href": "#stacks"},
                 el("strong", None, f"Resident memory {what}"),
                 el("span", {"class": "verdict"}, prose(verdict))))),
    )  # fmt: skip


def _name(report: TraceReport) -> str:
    return printable(report.exe.rpartition("/")[2] or "?")


def _partial(report: TraceReport) -> Element | None:
    if not report.partial:
        return None
    return el(
        "div",
        {"class": "finding warn", "role": "note", "id": "partial"},
        el("strong", None, "Partial"),
        el("span", None, f"{'; '.join(report.partial)}."),
    )


def _time(intervals: Sequence[TracedInterval]) -> Element:
    title = "Growth over time"
    if not any(bands(intervals)):
        return section("time", title, None, empty("Nothing has changed."))
    return section(
        "time",
        title,
        "The height of a band is the size of its class above the lowest "
        "during the trace.",
        area(intervals),
        _legend(intervals),
        _interval_table(intervals),
    )


def _legend(intervals: Sequence[TracedInterval]) -> Element:
    return el(
        "ul",
        {"class": "area-legend"},
        [
            el(
                "li",
                None,
                el("span", {"class": f"swatch s{color(i)}",
                            "aria-hidden": "true"}),
                band.text,
            )
            for i, band in enumerate(bands(intervals))
        ],
    )  # fmt: skip


def _interval_table(intervals: Sequence[TracedInterval]) -> Element:
    columns = [
        Column("From", True),
        Column("To", True),
        Column("Resident", True),
        Column("Change", True),
        Column("Events", True, is_minor=True),
        Column("Not seen", True, is_minor=True),
    ]
    rows = [
        [
            _seconds(it.begin_s),
            _seconds(it.end_s),
            bytes_(it.rss_bytes),
            _change(it.growth_bytes),
            number(it.events),
            number(it.dropped),
        ]
        for it in intervals
    ]
    return table(
        "intervals", "Intervals", columns, rows, order="ascending"
    )


def _seconds(seconds: float) -> Cell:
    return Cell(round(seconds * 1000), f"{seconds:.1f} s")


def _change(growth: int) -> Cell:
    return Cell(
        growth, el("span", {"class": "num", "title": f"{growth:,} B"},
                   signed(growth))
    )  # fmt: skip


def _classes(report: TraceReport) -> Element:
    rows = [
        [_change(row.growth_bytes), text(row.text)]
        for row in sorted(report.classes, key=lambda c: -c.growth_bytes)
        if row.growth_bytes
    ]
    if not rows:
        return section("classes", "By class", None, empty("No change."))
    return section(
        "classes",
        "By class",
        "The changes add up to that of the resident memory.",
        table(
            "class-table",
            "Change by class",
            [Column("Change", True), Column("Class", is_name=True)],
            rows,
        ),
    )


def _stacks(report: TraceReport) -> Element:
    shown = report.stacks[:_MOST_STACKS]
    whole = sum(stack.bytes for stack in report.stacks)
    if not shown:
        return section("stacks", "By stack", None, empty("No new pages."))
    columns = [
        Column("Bytes", True),
        Column("Share", True),
        Column("What", is_name=True),
        Column("Calls", is_name=True),
    ]
    rows = [
        [
            bytes_(stack.bytes),
            share(stack.bytes, whole),
            text(_what(stack)),
            Cell(_first_call(stack), _calls(stack)),
        ]
        for stack in shown
    ]
    lead = "New pages, by the stack that touched them and by what they hold."
    if report.mode == "go":
        lead = "Allocated meanwhile and still there, estimated from samples."
    if report.is_rate_unknown:
        lead = "Allocations that were sampled, and that are still there."
    elif report.mode == "kernel":
        lead = "Kernel memory that was allocated meanwhile and is still there."
    return section(
        "stacks",
        "By stack",
        lead,
        table("stack-table", "Stacks", columns, rows, len(report.stacks)),
    )


def _untouched(report: TraceReport) -> list[tuple[str, str, Element]]:
    """The section of memory that nobody has touched, if there is any."""
    rows = report.wasted()
    whole = sum(row.bytes for row in rows)
    if not rows:
        return []
    columns = [
        Column("Bytes", True),
        Column("Share", True),
        Column("What", is_name=True),
        Column("Calls", is_name=True),
    ]
    cells = [
        [
            bytes_(row.bytes),
            share(row.bytes, whole),
            text(row.class_text),
            Cell(_first_call(row), _calls(row)),
        ]
        for row in rows[:_MOST_STACKS]
    ]
    element = section(
        "untouched",
        "Not touched",
        "Memory that was mapped meanwhile and is not resident: nobody has "
        "touched it. By the stack that mapped it, without what Go's runtime "
        "and threads take in advance.",
        table("untouched-table", "Not touched", columns, cells, len(rows)),
    )
    return [("untouched", "Not touched", element)]


def _what(stack: TracedStack) -> str:
    words = [stack.class_text, stack.type or ""]
    words += holder_words(stack)
    return ", ".join(filter(None, words)) or "?"


def _first_call(stack: TracedStack) -> str:
    frame = caller(stack.frames)
    return frame.function if frame else ""


def _calls(stack: TracedStack) -> Element:
    first = caller(stack.frames)
    if first is None:
        return el("span", None, "no stack was seen")
    lines = [frame_text(frame) for frame in stack.frames[:_MOST_CALLS]]
    left = len(stack.frames) - len(lines)
    lines += [f"and {counted(left, 'more call')}"] if left else []
    if not stack.is_finished:
        lines.append("the rest could not be read")
    return el(
        "details",
        None,
        el("summary", None, el("code", None, frame_text(first))),
        el("ol", {"class": "calls"},
           [el("li", None, el("code", None, line)) for line in lines]),
    )  # fmt: skip


def _about(report: TraceReport) -> Element:
    rows = [
        ("goref", report.tool_version),
        ("Events", f"{report.events:,}"),
        ("Probes", _cost(report.overhead_percent)),
        ("goref-trace", _cost(report.helper_percent)),
        ("Limit", f"{report.max_overhead_percent:g} % of a processor"),
        *(
            ("Not seen", f"{lost.count:,}: {LOST.get(lost.reason, lost.reason)}")
            for lost in report.losses
        ),
    ]
    return section(
        "about",
        "About this page",
        "Memory that was there before the start of the trace is not explained "
        "here. Values of the program are left out, but for the labels that it "
        "gives to goroutines.",
        el(
            "dl",
            {"class": "inline"},
            [[el("dt", None, key), el("dd", None, said)] for key, said in rows],
        ),
        note(f"No look at the end: {report.look}.") if report.look else None,
    )


def _cost(share_: float | None) -> str:
    return "not known" if share_ is None else f"{share_:.2f} % of a processor"
