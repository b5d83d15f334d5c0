# SPDX-License-Identifier: Apache-2.0
"""goref dominators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .report import UNCERTAIN, Report, fields_of, partial_lines
from .sizes import apart, both, c_part, sizes_of
from .style import title
from .table import table
from .target import headline, target_document
from .units import BYTES, Unit, percent, seconds, unit_of

if TYPE_CHECKING:
    from .._goref import Dominator, Dominators, GraphPhases, Info
    from .report import Document

_PLAIN = ("object", "goroutine", "group", "top", "global")


class Branch(NamedTuple):
    """A row and the rows directly below it."""

    row: Dominator
    below: list[Branch]


def branches(rows: Sequence[Dominator]) -> Branch | None:
    """The tree of rows in which parents come before children."""
    line: list[Branch] = []
    for row in rows:
        branch = Branch(row, [])
        del line[row.depth :]
        if line:
            line[-1].below.append(branch)
        line.append(branch)
    return line[0] if line else None


class DominatorsReport(Report):
    """The dominators: who keeps how much of the heap alive.

    asked: what a person typed, for each row of found.asked.
    weight: the unit of all sizes."""

    info: Info
    found: Dominators
    phases: GraphPhases
    asked: Sequence[str] = ()
    weight: str = "bytes"

    def __post_init__(self) -> None:
        self.unit = unit_of(self.weight)

    def lines(self) -> list[str]:
        found = self.found
        lines = [
            *headline(self.info),
            *partial_lines(self.partial, UNCERTAIN),
            "",
        ]
        if self.asked:
            lines += self._asked_lines()
        else:
            reached = both(
                found.reached_bytes, found.reached_c_bytes, self.unit
            )
            lines.append(
                f"{reached} are reached. "
                "Retained: what this one alone keeps alive."
            )
        first = branches(found.rows)
        if first and first.below:
            whole, is_top = found.reached_bytes, not self.asked
            cells = tree_cells(first, whole, is_top, self.unit)
            lines += ["Below:"] if self.asked else []
            lines += _table(cells, self.unit)
        return [*lines, "", f"the graph took {seconds(sum(self.phases))}"]

    def _asked_lines(self) -> list[str]:
        """Each alone, and all together."""
        found, whole = self.found, self.found.reached_bytes
        unit = self.unit
        reached = both(whole, found.reached_c_bytes, unit)
        rows = [
            [*_sizes(row, whole, unit), _asked_name(text, row)]
            for text, row in zip(self.asked, found.asked)
        ]
        if len(rows) > 1:
            size = found.together.bytes
            alone = found.rows[0].retained_bytes if found.rows else 0
            note = f" ({unit.text(size - alone)} only together)"
            rows.append(
                [
                    unit.cell(size),
                    percent(size, whole),
                    "",
                    "all of these"
                    + (note if size > alone else "")
                    + c_part(size, found.together_c_bytes),
                ]
            )
        return [
            title(f"Of {reached} that are reached, kept alive by"),
            *_table(rows, unit),
        ]

    def body(self) -> Document:
        found = self.found
        first = branches(found.rows)
        return {
            **target_document(self.info),
            "weight": self.weight,
            "unit": self.unit.name,
            **sizes_of(found, "reached"),
            "asked": [
                {"expression": text, **row_document(row)}
                for text, row in zip(self.asked, found.asked)
            ],
            "together": {
                "objects": found.together.objects,
                "bytes": found.together.bytes - found.together_c_bytes,
                "retained_c_bytes": found.together_c_bytes,
            }
            if self.asked
            else None,
            "children": [],
            "cut": {"children": 0, **apart(0, 0, "retained")},
            **(below_document(first) if first else {}),
            "phases_ms": {
                name[: -len("_us")]: round(us / 1000, 3)
                for name, us in zip(self.phases._fields, self.phases)
            },
        }


def _table(cells: list[list[str]], unit: Unit) -> list[str]:
    head = [unit.column("retained"), "share", "count", ""]
    return table([head, *cells], left=[3], has_head=True)


def kept_lines(kept: Dominators, unit: Unit = BYTES) -> list[str]:
    """A table of the holders that keep most of the program alive; or
    nothing."""
    first = branches(kept.rows)
    if first is None or not first.below:
        return []
    cells = tree_cells(first, kept.reached_bytes, True, unit)
    return [
        "",
        title("What keeps most alive (retained: by this one alone)"),
        *_table(cells, unit),
    ]


def tree_cells(
    first: Branch, whole: int, is_top: bool, unit: Unit = BYTES
) -> list[list[str]]:
    """Cells of a table: the rows below the first one, each indented, and
    behind those of each level what was left out.
    is_top: the first row is the program."""
    cells = []
    for branch in first.below:
        row = branch.row
        name = "  " * (row.depth - 1) + row.name + _of(row)
        if is_top and row.depth == 1 and row.kind == "object":
            name += "  (held by several roots)"
        cells += [
            [*_sizes(row, whole, unit), name],
            *tree_cells(branch, whole, False, unit),
        ]
    row = first.row
    # A leaf was not looked into.
    if row.cut and (first.below or is_top):
        cells.append(
            [
                unit.cell(row.cut_bytes),
                percent(row.cut_bytes, whole),
                "",
                "  " * row.depth
                + f"({row.cut:,} more)"
                + c_part(row.cut_bytes, row.cut_c_bytes),
            ]
        )
    return cells


def _sizes(row: Dominator, whole: int, unit: Unit) -> list[str]:
    is_counted = row.objects or row.vertices > 1
    return [
        unit.cell(row.retained_bytes),
        percent(row.retained_bytes, whole),
        f"{row.vertices:,}" if is_counted else "",
    ]


def _asked_name(text: str, row: Dominator) -> str:
    """The words that a person typed, and what they name. An address is printed
    once."""
    try:
        addr = int(text, 0)
    except ValueError:
        return f"{text}{_of(row)}"
    if addr == row.addr:
        return f"{row.name}{_of(row)}"
    return f"{text}, in {row.name}{_of(row)}"


def _of(row: Dominator) -> str:
    """The words behind a row's name: the address of an object; of a variable
    its kind, if it is no package variable, its goroutine and its type; and the
    part in C memory."""
    if row.kind == "object" and row.retained_c_bytes == row.retained_bytes:
        return _place(row)  # mostly a block of C itself
    return _place(row) + c_part(row.retained_bytes, row.retained_c_bytes)


def _place(row: Dominator) -> str:
    if row.kind == "object":
        return "" if row.addr is None else f"  {row.addr:#x}"
    words = [] if row.kind in _PLAIN else [row.kind]
    if row.kind not in _PLAIN and row.goroutine_id is not None:
        words.append(f"goroutine {row.goroutine_id}")
    words += [row.type] if row.type else []
    return f"  ({', '.join(words)})" if words else ""


def row_document(row: Dominator) -> Document:
    return {
        **fields_of(row, "name kind type"),
        "address": None if row.addr is None else f"{row.addr:#x}",
        "goroutine_id": row.goroutine_id,
        "count": row.vertices,
        **fields_of(row, "objects bytes"),
        **sizes_of(row, "retained"),
    }


def below_document(branch: Branch) -> Document:
    row = branch.row
    return {
        "children": [
            {
                **row_document(below.row),
                **(
                    below_document(below)
                    if below.below or below.row.cut
                    else {}
                ),
            }
            for below in branch.below
        ],
        "cut": {
            "children": row.cut,
            **apart(row.cut_bytes, row.cut_c_bytes, "retained"),
        },
    }
