# SPDX-License-Identifier: Apache-2.0
"""Growth over time as a stacked area."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ...render.units import human_bytes
from ..markup import el

if TYPE_CHECKING:
    from ...render.trace import TracedInterval
    from ..markup import Element

_WIDTH, _HEIGHT = 1000.0, 300.0
_LEFT, _BOTTOM = 90.0, 28.0  # room for the labels of the axes
_TICKS = 4


class Band(NamedTuple):
    """A class, and how far it is above its lowest level at each time."""

    name: str
    text: str
    above: list[int]


def bands(intervals: Sequence[TracedInterval]) -> list[Band]:
    """A band for each class that has changed. The first time is the start."""
    texts: dict[str, str] = {}
    for interval in intervals:
        for row in interval.classes:
            texts.setdefault(row.name, row.text)
    found = []
    for name, text in texts.items():
        changes = [
            sum(r.growth_bytes for r in interval.classes if r.name == name)
            for interval in intervals
        ]
        levels = list(accumulate(changes, initial=0))
        lowest = min(levels)
        if any(changes):
            found.append(
                Band(name, text, [level - lowest for level in levels])
            )
    return found


def times(intervals: Sequence[TracedInterval]) -> list[float]:
    return [intervals[0].begin_s, *(it.end_s for it in intervals)]


def area(intervals: Sequence[TracedInterval]) -> Element:
    """The picture. Its numbers stand in the tables of the page, too."""
    rows, at = bands(intervals), times(intervals)
    whole = max(map(sum, zip(*(band.above for band in rows))), default=0)
    below = [0] * len(at)
    shapes = []
    for i, band in enumerate(rows):
        top = [low + level for low, level in zip(below, band.above)]
        shapes.append(_shape(i, band, (at, below, top), whole))
        below = top
    return el(
        "svg",
        {"class": "area", "role": "img",
         "viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}",
         "aria-label": "Growth over time, by class"},
        shapes,
        _axes(at, whole),
    )  # fmt: skip


def _x(time: float, at: Sequence[float]) -> float:
    span = at[-1] - at[0] or 1.0
    return _LEFT + (_WIDTH - _LEFT) * (time - at[0]) / span


def _y(level: float, whole: int) -> float:
    room = _HEIGHT - _BOTTOM
    return room - room * level / (whole or 1)


def _shape(
    index: int,
    band: Band,
    lines: tuple[Sequence[float], Sequence[int], Sequence[int]],
    whole: int,
) -> Element:
    at, below, top = lines
    there = [(_x(t, at), _y(level, whole)) for t, level in zip(at, top)]
    back = [(_x(t, at), _y(level, whole)) for t, level in zip(at, below)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*there, *back[::-1]])
    return el(
        "polygon",
        {"class": f"s{color(index)}", "points": points},
        el("title", None, f"{band.text}: {human_bytes(band.above[-1])}"),
    )


def color(index: int) -> int:
    """The number of a color in the style sheet."""
    return index % 28


def _axes(at: Sequence[float], whole: int) -> list[Element]:
    marks = []
    for i in range(_TICKS + 1):
        level = whole * i / _TICKS
        y = _y(level, whole)
        marks.append(
            el(
                "line",
                {"class": "grid", "x1": f"{_LEFT:g}", "x2": f"{_WIDTH:g}",
                 "y1": f"{y:.1f}", "y2": f"{y:.1f}"},
            )
        )  # fmt: skip
        marks.append(
            el(
                "text",
                {"x": f"{_LEFT - 8:g}", "y": f"{max(y + 4, 12):.1f}",
                 "text-anchor": "end"},
                human_bytes(round(level)),
            )
        )  # fmt: skip
    for time, anchor in ((at[0], "start"), (at[-1], "end")):
        marks.append(
            el(
                "text",
                {"x": f"{_x(time, at):.1f}", "y": f"{_HEIGHT - 6:g}",
                 "text-anchor": anchor},
                f"{time:.1f} s",
            )
        )  # fmt: skip
    return marks
