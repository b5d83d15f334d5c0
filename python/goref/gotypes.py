# SPDX-License-Identifier: Apache-2.0
"""The Go types of values. Pure: never imports gdb."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING

from .errors import NoFieldError

if TYPE_CHECKING:
    from ._goref import FieldInfo, Scan

MAX_FIELDS = 1 << 16  # fields that a search for a promoted one looks at
WORD = 8


class GoType:
    """A type. Its parts are read when they are first used."""

    __slots__ = (
        "id", "name", "kind", "size", "count", "has_itab", "fields",
        "_types", "_elem", "_key", "_paths",
    )  # fmt: skip

    id: int | None
    """The number of a type of the program; None: goref has made the type."""
    name: str
    kind: str
    """As `TypeInfo.kind` in _goref.pyi."""
    size: int
    count: int
    """The length of an array."""
    has_itab: bool
    fields: tuple[FieldInfo, ...]

    def __init__(
        self,
        types: Types,
        name: str,
        kind: str,
        size: int,
        elem: GoType | int | None = None,
        count: int = 0,
    ) -> None:
        self.id = None
        self.name = name
        self.kind = kind
        self.size = size
        self.count = count
        self.has_itab = False
        self.fields = ()
        self._types = types
        self._elem = elem
        self._key: int | None = None
        self._paths: dict[str, tuple[FieldInfo, ...]] = {}

    def __repr__(self) -> str:
        return f"<goref.GoType {self.name}>"

    @property
    def elem(self) -> GoType | None:
        """The element type of an array, slice, pointer, map or channel; None:
        unknown."""
        if isinstance(self._elem, int):
            self._elem = self._types.of(self._elem)
        return self._elem

    @property
    def key(self) -> GoType | None:
        """The key type of a map; None: unknown."""
        return None if self._key is None else self._types.of(self._key)

    def path(self, name: str) -> tuple[FieldInfo, ...]:
        """The fields on the way to a field: those of embedded structs, if the
        field is promoted, then the field itself."""
        found = self._paths.get(name)
        if found is None:
            found = self._paths[name] = self._find(name)
        return found

    def _find(self, name: str) -> tuple[FieldInfo, ...]:
        """Search the fields by Go's rule: the field at the least depth
        counts."""
        level: list[tuple[tuple[FieldInfo, ...], GoType]] = [((), self)]
        seen, left = {self.id}, MAX_FIELDS
        while level and left > 0:
            below = []
            for path, struct in level:
                for field in struct.fields:
                    left -= 1
                    if field.name == name:
                        return (*path, field)
                    if not field.is_embedded:
                        continue
                    inner = self._types.embedded(field.type)
                    if inner and inner.id not in seen:
                        seen.add(inner.id)
                        below.append(((*path, field), inner))
            level = below
        raise NoFieldError(f"goref: {self._no_field(name)}")

    def _no_field(self, name: str) -> str:
        text = f"{self.name} has no field {name}"
        near = difflib.get_close_matches(name, self.names(), 1)
        return f"{text}; did you mean {near[0]}?" if near else text

    def names(self) -> list[str]:
        """The names of the fields, without blank ones (`_`)."""
        return [field.name for field in self.fields if field.name != "_"]


class Types:
    """The types of one stop. Each is made once."""

    def __init__(self, scan: Callable[[], Scan]) -> None:
        self._scan = scan
        self._known: dict[int, GoType] = {}

    def of(self, number: int) -> GoType:
        """The type with a number."""
        known = self._known.get(number)
        if known is not None:
            return known
        info = self._scan().type_info(number)
        made = GoType(self, info.name, info.kind, info.size)
        made.id = number
        made.count = info.length
        made.has_itab = info.has_itab
        made.fields = info.fields
        made._elem, made._key = info.elem, info.key
        self._known[number] = made
        return made

    def embedded(self, number: int) -> GoType | None:
        """The struct that an embedded field of this type embeds, or None."""
        found: GoType | None = self.of(number)
        if found and found.kind == "pointer":
            found = found.elem
        return found if found and found.kind == "struct" else None

    def array(self, elem: GoType, count: int) -> GoType:
        return GoType(
            self, f"[{count}]{elem.name}", "array", elem.size * count, elem,
            count,
        )  # fmt: skip

    def slice(self, elem: GoType) -> GoType:
        return GoType(self, f"[]{elem.name}", "slice", 3 * WORD, elem)

    def byte(self) -> GoType:
        return GoType(self, "uint8", "uint", 1)
