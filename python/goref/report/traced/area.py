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
_TICKS = 4
_MOST_BANDS = 12


class Band(NamedTuple):
    """A class, and how far it is above its lowest level at each time."""

    name: str
    text: str
    above: list[int]


def bands(intervals: Sequence[TracedInterval]) -> list[Band]:
    """A band for each class that has changed. The first time is the start. Many
    small ones are one band, as nobody could tell them apart."""
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
    return _few(found)


def _few(found: list[Band]) -> list[Band]:
    if len(found) <= _MOST_BANDS:
        return found
    by_size = sorted(found, key=lambda band: -max(band.above))
    names = {band.name for band in by_size[: _MOST_BANDS - 1]}
    small = [band for band in found if band.name not in names]
    above = list(map(sum, zip(*(band.above for band in small))))
    rest = Band("", f"{len(small)} other classes", above)
    return [*(band for band in found if band.name in names), rest]


def times(intervals: Sequence[TracedInterval]) -> list[float]:
    return [intervals[0].begin_s, *(it.end_s for it in intervals)]


def _highest(rows: Sequence[Band]) -> int:
    return max(map(sum, zip(*(band.above for band in rows))), default=0)


def chart(
    rows: Sequence[Band], intervals: Sequence[TracedInterval]
) -> Element:
    """The area with its axes, which are text of the page: it keeps its size
    when the area becomes narrow."""
    at, whole = times(intervals), _highest(rows)
    marks = [whole * i // _TICKS for i in range(_TICKS, -1, -1)]
    middle = [(at[0] + at[-1]) / 2] if at[-1] - at[0] >= 1 else []
    return el(
        "div",
        {"class": "area-box"},
        el("div", {"class": "area-levels"},
           [el("span", None, human_bytes(level)) for level in marks]),
        area(rows, at),
        el("div", {"class": "area-times"},
           [el("span", None, f"{time:.1f} s")
            for time in (at[0], *middle, at[-1])]),
    )  # fmt: skip


def area(rows: Sequence[Band], at: Sequence[float]) -> Element:
    """The picture. Its numbers stand in the tables of the page, too."""
    whole = _highest(rows)
    below = [0] * len(at)
    shapes = []
    for i, band in enumerate(rows):
        top = [low + level for low, level in zip(below, band.above)]
        shapes.append(_shape(i, band, (at, below, top), whole))
        below = top
    return el(
        "svg",
        {"class": "area", "role": "img", "preserveAspectRatio": "none",
         "viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}",
         "aria-label": "Resident memory over time, by class"},
        shapes,
        _grid(),
    )  # fmt: skip


def legend(rows: Sequence[Band]) -> Element:
    return el(
        "ul",
        {"class": "area-legend"},
        [
            el(
                "li",
                None,
                el("span", {"class": f"swatch s{color(i)}",
                            "aria-hidden": "true"}),
                band.text,
            )
            for i, band in enumerate(rows)
        ],
    )  # fmt: skip


def _x(time: float, at: Sequence[float]) -> float:
    return _WIDTH * (time - at[0]) / (at[-1] - at[0] or 1.0)


def _y(level: float, whole: int) -> float:
    return _HEIGHT - _HEIGHT * level / (whole or 1)


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
        el("title", None,
           f"{band.text}: {human_bytes(band.above[-1])} at the end"),
    )  # fmt: skip


def color(index: int) -> int:
    """The number of a color in the style sheet."""
    return index % 28


def _grid() -> list[Element]:
    heights = [_HEIGHT * i / _TICKS for i in range(_TICKS + 1)]
    return [
        el(
            "line",
            {"class": "grid", "x1": "0", "x2": f"{_WIDTH:g}",
             "y1": f"{y:.1f}", "y2": f"{y:.1f}"},
        )
        for y in heights
    ]  # fmt: skip
