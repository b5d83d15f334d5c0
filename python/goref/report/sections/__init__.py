# SPDX-License-Identifier: Apache-2.0
"""The parts of the page. Each is a function from the document to an element; a
new one is named here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..findings import findings
from . import (
    about,
    charts,
    first,
    goroutines,
    heap,
    native,
    resident,
    sites,
    suspects,
    waits,
    waste,
)

if TYPE_CHECKING:
    from ..markup import Element

first_screen = first.screen

Make = Callable[[Mapping[str, Any]], "Element"]


class Part(NamedTuple):
    """title: in the bar at the top."""

    name: str
    title: str
    make: Make


PARTS = (
    Part("suspects", "Suspects", suspects.suspects),
    Part("heap", "Heap", heap.ledger),
    Part("charts", "Chart", charts.charts),
    Part("holders", "Holders", charts.holders),
    Part("roots", "Roots", heap.roots),
    Part("types", "Types", heap.types),
    Part("waste", "Savings", waste.waste),
    Part("sites", "Sites", sites.sites),
    Part("waits", "Waiting", waits.waits),
    Part("goroutines", "Goroutines", goroutines.goroutines),
    Part("leaks", "Leaks", goroutines.leaks),
    Part("native", "C memory", native.native),
    Part("rss", "Memory", resident.resident),
    Part("stop", "Stop", first.stop),
    Part("about", "About", about.about),
)


def parts(document: Mapping[str, Any]) -> list[Part]:
    """In their order: a crash or a deadlock first, then the chart, then the
    other findings."""
    found = findings(document)
    bad = [one.link for one in found if one.grade == "bad"]
    wrong = [one.link for one in found if one.grade == "warn"]
    by_name = {part.name: part for part in PARTS}
    names = dict.fromkeys([*bad, "charts", *wrong, *by_name])
    names.pop("about")
    if not native.is_shown(document):
        names.pop("native")
    return [*(by_name[name] for name in names), by_name["about"]]
