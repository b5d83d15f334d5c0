# SPDX-License-Identifier: Apache-2.0
"""The windows of the mode native, on the page of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render.units import counted
from ..markup import note, section, sentence
from ..tables import Cell, Column, number, table

if TYPE_CHECKING:
    from ...render.native_memory import NativeMemory, TracedWindow
    from ..markup import Element

_MOST = 500


def windows(memory: NativeMemory | None) -> list[tuple[str, str, Element]]:
    """The section, if there were any."""
    if memory is None or not memory.windows:
        return []
    shown = memory.windows[:_MOST]
    left = len(memory.windows) - len(shown)
    columns = [
        Column("From", True),
        Column("Open", True),
        Column("Allocations", True),
        Column("Not recorded", True, is_minor=True),
    ]
    element = section(
        "windows",
        "Windows",
        "The times in which allocations were seen: "
        f"{memory.open_s:.1f} s of {memory.whole_s:.1f} s.",
        table("window-table", "Windows", columns, [*map(_row, shown)],
              order="ascending"),
        note(sentence(f"{counted(left, 'more window')}: not on this page"))
        if left
        else None,
    )  # fmt: skip
    return [("windows", "Windows", element)]


def _row(window: TracedWindow) -> list[Cell]:
    return [
        Cell(round(window.start_s * 1000), f"{window.start_s:.1f} s"),
        Cell(round(window.seconds * 1e6), f"{window.seconds:.3f} s"),
        number(window.calls),
        number(window.lost),
    ]
