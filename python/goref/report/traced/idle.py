# SPDX-License-Identifier: Apache-2.0
"""Memory that was not accessed, on the page of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render.idle import HEADING, IdleClass, IdleMapping
from ...render.units import counted, human_bytes
from ..markup import code, el, note, section, sentence, verbatim
from ..tables import Cell, Column, bytes_, share, table, text

if TYPE_CHECKING:
    from ...render.idle import IdleMemory
    from ..markup import Child, Element

_MOST_MAPPINGS = 500
_NAME = 44  # characters
_SIZES = [
    Column("Idle", True),
    Column("Share", True),
    Column("Resident", True),
]


def idle(memory: IdleMemory | None) -> list[tuple[str, str, Element]]:
    """The section, if it was asked for."""
    if memory is None:
        return []
    element = section(
        "idle",
        "Not accessed",
        f"{sentence(HEADING)} A mapping counts as a whole in the class that "
        "most of it has.",
        el("h3", None, "By class"),
        _classes(memory),
        *_mappings(memory),
    )
    return [("idle", "Not accessed", element)]


def _sizes(row: IdleClass | IdleMapping) -> list[Cell]:
    return [
        bytes_(row.idle_bytes),
        share(row.idle_bytes, row.rss_bytes),
        bytes_(row.rss_bytes),
    ]


def _classes(memory: IdleMemory) -> Element:
    columns = [*_SIZES, Column("Class", is_name=True)]
    rows = [[*_sizes(row), text(row.text)] for row in memory.classes]
    return table("idle-classes", "Idle memory by class", columns, rows)


def _name(row: IdleMapping) -> list[Child]:
    many = f", {row.mappings:,} mappings" if row.mappings > 1 else ""
    return [code(row.name, _NAME) if row.name else "anonymous", many]


def _mappings(memory: IdleMemory) -> list[Element]:
    shown = memory.mappings[:_MOST_MAPPINGS]
    if not shown:
        return []
    columns = [
        *_SIZES,
        Column("Mapping", is_name=True),
        Column("Class", is_name=True),
        Column("Addresses", is_name=True),
    ]
    rows = [
        [
            *_sizes(row),
            Cell(row.name, _name(row)),
            text(row.class_text),
            Cell(
                f"{row.start:016x}",
                verbatim(f"{row.addresses} {row.permissions}"),
            ),
        ]
        for row in shown
    ]
    found = [
        el("h3", None, "By mapping"),
        table("idle-mappings", "Idle memory by mapping", columns, rows),
    ]
    rest = memory.left_out.and_rows(memory.mappings[len(shown) :])
    if rest.mappings:
        found.append(
            note(
                f"{counted(rest.mappings, 'more mapping')} with "
                f"{human_bytes(rest.idle_bytes)} idle: not on this page."
            )
        )
    return found
