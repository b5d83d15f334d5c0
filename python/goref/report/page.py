# SPDX-License-Identifier: Apache-2.0
"""The page of goref report: its sections, in the shell of all pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..render.units import printable
from .sections import first_screen, parts
from .shell import Sheet, scripts, shell
from .waitgraph import graph

SCRIPTS = scripts(
    "origins.js",
    "tree.js",
    "icicle.js",
    "chart.js",
    "drill.js",
    "panel.js",
    "cards.js",
    "holders.js",
    "vendor/dagre.min.js",
    "waitgraph.js",
)


def page(document: Mapping[str, Any]) -> str:
    """The page of the document that commands/report.py gathers."""
    document = printable_document(document)
    shown = parts(document)
    exe = document["heap"]["target"]["exe"].rpartition("/")[2]
    return shell(
        Sheet(
            title=f"{exe}: report of goref",
            links=[(part.name, part.title) for part in shown],
            main=[
                first_screen(document),
                [part.make(document) for part in shown],
            ],
            data={
                "goref-document": document,
                "goref-waits": _waits(document),
            },
            scripts=SCRIPTS,
        )
    )


def printable_document(part: Any) -> Any:
    """A document without what would turn text around or break it, also where a
    script shows it."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, Mapping):
        return {printable(k): printable_document(v) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return [printable_document(one) for one in part]
    return part


def _waits(document: Mapping[str, Any]) -> dict[str, Any]:
    waits = document.get("waits")
    if not waits:
        return {"nodes": [], "edges": [], "left_out": 0}
    return graph(waits)
