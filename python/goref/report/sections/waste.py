# SPDX-License-Identifier: Apache-2.0
"""Memory that could be saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.waste import place_of
from ..markup import code, el, empty, note, prose, section, sentence
from ..origins import Origins
from ..tables import Cell, Column, bytes_, name, number, share, table, text
from .parts import command, missing

if TYPE_CHECKING:
    from ..markup import Element

_TITLE = "What could be saved"
_PLACES = 5  # that a sentence names
_LEAD = (
    "Memory that the program does not need for what it does. Each row has the "
    "bytes that its change alone would save, in slots of the allocator. The "
    "total counts once what two changes would both save."
)


def waste(document: Mapping[str, Any]) -> Element:
    found = document.get("waste")
    if found is None:
        reason = missing(document, "waste", "what could be saved")
        return section("waste", _TITLE, None, reason)
    notes = [note(sentence(line)) for line in found["notes"]]
    more = command(f"{document['command']} waste")
    if not found["checks"]:
        nothing = empty(sentence(found["summary"]))
        return section("waste", _TITLE, _LEAD, nothing, notes, more)
    return section(
        "waste",
        _TITLE,
        _LEAD,
        el("p", None, sentence(found["summary"])),
        _table(document, found),
        el("h3", None, "What to do"),
        _advice(found),
        notes,
        more,
    )


def _table(document: Mapping[str, Any], found: Mapping[str, Any]) -> Element:
    origins = Origins(document)
    columns = [
        Column("Saved", True, hint="if this were the only change"),
        Column("Share", True, hint="of the live heap"),
        Column("Count", True, True, "objects, maps, goroutines ..."),
        Column("Check"),
        Column("Example", is_minor=True),
        Column("To change", is_name=True),
    ]
    cells = [
        (
            bytes_(row["bytes"] or None),
            share(row["bytes"], found["heap_bytes"]),
            number(row["count"]),
            text(row["check"]),
            _example(row["example"]),
            name(place_of(row), mark=origins.mark(row["type"] or "")),
        )
        for row in found["checks"]
    ]
    return table("waste-table", _TITLE, columns, cells, found["nrows"])


def _example(address: str | None) -> Cell:
    """A script makes a link of the address if the object has a card."""
    if address is None:
        return Cell("", "")
    return Cell(address, el("code", {"data-card": address}, address))


def _advice(found: Mapping[str, Any]) -> Element:
    """Each sentence once, in the order of the findings. If a check has several
    sentences, each names the places that it is about."""
    said: dict[tuple[str, str], list[str]] = {}
    for row in found["checks"]:
        places = said.setdefault((row["check"], row["advice"]), [])
        places.append(place_of(row))
    sentences = Counter(check for check, _ in said)
    items = []
    for (check, advice), places in said.items():
        where = _where(places) if sentences[check] > 1 else []
        items.append(el("li", None, code(check), *where, ": ", prose(advice)))
    return el("ul", None, items)


def _where(places: list[str]) -> list[Any]:
    """Some of the places, and how many there are besides."""
    first, *others = (code(place) for place in places[:_PLACES])
    words = [" in ", first]
    for place in others:
        words += [", ", place]
    left = len(places) - _PLACES
    return [*words, f" and {left:,} more"] if left > 0 else words
