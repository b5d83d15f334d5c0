# SPDX-License-Identifier: Apache-2.0
"""How far the page can be trusted, and where to look closer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...packages import package_of
from ...render.target import collector_text
from ...render.units import counted
from ..markup import el, note, section, verbatim
from .parts import command

if TYPE_CHECKING:
    from ..markup import Element


_PACKAGES = 200


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
        _packages(document),
        el("h3", None, "Commands that look closer"),
        [command(words) for words in overview.get("next", ())],
        el(
            "p",
            {"class": "note"},
            "The page contains dagre, which arranges the picture of waits. "
            "Its license (MIT) is in the source of the page.",
        ),
    )


def _packages(document: Mapping[str, Any]) -> Element | None:
    """The full paths of the packages that the page shortens: paper has no
    tooltips, and two packages may have the same last part."""
    types = document.get("types") or {"rows": []}
    found = document.get("goroutines") or {"groups": []}
    names = [
        *(row["key"] for row in types["rows"]),
        *(root["name"] for root in document["heap"]["roots"]),
        *(
            frame["function"] or ""
            for group in found["groups"]
            for frame in group["frames"]
        ),
    ]
    paths = sorted({path for path in map(package_of, names) if "/" in path})
    if not paths:
        return None
    left = len(paths) - _PACKAGES
    return el(
        "details",
        None,
        el("summary", None,
           f"Full paths of {counted(len(paths), 'package')}"),
        el("ul", {"class": "packages"},
           [el("li", None, verbatim(path)) for path in paths[:_PACKAGES]]),
        note(f"{left:,} more are not in this report.") if left > 0 else None,
    )  # fmt: skip
