# SPDX-License-Identifier: Apache-2.0
"""The values of objects and of roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import Error
from .gotypes import WORD
from .value import Value

if TYPE_CHECKING:
    from ._goref import ValuePlace
    from .valuereader import ValueReader

NO_TYPE = 0xFFFFFFFF


def of_vertex(reader: ValueReader, vertex: int, what: str) -> Value:
    """The value of an object or of a root. what: its name, for errors."""
    place: ValuePlace = reader.ask("value_place", vertex)
    if place.type is None or place.form == "unknown":
        raise Error(f"goref: the type of {what} is not known")
    type_ = reader.types.of(place.type)
    address = place.addr or 0
    if place.form == "piece":
        raise Error(
            f"goref: {what} is a part of a {type_.name}: read it by the "
            f"{type_.kind} that refers to it"
        )
    if place.form == "text":
        # These are the bytes of its slot; the string may be shorter.
        bytes_ = reader.types.array(reader.types.byte(), place.length)
        return Value(reader, bytes_, address)
    if place.form == "array":
        return Value(reader, reader.types.array(type_, place.length), address)
    if place.form == "header":
        header = address.to_bytes(WORD, "little")
        return Value(reader, type_, content=header)
    return Value(reader, type_, place.addr, place.content, "not there")


def of_expression(reader: ValueReader, text: str) -> Value:
    """The value of an expression."""
    place = reader.ask("resolve", text)
    if place.type == NO_TYPE:
        raise Error(f"goref: {text} has no type that is known")
    return Value(reader, reader.types.of(place.type), place.addr)
