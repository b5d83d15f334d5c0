# SPDX-License-Identifier: Apache-2.0
"""goref histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .report import BOTH, LOWER_BOUNDS, Report, fields_of, partial_lines
from .sizes import apart, c_part, sizes_of, without
from .table import of_how_many, table
from .units import counted, human_bytes, percent, unit_of

if TYPE_CHECKING:
    from .._goref import Histogram, HistogramRow
    from .report import Document

TOP = 20  # rows as text

# Whose retained bytes are exact: roots and goroutines do not overlap.
_EXACT = ("root", "goroutine")


class HistogramReport(Report):
    """The objects of the heap, counted by what they have in common.

    exact: the type that found.exact_bytes is about.
    is_wanted: only rows whose key is; None: all.
    top: rows; 0: all; None: all in JSON, 20 as text.
    weight: the unit of all sizes."""

    found: Histogram
    by: str = "type"
    with_retained: bool = False
    is_garbage: bool = False
    exact: str | None = None
    is_wanted: Callable[[str], bool] | None = None
    top: int | None = None
    weight: str = "bytes"

    def __post_init__(self) -> None:
        self.unit = unit_of(self.weight)
        self.rows = [
            row
            for row in self.found.rows
            if self.is_wanted is None or self.is_wanted(row.key)
        ]

    def lines(self) -> list[str]:
        found = self.found
        rows = self.rows[: (TOP if self.top is None else self.top) or None]
        lines = [
            f"{self._whole()}; by {self.by}"
            + of_how_many(len(rows), len(found.rows)).replace(
                " (of", f" ({len(rows):,} of"
            ),
            *partial_lines(self.partial, self._consequence()),
        ]
        if self.exact:
            lines.append(self._exact_line())
        if not rows:
            return [*lines, "no such objects"]
        cells = self._cells(rows)
        return [
            *lines,
            self._largest_line(),
            "",
            *table(cells, left=[self._last()], has_head=True),
        ]

    def _whole(self) -> str:
        """Says what is counted: with holders, all blocks of C."""
        found = self.found
        size = self.unit.text(found.bytes)
        if self.by == "holder":
            return f"{counted(found.objects, 'block')} of C memory, {size}"
        what = "not reached" if self.is_garbage else "reached"
        objects = counted(found.objects, "object")
        return f"{objects}, {size}{self._c_part()}, {what}"

    def _c_part(self) -> str:
        """The blocks of C among the objects, and their share."""
        found = self.found
        if not found.c_bytes or found.c_objects == found.objects:
            return ""
        return (
            f" (Go {human_bytes(found.bytes - found.c_bytes)}, "
            f"C {human_bytes(found.c_bytes)})"
        )

    def _row_part(self, row: HistogramRow) -> str:
        """The parts of what a row has, or retains, if it has both."""
        whole, in_c = row.bytes, row.c_bytes
        if self.with_retained:
            whole, in_c = row.retained_bytes, row.retained_c_bytes
        return c_part(whole, in_c) if in_c < whole else ""

    def _largest_line(self) -> str:
        row = max(self.rows, key=lambda row: row.bytes)
        share = percent(row.bytes, self.found.bytes)
        return f"largest: {row.key}, {self.unit.text(row.bytes)} ({share})"

    def _consequence(self) -> str:
        return BOTH if self.with_retained or self.exact else LOWER_BOUNDS

    def _last(self) -> int:
        """The column of keys."""
        return 4 if self.with_retained else 3

    def _exact_line(self) -> str:
        found = self.found
        sizes = found.exact_bytes, found.exact_c_bytes
        lost = without(*sizes, self.unit.text)
        number = counted(found.exact_objects, "object")
        if found.exact_c_bytes:
            lost += f"; {number} in all"
        else:
            lost = f"{number} with {lost}"
        return f"without all objects of type {self.exact}, {lost}"

    def _cells(self, rows: Sequence[HistogramRow]) -> list[list[str]]:
        unit = self.unit
        head = [unit.head, "share", "objects"]
        if self.with_retained and self._is_exact():
            head.append(unit.column("retained"))
        elif self.with_retained:
            head.append("at least")
        cells = [[*head, self.by]]
        for row in rows:
            line = [
                unit.cell(row.bytes),
                percent(row.bytes, self.found.bytes),
                f"{row.objects:,}",
            ]
            if self.with_retained:
                line.append(unit.cell(row.retained_bytes))
            cells.append([*line, row.key + self._row_part(row)])
        return cells

    def _is_exact(self) -> bool:
        return self.by in _EXACT

    def body(self) -> Document:
        found = self.found
        return {
            "by": self.by,
            "garbage": self.is_garbage,
            "weight": self.weight,
            "unit": self.unit.name,
            "objects": found.objects,
            "bytes": found.bytes,
            "c_bytes": found.c_bytes,
            "retained_is_exact": self._is_exact(),
            "exact": self._exact_document(),
            "rows": [
                {
                    **fields_of(row, "key objects bytes c_bytes"),
                    **(
                        sizes_of(row, "retained")
                        if self.with_retained
                        else apart(None, None, "retained")
                    ),
                }
                for row in self.rows[: self.top or None]
            ],
        }

    def _exact_document(self) -> Document | None:
        if not self.exact:
            return None
        return {
            "type": self.exact,
            "objects": self.found.exact_objects,
            **apart(
                self.found.exact_bytes, self.found.exact_c_bytes, "retained"
            ),
        }
