# SPDX-License-Identifier: Apache-2.0
"""Reads values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import Error, NoMemoryError

if TYPE_CHECKING:
    from ._goref import Scan
    from .api import Object
    from .gotypes import GoType, Types
    from .value import Value


class ValueReader:
    """Reads the values of a program at one stop."""

    def __init__(
        self,
        scan: Callable[[], Scan],
        types: Types,
        native: ModuleType | Any,
        object_at: Callable[[int], Object | None] = lambda address: None,
        gdb_value: Callable[[Value], Any] | None = None,
    ) -> None:
        """native: the module _goref, for its errors. gdb_value: makes a
        gdb.Value of a value; None outside of gdb."""
        self.object_at = object_at
        self.gdb_value = gdb_value
        self.types = types
        self._scan = scan
        self._native = native

    def _failed(self, problem: Exception) -> Error:
        missing = (self._native.FaultError, self._native.NoMemoryError)
        made = NoMemoryError if isinstance(problem, missing) else Error
        return made(f"goref: {problem}")

    def ask(self, name: str, *args: Any) -> Any:
        """Call a method of the scan."""
        scan = self._scan()
        try:
            return getattr(scan, name)(*args)
        except self._native.Error as problem:
            raise self._failed(problem) from None

    def each(self, entries: Iterator[Any]) -> Iterator[Any]:
        """The items of an iterator of the scan, as long as the program stays
        at this stop."""
        while True:
            self._scan()
            try:
                entry = next(entries)
            except StopIteration:
                return
            except self._native.Error as problem:
                raise self._failed(problem) from None
            yield entry

    def type(self, number: int | None) -> GoType:
        if number is None:
            raise Error("goref: its type is not known")
        return self.types.of(number)
