# SPDX-License-Identifier: Apache-2.0
"""Resident memory that a process did not access during a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .report import fields_of
from .style import title
from .table import table
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .report import Document

HEADING = "resident memory that was not accessed during the trace"
_TOP = 10  # mappings as text


class IdleClass(NamedTuple):
    """The mappings of a class."""

    name: str
    text: str
    rss_bytes: int
    idle_bytes: int


class IdleMapping(NamedTuple):
    """Neighbours of one class, name and permissions, as one range.

    name: as in smaps; "" if it is anonymous. mappings: how many there are."""

    start: int
    end: int
    permissions: str
    name: str
    class_name: str
    class_text: str
    mappings: int
    rss_bytes: int
    idle_bytes: int

    @property
    def addresses(self) -> str:
        return f"{self.start:x}-{self.end:x}"

    @property
    def label(self) -> str:
        """The name for a person."""
        name = self.name or "(anonymous)"
        if self.mappings == 1:
            return name
        return f"{name}, {counted(self.mappings, 'mapping')}"


class LeftOut(NamedTuple):
    """Mappings with idle memory that are not in a list."""

    mappings: int
    idle_bytes: int

    def and_rows(self, rows: Sequence[IdleMapping]) -> LeftOut:
        """With rows that are not shown."""
        return LeftOut(
            self.mappings + sum(row.mappings for row in rows),
            self.idle_bytes + sum(row.idle_bytes for row in rows),
        )


class IdleMemory(NamedTuple):
    """All resident memory by class, and the mappings that have idle memory;
    both with the most of it first."""

    classes: Sequence[IdleClass]
    mappings: Sequence[IdleMapping]
    left_out: LeftOut = LeftOut(0, 0)

    @property
    def rss_bytes(self) -> int:
        return sum(row.rss_bytes for row in self.classes)

    @property
    def idle_bytes(self) -> int:
        return sum(row.idle_bytes for row in self.classes)


def _sizes(row: IdleClass | IdleMapping | IdleMemory) -> tuple[str, str, str]:
    return (
        human_bytes(row.idle_bytes),
        percent(row.idle_bytes, row.rss_bytes),
        human_bytes(row.rss_bytes),
    )


def lines(memory: IdleMemory | None, top: int | None) -> list[str]:
    """The answer as text. top: mappings to show; 0: all; None: some."""
    if memory is None:
        return []
    rows = [(*_sizes(row), row.text) for row in memory.classes]
    head = ("idle", "share", "resident", "class of most of the mapping")
    return [
        "",
        title(f"{HEADING}:"),
        *table(
            [head, *rows, (*_sizes(memory), "all")], left=(3,), has_head=True
        ),
        *_mapping_lines(memory, top),
    ]


def _mapping_lines(memory: IdleMemory, top: int | None) -> list[str]:
    shown = memory.mappings[: _TOP if top is None else top or None]
    if not shown:
        return []
    rows = [
        (
            *_sizes(row),
            row.addresses,
            row.permissions,
            row.class_text,
            row.label,
        )
        for row in shown
    ]
    head = ("idle", "share", "resident", "addresses", "perms", "class", "name")
    found = ["", *table([head, *rows], left=(3, 4, 5, 6), has_head=True)]
    hidden = memory.mappings[len(shown) :]
    rest = memory.left_out.and_rows(hidden)
    if rest.mappings:
        found.append(
            f"  and {counted(rest.mappings, 'more mapping')} with "
            f"{human_bytes(rest.idle_bytes)} idle"
            + (" (--top)" if hidden else "")
        )
    return found


def document(memory: IdleMemory | None, top: int | None) -> Document:
    """The keys of the JSON document. top: mappings to list; 0, None: all."""
    if memory is None:
        return {
            "idle": None,
            "idle_mappings": None,
            "idle_left_out_mappings": None,
            "idle_left_out_bytes": None,
        }
    shown = memory.mappings[: top or None]
    rest = memory.left_out.and_rows(memory.mappings[len(shown) :])
    return {
        "idle": [
            fields_of(row, "name rss_bytes idle_bytes")
            for row in memory.classes
        ],
        "idle_mappings": [_mapping_document(row) for row in shown],
        "idle_left_out_mappings": rest.mappings,
        "idle_left_out_bytes": rest.idle_bytes,
    }


def _mapping_document(row: IdleMapping) -> Document:
    return {
        "start": f"{row.start:#x}",
        "end": f"{row.end:#x}",
        "permissions": row.permissions,
        "name": row.name or None,
        "class": row.class_name,
        "mappings": row.mappings,
        "rss_bytes": row.rss_bytes,
        "idle_bytes": row.idle_bytes,
    }
