# SPDX-License-Identifier: Apache-2.0
"""goref histogram --by site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .report import LOWER_BOUNDS, Report, fields_of, partial_lines
from .sizes import apart
from .table import of_how_many, table
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .._goref import Sampling, Site, SiteTable, StackFrame
    from .report import Document

TOP = 20  # rows as text
_CALLS = 3  # of a stack in a row
_MOST_CALLS = 12  # of a stack of its own
NEXT_CALL = " < "


def stack_document(frames: Sequence[StackFrame]) -> list[Document]:
    """The calls of a stack, the innermost first."""
    return [fields_of(f, "function file line") for f in frames]


def call_text(frame: StackFrame) -> str:
    """A call with the name of its file."""
    file = (frame.file or "?").rpartition("/")[2]
    return f"{frame.function or '?'} {file}:{frame.line}"


def stack_text(frames: Sequence[StackFrame], calls: int = _CALLS) -> str:
    """The innermost calls, in a line."""
    if not frames:
        return "(stack not known)"
    text = NEXT_CALL.join(call_text(frame) for frame in frames[:calls])
    return text if len(frames) <= calls else f"{text}{NEXT_CALL}..."


def allocation_lines(frames: Sequence[StackFrame] | None) -> list[str]:
    """Where an object was allocated; none if that is not known."""
    if not frames:
        return []
    rows = [
        [f.function or "?", f"{f.file or '?'}:{f.line}"]
        for f in frames[:_MOST_CALLS]
    ]
    lines = ["allocated by:", *table(rows, left=[0, 1])]
    others = len(frames) - len(rows)
    return [*lines, f"  and {others:,} more"] if others else lines


def allocation_document(
    frames: Sequence[StackFrame] | None,
) -> list[Document] | None:
    return None if frames is None else stack_document(frames)


def sampling_text(rate: int) -> str:
    """The meaning of the runtime's rate."""
    if rate == 1:
        return "every allocation is sampled"
    return (
        f"sampled: about one allocation in {human_bytes(rate)}; objects and "
        "sizes are estimated"
    )


NOT_LINKED = (
    "memory profiling is not linked into the executable: nothing in it reads "
    "runtime.MemProfile"
)
SAMPLING_IS_OFF = "memory profiling is off: runtime.MemProfileRate is 0"


def sites_note(found: SiteTable | Sampling) -> str:
    """Notes that explain the numbers, or that there are none."""
    if found.is_disabled:
        return NOT_LINKED
    if not found.rate:
        return SAMPLING_IS_OFF
    return sampling_text(found.rate)


class SitesReport(Report):
    """Sampled objects, counted by where they were allocated.

    is_wanted: only rows of which a call or the root is; None: all.
    top: rows; 0: all; None: all in JSON, 20 as text."""

    found: SiteTable
    by: str = "site"
    is_garbage: bool = False
    is_wanted: Callable[[str], bool] | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        self.rows = [
            row
            for row in self.found.rows
            if self.is_wanted is None or _is_wanted(row, self.is_wanted)
        ]

    def notes(self) -> list[str]:
        return [sites_note(self.found)]

    def lines(self) -> list[str]:
        found = self.found
        rows = self.rows[: (TOP if self.top is None else self.top) or None]
        what = "not reached" if self.is_garbage else "reached"
        lines = [
            f"{counted(found.heap.objects, 'object')}, "
            f"{human_bytes(found.heap.bytes)}, {what}; "
            f"{found.sampled.objects:,} of them sampled, "
            f"{human_bytes(found.sampled.bytes)}; by {self.by}"
            + of_how_many(len(rows), len(found.rows)).replace(
                " (of", f" ({len(rows):,} of"
            ),
            *partial_lines(self.partial, LOWER_BOUNDS),
            *self.notes(),
        ]
        if not rows:
            return [*lines, "no such objects"]
        last = 5 if self._has_roots() else 4
        cells = self._cells(rows)
        return [
            *lines,
            "",
            *table(cells, left=range(4, last + 1), has_head=True),
        ]

    def _has_roots(self) -> bool:
        return self.by == "site,root"

    def _is_estimated(self) -> bool:
        return self.found.rate != 1

    def _cells(self, rows: Sequence[Site]) -> list[list[str]]:
        about = "about " if self._is_estimated() else ""
        head = [f"{about}size", "share", f"{about}objects", "sampled"]
        cells = [[*head, *(["root"] if self._has_roots() else []), "site"]]
        for row in rows:
            cells.append(
                [
                    human_bytes(row.total.bytes),
                    percent(row.total.bytes, self.found.total.bytes),
                    f"{row.total.objects:,}",
                    f"{row.sampled.objects:,}",
                    *([row.root or "?"] if self._has_roots() else []),
                    stack_text(row.stack),
                ]
            )
        return cells

    def body(self) -> Document:
        found = self.found
        return {
            "by": self.by,
            "garbage": self.is_garbage,
            "objects": found.total.objects,
            "bytes": found.total.bytes,
            "estimated": self._is_estimated(),
            "sample_rate_bytes": found.rate,
            "sampled_objects": found.sampled.objects,
            "sampled_bytes": found.sampled.bytes,
            "heap_objects": found.heap.objects,
            "heap_bytes": found.heap.bytes,
            "retained_is_exact": False,
            "exact": None,
            "notes": self.notes(),
            "rows": [_row(row) for row in self.rows[: self.top or None]],
        }


def _is_wanted(row: Site, is_wanted: Callable[[str], bool]) -> bool:
    texts = [row.key, row.root or ""]
    texts += [f"{f.function} {f.file}:{f.line}" for f in row.stack]
    return any(is_wanted(text) for text in texts)


def _row(row: Site) -> Document:
    return {
        "key": row.key,
        "stack": stack_document(row.stack),
        "root": row.root,
        "root_kind": row.root_kind,
        "objects": row.total.objects,
        "bytes": row.total.bytes,
        "sampled_objects": row.sampled.objects,
        "sampled_bytes": row.sampled.bytes,
        **apart(None, None, "retained"),
    }
