# SPDX-License-Identifier: Apache-2.0
"""The arguments and local variables of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .gotypes import GoType
from .value import Value

if TYPE_CHECKING:
    from ._goref import LocalValue
    from .valuereader import ValueReader

_BATCH = 1024  # calls whose variables are read at once


class Local:
    """An argument or a local variable of a call."""

    __slots__ = ("name", "value", "is_argument", "line")

    def __init__(self, reader: ValueReader, row: LocalValue) -> None:
        self.name = row.name
        self.value = _value(reader, row)
        """Reading it raises NoMemoryError if the variable was optimized
        out."""
        self.is_argument = row.is_argument
        self.line = row.line
        """The line of its declaration; 0: unknown."""

    def __repr__(self) -> str:
        return f"<goref.Local {self.name} {self.value!r}>"


def _value(reader: ValueReader, row: LocalValue) -> Value:
    if row.type is None:
        type_ = GoType(reader.types, "unknown", "unknown", 0)
    else:
        type_ = reader.types.of(row.type)
    missing = row.state
    if row.state == "unreadable":
        missing = "the pointer to the variable cannot be read"
    return Value(reader, type_, row.addr, row.content, missing)


class CallLocals:
    """The variables of all calls of a goroutine, read many calls at a time."""

    def __init__(self, reader: ValueReader, goroutine_id: int) -> None:
        self._reader = reader
        self._id = goroutine_id
        self._batch = -1
        self._rows: list[LocalValue] = []

    def of(self, call: int) -> list[Local]:
        """The variables of one call (0: the innermost)."""
        batch = call // _BATCH
        if batch != self._batch:
            self._rows = self._reader.ask(
                "local_values", self._id, batch * _BATCH, _BATCH
            )
            self._batch = batch
        return [
            Local(self._reader, row) for row in self._rows if row.call == call
        ]


class Locals(Mapping[str, Value]):
    """The variables of one call by their names. If several variables share a
    name, this has the innermost. `all` lists all variables in the order of
    their declaration, arguments first."""

    __slots__ = ("_calls", "_call", "_all")

    def __init__(self, calls: CallLocals, call: int) -> None:
        self._calls = calls
        self._call = call
        self._all: list[Local] | None = None

    @property
    def all(self) -> list[Local]:
        if self._all is None:
            self._all = self._calls.of(self._call)
        return self._all

    def _by_name(self) -> dict[str, Value]:
        return {local.name: local.value for local in self.all}

    def __getitem__(self, name: str) -> Value:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())

    def __repr__(self) -> str:
        return f"<goref.Locals {', '.join(self._by_name())}>"
