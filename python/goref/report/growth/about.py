# SPDX-License-Identifier: Apache-2.0
"""The two sides that were compared, and commands that look closer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..markup import el, section, verbatim
from ..origins import legend
from ..sections.parts import command
from .first import has_c

if TYPE_CHECKING:
    from ..markup import Element


def about(document: Mapping[str, Any]) -> Element:
    whole = (
        "Not everything could be read; the top of the page says what is "
        "missing."
        if document["partial"]
        else "goref has seen all of both heaps."
    )
    rows = [
        *_side("Old", document["old"]),
        *_side("New", document["new"]),
        ("goref", document["tool_version"]),
    ]
    return section(
        "about",
        "About this page",
        f"{whole} Rows of both sides are matched by their names. Values of "
        "the program are left out. Sizes are those of the allocator's slots.",
        el(
            "dl",
            {"class": "inline"},
            [
                [el("dt", None, key), el("dd", None, verbatim(str(text)))]
                for key, text in rows
                if text
            ],
        ),
        el("h3", None, "Letters and colors beside names"),
        legend(has_c=has_c(document)),
        el("h3", None, "Commands that look closer"),
        [
            [el("p", {"class": "note"}, row["text"]), command(row["command"])]
            for row in document["closer"]
        ],
    )


def _side(title: str, side: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (title, side["source"]),
        (f"{title} program", side["exe"]),
        (f"{title} build id", side["build_id"]),
        (f"{title} Go", side["go_version"]),
    ]
