# SPDX-License-Identifier: Apache-2.0
"""Where objects were allocated, and what holds them now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.sites import NOT_LINKED, SAMPLING_IS_OFF
from ..calls import own_call
from ..markup import el, empty, note, place, section
from ..tables import Cell, Column, bytes_, name, number, share, table
from .parts import missing, stack

if TYPE_CHECKING:
    from ..markup import Element

_NAME = 34  # characters of the names, two in a row
_OFF = {NOT_LINKED, SAMPLING_IS_OFF}


def sites(document: Mapping[str, Any]) -> Element:
    title = "Allocation sites and holders"
    lead = (
        "Where the objects that exist now were allocated, and which root "
        "keeps them. The runtime samples allocations for its heap profile."
    )
    found = document.get("sites")
    if found is None:
        reason = missing(document, "sites", "where objects were allocated")
        return section("sites", title, lead, reason)
    said = [f"{line[:1].upper()}{line[1:]}." for line in found["notes"]]
    if _OFF & {*found["notes"]}:
        # Samples from before that say nothing of the rest.
        return section("sites", title, lead, [empty(line) for line in said])
    notes = [note(line) for line in said]
    if not found["rows"]:
        text = "No object of the heap was sampled."
        return section("sites", title, lead, empty(text), notes)
    return section("sites", title, lead, notes, _table(found))


def _table(found: Mapping[str, Any]) -> Element:
    about = "About " if found["estimated"] else ""
    columns = [
        Column(f"{about}size".capitalize(), True),
        Column("Share", True, hint="of what the samples stand for"),
        Column(f"{about}objects".capitalize(), True, True),
        Column("Sampled", True, True),
        Column("Allocated in"),
        Column("Held by"),
    ]
    cells = [
        (
            bytes_(row["bytes"]),
            share(row["bytes"], found["bytes"]),
            number(row["objects"]),
            number(row["sampled_objects"]),
            _site(row),
            name(row["root"] or "?", length=_NAME),
        )
        for row in found["rows"]
    ]
    return table("sites-table", title_of(found), columns, cells,
                 found["nrows"])  # fmt: skip


def title_of(found: Mapping[str, Any]) -> str:
    return f"Allocation sites, {found['sampled_objects']:,} sampled objects"


def _site(row: Mapping[str, Any]) -> Cell:
    calls = row["stack"]
    if not calls:
        return Cell("", el("span", {"class": "more"}, "stack not known"))
    return Cell(
        row["key"],
        el(
            "details",
            {"class": "folded"},
            el("summary", None, place(own_call(calls) or calls[0], _NAME)),
            stack(calls, True),
        ),
    )
