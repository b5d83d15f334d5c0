# SPDX-License-Identifier: Apache-2.0
"""The largest objects in the document of a page, and who holds each type.

    objects        a card for each of the objects that retain most, and which
                   of them are of a type or of a suspect
    type_holders   the roots that hold the objects of a type; rows and what is
                   left out add up

Bounded: so many types, objects of each, and bytes of cards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._goref import Card, CardLink, Cards, HistogramRow, SuspectHop
    from .._goref import TypeHolders, TypeHolding, Vertex

TYPES = 100  # whose largest objects have cards
OBJECTS = 20  # of a type or a suspect
CARDS = 1500
CARD_BYTES = 4 << 20  # of all cards, as JSON
HELD_TYPES = 50
HOLDERS = 20  # of a type


def types(rows: Sequence[HistogramRow]) -> tuple[str, ...]:
    """The types whose largest objects have cards: those that have most bytes,
    and those that retain most, in turn."""
    by_bytes = largest(rows, TYPES)
    by_retained = sorted(rows, key=lambda row: -row.retained_bytes)[:TYPES]
    pairs = zip(by_bytes, (row.key for row in by_retained))
    found = dict.fromkeys(name for pair in pairs for name in pair)
    return tuple(found)[:TYPES]


def largest(rows: Sequence[HistogramRow], count: int) -> tuple[str, ...]:
    """The types that have most bytes."""
    ordered = sorted(rows, key=lambda row: (-row.bytes, row.key))
    return tuple(row.key for row in ordered[:count])


def objects(found: Cards, names: Sequence[str]) -> dict[str, Any]:
    """names: of the types that were asked for."""
    cards = _fitting(found.cards)
    shown = len(cards)
    return {
        "cards": cards,
        "by_type": {
            name: _below(group.cards, shown)
            for name, group in zip(names, found.types)
            if _below(group.cards, shown)
        },
        "by_suspect": [
            _below(group.cards, shown) for group in found.suspects
        ],
    }


def _fitting(cards: Sequence[Card]) -> list[dict[str, Any]]:
    """The first cards, as many as fit: those of suspects come first, then
    those of the largest types."""
    shown: list[dict[str, Any]] = []
    left = CARD_BYTES
    for card in cards:
        made = _card(card)
        left -= len(json.dumps(made, ensure_ascii=False).encode("utf-8"))
        if left < 0:
            break
        shown.append(made)
    return shown


def _below(indexes: Sequence[int], count: int) -> list[int]:
    return [index for index in indexes if index < count]


def _card(card: Card) -> dict[str, Any]:
    return {
        **_object(card.vertex),
        "resident_bytes": card.resident_bytes,
        "fields": [
            {"name": field.name or "", **_object(field.vertex)}
            for field in card.fields
        ],
        "nfields": card.references,
        "path": [_hop(hop) for hop in card.hops],
        "path_left_out": card.hops_left_out,
        "holders": [_holder(holder) for holder in card.holders],
        "nholders": card.referrers,
    }


def _object(vertex: Vertex) -> dict[str, Any]:
    return {
        **_is_c(vertex),
        "at": _address(vertex),
        "type": vertex.name,
        "bytes": vertex.bytes,
        **_retained(vertex),
    }


def _retained(vertex: Vertex) -> dict[str, Any]:
    """The part in C is left out if there is none."""
    in_c = vertex.retained_c_bytes
    sizes = {"retained_bytes": vertex.retained_bytes - in_c}
    return {**sizes, "retained_c_bytes": in_c} if in_c else sizes


def _is_c(vertex: Vertex) -> dict[str, Any]:
    return {"is_c": True} if vertex.is_c else {}


def _end(vertex: Vertex) -> dict[str, Any]:
    """An object or a root, which may be that of a goroutine."""
    own = {"goroutine": vertex.goroutine_id} if vertex.goroutine_id else {}
    return {
        **_is_c(vertex),
        "name": vertex.name,
        "kind": vertex.kind,
        "type": vertex.type,
        "at": _address(vertex),
        **own,
    }


def _hop(hop: SuspectHop) -> dict[str, Any]:
    return {**_end(hop.vertex), "step": hop.step}


def _holder(holder: CardLink) -> dict[str, Any]:
    return {
        **_end(holder.vertex),
        "step": holder.name,
        **_retained(holder.vertex),
    }


def _address(vertex: Vertex) -> str | None:
    return None if vertex.addr is None else f"{vertex.addr:#x}"


def type_holders(found: TypeHolders) -> dict[str, Any]:
    return {row.type: _holding(row) for row in found.types}


def _holding(row: TypeHolding) -> dict[str, Any]:
    return {
        "objects": row.objects,
        "bytes": row.bytes,
        "rows": [holder._asdict() for holder in row.holders],
        "left_out": row.left_out,
        "left_out_objects": row.left_out_objects,
        "left_out_bytes": row.left_out_bytes,
    }
