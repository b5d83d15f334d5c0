# SPDX-License-Identifier: Apache-2.0
"""goref waste."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .report import TopReport, fields_of, partial_lines
from .style import styled, title
from .table import table, wrapped
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .._goref import Waste, WasteRow
    from .report import Document

TOP = 15  # findings as text
MIN_SHARE = 1.0  # percent of the heap
_MILLIONTHS = 10_000  # of a percent
_UNCERTAIN = "findings may be too large or too small"
_STACKS = "goroutine-stack"
_HEAD = ("bytes", "share", "count", "check", "example", "type and field")


def share_of(percentage: float) -> int:
    """The share as the scanner takes it: in millionths."""
    return round(percentage * _MILLIONTHS)


class WasteReport(TopReport["Waste"]):
    """Memory that could be saved, the most bytes first.

    min_share: percent of the heap that each finding has at least.
    checks: those that were asked for by name; None: all."""

    min_share: float = MIN_SHARE
    checks: Sequence[str] | None = None

    def lines(self) -> list[str]:
        return [
            *partial_lines(self.partial, _UNCERTAIN),
            *self._table(),
            *self.notes(),
            title(self.summary()),
        ]

    def body(self) -> Document:
        found = self.found
        return {
            "checks": [
                finding_document(row) for row in found.rows[: self.top or None]
            ],
            **fields_of(
                found, "total_bytes heap_bytes heap_objects stack_bytes"
            ),
            "min_share": self.min_share,
            **fields_of(found, "small_rows small_bytes"),
            "asked": [
                {
                    "check": asked.check,
                    "answered": asked.why_not is None,
                    "why_not": asked.why_not,
                    "needs_values": asked.needs_values,
                }
                for asked in found.asked
            ],
            **fields_of(found, "broken_views crowded_arrays"),
        }

    def _table(self) -> list[str]:
        """The findings. The first one with some advice has it below."""
        rows = self.found.rows
        shown = rows[: (TOP if self.top is None else self.top) or None]
        if not shown:
            return []
        cells = [_HEAD, *(self._cells(row) for row in shown)]
        head, *lines = table(cells, left=[3, 4, 5], has_head=True)
        found, said = [head], set()
        for row, line in zip(shown, lines):
            found.append(line)
            if (row.check, row.advice) not in said:
                said.add((row.check, row.advice))
                found += wrapped(f"      {row.advice}", 0)
        left = len(rows) - len(shown)
        return [
            *found,
            *([f"and {left:,} more (--top 0 shows all)"] if left else []),
            "",
        ]

    def _cells(self, row: WasteRow) -> tuple[str, ...]:
        sizes = "", ""
        if row.bytes:
            share = percent(row.bytes, self.found.heap_bytes)
            sizes = human_bytes(row.bytes), share
        return (
            *sizes,
            f"{row.count:,}" if row.count else "",
            row.check,
            f"{row.example:#x}" if row.example else "",
            place(row),
        )

    def notes(self) -> list[str]:
        """All that is not in the findings: a line each."""
        return [*self._left_out(), *self._doubts(), *self._not_asked()]

    def _left_out(self) -> list[str]:
        found = self.found
        if not found.small_rows:
            return []
        verb = "is" if found.small_rows == 1 else "are"
        return [
            f"{counted(found.small_rows, 'finding')} below "
            f"{share_text(self.min_share)} of the heap "
            f"({human_bytes(found.small_bytes)} in all) {verb} left out "
            "(--min-share 0% shows all)"
        ]

    def _doubts(self) -> list[str]:
        """Damage and limits: for each, the answer counts too little."""
        found = self.found
        lines = []
        if found.broken_views:
            number = found.broken_views
            views, verb = ("slice or string", "has a length that makes")
            if number > 1:
                views, verb = ("slices or strings", "have lengths that make")
            lines.append(
                f"{number:,} {views} {verb} no sense: what they refer to "
                "counts as fully used"
            )
        if found.crowded_arrays:
            number = found.crowded_arrays
            verb = "has" if number == 1 else "have"
            used = "counts" if number == 1 else "count"
            lines.append(
                f"{counted(number, 'object')} {verb} too many separate views, "
                f"and {used} as fully used"
            )
        return lines

    def _not_asked(self) -> list[str]:
        """Checks without an answer, by reason."""
        reasons: dict[str, list[str]] = {}
        for asked in self.found.asked:
            if asked.why_not:
                reasons.setdefault(asked.why_not, []).append(asked.check)
        lines = [
            f"not checked: {', '.join(checks)}: {reason}"
            for reason, checks in reasons.items()
        ]
        if self.checks is not None:
            asked_for = ", ".join(asked.check for asked in self.found.asked)
            lines.append(f"--checks asks only for {asked_for}")
        return lines

    def summary(self) -> str:
        """The sum; or that there is no finding."""
        found = self.found
        if not found.heap_objects:
            return "nothing is known: no object of the heap was reached"
        if not found.total_bytes:
            return nothing_line(
                found,
                self.min_share,
                is_partial=bool(self.partial),
                is_about_all=self.checks is None,
            )
        line = total_line(found)
        if sum(row.bytes for row in found.rows) > found.total_bytes:
            line += "; what several changes would save counts once"
        return line


def place_of(row: Mapping[str, Any]) -> str:
    """The place to change, by the keys of a finding's document: a field of a
    struct, a variable, a function ..."""
    return f"{row['type'] or ''}{row['field'] or ''}" or "(the whole program)"


def place(row: WasteRow) -> str:
    """The same, by the row."""
    return place_of({"type": row.type, "field": row.field})


def share_text(percentage: float) -> str:
    return f"{percentage:g} %"


def of_what(
    checks: Iterable[str], heap_bytes: int, stack_bytes: int
) -> tuple[int, str]:
    """The bytes that findings of these checks are a share of, and their name.
    Stacks are not part of the heap."""
    if _STACKS in checks:
        return heap_bytes + stack_bytes, "heap and all stacks"
    return heap_bytes, "heap"


def total_line(found: Waste) -> str:
    """The sum, and its share."""
    checks = (row.check for row in found.rows)
    whole, words = of_what(checks, found.heap_bytes, found.stack_bytes)
    return (
        f"{human_bytes(found.total_bytes)} could be saved, "
        f"{percent(found.total_bytes, whole)} of the {words} of "
        f"{human_bytes(whole)}"
    )


def nothing_line(
    found: Waste, min_share: float, is_partial: bool, is_about_all: bool
) -> str:
    """No finding that saves bytes: that is said of the checks that were made.
    is_about_all: all checks were asked for."""
    made = [asked.check for asked in found.asked if asked.why_not is None]
    if not made:
        return "no check was made"
    least = f"{share_text(min_share)} of the heap or more"
    most = f"that would save {least}" if min_share else "to save"
    where = "in what could be read, " if is_partial else ""
    if len(made) == 1:
        if found.rows:
            return "this advice saves no bytes by itself"
        return f"{where}{made[0]} found nothing {most}"
    who = "no check"
    if not is_about_all or len(made) < len(found.asked):
        who = f"none of {len(made)} checks"
    besides = "apart from this advice, " if found.rows else ""
    return f"{where}{besides}{who} found anything {most}"


def overview_line(found: Waste) -> str:
    """The largest finding, and how much all of them would save; "" if there is
    none."""
    if not found.rows or not found.rows[0].bytes:
        return ""
    first = found.rows[0]
    whole, words = of_what([first.check], found.heap_bytes, found.stack_bytes)
    share = f"{percent(first.bytes, whole)} of the {words}"
    line = (
        f"could be saved: {human_bytes(first.bytes)} ({share}) by "
        f"{first.check} in {place(first)}"
    )
    left = sum(bool(row.bytes) for row in found.rows[1:])
    if not left:
        return line
    return f"{line}; {human_bytes(found.total_bytes)} with {left:,} more"


def overview_document(found: Waste | None) -> Document | None:
    """The findings of the overview; None: they are not known."""
    if found is None:
        return None
    return {
        **fields_of(found, "total_bytes heap_bytes"),
        "findings": [
            fields_of(row, "check bytes count type field")
            for row in found.rows
            if row.bytes
        ],
    }


def finding_document(row: WasteRow) -> Document:
    return {
        **fields_of(row, "check bytes count type field"),
        "example": None if row.example is None else f"{row.example:#x}",
        "advice": row.advice,
    }
