# SPDX-License-Identifier: Apache-2.0
"""The heap for scripts.

    import goref
    with goref.core("core.1234") as heap:
        for session in heap.objects(type="main.Session", min_bytes=64):
            print(session, session.retained_size)

A Heap is the heap of a program at one stop. Methods with a plural name return
iterators that keep no list, so a heap of millions of objects is walked in
constant memory. Two objects are equal if they stand for the same object of the
same stop. In gdb, heap() is the heap of the program that gdb looks at. When
that program has run on, the heap and all objects that came from it raise
StaleError.
"""

from __future__ import annotations

import datetime
import operator
import os
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, SupportsIndex, SupportsInt, Union

from . import evaluate, front, native, objectvalue, params, partial
from .errors import (
    Error,
    NoFieldError,
    NoMemoryError,
    NotInGdbError,
    StaleError,
    UnknownTypeError,
)
from .gotypes import Types
from .locals import Local, Locals
from .progress import Progress
from .session import as_error, current, running
from .sources import Source
from .value import Value
from .valuereader import ValueReader
from .vertices import (
    Frame,
    Goroutine,
    Object,
    Reference,
    Root,
    Vertex,
    Wait,
    count,
)

if TYPE_CHECKING:
    from ._goref import Ledger, Scan, Waste

    _Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

__all__ = [
    "Error",
    "Frame",
    "Goroutine",
    "Heap",
    "Local",
    "Locals",
    "NoFieldError",
    "NoMemoryError",
    "NotInGdbError",
    "Object",
    "Reference",
    "Root",
    "StaleError",
    "UnknownTypeError",
    "Value",
    "Wait",
    "attach",
    "core",
    "heap",
    "open",
    "time_of",
]


def heap() -> Heap:
    """The heap of the program that gdb looks at. The first call at a stop
    reads it; the object graph is made when a method needs it."""
    with running() as scan:
        return Heap(scan, current.look())


def _open(source: Source, extent: str) -> Heap:
    progress = Progress("off")
    try:
        limit = params.memory_limit(None)
        return Heap(source.open(progress, limit, source.extent(extent)), source)
    except BaseException as problem:
        source.close()
        raise as_error(problem, progress.reason) from None


def core(path: _Path, exe: _Path | None = None) -> Heap:
    """The heap of a core file. exe: the executable that ran; None: the one
    that the core names."""
    from .sources.core import Core

    name = None if exe is None else os.fsdecode(exe)
    return _open(Core(os.fsdecode(path), name), "heap")


def open(path: _Path) -> Heap:
    """The heap of a file that `goref save' has written."""
    from .sources.saved import Saved

    return _open(Saved(os.fsdecode(path)), "heap")


def _process_number(pid: SupportsIndex) -> int:
    """The number as an int. A bool is an int of Python, but is never meant."""
    if isinstance(pid, bool) or not hasattr(pid, "__index__"):
        raise TypeError(f"goref: pid is not a whole number: {pid!r}")
    return operator.index(pid)


def attach(
    pid: SupportsIndex,
    *,
    hold: bool = False,
    values: bool = False,
    snapshot: bool = False,
    max_pause_ms: int | None = None,
) -> Heap:
    """The heap of a running process. The process stands still only while its
    memory is copied, and runs again before this returns.

    hold: the process stands still until the heap is closed; values are read
    when they are used. values: copy strings, numbers and other values, too.
    snapshot: make the process fork, and copy the fork. max_pause_ms: raise an
    Error if the process would stand still for longer."""
    from .sources.process import Process

    if hold and snapshot:
        raise ValueError("goref: hold and snapshot exclude each other")
    extent = "values" if values else "sites"
    process = Process(
        _process_number(pid),
        extent,
        max_pause_ms=max_pause_ms,
        with_snapshot=snapshot,
        is_held=hold,
    )
    return _open(process, extent)


_NOT_KNOWN = "(type not known)"  # as a histogram has it
_HAS_MONOTONIC = 1 << 63
_SECONDS_TO_1885 = 59453308800  # since the first of January of the year 1


