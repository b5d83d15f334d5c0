# SPDX-License-Identifier: Apache-2.0
"""The page of a trace: how much the process grew, when, and who let it grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...render.trace import signed
from ..markup import el, empty, note, section, sentence
from ..shell import Sheet, scripts, shell
from ..tables import Cell, Column, bytes_, number, table, text
from . import first
from .area import bands, chart, legend
from .idle import idle
from .stacks import stacks, untouched
from .windows import windows

if TYPE_CHECKING:
    from ...render.trace import TracedInterval, TraceReport
    from ..markup import Element


def page(report: TraceReport, intervals: Sequence[TracedInterval]) -> str:
    """The page of a trace that has ended."""
    parts = _sections(report, intervals)
    return shell(
        Sheet(
            title=f"{first.name(report)}: trace by goref",
            links=[(name, title) for name, title, _ in parts],
            main=[first.screen(report), [part for _, _, part in parts]],
            data={},
            scripts=scripts(),
        )
    )


def _sections(
    report: TraceReport, intervals: Sequence[TracedInterval]
) -> list[tuple[str, str, Element]]:
    """The answer to the mode comes first."""
    resident = [
        ("time", "Over time", _time(intervals)),
        ("classes", "Classes", _classes(report)),
    ]
    answer = [*_kernel(report), ("stacks", "Stacks", stacks(report))]
    is_rss = report.mode == "rss"
    return [
        *(resident + answer if is_rss else answer + resident),
        *windows(report.native),
        *untouched(report),
        *_outside(report),
        *idle(report.idle),
        ("about", "About", _about(report)),
    ]


# ------------------------------------------------------------ resident memory


def _time(intervals: Sequence[TracedInterval]) -> Element:
    title = "Resident memory over time"
    rows = bands(intervals)
    if not rows:
        return section(
            "time", title, "No class has changed.", _interval_table(intervals)
        )
    return section(
        "time",
        title,
        "The height of a band is the size of its class above the lowest "
        "during the trace.",
        chart(rows, intervals),
        legend(rows),
        _interval_table(intervals),
    )


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
    return table("intervals", "Intervals", columns, rows, order="ascending")


def _seconds(seconds: float) -> Cell:
    return Cell(round(seconds * 1000), f"{seconds:.1f} s")


def _change(growth: int) -> Cell:
    return Cell(
        growth, el("span", {"class": "num", "title": f"{growth:,} B"},
                   signed(growth))
    )  # fmt: skip


def _classes(report: TraceReport) -> Element:
    title = "Resident memory by class"
    rows = [
        [_change(row.growth_bytes), text(row.text)]
        for row in sorted(report.classes, key=lambda c: -c.growth_bytes)
        if row.growth_bytes
    ]
    if not rows:
        empty_ = empty("No class is larger or smaller than at the start.")
        return section("classes", title, None, empty_)
    return section(
        "classes",
        title,
        "The changes add up to that of the resident memory.",
        table(
            "class-table",
            "Change by class",
            [Column("Change", True), Column("Class", is_name=True)],
            rows,
        ),
    )


# --------------------------------------------------------------- other memory


def _kernel(report: TraceReport) -> list[tuple[str, str, Element]]:
    """The sums of the mode kernel."""
    every = report.kernel.kinds if report.kernel else ()
    kinds = [kind for kind in every if kind.blocks]
    if not kinds:
        return []
    columns = [
        Column("Bytes", True),
        Column("Blocks", True),
        Column("Memory of the kernel", is_name=True),
    ]
    rows = [
        [bytes_(kind.bytes), number(kind.blocks), text(kind.text)]
        for kind in sorted(kinds, key=lambda kind: -kind.bytes)
    ]
    element = section(
        "kernel",
        "Kernel memory by allocator",
        "Blocks that were allocated during the trace and are still there.",
        table("kernel-table", "Kernel memory by allocator", columns, rows),
    )
    return [("kernel", "Allocators", element)]


def _outside(report: TraceReport) -> list[tuple[str, str, Element]]:
    """Memory beside the resident pages, if it has changed."""
    changed = report.outside_changes()
    if not changed:
        return []
    columns = [
        Column("Change", True),
        Column("Now", True),
        Column("Scope"),
        Column("Memory", is_name=True),
    ]
    rows = [
        [
            _change(row.growth_bytes),
            bytes_(row.bytes),
            text("process" if row.scope == "process" else "group"),
            text(row.text),
        ]
        for row in changed
    ]
    group = report.group_words()
    element = section(
        "outside",
        "Beside the resident pages",
        "Memory that is not in the resident pages of the process, and all that "
        "its control group counts for all of its processes.",
        table("outside-table", "Memory beside the resident pages", columns,
              rows, sorted_by=None),
        note(sentence(group)) if group else None,
    )  # fmt: skip
    return [("outside", "Other memory", element)]


# --------------------------------------------------------------------- trust


def _about(report: TraceReport) -> Element:
    rows = [
        ("goref", report.tool_version),
        ("Program", report.exe or "?"),
        ("Limit", _limit(report)),
    ]
    labels = (
        ", but for the labels that it gives to goroutines"
        if report.mode in ("go", "native")
        else ""
    )
    return section(
        "about",
        "About this page",
        f"Values of the program are left out{labels}.",
        el(
            "ul",
            None,
            [el("li", None, sentence(said)) for said in report.grounds()],
        ),
        el(
            "dl",
            {"class": "inline"},
            [[el("dt", None, key), el("dd", None, said)] for key, said in rows],
        ),
    )


def _limit(report: TraceReport) -> str:
    """The limit of the cost; --full has none."""
    limit = report.max_overhead_percent
    return "none" if limit is None else f"{limit:g} % of a processor"
