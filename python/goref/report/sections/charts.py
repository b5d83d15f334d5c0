# SPDX-License-Identifier: Apache-2.0
"""The charts of the heap, and what keeps what alive as a table. Scripts draw
both of the embedded trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.sizes import loss
from ..live import c_bytes
from ..markup import el, note, section
from .icicle import chart, cut, outline
from .parts import missing

if TYPE_CHECKING:
    from ..markup import Element

# The tabs: names, what the document must have, titles.
_TREES = (
    ("dominators", "dominators", "Retained"),
    ("references", "references", "References"),
    ("holders", "type_holders", "Types"),
)


def charts(document: Mapping[str, Any]) -> Element:
    title = "What holds the heap"
    trees = [
        (name, label)
        for name, part, label in _TREES
        if part in document and (part != "type_holders" or "types" in document)
    ]
    outlined = [row for row in trees if row[0] != "holders"]
    if not outlined:
        reason = missing(document, "dominators", "the trees")
        return section("charts", title, None, reason)
    return section(
        "charts",
        title,
        [
            "The width of a box is its size, and the boxes below it are what "
            "it holds.",
            el("span", {"class": "on-screen"}, " Click a box to zoom in, or "
               "the top box to zoom out."),
        ],
        chart(trees, "Tree of what holds the heap", c_bytes(document) > 0),
        el(
            "noscript",
            None,
            note("The chart needs scripts, which are off."),
        ),
        [outline(document[name], label) for name, label in outlined],
        [cut(document[name], label) for name, label in outlined],
    )


def holders(document: Mapping[str, Any]) -> Element:
    title = "Holders, level by level"
    lead = (
        "The dominator tree: a row's size is what would be "
        f"{loss(c_bytes(document))} without it, and the rows below it add up "
        "to it, together with the row itself. Arrow keys open and close rows."
    )
    if "dominators" not in document:
        reason = missing(document, "dominators", "what keeps what alive")
        return section("holders", title, lead, reason)
    return section(
        "holders",
        title,
        lead,
        el(
            "div",
            {"class": "scroll"},
            el(
                "table",
                {"class": "drill", "role": "treegrid", "id": "drill",
                 "aria-label": "Dominator tree", "hidden": True},
                el(
                    "thead",
                    None,
                    el(
                        "tr",
                        None,
                        el("th", {"scope": "col"}, "Holder"),
                        el("th", {"scope": "col", "class": "n"}, "Retained"),
                        el("th", {"scope": "col", "class": "n"}, "Share"),
                        el("th", {"scope": "col", "class": "n minor"},
                           "Count"),
                        el("th", {"scope": "col", "class": "n minor"},
                           "Itself"),
                    ),
                ),
                el("tbody", None),
            ),
        ),
        el("noscript", None, note("The table needs scripts, which are off.")),
    )  # fmt: skip
