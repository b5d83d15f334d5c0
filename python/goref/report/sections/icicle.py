# SPDX-License-Identifier: Apache-2.0
"""A chart of trees with a tab for each, which scripts draw of the embedded
documents (assets/chart.js). In print, and without scripts, the first levels
stand there as a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..markup import code, el, note, share_text, size
from ..origins import legend

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


def chart(
    trees: Sequence[tuple[str, str]], what: str, has_c: bool = False
) -> Element:
    """trees: the name of each in the document, and its title. what: they
    are. has_c: blocks of C are among them."""
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
                   "aria-label": what}),
        el("div", {"id": "selected", "class": "selected",
                   "aria-live": "polite"}),
        legend(("rest", "many small ones"), has_c=has_c),
    )  # fmt: skip


def cut(tree: Mapping[str, Any], label: str) -> Element | None:
    """A note about the nodes that the tree lacks, if any."""
    if not tree["cut"]:
        return None
    return note(
        f"{label}: this report has the {len(tree['nodes']):,} largest nodes; "
        f"{tree['cut']:,} smaller ones are left out, and their bytes are part "
        "of the nodes above them."
    )


def outline(tree: Mapping[str, Any], label: str) -> Element:
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
                tree.get("sign"),
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
