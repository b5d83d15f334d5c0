# SPDX-License-Identifier: Apache-2.0
"""Converts values to text and numbers, and compares them. Pure."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import Error, NoMemoryError, StaleError

if TYPE_CHECKING:
    from .gotypes import GoType
    from .value import Value
    from .valuereader import ValueReader

_REPR_BYTES = 40
_SHOWN_PARTS = 64

BASIC = frozenset(("bool", "int", "uint", "float", "complex", "string"))
WORDS = frozenset(("pointer", "unsafe pointer", "map", "chan", "func"))
LONG = frozenset(("array", "slice"))
_INTS = frozenset(("int", "uint", "bool", *WORDS))
_NUMBERS = frozenset(("int", "uint", "bool", "float", "complex"))


@functools.total_ordering
class Plain:
    """The methods of value.Value that convert and compare."""

    __slots__ = ()

    if TYPE_CHECKING:
        _reader: ValueReader
        _type: GoType
        _address: int | None
        _content: bytes | None
        _missing: str

        @property
        def type(self) -> str:
            ...

        @property
        def kind(self) -> str:
            ...

        @property
        def is_nil(self) -> bool:
            ...

        @property
        def dynamic(self) -> Value | None:
            ...

        def _read(self, offset: int = 0, size: int | None = None) -> bytes:
            ...

        def _word(self, index: int = 0) -> int:
            ...

        def _elem(self) -> GoType:
            ...

        def _span(self) -> tuple[int, int, int]:
            ...

        def _first(self) -> tuple[Value, int]:
            ...

        def _at(self, first: Value, index: int) -> Value:
            ...

        def _followed(self) -> Value:
            ...

        def _refuse(self, what: str) -> TypeError:
            ...

        def field(self, name: str) -> Value:
            ...

        def __len__(self) -> int:
            ...

        def __iter__(self) -> Iterator[Value]:
            ...

        def __getitem__(self, key: Any) -> Any:
            ...

        def __contains__(self, key: object) -> bool:
            ...

    # ------------------------------------------------------------- its content

    def _native(self) -> Any:
        """The Python value of a value of a basic kind; any other value
        itself."""
        kind = self.kind
        if kind not in BASIC:
            return self
        if kind == "string":
            return self._bytes().decode("utf-8", "surrogateescape")
        content = self._read()
        if kind == "bool":
            return content[0] != 0
        if kind in ("int", "uint"):
            return int.from_bytes(content, "little", signed=kind == "int")
        half = len(content) // 2 if kind == "complex" else len(content)
        letter = "f" if half == 4 else "d"
        if kind == "complex":
            return complex(*struct.unpack(f"<2{letter}", content))
        return struct.unpack(f"<{letter}", content)[0]

    def _bytes(self) -> bytes:
        """The bytes behind the header of a string or a slice."""
        address, length, _capacity = self._span()
        if self.kind == "slice":
            length *= self._elem().size
        if not length:
            return b""
        content: bytes = self._reader.ask("read", address, length)
        return content

    def __bytes__(self) -> bytes:
        """The bytes of a string, or of the elements of a slice; for other
        kinds, the bytes of the value itself."""
        if self.kind in ("string", "slice"):
            return self._bytes()
        return self._read()

    def __str__(self) -> str:
        """The text of a string; for other kinds, the text that Delve
        prints."""
        if self.kind == "string":
            return self._bytes().decode("utf-8", "replace")
        if self._type.id is None:
            return self._made_text()
        if self._content is None and self._address is None:
            raise NoMemoryError(f"goref: {self._missing}")
        text: str = self._reader.ask(
            "show", self._type.id, self._address or 0, self._content
        )
        return text

    def __format__(self, spec: str) -> str:
        """Format the Python value of a number or a bool; for other kinds, and
        without a format, the text of str()."""
        is_number = spec and self.kind in _NUMBERS
        return format(self._native() if is_number else str(self), spec)

    def _made_text(self) -> str:
        """The text of an array or a slice whose type goref has made."""
        if self.kind not in LONG:
            return str(self._native())
        first, length = self._first()
        shown = [
            str(self._at(first, i)) for i in range(min(length, _SHOWN_PARTS))
        ]
        if length > len(shown):
            shown.append(f"...+{length - len(shown)} more")
        return f"{self.type} [{','.join(shown)}]"

    def __repr__(self) -> str:
        try:
            return f"<goref.Value {self.type} {self._brief()}>"
        except NoMemoryError:
            return f"<goref.Value {self.type} (not there)>"
        except StaleError as problem:
            why = str(problem).removeprefix("goref: ")
            return f"<goref.Value {self.type} ({why})>"
        except Error:
            return f"<goref.Value {self.type} (makes no sense)>"

    def _brief(self) -> str:
        if self._address is None and self._content is None:
            return f"({self._missing})"
        if self.kind == "string":
            address, length, _capacity = self._span()
            shown = min(length, _REPR_BYTES)
            start = shown and self._reader.ask("read", address, shown)
            text = repr(start.decode("utf-8", "replace") if start else "")
            return text + ("..." if length > shown else "")
        if self.kind in BASIC:
            return repr(self._native())
        if self.kind in WORDS:
            return f"{self._word():#x}" if self._word() else "nil"
        if self.kind == "slice":
            return f"of {self._span()[1]}"
        if self._address is None:
            return "in registers"
        return f"at {self._address:#x}"

    def _number(self, kinds: frozenset[str], what: str) -> Any:
        value = self
        if value.kind == "interface":
            value = value._followed()
        if value.kind not in kinds:
            raise self._refuse(f"is no {what}")
        if value.kind in WORDS:
            return value._word()
        return value._native()

    def __int__(self) -> int:
        """The number of a number or a bool; the address of a pointer, a map, a
        channel or a func."""
        return int(self._number(_INTS | {"float"}, "number"))

    def __index__(self) -> int:
        return int(self._number(_INTS - {"bool"}, "integer"))

    def __float__(self) -> float:
        return float(self._number(_NUMBERS - {"complex"}, "number"))

    def __complex__(self) -> complex:
        return complex(self._number(_NUMBERS, "number"))

    def __bool__(self) -> bool:
        """The value of a bool; for other kinds: not zero, not empty, not
        nil."""
        if self.kind in BASIC:
            return bool(self._native())
        if self.kind in ("slice", "map", "array"):
            return len(self) != 0
        if self.kind in WORDS or self.kind == "interface":
            return not self.is_nil
        return True

    # -------------------------------------------------------------- comparison

    def __eq__(self, other: object) -> bool:
        """Compare with a Python value: a number, text, bytes, None (nil), a
        list or tuple (slices, arrays), a dict (maps). Two values compare as in
        Go; slices compare by their elements."""
        if other is None:
            return self.is_nil
        if self.kind == "interface":
            return self._equals_dynamic(other)
        if isinstance(other, Plain):
            return self._equals_value(other)
        if isinstance(other, bytes) and (
            self.kind == "string" or self._has_bytes()
        ):
            return len(self) == len(other) and bytes(self) == other
        if isinstance(other, str) and self.kind == "string":
            return str.__eq__(self._native(), other)
        if isinstance(other, (bool, int, float, complex)):
            return self._equals_number(other)
        if isinstance(other, (list, tuple)) and self.kind in LONG:
            return len(self) == len(other) and all(
                a == b for a, b in zip(self, other)
            )
        if isinstance(other, dict) and self.kind == "map":
            return len(self) == len(other) and all(
                key in self and self[key] == other[key] for key in other
            )
        return NotImplemented

    def _has_bytes(self) -> bool:
        if self.kind not in LONG or self._type.elem is None:
            return False
        return self._type.elem.kind == "uint" and self._type.elem.size == 1

    def _equals_number(self, other: Any) -> bool:
        if self.kind in WORDS:
            return type(other) is int and self._word() == other
        return self.kind in _NUMBERS and bool(self._native() == other)

    def _equals_dynamic(self, other: object) -> bool:
        held = self.dynamic
        if isinstance(other, Plain) and other.kind == "interface":
            inner = other.dynamic
            if held is None or inner is None:
                return held is inner
            return held.type == inner.type and held == inner
        return held is not None and held == other

    def _equals_value(self, other: Plain) -> bool:
        if other.kind == "interface":
            return other._equals_dynamic(self)
        if self.kind in BASIC and other.kind in BASIC:
            return bool(self._native() == other._native())
        if self.kind in WORDS and other.kind in WORDS:
            return self._word() == other._word()
        if self.kind in LONG and other.kind in LONG:
            return len(self) == len(other) and all(
                a == b for a, b in zip(self, other)
            )
        if self.kind != "struct" or self._type is not other._type:
            return False
        return all(
            self.field(name) == other.field(name)
            for name in self._type.names()
        )

    def __lt__(self, other: Any) -> bool:
        """Numbers and strings have an order."""
        mine = self._plain()
        yours = other._plain() if isinstance(other, Plain) else other
        if mine is self or yours is other and isinstance(other, Plain):
            return NotImplemented
        return bool(mine < yours)

    def _plain(self) -> Any:
        value = self._followed() if self.kind == "interface" else self
        return value._native() if value.kind in BASIC else self

    def __hash__(self) -> int:
        """The hash of the equal Python value: both are the same key of a
        dict."""
        if self.kind == "interface":
            return hash(self.dynamic)
        if self.kind in BASIC:
            return hash(self._native())
        if self.kind in WORDS:
            return hash(self._word() or None)
        if self.kind == "array":
            return hash(tuple(self))
        if self.kind == "struct":
            return hash((self.type, *map(self.field, self._type.names())))
        raise TypeError(f"goref: unhashable type: {self.type}")
