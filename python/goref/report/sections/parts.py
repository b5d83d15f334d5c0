# SPDX-License-Identifier: Apache-2.0
"""Pieces that several sections share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..calls import is_library
from ..markup import el, empty, place, verbatim

if TYPE_CHECKING:
    from ..markup import Element


def missing(document: Mapping[str, Any], part: str, what: str) -> Element:
    """Why a section is empty."""
    reason = document["missing"].get(part, "it was not asked for")
    return empty(f"Not known: {what}. Reason: {reason}.")


def own_calls(
    frames: Sequence[Mapping[str, Any]], is_whole: bool
) -> list[Element]:
    """Calls, with those of the library folded away."""
    own = [frame for frame in frames if not is_library(frame)]
    if not own or len(own) == len(frames):
        return [stack(frames, is_whole)]
    return [
        stack(own, True),
        el(
            "details",
            {"class": "folded"},
            el("summary", None, f"all {len(frames)} calls"),
            stack(frames, is_whole),
        ),
    ]


def stack(frames: Sequence[Mapping[str, Any]], is_whole: bool) -> Element:
    """Calls, the innermost first."""
    rows = [
        el(
            "li",
            {"class": "library" if is_library(frame) else None},
            place(frame),
            el("span", {"class": "more"}, "inlined")
            if frame.get("inlined")
            else None,
        )
        for frame in frames
    ]
    if not is_whole:
        rows.append(el("li", {"class": "more"}, "more calls are left out"))
    return el("ol", {"class": "stack"}, rows)


def command(words: str) -> Element:
    return el("p", {"class": "command"}, verbatim(words))


def numbers(ids: Sequence[int], count: int) -> str:
    """`17, 18, 19 and 5 more'."""
    text = ", ".join(map(str, ids))
    return (
        f"{text} and {count - len(ids):,} more" if count > len(ids) else text
    )
