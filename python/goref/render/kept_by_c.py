# SPDX-License-Identifier: Apache-2.0
"""Go objects that cgo.Handle and runtime.Pinner keep alive for C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .report import fields_of
from .sizes import without
from .style import title
from .table import table
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .._goref import KeptByC, KeptByCGroup
    from .report import Document

_HEAD = (
    "retained",
    "in C",
    "own bytes",
    "objects",
    "references",
    "by",
    "type",
)
UNKNOWN = (
    "The program uses cgo.Handle, but without debug information goref cannot "
    "read the table of handles"
)


def lines(rows: Mapping[str, Any]) -> list[str]:
    """The table of a document; nothing if there is nothing."""
    total = rows["kept_by_c_total"]
    told = [] if total["known"] else ["", UNKNOWN]
    if not total["references"]:
        return told
    cells = [list(_HEAD)]
    cells += [
        [
            human_bytes(row["retained_bytes"] + row["retained_c_bytes"]),
            human_bytes(row["retained_c_bytes"]),
            human_bytes(row["bytes"]),
            f"{row['objects']:,}",
            f"{row['references']:,}",
            row["by"],
            row["type"],
        ]
        for row in rows["kept_by_c"]
    ]
    if total["left_out"]:
        more = counted(total["left_out"], "more type")
        cells.append(["", "", "", "", "", "", more])
    return [
        *told,
        "",
        title(headline(rows)),
        *table(cells, left=(5, 6), has_head=True),
    ]


def headline(rows: Mapping[str, Any]) -> str:
    """The sums: how much is kept, and how much only these references hold."""
    total = rows["kept_by_c_total"]
    in_c = total["retained_c_bytes"]
    lost = without(total["retained_bytes"] + in_c, in_c, gone="garbage")
    lost += "," if in_c else ""
    return (
        f"Go objects kept for C: {total['objects']:,}, "
        f"{human_bytes(total['bytes'])}; {lost} "
        f"without the {counted(total['references'], 'reference')} by "
        "cgo.Handle and runtime.Pinner"
    )


def document(found: KeptByC, top: int | None) -> Document:
    """The rows, and the sums of all of them."""
    shown = found.groups[: top or None]
    return {
        "kept_by_c": [_row(row) for row in shown],
        "kept_by_c_total": {
            "known": found.is_known,
            "types": found.all_groups,
            "left_out": found.all_groups - len(shown),
            **fields_of(found, "references objects bytes"),
            **_retained(found),
        },
    }


def _row(row: KeptByCGroup) -> Document:
    return {
        **fields_of(row, "by type references objects bytes"),
        **_retained(row),
        "example": row.example and f"{row.example:#x}",
    }


def _retained(row: KeptByC | KeptByCGroup) -> Document:
    """Go and C apart."""
    return {
        "retained_bytes": row.retained_bytes - row.retained_c_bytes,
        "retained_c_bytes": row.retained_c_bytes,
    }
