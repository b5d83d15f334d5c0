# SPDX-License-Identifier: Apache-2.0
"""Values of the program, typed as in Go.

    session = next(heap.objects(type="main.Session")).value()
    print(str(session.ID), int(session["Hits"]), len(session.Tags))
    for key, item in session.Basket.items():
        print(key, item.Price)

A value reads memory only when it is used. Lengths come from the program and
may be garbage: goref never allocates more than twice the memory that can be
read.
"""

from __future__ import annotations

import struct
from collections.abc import ItemsView, Iterator, KeysView, MappingView
from collections.abc import ValuesView
from typing import TYPE_CHECKING, Any

from .errors import Error, NoFieldError, NoMemoryError, NotInGdbError
from .gotypes import WORD, GoType
from .valueplain import LONG, WORDS, Plain

if TYPE_CHECKING:
    from .api import Object
    from .valuereader import ValueReader

_MAX_INT = (1 << 63) - 1
_MAX_HOPS = 32  # pointers to pointers
_MANY = 1 << 26  # elements: list() sets memory aside for what len() says


class Value(Plain):
    """A value of Go.

    The fields of a struct, including those of embedded structs, are value.Name
    and value["Name"]. If a field has the name of a method of this class, only
    brackets work. Slices and arrays are sequences, maps are mappings. As in
    Go, fields of a pointer are those of its target; here, the same holds for
    interfaces.
    """

    __slots__ = ("_reader", "_type", "_address", "_content", "_missing")

    _reader: ValueReader
    _type: GoType
    _address: int | None
    _content: bytes | None
    _missing: str

    def __init__(
        self,
        reader: ValueReader,
        type: GoType,
        address: int | None = None,
        content: bytes | None = None,
        missing: str = "",
    ) -> None:
        """A value in memory, or in bytes that were in registers. Without an
        address and content, missing says why the value is not there."""
        self._reader = reader
        self._type = type
        self._address = address
        self._content = content
        self._missing = missing

    # --------------------------------------------------------------- its type

    @property
    def type(self) -> str:
        """The name of its type."""
        return self._type.name

    @property
    def kind(self) -> str:
        """`bool`, `int`, `uint`, `float`, `complex`, `string`, `slice`,
        `array`, `struct`, `pointer`, `map`, `chan`, `func`, `interface`,
        `unsafe pointer`; `unknown` of types of C."""
        return self._type.kind

    @property
    def size(self) -> int:
        """The size of its type in bytes: 16 for every string."""
        return self._type.size

    @property
    def address(self) -> int | None:
        """Its address; None: it was in registers, or is missing."""
        return self._address

    @property
    def gdb(self) -> Any:
        """This value as a gdb.Value, in gdb."""
        if self._reader.gdb_value is None:
            raise self._not_in_gdb()
        return self._reader.gdb_value(self)

    def _not_in_gdb(self) -> Exception:
        return NotInGdbError("goref: .gdb is a value of gdb: there is no gdb")

    # ------------------------------------------------------------- its memory

    def _read(self, offset: int = 0, size: int | None = None) -> bytes:
        """Read a part of its bytes."""
        size = self._type.size - offset if size is None else size
        if self._content is not None:
            part = self._content[offset : offset + size]
            if len(part) == size:
                return part
            raise NoMemoryError("goref: a part of it was in no register")
        if self._address is None:
            raise NoMemoryError(f"goref: {self._missing}")
        content: bytes = self._reader.ask("read", self._address + offset, size)
        return content

    def content(self) -> bytes:
        """Its own bytes; for a string or a slice, those of its header."""
        return self._read()

    def _word(self, index: int = 0) -> int:
        return int.from_bytes(self._read(index * WORD, WORD), "little")

    def _part(self, type: GoType, offset: int) -> Value:
        """A value inside of it."""
        made = Value(self._reader, type, missing=self._missing)
        if self._content is not None:
            made._content = self._content[offset : offset + type.size]
        elif self._address is not None:
            made._address = self._address + offset
        return made

    def _elem(self) -> GoType:
        elem = self._type.elem
        if elem is None:
            raise Error(
                f"goref: {self.type}: the type of what it has is not known"
            )
        return elem

    def _refuse(self, what: str) -> TypeError:
        return TypeError(f"goref: a value of type {self.type} {what}")

    # ------------------------------------------------- pointers and interfaces

    def dereference(self) -> Value:
        """The value that a pointer points to."""
        if self.kind != "pointer":
            raise self._refuse("is no pointer")
        address = self._word()
        if not address:
            raise Error(f"goref: a pointer of type {self.type} is nil")
        return Value(self._reader, self._elem(), address)

    @property
    def dynamic(self) -> Value | None:
        """The value that an interface holds; None if it is nil."""
        if self.kind != "interface":
            raise self._refuse("is no interface")
        word = self._word()
        if not word:
            return None
        found = self._reader.ask("dynamic_type", self._type.id, word)
        if found.type is None:
            raise Error(f"goref: the type in a {self.type} is not known")
        type_ = self._reader.type(found.type)
        if found.is_direct:
            return self._part(type_, WORD)
        return Value(self._reader, type_, self._word(1))

    @property
    def is_nil(self) -> bool:
        """True if it is nil. False for a kind that cannot be nil."""
        if self.kind in WORDS or self.kind in ("interface", "slice"):
            return self._word() == 0
        return False

    @property
    def object(self) -> Object | None:
        """The object of the heap to which it points: the target of a pointer,
        a map, a channel or a func, or the data of a slice, a string or an
        interface. None: it points to no object."""
        index = 1 if self.kind == "interface" else 0
        if self.kind not in WORDS | {"interface", "slice", "string"}:
            raise self._refuse("points to nothing")
        address = self._word(index)
        return self._reader.object_at(address) if address else None

    def _followed(self) -> Value:
        """The value itself, or the value to which pointers and interfaces
        lead."""
        value = self
        for _hop in range(_MAX_HOPS):
            if value.kind == "pointer":
                value = value.dereference()
            elif value.kind == "interface":
                held = value.dynamic
                if held is None:
                    raise Error(f"goref: an interface {value.type} is nil")
                value = held
            else:
                return value
        raise Error(f"goref: {self.type}: pointers lead to pointers only")

    # ----------------------------------------------------------------- fields

    def field(self, name: str) -> Value:
        """A field of a struct; the same as value["Name"]."""
        value = self._followed()
        if value.kind != "struct":
            raise NoFieldError(f"goref: {value.type} has no fields: no {name}")
        for step in value._type.path(name):
            if value.kind == "pointer":
                value = value.dereference()
            type_ = value._reader.types.of(step.type)
            value = value._part(type_, step.offset)
        return value

    def __getattr__(self, name: str) -> Value:
        if name == "gdb":
            raise self._not_in_gdb()
        if name.startswith("__") or name in Value.__slots__:
            raise AttributeError(name)
        return self.field(name)

    def __dir__(self) -> list[str]:
        names = list(super().__dir__())
        try:
            return names + self._followed()._type.names()
        except Error:
            return names

    # --------------------------------------------------------------- elements

    def _span(self) -> tuple[int, int, int]:
        """Address, length and capacity of a slice; address and length of a
        string."""
        words = self._read(0, self._type.size)
        if self.kind == "string":
            address, length = struct.unpack("<QQ", words[: 2 * WORD])
            capacity = length
        else:
            address, length, capacity = struct.unpack(
                "<QQQ", words[: 3 * WORD]
            )
        if length > capacity or capacity > _MAX_INT or length and not address:
            raise Error(
                f"goref: the {self.kind} makes no sense: its length is "
                f"{length}, its capacity {capacity}"
            )
        return address, length, capacity

    def __len__(self) -> int:
        value = self._followed()
        if value.kind == "array":
            return value._type.count
        if value.kind == "string":
            return value._span()[1]
        if value.kind == "slice":
            first, length = value._first()
            if length > _MANY:
                value._check_end(first, length)
            return length
        if value.kind not in ("map", "chan"):
            raise value._refuse("has no length")
        length = value._reader.ask("length", value._type.id, value._word())
        if length > _MAX_INT:
            raise Error(
                f"goref: the {value.kind} makes no sense: its length is "
                f"{length}"
            )
        return int(length)

    @property
    def capacity(self) -> int:
        """The capacity of a slice, in elements."""
        value = self._followed()
        if value.kind != "slice":
            raise value._refuse("has no capacity")
        return value._span()[2]

    def _first(self) -> tuple[Value, int]:
        """The first element of an array or a slice, and their number."""
        if self.kind == "array":
            return self._part(self._elem(), 0), self._type.count
        address, length, _capacity = self._span()
        return Value(self._reader, self._elem(), address), length

    def _at(self, first: Value, index: int) -> Value:
        offset = index * first._type.size
        if self.kind == "array":
            return self._part(first._type, offset)
        return Value(self._reader, first._type, (first._address or 0) + offset)

    def _element(self, index: int) -> Value:
        first, length = self._first()
        at = index + length if index < 0 else index
        if not 0 <= at < length:
            raise IndexError(
                f"goref: the index {index} is out of range: {self.type} has "
                f"{length} elements"
            )
        return self._at(first, at)

    def _slice(self, part: slice) -> Value | list[Value]:
        """A slice of the same memory, as in Go. With a step, or for an array
        that was in registers, it is a list."""
        first, length = self._first()
        start, stop, step = part.indices(length)
        if step != 1 or first._address is None:
            return [self._at(first, i) for i in range(start, stop, step)]
        count = max(stop - start, 0)
        capacity = (self.capacity if self.kind == "slice" else length) - start
        header = struct.pack(
            "<QQQ", first._address + start * first._type.size, count, capacity
        )
        return Value(
            self._reader,
            self._reader.types.slice(first._type),
            content=header,
        )

    def _check_end(self, first: Value, length: int) -> None:
        """Error if the length is garbage: memory at the end cannot be read."""
        if first._type.size:
            self._at(first, length - 1)._read(first._type.size - 1, 1)

    def _elements(self) -> Iterator[Value]:
        first, length = self._first()
        if length and (self.kind == "slice" or length > _MANY):
            self._check_end(first, length)
        for index in range(length):
            yield self._at(first, index)

    def __getitem__(self, key: Any) -> Any:
        """A field by its name, an element by its index, the element of a map
        by its key, or a part: value[1:3]."""
        value = self._followed()
        if value.kind == "struct" and isinstance(key, str):
            return value.field(key)
        if value.kind == "map":
            return value._map_element(key)
        if value.kind in LONG and isinstance(key, slice):
            return value._slice(key)
        if value.kind in LONG and hasattr(key, "__index__"):
            return value._element(key.__index__())
        raise value._refuse(f"has no element {key!r}")

    def __iter__(self) -> Iterator[Value]:
        """Elements of a slice or an array; keys of a map."""
        value = self._followed()
        if value.kind in LONG:
            return value._elements()
        if value.kind == "map":
            return (key for key, _element in value._entries())
        raise value._refuse("is no sequence")

    def __reversed__(self) -> Iterator[Value]:
        value = self._followed()
        if value.kind not in LONG:
            raise value._refuse("is no sequence")
        first, length = value._first()
        return (value._at(first, i) for i in range(length - 1, -1, -1))

    def __contains__(self, key: Any) -> bool:
        """Is this a key of the map, an element of the slice or the array, a
        part of the string?"""
        value = self._followed()
        if value.kind == "map":
            return value._find(key) is not None
        if value.kind == "string":
            return str(key) in str(value)
        return any(element == key for element in value)

    # ------------------------------------------------------------------- maps

    def _entries(self) -> Iterator[tuple[Value, Value]]:
        key, elem = self._type.key, self._elem()
        if key is None:
            raise Error(
                f"goref: {self.type}: the type of its keys is not known"
            )
        reader = self._reader
        entries = reader.ask("map_entries", self._type.id, self._word())
        for key_addr, elem_addr in reader.each(entries):
            yield Value(reader, key, key_addr), Value(reader, elem, elem_addr)

    def _find(self, key: Any) -> Value | None:
        """The element with a key; None: there is none."""
        plain = key._native() if isinstance(key, Value) else key
        if isinstance(plain, str):
            plain = plain.encode("utf-8", "surrogateescape")
        kind = self._type.key.kind if self._type.key else ""
        if _SOUGHT.get(kind) is not type(plain):
            return self._compare(key)
        if kind in ("int", "uint") and not -(2**63) <= plain < 2**64:
            return None
        found = self._reader.ask(
            "map_find", self._type.id, self._word(), plain
        )
        return (
            None if found is None else Value(self._reader, self._elem(), found)
        )

    def _compare(self, key: Any) -> Value | None:
        """The element with a key of a kind that C does not search for. All
        keys are compared."""
        for known, element in self._entries():
            if known == key:
                return element
        return None

    def _map_element(self, key: Any) -> Value:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        """The element of a map with a key, or default."""
        value = self._followed()
        if value.kind != "map":
            raise value._refuse("is no map")
        found = value._find(key)
        return default if found is None else found

    def _mapping(self) -> Value:
        value = self._followed()
        if value.kind not in ("map", "struct"):
            raise value._refuse("has no keys")
        return value

    def keys(self) -> KeysView[Any]:
        """The keys of a map; the names of the fields of a struct."""
        return _Keys(self._mapping())  # type: ignore[arg-type]

    def values(self) -> ValuesView[Value]:
        """The elements of a map; the fields of a struct."""
        return _Values(self._mapping())  # type: ignore[arg-type]

    def items(self) -> ItemsView[Any, Value]:
        """Keys and elements, in the order of the map's memory."""
        return _Items(self._mapping())  # type: ignore[arg-type]

    def _pairs(self) -> Iterator[tuple[Any, Value]]:
        if self.kind == "map":
            return self._entries()
        return ((name, self.field(name)) for name in self._type.names())


# The kinds of keys that C searches for, and their Python types.
_SOUGHT = {"string": bytes, "int": int, "uint": int, "bool": bool}


class _View(MappingView):
    """A view of a map, or of a struct, which has no length of its own."""

    _mapping: Any

    def __len__(self) -> int:
        of = self._mapping
        return len(of._type.names() if of.kind == "struct" else of)


class _Keys(_View, KeysView):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        return (key for key, _value in self._mapping._pairs())


class _Values(_View, ValuesView):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Value]:
        return (value for _key, value in self._mapping._pairs())


class _Items(_View, ItemsView):  # type: ignore[type-arg]
    # The default would look each key up again.
    def __iter__(self) -> Iterator[tuple[Any, Value]]:
        return iter(self._mapping._pairs())
