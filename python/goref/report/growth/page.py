# SPDX-License-Identifier: Apache-2.0
"""The page of a difference: its sections, in the shell of all pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..markup import el, empty, note, section
from ..page import printable_document
from ..sections.icicle import chart, cut, outline
from ..shell import Sheet, scripts, shell
from . import first, tables
from .about import about
from .trees import TITLES

SCRIPTS = scripts("origins.js", "tree.js", "icicle.js", "chart.js")


def page(document: Mapping[str, Any]) -> str:
    """The page of what document.py makes."""
    document = printable_document(document)
    exe = document["new"]["exe"].rpartition("/")[2]
    parts = [
        ("charts", "Chart", _chart(document)),
        *tables.sections(document),
        ("about", "About", about(document)),
    ]
    return shell(
        Sheet(
            title=f"{exe}: difference by goref",
            links=[(name, title) for name, title, _ in parts],
            main=[first.screen(document), [part for _, _, part in parts]],
            data={"goref-document": document},
            scripts=SCRIPTS,
        )
    )


def _chart(document: Mapping[str, Any]) -> Any:
    title = "What grew, and what shrank"
    trees = [row for row in TITLES.items() if row[0] in document]
    if first.growth_of_all(document) < 0:
        trees.reverse()
    if not trees:
        text = "No path has more or fewer bytes than before."
        return section("charts", title, None, empty(text))
    return section(
        "charts",
        title,
        "Each box is as wide as what the paths through it grew or shrank by. A "
        "click zooms in; the box at the top leads back out. An object counts on the "
        "path where scan bills it: what is now billed to another path shrank "
        "on the one and grew on the other.",
        chart(trees, "Tree of what grew or shrank", first.has_c(document)),
        el(
            "noscript",
            None,
            note("The chart needs scripts, which are off."),
        ),
        [outline(document[name], label) for name, label in trees],
        [cut(document[name], label) for name, label in trees],
    )
