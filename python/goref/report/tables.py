# SPDX-License-Identifier: Apache-2.0
"""Tables of the page, which scripts make sortable. They are whole without a
script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .markup import bar, code, el, prose, share_text, size
from .names import LENGTH

if TYPE_CHECKING:
    from .markup import Child, Element

SHOWN = 15  # rows at first


class Column(NamedTuple):
    """is_minor: left out where there is no room. is_name: a line of its own on
    a phone."""

    title: str
    is_number: bool = False
    is_minor: bool = False
    hint: str | None = None
    is_name: bool = False


class Cell(NamedTuple):
    """value: what the column is sorted by."""

    value: str | int
    shown: Child


def number(count: int) -> Cell:
    return Cell(count, f"{count:,}")


def bytes_(count: int | None) -> Cell:
    return Cell(-1, "") if count is None else Cell(count, size(count))


def share(part: int, whole: int) -> Cell:
    return Cell(
        part,
        [
            bar(part, whole),
            el("span", {"class": "pct"}, share_text(part, whole)),
        ],
    )


def text(words: str) -> Cell:
    """A cell with words, not with a name."""
    return Cell(words, prose(words))


def name(
    whole: str,
    more: str | None = None,
    mark: Element | None = None,
    length: int = LENGTH,
) -> Cell:
    """mark: where the name comes from (origins.py). more: its type."""
    detail = None
    if more:
        detail = el("span", {"class": "more"}, code(more, length))
    return Cell(whole, [mark, code(whole, length), detail])


def table(
    key: str,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    total: int | None = None,
    sorted_by: int | None = 0,
    order: str = "descending",
) -> Element:
    """total: how many rows there are, if more than in rows.
    sorted_by, order: the column that the rows are sorted by, and how."""
    left = (total or len(rows)) - len(rows)
    return el(
        "div",
        {"class": "sortable", "id": key, "data-shown": SHOWN},
        el(
            "div",
            {"class": "scroll", "tabindex": "0", "role": "region",
             "aria-label": f"Table: {caption}"},
            el(
                "table",
                {"role": "table"},  # also if its rows are grids
                el("caption", {"class": "away"}, caption),
                el(
                    "thead",
                    {"role": "rowgroup"},
                    el(
                        "tr",
                        {"role": "row"},
                        _heads(columns, sorted_by, order),
                    ),
                ),
                el(
                    "tbody",
                    {"role": "rowgroup"},
                    [_row(columns, row) for row in rows],
                ),
            ),
        ),
        el(
            "p",
            {"class": "note"},
            f"{left:,} smaller rows are not in this report.",
        )
        if left > 0
        else None,
    )  # fmt: skip


def _class(column: Column) -> str | None:
    words = ["n"] if column.is_number else []
    words += ["minor"] if column.is_minor else []
    words += ["name"] if column.is_name else []
    return " ".join(words) or None


def _heads(
    columns: Sequence[Column], sorted_by: int | None, order: str
) -> list[Element]:
    return [
        el(
            "th",
            {
                "scope": "col",
                "role": "columnheader",
                "class": _class(column),
                "title": column.hint,
                "aria-sort": order if i == sorted_by else None,
            },
            column.title,
        )
        for i, column in enumerate(columns)
    ]


def _row(columns: Sequence[Column], cells: Sequence[Cell]) -> Element:
    return el(
        "tr",
        {"role": "row"},
        [
            el(
                "td",
                {"class": _class(column), "role": "cell",
                 "data-value": cell.value},
                cell.shown,
            )
            for column, cell in zip(columns, cells, strict=True)
        ],
    )  # fmt: skip
