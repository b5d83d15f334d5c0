# SPDX-License-Identifier: Apache-2.0
"""The charts, which scripts draw of the embedded trees. Without a script, and
in print, the first levels stand there as a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..markup import code, el, note, section, share_text, size
from ..origins import legend
from .parts import missing

if TYPE_CHECKING:
    from ..markup import Element

_LEVELS, _ROWS = 3, 6  # of the list


def _tab(name: str, title: str, is_first: bool) -> Element:
    return el(
        "button",
        {
            "type": "button",
            "role": "tab",
            "id": f"tab-{name}",
            "data-tree": name,
            "aria-selected": "true" if is_first else "false",
            "aria-controls": "icicle",
        },
        title,
    )


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
        "The width of a box is its size, and the boxes below it are what it "
        "holds. Click a box to zoom in, or the top box to zoom out.",
        _chart(trees),
        el(
            "noscript",
            None,
            note("The chart needs scripts, which are off."),
        ),
        [_outline(document[name], label) for name, label in outlined],
        [_cut(document[name], label) for name, label in outlined],
    )


def _chart(trees: list[tuple[str, str]]) -> Element:
    tabs = [_tab(name, label, i == 0) for i, (name, label) in enumerate(trees)]
    return el(
        "div",
        {"class": "chart", "id": "chart", "hidden": True},
        el(
            "div",
            {"class": "tools"},
            el("div", {"role": "tablist", "aria-label": "Tree"}, tabs),
            el("p", {"id": "meaning", "class": "status"}),
            el("button", {"type": "button", "id": "zoom-out",
                          "class": "ghost"}, "Zoom out"),
        ),
        el("p", {"id": "found", "class": "status", "role": "status"}),
        el("div", {"id": "icicle", "class": "icicle", "role": "tree",
                   "aria-label": "Tree of what holds the heap"}),
        el("div", {"id": "selected", "class": "selected",
                   "aria-live": "polite"}),
        legend(("rest", "many small ones")),
    )  # fmt: skip


def _cut(tree: Mapping[str, Any], label: str) -> Element | None:
    if not tree["cut"]:
        return None
    return note(
        f"{label}: this report has the {len(tree['nodes']):,} nodes that hold "
        f"most; {tree['cut']:,} smaller ones are left out, and their bytes "
        "are part of the nodes above them."
    )


def _outline(tree: Mapping[str, Any], label: str) -> Element:
    """In print, and without scripts."""
    below: dict[int, list[int]] = {}
    for i, node in enumerate(tree["nodes"]):
        below.setdefault(node["p"], []).append(i)
    return el(
        "div",
        {"class": "outline"},
        el("h3", None, label),
        _level(tree, below, 0, 1),
    )


def _level(
    tree: Mapping[str, Any],
    below: Mapping[int, list[int]],
    at: int,
    depth: int,
) -> Element:
    rows = []
    for i in below.get(at, [])[: _ROWS if depth == 1 else 2]:
        node = tree["nodes"][i]
        rows.append(
            el(
                "li",
                None,
                size(node["b"]),
                f" {share_text(node['b'], tree['reached_bytes'])} ",
                code(node["n"]),
                f" ({node['c']:,})" if node["c"] > 1 else None,
                _level(tree, below, i, depth + 1)
                if i in below and depth < _LEVELS
                else None,
            )
        )
    return el("ul", None, rows)


def holders(document: Mapping[str, Any]) -> Element:
    title = "Holders, level by level"
    lead = (
        "The dominator tree: a row's size is what would be freed without it, "
        "and the rows below it add up to it, together with the row itself. "
        "Arrow keys open and close rows."
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
