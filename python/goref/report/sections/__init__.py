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
    resident,
    sites,
    suspects,
    waits,
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
    Part("charts", "Charts", charts.charts),
    Part("holders", "Holders", charts.holders),
    Part("roots", "Roots", heap.roots),
    Part("types", "Types", heap.types),
    Part("sites", "Sites", sites.sites),
    Part("waits", "Waiting", waits.waits),
    Part("goroutines", "Goroutines", goroutines.goroutines),
    Part("leaks", "Leaks", goroutines.leaks),
    Part("rss", "Memory", resident.resident),
    Part("stop", "Stop", first.stop),
    Part("about", "About", about.about),
)


def parts(document: Mapping[str, Any]) -> list[Part]:
    """In their order: what is wrong comes first."""
    links = [found.link for found in findings(document)]
    by_name = {part.name: part for part in PARTS}
    leading = [by_name[name] for name in dict.fromkeys(links)]
    return [*leading, *(part for part in PARTS if part not in leading)]
