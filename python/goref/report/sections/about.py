# SPDX-License-Identifier: Apache-2.0
"""How far the page can be trusted, and where to look closer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.target import collector_text
from ..markup import el, section, verbatim
from .parts import command

if TYPE_CHECKING:
    from ..markup import Element


def about(document: Mapping[str, Any]) -> Element:
    heap = document["heap"]
    target = heap["target"]
    values = (
        "Values of the program are in it (--values)."
        if document["with_values"]
        else "Values of the program are left out: texts of panics, labels of "
        "goroutines with their keys, keys of maps, addresses of sockets. "
        "--values adds them."
    )
    whole = (
        "goref has seen all of the heap."
        if not document["partial"] and not document["missing"]
        else "Not everything could be found; the top of the page says what "
        "is missing, and why."
    )
    rows = [
        ("Program", target["exe"]),
        ("Core", target["core"]),
        ("Process", target["pid"]),
        ("Build id", heap["build_id"]),
        ("Go", heap["go_version"]),
        ("Collector", collector_text(heap["gc_phase"])),
        ("goref", document["tool_version"]),
    ]
    overview = document.get("overview") or {}
    return section(
        "about",
        "About this report",
        f"{whole} {values} Sizes are those of the allocator's slots.",
        el(
            "dl",
            {"class": "inline"},
            [
                [el("dt", None, key), el("dd", None, verbatim(str(text)))]
                for key, text in rows
                if text is not None
            ],
        ),
        el("h3", None, "Commands that look closer"),
        [command(words) for words in overview.get("next", ())],
        el(
            "p",
            {"class": "note"},
            "The page contains dagre, which arranges the picture of waits. "
            "Its licence (MIT) is in the source of the page.",
        ),
    )
