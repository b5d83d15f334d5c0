# SPDX-License-Identifier: Apache-2.0
"""The tables of stacks on the page of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...render import outstanding
from ...render.traced_stack import (
    TracedStack,
    age_words,
    caller,
    frame_text,
    holding,
)
from ...render.units import counted
from ..markup import code, el, empty, note, section, sentence, verbatim
from ..tables import Cell, Column, bytes_, share, table

if TYPE_CHECKING:
    from ...render.trace import TraceReport
    from ..markup import Child, Element

_MOST_STACKS = 500
_MOST_CALLS = 40  # of a stack
_MOST_IDS = 5  # of goroutines
_NAME = 44  # characters of a name: a row has several


def stacks(report: TraceReport) -> Element:
    """The section of the memory that the trace explains."""
    title = "By stack"
    if not report.stacks:
        return section("stacks", title, None, empty(_nothing(report)))
    return section(
        "stacks",
        title,
        sentence(report.heading() + _and_contents(report)),
        _table("stack-table", "Stacks", report.stacks),
    )


def _nothing(report: TraceReport) -> str:
    if report.mode == "rss":
        return "No new page is still there."
    if report.mode == "kernel":
        return (
            "No memory that the kernel allocated during the trace is still "
            "there."
        )
    if report.mode == "native":
        return "No outstanding block of C was seen."
    end = "was seen" if report.look else "is still there"
    return f"No sampled allocation {end}."


def _and_contents(report: TraceReport) -> str:
    if report.mode in ("kernel", "native") or report.look:
        return ""
    return " and by what the memory holds"


def untouched(report: TraceReport) -> list[tuple[str, str, Element]]:
    """The section of memory that nobody has touched, if there is any."""
    rows, objects = report.wasted(), report.untouched_objects()
    if not rows and not objects:
        return []
    title = "Not touched"
    element = section(
        "untouched",
        title,
        "Memory that was mapped during the trace and is not resident: nobody "
        "has touched it. It is listed by the stack that mapped it. What Go's "
        "runtime and threads take in advance is left out."
        if rows
        else None,
        _table("untouched-table", title, rows) if rows else None,
        note(sentence(objects)) if objects else None,
    )
    return [("untouched", title, element)]


def _table(key: str, caption: str, rows: Sequence[TracedStack]) -> Element:
    whole = sum(row.bytes for row in rows)
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
            Cell(_sorted_by(row), what(row) or "not known"),
            Cell(_first_call(row), _calls(row)),
        ]
        for row in rows[:_MOST_STACKS]
    ]
    return table(key, caption, columns, cells, len(rows))


def _sorted_by(row: TracedStack) -> str:
    words = (row.class_text, row.type, row.site, row.holder)
    return ", ".join(filter(None, words))


def what(row: TracedStack) -> list[Child]:
    """The class of the memory, its type, and who holds it; names are short."""
    of_class = row.class_text or row.class_name
    parts: list[Child] = [of_class] if of_class else []
    parts += [code(row.type, _NAME)] if row.type else []
    parts += [["allocated by ", code(row.site, _NAME)]] if row.site else []
    held: list[Child] = []
    if row.holder:
        held = [[f"{holding(row)} ", code(row.holder, _NAME)]]
    if row.native:
        parts += outstanding.amount_words(row.native, row.blocks or 0)
        words = outstanding.owner_words(row.native, row.holder)
        parts += words if row.native.held is False else held or words
        parts += outstanding.state_words(row.native, row.bytes, row.oldest_s)
    else:
        parts += [*held, *age_words(row)]
    joined: list[Child] = []
    for part in parts:
        joined += [", ", part] if joined else [part]
    return joined


def innermost(row: TracedStack) -> str:
    """The call that a reader looks for; "": none is known."""
    frame = caller(row.frames)
    return frame_text(frame) if frame else ""


def _first_call(row: TracedStack) -> str:
    frame = caller(row.frames)
    return frame.function if frame else ""


def _calls(row: TracedStack) -> Child:
    first = innermost(row)
    if not first:
        return ["no stack was seen", _owners(row)]
    lines = [frame_text(frame) for frame in row.frames[:_MOST_CALLS]]
    left = len(row.frames) - len(lines)
    rest = [f"and {counted(left, 'more call')}"] if left else []
    if not row.is_finished:
        rest.append("the rest of the stack could not be read")
    return [
        el(
            "details",
            None,
            el("summary", None, code(first, _NAME)),
            el("ol", {"class": "calls"},
               [el("li", None, verbatim(line)) for line in lines],
               [el("li", {"class": "rest"}, line) for line in rest]),
        ),
        _owners(row),
    ]  # fmt: skip


def _owners(row: TracedStack) -> Element | None:
    """The goroutines that allocated, and their labels."""
    words = [f"{key}={value}" for key, value in row.labels or ()]
    words += ["labels not known"] * (row.labels is None)
    shown = row.goroutines[:_MOST_IDS]
    if shown:
        ids = ", ".join(map(str, shown))
        more = ", …" if len(row.goroutines) > len(shown) else ""
        words.append(f"goroutine{'s' * (len(shown) > 1)} {ids}{more}")
    if row.native:
        words += outstanding.wait_words(row.native.waits or ())
    return note("; ".join(words)) if words else None
