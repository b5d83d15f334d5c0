# SPDX-License-Identifier: Apache-2.0
"""The few holders that keep most of the heap alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.sizes import loss, parts
from ...render.suspects import resident_text
from ...render.units import counted, human_bytes
from ..live import c_bytes, in_c, size_text, whole, whole_name
from ..markup import (
    bar,
    code,
    el,
    empty,
    prose,
    section,
    share_text,
    size,
)
from ..origins import Origins, is_c_kind
from ..tables import Cell, Column, bytes_, name, number, share, table
from .parts import command, missing

if TYPE_CHECKING:
    from ..markup import Element

_DETAILED = 10
_CONTENTS = 8  # types of what accumulates


def suspects(document: Mapping[str, Any]) -> Element:
    title = "Suspects"
    found = document.get("suspects")
    if found is None:
        reason = missing(document, "suspects", "who holds most of the heap")
        return section("suspects", title, None, reason)
    lead = (
        "One holder, or many alike, that keep 10 % of the "
        f"{whole_name(document)} alive or more. Retained is what would be "
        f"{loss(c_bytes(document))} without it."
    )
    rows = found["suspects"]
    if not rows:
        least = human_bytes(found["min_bytes"])
        none = f"No suspect: nothing alone holds {least} or more."
        return section("suspects", title, lead, empty(none))
    return section(
        "suspects",
        title,
        lead,
        _table(document, rows, whole(found, "reached")),
        [
            _details(document, i, row, _largest(document, i))
            for i, row in enumerate(rows[:_DETAILED])
        ],
    )


def _subject(row: Mapping[str, Any]) -> str:
    if row["kind"] == "goroutines":
        return f"goroutines of {row['name']}"
    return str(row["name"])


def _cards(document: Mapping[str, Any]) -> set[str]:
    """The addresses of objects that have cards."""
    found = document.get("objects") or {}
    return {card["at"] for card in found.get("cards") or []}


def _is_c(row: Mapping[str, Any]) -> bool:
    """Is it a variable of C?"""
    return any(
        hop["name"] == row["name"] and is_c_kind(hop["kind"])
        for hop in row["path"]
    )


def _holder(
    row: Mapping[str, Any], origins: Origins, cards: set[str]
) -> Cell:
    """A script makes a link of the name if where it accumulates has a
    card."""
    subject, at = _subject(row), row.get("address")
    mark = origins.mark(row["name"], _is_c(row))
    if at not in cards:
        return name(subject, mark=mark)
    shown = code(subject)
    shown.set("data-card", str(at))
    return Cell(subject, [mark, shown])


def _point(row: Mapping[str, Any], cards: set[str]) -> Cell:
    """Where it accumulates; its address leads to its card."""
    point, at = row["accumulation_point"], row.get("address")
    if at not in cards:
        return name(point)
    address = el("code", {"data-card": at}, at)
    return Cell(point, [code(point), " ", address])


def _table(
    document: Mapping[str, Any], rows: list[Mapping[str, Any]], reached: int
) -> Element:
    origins, cards = Origins(document), _cards(document)
    columns = [
        Column("Retained", True),
        Column("Of it C", True, not c_bytes(document)),
        Column("Share", True, hint=f"of the {whole_name(document)}"),
        Column("Count", True, True),
        Column("Holder", is_name=True),
        Column("Accumulates in", is_minor=True),
    ]
    cells = [
        (
            bytes_(whole(row)),
            bytes_(in_c(row)),
            share(whole(row), reached),
            number(row["objects"]),
            _holder(row, origins, cards),
            _point(row, cards),
        )
        for row in rows
    ]
    return table("suspects-table", "Suspects", columns, cells)


def _details(
    document: Mapping[str, Any],
    index: int,
    row: Mapping[str, Any],
    objects: Element | None,
) -> Element:
    found = document["suspects"]
    held, reached = whole(row), whole(found, "reached")
    both = f"; {parts(held, in_c(row))}" if in_c(row) else ""
    resident = resident_text(row["resident_bytes"], held, found["residency"])
    return el(
        "details",
        {"class": "card", "open": index < 2},
        el(
            "summary",
            None,
            el("strong", None, f"{index + 1}. ", prose(_subject(row))),
            " ",
            size(held),
            f" ({share_text(held, reached)} of the {whole_name(document)}"
            f"{both})",
            f", {resident}" if resident else None,
        ),
        el(
            "div",
            {"class": "columns"},
            el(
                "div",
                None,
                el("h3", None, "What accumulates"),
                _contents(row, held),
            ),
            el("div", None, el("h3", None, "Shortest path"), _path(row)),
        ),
        objects,
        [command(words) for words in row["next"]],
    )


def _largest(document: Mapping[str, Any], index: int) -> Element | None:
    """The largest objects that a suspect holds. A script makes links to their
    cards of them."""
    found = document.get("objects") or {}
    by_suspect = found.get("by_suspect") or []
    if index >= len(by_suspect) or not by_suspect[index]:
        return None
    cards = [found["cards"][i] for i in by_suspect[index]]
    title = f"The {len(cards)} largest objects" if cards[1:] else "The object"
    return el(
        "details",
        {"class": "folded"},
        el("summary", None, title),
        el("ul", {"class": "objects"}, [_object(card) for card in cards]),
    )


def _object(card: Mapping[str, Any]) -> Element:
    return el(
        "li",
        None,
        size(whole(card)),
        " ",
        el("code", {"data-card": card["at"]}, card["at"]),
        " ",
        code(card["type"] or "?"),
    )


def _contents(row: Mapping[str, Any], held: int) -> Element:
    """The types of what accumulates, and the rest: they add up."""
    shown = row["accumulated"][:_CONTENTS]
    lines = [
        _content(
            f"{part['objects']:,}", code(part["type"]), _part(part), held
        )
        for part in shown
    ]
    rest = held - sum(_part(part) for part in shown)
    if shown and rest > 0:
        left = len(row["accumulated"]) - len(shown)
        more = f" ({counted(left, 'more type')})" if left else ""
        name = el("span", {"class": "more"}, f"the rest{more}")
        lines.append(_content("", name, rest, held))
    return el("table", {"class": "plain"}, lines)


def _part(part: Mapping[str, Any]) -> int:
    """The bytes that accumulate, in Go and in C."""
    return int(part["bytes"]) + in_c(part)


def _content(objects: str, name: Element, count: int, held: int) -> Element:
    return el(
        "tr",
        None,
        el("td", {"class": "n"}, objects),
        el("td", None, name),
        el("td", {"class": "n"}, size(count)),
        el("td", {"class": "minor"}, bar(count, held)),
    )


def _path(row: Mapping[str, Any]) -> Element:
    hops = [
        el(
            "li",
            None,
            code(hop["name"] or "?"),
            " ",
            el("span", {"class": "more"}, prose(_hop(hop))),
        )
        for hop in row["path"]
    ]
    if row["path_left_out"]:
        text = f"{row['path_left_out']:,} more in between"
        hops.insert(len(hops) // 2, el("li", {"class": "more"}, text))
    return el("ol", {"class": "path"}, hops)


def _hop(hop: Mapping[str, Any]) -> str:
    words = [hop["kind"]] if hop["kind"] != "object" else []
    if hop["type"] and hop["type"] != hop["name"]:
        words.append(hop["type"])
    words.append(f"retains {size_text(hop)}")
    return ", ".join(words)
