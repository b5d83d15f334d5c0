# SPDX-License-Identifier: Apache-2.0
"""A stacked bar, with its legend as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...render.units import counted, human_bytes
from ..markup import el, share_text, size

if TYPE_CHECKING:
    from ..markup import Element

COLORS = 28  # of the style sheet


class Part(NamedTuple):
    """color: its number in the style sheet; not given: that of its place."""

    title: str
    bytes: int
    meaning: str = ""
    objects: int | None = None
    color: int | None = None


def stacked(
    key: str, parts: Sequence[Part], whole: int, what: str | None = None
) -> Element:
    """Parts that add up to whole. what: a thing that parts count."""
    return el(
        "div",
        {"class": "stacked", "id": key},
        _bar(parts, whole),
        el(
            "table",
            {"class": "legend"},
            el(
                "tbody",
                None,
                [
                    _row(part, _color(part, i), whole, what)
                    for i, part in enumerate(parts)
                ],
            ),
        ),
    )


def _color(part: Part, index: int) -> int:
    return (index if part.color is None else part.color) % COLORS


def _bar(parts: Sequence[Part], whole: int) -> Element:
    left = 0.0
    pieces = []
    for i, part in enumerate(parts):
        share = 100 * part.bytes / whole if whole else 0.0
        if not part.bytes:
            continue
        pieces.append(
            el(
                "rect",
                {
                    "x": f"{left:.3f}",
                    "width": f"{share:.3f}",
                    "height": "1",
                    "class": f"s{_color(part, i)}",
                },
                el(
                    "title",
                    None,
                    f"{part.title}: {human_bytes(part.bytes)}, "
                    f"{share_text(part.bytes, whole)}",
                ),
            )
        )
        left += share
    return el(
        "svg",
        {"class": "stack-bar", "viewBox": "0 0 100 1",
         "preserveAspectRatio": "none", "aria-hidden": "true"},
        pieces,
    )  # fmt: skip


def _row(part: Part, color: int, whole: int, what: str | None) -> Element:
    return el(
        "tr",
        {"class": None if part.bytes else "none"},
        el(
            "td",
            None,
            el("span", {"class": f"swatch s{color}", "aria-hidden": "true"}),
            part.title,
            el("span", {"class": "more"}, part.meaning)
            if part.meaning
            else None,
        ),
        el("td", {"class": "n"}, size(part.bytes)),
        el("td", {"class": "n"}, share_text(part.bytes, whole)),
        el("td", {"class": "n minor"}, counted(part.objects or 0, what))
        if what
        else None,
    )
