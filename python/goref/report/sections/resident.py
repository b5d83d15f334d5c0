# SPDX-License-Identifier: Apache-2.0
"""Where the resident memory is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.rss import ZEROS, beside_zeros
from ...render.units import human_bytes
from ..markup import note, section
from .parts import command, missing
from .stacked import Part, stacked

if TYPE_CHECKING:
    from ..markup import Element

_LEADS = {
    "exact": "{} are resident (Rss). Each resident page is in one class.",
    "anonymous": "At most {} of anonymous memory was resident. Resident pages "
    "of files are not known.",
    "unknown": "The core has {}{}; which pages were resident is not known.",
}


def zero_pages(found: Mapping[str, Any]) -> int:
    """The bytes of pages of zeros in a core that does not tell which pages
    were resident."""
    return sum(r["bytes"] for r in found["classes"] if r["name"] == ZEROS)


def resident(document: Mapping[str, Any]) -> Element:
    title = "Resident memory"
    found = document.get("rss")
    if found and found["residency"] == "unknown":
        title = "Memory in the core"
    if found is None:
        reason = missing(document, "rss", "where the resident memory is")
        return section("rss", title, None, reason)
    zeros = zero_pages(found)
    whole = found["total_bytes"] - zeros
    parts = [
        Part(found["texts"].get(row["name"], row["name"]), row["bytes"],
             color=i)
        for i, row in enumerate(found["classes"])
        if row["bytes"] and row["name"] != ZEROS
    ]  # fmt: skip
    return section(
        "rss",
        title,
        _LEADS[found["residency"]].format(
            human_bytes(whole), beside_zeros(zeros)
        ),
        stacked("rss-classes", parts, whole),
        note(_collector(found["go"])),
        command(f"{document['command']} rss"),
    )


def _collector(go: Mapping[str, Any]) -> str:
    words = []
    if go["gogc"] is not None:
        words.append(f"GOGC={'off' if go['gogc'] < 0 else go['gogc']}")
    if go["memory_limit"] is not None:
        words.append(f"GOMEMLIMIT={human_bytes(go['memory_limit'])}")
    if go["goal_bytes"] is not None and (go["gogc"] or 0) >= 0:
        words.append(f"heap goal {human_bytes(go['goal_bytes'])}")
    freed = human_bytes(go["next_gc_frees_bytes"])
    return ", ".join([*words, f"the next collection frees {freed}"]) + "."