def time_of(value: Any) -> datetime.datetime:
    """A time.Time of Go, as a Value or a gdb.Value, to the microsecond
    (time/time.go: Time.sec, nsec). The zero time is the first of January of
    the year 1."""
    wall, ext = int(value["wall"]), int(value["ext"])
    seconds = ext
    if wall & _HAS_MONOTONIC:
        seconds = _SECONDS_TO_1885 + (wall << 1 & 2**64 - 1) // 2**31
    nanoseconds = wall & 2**30 - 1
    return datetime.datetime(
        1, 1, 1, tzinfo=datetime.timezone.utc
    ) + datetime.timedelta(seconds=seconds, microseconds=nanoseconds // 1000)


class Heap:
    """The heap at one stop."""

    __slots__ = (
        "_opened",
        "_key",
        "_source",
        "_identity",
        "_moves",
        "_size",
        "_types",
        "__weakref__",
    )

    def __init__(self, scan: Scan, source: Source) -> None:
        self._opened: Scan | None = scan
        self._key = id(scan)
        self._source = source
        self._identity = source.identify()
        self._moves = source.moves
        self._size: Any = None
        # A strong reference back would keep a held process stopped until the
        # collector of cycles runs. The values have one to the heap.
        weak: Heap = weakref.proxy(self)
        self._types = Types(lambda: weak._scan())

    def __enter__(self) -> Heap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the heap. A process that is held runs on. May be called
        twice."""
        self._opened = None
        if not self._source.is_shared:
            self._source.close()

    def is_valid(self) -> bool:
        """True if the program is still at this stop, and the heap is open."""
        try:
            identity = self._source.identify()
        except Error:
            return False
        is_there = self._opened is not None
        return is_there and identity == self._identity

    def __repr__(self) -> str:
        if self._opened is None:
            return "<goref.Heap, closed>"
        info = self._opened.info()
        name = info.saved_path or info.core_path or info.exe_path
        return f"<goref.Heap of {name}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Heap):
            return NotImplemented
        return self is other or (
            self._opened is not None and self._opened is other._opened
        )

    def __hash__(self) -> int:
        return self._key

    def _scan(self) -> Scan:
        """The scan. StaleError if the heap is closed, or if the source knows
        that the program has moved. This is cheap."""
        if self._opened is None:
            raise StaleError("goref: the heap is closed")
        if self._source.moves != self._moves:
            raise StaleError("goref: the program is no longer at this stop")
        return self._opened

    def _asked(self) -> Scan:
        """The same at the start of a question. It also asks the source for the
        program's identity: not every gdb reports every change by an event."""
        scan = self._scan()
        if not self.is_valid():
            raise StaleError("goref: the program is no longer at this stop")
        return scan

    @property
    def _values(self) -> ValueReader:
        """A reader of the values of this stop. It refers to the heap."""
        return ValueReader(
            self._scan,
            self._types,
            native.load(),
            self.object,
            front.current.gdb_value(self._source, self._scan()),
        )

    def _graph_size(self) -> Any:
        if self._size is None:
            self._size = self._scan().graph_size()
        return self._size

    def _make(self, vertex: int) -> Object | Root | Goroutine | None:
        """The Python object of a vertex; None for groups and the top."""
        size = self._graph_size()
        if vertex < size.objects:
            return Object(self, vertex)
        if vertex < size.roots_end:
            return Root(self, vertex)
        kind = self._scan().vertex(vertex).kind
        if kind == "goroutine":
            return Goroutine(self, vertex)
        # A variable with static memory is a group of words.
        return None if kind in ("group", "top") else Root(self, vertex)

    @property
    def partial(self) -> tuple[str, ...]:
        """The reasons why the heap is not complete; empty if it is."""
        scan = self._asked()
        return tuple(partial.reasons(scan.info(), scan.gaps()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that the command line would print, one line each."""
        return (*self._source.notes, *self._asked().info().warnings)

    @property
    def ledger(self) -> Ledger:
        """The totals of a walk: the objects that are allocated and reached,
        and how their types were found."""
        scan = self._asked()
        ledger: Ledger = scan.walk(1, 1).ledger()
        return ledger

    def object(self, where: SupportsInt) -> Object | None:
        """The object with an address, which may be that of any of its bytes;
        a block of C may be leaked. None: the address is in no object, or in
        garbage of Go."""
        place = ("", int(where), evaluate.NO_TYPE, False, 0)
        found = self._asked().find(place)
        made = None if found is None else self._make(found)
        return made if isinstance(made, Object) else None

    def evaluate(self, text: str) -> Object | Root | None:
        """The object or the package variable of an expression, as `goref
        object` takes it."""
        scan = self._asked()
        found = scan.find(evaluate.place(scan, text, self._source))
        made = None if found is None else self._make(found)
        return made if isinstance(made, (Object, Root)) else None

    def value(self, text: str) -> Value:
        """The value of an expression, such as `main.cache.rows[3]` or
        `(*main.T)(0xc000012345)`. Error: there is no such value, or its type
        is not known."""
        self._asked()
        return objectvalue.of_expression(self._values, text)

    def objects(
        self, type: str | None = None, min_bytes: int = 0
    ) -> Iterator[Object]:
        """The reached objects by address, of one type and of min_bytes or
        more. type: a name as goref prints it (`main.T`, `[]main.T`,
        `string`), or that of an array with so many values (`[48]main.T`).
        UnknownTypeError: there is no such type."""
        min_bytes = count("min_bytes", min_bytes, 64)
        if type == _NOT_KNOWN:
            every = self.objects(min_bytes=min_bytes)
            yield from (each for each in every if each.type is None)
            return
        try:
            for vertex in self._asked().iterate(type, min_bytes):
                self._scan()
                yield Object(self, vertex)
        except native.load().NotFoundError as problem:
            raise UnknownTypeError(f"goref: {problem}") from None

    def roots(self) -> Iterator[Root]:
        """All roots that lead to an object. The words of static memory are
        roots of their own. The variable to which such memory belongs follows
        after them, and retains what these words hold together."""
        size = self._asked().graph_size()
        for vertex in range(size.objects, size.vertices):
            made = self._make(vertex)
            if isinstance(made, Root):
                yield made

    def goroutines(self) -> Iterator[Goroutine]:
        size = self._asked().graph_size()
        for vertex in range(size.roots_end, size.vertices):
            if self._scan().vertex(vertex).kind == "goroutine":
                yield Goroutine(self, vertex)

    def types(self, weight: str = "bytes") -> Iterator[tuple[str, int, int]]:
        """The name, the number of objects and the bytes of each type, the most
        bytes first. objects() takes each of these names. weight: "pointers":
        words that the collector scans, instead of bytes."""
        if weight not in ("bytes", "pointers"):
            raise ValueError(f"goref: no weight: {weight!r}")
        for row in self._asked().histogram("type", weight=weight).rows:
            yield row.key, row.objects, row.bytes

    def retained(self, *things: Thing) -> int:
        """The bytes of Go that these keep alive together, which would be freed
        without them. This is not the sum of their retained sizes."""
        whole, in_c = self._retained(things)
        return whole - in_c

    def retained_c(self, *things: Thing) -> int:
        """The bytes in blocks of C that these keep alive together."""
        return self._retained(things)[1]

    def waste(
        self,
        checks: Iterable[str] | None = None,
        min_share: float = 0.01,
    ) -> Waste:
        """Memory that could be saved, as `goref waste' finds it. `rows' of the
        answer has the findings, the most bytes first: named tuples of plain
        values with check, bytes, count, type, field, example and advice.

        checks: names of checks, or one name; None: all. Those that read values
        need a heap with values; `asked' of the answer says which were left out.
        min_share: the least part of the heap that a finding has; 0: any."""
        if isinstance(checks, str):
            checks = (checks,)
        names = None if checks is None else tuple(checks)
        if not isinstance(min_share, (int, float)) or not 0 <= min_share <= 1:
            raise ValueError(f"goref: min_share is not 0 to 1: {min_share!r}")
        try:
            return self._asked().waste(names, round(min_share * 1_000_000))
        except native.load().ArgumentError as problem:
            raise ValueError(f"goref: {problem}") from None

    def _retained(self, things: tuple[Thing, ...]) -> tuple[int, int]:
        """With C, and C alone."""
        scan = self._asked()
        for thing in things:
            if not isinstance(thing, Vertex):
                raise TypeError(
                    "goref: not an object, a root or a goroutine of the heap: "
                    f"{thing!r}"
                )
            if thing.heap != self:
                raise ValueError("goref: it belongs to another heap")
        return scan.retained([thing._vertex for thing in things])


Thing = Union[Object, Root, Goroutine]
