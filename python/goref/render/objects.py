# SPDX-License-Identifier: Apache-2.0
"""goref objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .report import UNCERTAIN, Listed, Report, as_text, partial_lines
from .sizes import apart
from .units import human_bytes

if TYPE_CHECKING:
    from .._goref import Listed as ListedRow
    from .._goref import Total
    from .report import Document, Json


class ObjectRows:
    """The lines of a list of objects, which come in pieces."""

    def __init__(self, with_retained: bool) -> None:
        self.with_retained = with_retained
        self.lines: list[str] = []

    def add(self, piece: str) -> None:
        """A piece of whole lines."""
        self.lines += piece.splitlines()

    def document(self, line: str) -> Document:
        """The entry of a line."""
        count = 5 if self.with_retained else 3
        address, size, *sizes, kind, type_ = line.split(" ", count)
        retained, in_c = (int(x) for x in sizes) if sizes else (None, None)
        return {
            "address": address,
            "kind": kind,
            "type": None if type_ == "?" else type_,
            "bytes": int(size),
            **apart(retained, in_c, "retained"),
        }


class ObjectsReport(Report):
    """The reached objects, as a document."""

    listed: ListedRow
    rows: ObjectRows

    def lines(self) -> list[str]:
        return self.rows.lines

    def body(self) -> Mapping[str, Json | Listed]:
        total = self.listed.total
        return {
            "count": total.objects,
            "bytes": total.bytes,
            "left_out": self.listed.left,
            "objects": Listed(self.rows.document, self.rows.lines),
        }


def left_text(left: int) -> str:
    """Behind a list that was cut."""
    return as_text([f"and {left:,} more (--limit 0 lists all)"])


def nothing_text(type_: str | None, min_bytes: int | None) -> str:
    """Beside an empty list: what was asked for."""
    line = "no reached object"
    if type_ is not None:
        line += f" has a type that matches {type_}"
    if min_bytes:
        line += f"{' and' if type_ is not None else ' has'} "
        line += f"{human_bytes(min_bytes)} or more"
    if type_ is not None:
        line += " (`goref histogram' has the types)"
    return as_text([line])


def partial_text(reasons: Sequence[str], has_retained: bool) -> str:
    """Beside a list that is not whole."""
    consequence = "objects may be missing"
    if has_retained:
        consequence += f", {UNCERTAIN}"
    return as_text(partial_lines(reasons, consequence))


def objects_text(total: Total, path: str) -> str:
    """One line about a file of objects that was written."""
    return as_text(
        [f"{path}: {total.objects:,} objects, {human_bytes(total.bytes)}"]
    )
