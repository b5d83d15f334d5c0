# SPDX-License-Identifier: Apache-2.0
"""The heap for scripts.

    import goref
    with goref.core("core.1234") as heap:
        for session in heap.objects(type="main.Session", min_bytes=64):
            print(session, session.retained_size)

A Heap is one stop of a program. All plurals are iterators that keep no list: a
heap of millions of objects is walked in constant memory. Two objects are equal
if they are the same object of the same stop. In gdb, heap() is the heap of what
gdb looks at; when that has run on, it and all that came from it raise
StaleError.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, SupportsInt, Union

from . import evaluate, front, native, objectvalue, params, partial
from .errors import (
    Error,
    NoFieldError,
    NoMemoryError,
    NotInGdbError,
    StaleError,
    UnknownTypeError,
)
from .locals import CallLocals, Local, Locals
from .progress import Progress
from .session import as_error, current, running
from .sources import Source
from .value import Value
from .valuereader import ValueReader

if TYPE_CHECKING:
    from ._goref import Backtrace, Call, Ledger, NamedLink, Scan, Vertex
    from ._goref import Wait as WaitRow

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
    """The heap of the program that gdb looks at. The first call of a stop
    reads it, and the graph is made when a question needs it."""
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


def core(path: str, exe: str | None = None) -> Heap:
    """The heap of a core file. exe: the executable that it came from; None:
    the one that the core names."""
    from .sources.core import Core

    return _open(Core(path, exe), "heap")


def open(path: str) -> Heap:
    """The heap of a file that `goref save' has written."""
    from .sources.saved import Saved

    return _open(Saved(path), "heap")


def attach(
    pid: int,
    *,
    hold: bool = False,
    values: bool = False,
    snapshot: bool = False,
    max_pause_ms: int | None = None,
) -> Heap:
    """The heap of a running process, which stands still only while its memory
    is copied: it runs on before this returns.

    hold: it stands still until the heap is closed; values are read when they
    are asked for. values: copy strings, numbers and other values, too.
    snapshot: copy a fork of the process. max_pause_ms: Error if it would stand
    still for longer."""
    from .sources.process import Process

    if hold and snapshot:
        raise ValueError("goref: hold and snapshot exclude each other")
    extent = "values" if values else "sites"
    process = Process(
        pid,
        extent,
        max_pause_ms=max_pause_ms,
        with_snapshot=snapshot,
        is_held=hold,
    )
    return _open(process, extent)


def _check_count(name: str, value: int) -> None:
    if value < 0:
        raise ValueError(f"goref: {name} is negative: {value}")


_HAS_MONOTONIC = 1 << 63
_SECONDS_TO_1885 = 59453308800  # since the first of January of the year 1


def time_of(value: Any) -> datetime.datetime:
    """A time.Time of Go as a Value or a gdb.Value, to the microsecond (time/time.go: Time.sec, nsec). The
    zero time is the first of January of the year 1."""
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
        "_reader",
    )

    def __init__(self, scan: Scan, source: Source) -> None:
        self._opened: Scan | None = scan
        self._key = id(scan)
        self._source = source
        self._identity = source.identify()
        self._moves = source.moves
        self._size: Any = None
        self._reader: ValueReader | None = None

    def __enter__(self) -> Heap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the heap. A process that is held runs on. May be called
        twice."""
        self._opened = None
        if not self._source.is_shared:
            self._source.close()

    def is_valid(self) -> bool:
        """Is the program still at this stop, and the heap not closed?"""
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
        """The scan, if the program is still there. This is cheap."""
        if self._opened is None:
            raise StaleError("goref: the heap is closed")
        if self._source.moves != self._moves:
            raise StaleError("goref: the program is no longer at this stop")
        return self._opened

    def _asked(self) -> Scan:
        """The same at the start of a question, where the source is asked, too:
        not every gdb has events for all that can change."""
        scan = self._scan()
        if not self.is_valid():
            raise StaleError("goref: the program is no longer at this stop")
        return scan

    @property
    def _values(self) -> ValueReader:
        """What values of this stop are read from."""
        if self._reader is None:
            self._reader = ValueReader(
                self._scan,
                native.load(),
                self.object,
                front.current.gdb_value(self._source, self._asked()),
            )
        return self._reader

    def _graph_size(self) -> Any:
        if self._size is None:
            self._size = self._scan().graph_size()
        return self._size

    def _make(self, vertex: int) -> Object | Root | Goroutine | None:
        """What a vertex is for a script; None for groups and the top."""
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
        """Why the heap is not complete; empty if it is."""
        scan = self._asked()
        return tuple(partial.reasons(scan.info(), scan.gaps()))

    @property
    def ledger(self) -> Ledger:
        """The totals of a walk: allocated, reached, how their types were
        found."""
        scan = self._asked()
        ledger: Ledger = scan.walk(1, 1).ledger()
        return ledger

    def object(self, where: SupportsInt) -> Object | None:
        """The object at an address; None if it is in none, or in garbage. Any
        byte of the object will do."""
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
        """The value of a package variable, or of a place behind one:
        `main.cache.rows[3]`, `(*main.T)(0xc000012345)`. Error: there is none,
        or its type is not known."""
        self._asked()
        return objectvalue.of_expression(self._source, text)

    def objects(
        self, type: str | None = None, min_bytes: int = 0
    ) -> Iterator[Object]:
        """The reached objects by address: of one type, and of at least so many
        bytes. A type is named as objects are printed (`main.T`, `[48]main.T`,
        `string data`), as several are (`[]main.T data`), or as types() has it
        (`[]main.T`, `string`). UnknownTypeError: there is no such type."""
        _check_count("min_bytes", min_bytes)
        try:
            for vertex in self._asked().iterate(type, min_bytes):
                self._scan()
                yield Object(self, vertex)
        except native.load().NotFoundError as problem:
            raise UnknownTypeError(f"goref: {problem}") from None

    def roots(self) -> Iterator[Root]:
        """All roots that lead to an object. A variable with static memory
        behind it comes behind the words of this memory, which are roots, too;
        it retains what they hold together."""
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

    def types(self) -> Iterator[tuple[str, int, int]]:
        """Type, objects and bytes of each type; the most bytes first. objects()
        takes each of these types."""
        for row in self._asked().histogram("type").rows:
            yield row.key, row.objects, row.bytes

    def retained(self, *things: Thing) -> int:
        """Bytes that these keep alive together: they would be freed without
        them. Not the sum of what each one retains."""
        scan = self._asked()
        for thing in things:
            if not isinstance(thing, _Vertex):
                raise TypeError(
                    "goref: not an object, a root or a goroutine of the heap: "
                    f"{thing!r}"
                )
            if thing.heap != self:
                raise ValueError("goref: it belongs to another heap")
        return scan.retained([thing._vertex for thing in things])


class _Vertex:
    """A vertex of the object graph."""

    __slots__ = ("heap", "_vertex")

    def __init__(self, heap: Heap, vertex: int) -> None:
        self.heap = heap
        self._vertex = vertex

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Vertex)
            and self._vertex == other._vertex
            and self.heap == other.heap
        )

    def __hash__(self) -> int:
        return hash((self.heap, self._vertex))

    def _row(self) -> Vertex:
        return self.heap._scan().vertex(self._vertex)

    @property
    def retained_size(self) -> int:
        """Bytes that only this keeps alive, itself included."""
        return self.heap._scan().vertex(self._vertex, True).retained_bytes

    def references(self) -> Iterator[Reference]:
        """What it points to. An object that it points to twice comes twice."""
        scan = self.heap._scan()
        for target in scan.neighbours(self._vertex, "references"):
            yield Reference(self.heap, self._vertex, target)


class Object(_Vertex):
    """An object of the heap."""

    __slots__ = ()

    @property
    def address(self) -> int:
        """Its first byte, behind a malloc header."""
        return self._row().addr or 0

    @property
    def size(self) -> int:
        """Bytes of its memory, without a malloc header."""
        return self._row().bytes

    @property
    def type(self) -> str | None:
        """Of its memory: `main.T`, `[48]main.T`, `string data` ...; None if it
        is not known."""
        return self._row().type

    def __repr__(self) -> str:
        row = self._row()
        return f"<goref.Object {row.addr:#x} {row.type or '?'}>"

    def value(self) -> Value:
        """The value that it has: of its type, or an array of such values. Error:
        its type is not known, or it is a part of a map or a channel."""
        what = f"the object at {self.address:#x}"
        return objectvalue.of_vertex(self.heap._values, self._vertex, what)

    def referrers(self) -> Iterator[Reference]:
        """What points to it: objects and roots."""
        scan = self.heap._scan()
        for source in scan.neighbours(self._vertex, "referrers"):
            yield Reference(self.heap, source, self._vertex)

    @property
    def dominator(self) -> Object | Root | Goroutine | None:
        """The last one before it on all paths to it: nothing that it retains
        is reached without that one. None: several groups of roots hold it."""
        found = self.heap._scan().dominator(self._vertex)
        return self.heap._make(found)

    def paths(self, k: int = 1) -> Iterator[list[Root | Object]]:
        """The k shortest chains from distinct roots, each root first."""
        _check_count("k", k)
        for chain in self.heap._scan().paths(self._vertex, k):
            made = [self.heap._make(vertex) for vertex in chain]
            yield [x for x in made if isinstance(x, (Root, Object))]


class Root(_Vertex):
    """A variable, or another word outside of the heap that points into it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self._row().name

    @property
    def kind(self) -> str:
        """`global`, `local`, `stack`, `timer` ..."""
        return self._row().kind

    @property
    def type(self) -> str | None:
        return self._row().type

    @property
    def address(self) -> int | None:
        return self._row().addr

    def value(self) -> Value:
        """The value of the variable; of a root that is itself a pointer, what it
        points to. Error: its type is not known."""
        what = f"the root {self.name}"
        return objectvalue.of_vertex(self.heap._values, self._vertex, what)

    @property
    def goroutine(self) -> Goroutine | None:
        """The goroutine on whose stack it is."""
        found = self.heap._scan().dominator(self._vertex)
        made = self.heap._make(found)
        return made if isinstance(made, Goroutine) else None

    def __repr__(self) -> str:
        row = self._row()
        return f"<goref.Root {row.name} ({row.kind})>"


class Goroutine(_Vertex):
    """A goroutine, with all that its stack holds."""

    __slots__ = ()

    @property
    def id(self) -> int:
        return self._row().goroutine_id or 0

    def _backtrace(self, max_calls: int) -> Backtrace:
        return self.heap._scan().backtrace(self.id, max_calls)

    @property
    def state(self) -> str:
        """`waiting`, `running` ..."""
        return self._backtrace(1).goroutine.state

    @property
    def wait_reason(self) -> str | None:
        """`chan receive` ...; None if it does not wait."""
        return self._backtrace(1).goroutine.wait_reason

    @property
    def created_by(self) -> int | None:
        """The number of the goroutine that created it; None before Go 1.21."""
        return self._backtrace(1).goroutine.creator_id

    @property
    def labels(self) -> dict[str, str] | None:
        """Those of runtime/pprof; None: a file without values lacks them."""
        labels = self._backtrace(1).goroutine.labels
        return None if labels is None else {t.key: t.value for t in labels}

    def waits(self) -> Iterator[Wait]:
        """What it waits for: each case of a select is one."""
        for row in self.heap._scan().goroutine_wait(self.id).waits:
            yield Wait(row)

    def frames(self) -> Iterator[Frame]:
        """Its calls, the innermost first, with those that were inlined."""
        calls = CallLocals(self.heap._values, self.id)
        for i, call in enumerate(self._backtrace(0).calls):
            yield Frame(call, Locals(calls, i))

    def roots(self) -> Iterator[Root]:
        """The variables and words of its stack that lead to an object."""
        scan = self.heap._scan()
        for vertex in scan.neighbours(self._vertex, "references"):
            yield Root(self.heap, vertex)

    def __repr__(self) -> str:
        return f"<goref.Goroutine {self._row().name}>"


class Frame:
    """A call of a goroutine."""

    __slots__ = (
        "pc", "sp", "function", "file", "line", "is_inlined", "locals",
    )  # fmt: skip

    def __init__(self, call: Call, locals: Locals) -> None:
        self.locals = locals
        """Its arguments and local variables by their names; read when they are
        first asked for."""
        self.pc = call.at.pc
        self.sp = call.sp
        self.function = call.at.function
        self.file = call.at.file
        self.line = call.at.line
        self.is_inlined = call.is_inlined

    def __repr__(self) -> str:
        return f"<goref.Frame {self.function} {self.file}:{self.line}>"


class Wait:
    """A thing that a goroutine waits for."""

    __slots__ = ("kind", "address", "type", "path")

    def __init__(self, row: WaitRow) -> None:
        self.kind = row.kind
        """`Mutex`, `channel send`, `network` ..."""
        self.address = row.primitive
        """Of the lock or the channel; None for other kinds."""
        self.type = row.type
        self.path = row.path
        """`main.store.mu`; None: nothing leads there."""

    def __repr__(self) -> str:
        return f"<goref.Wait {self.kind} {self.path or self.type or ''}>"


class Reference:
    """A pointer from an object or a root to an object."""

    __slots__ = ("heap", "_source", "_target")

    def __init__(self, heap: Heap, source: int, target: int) -> None:
        self.heap = heap
        self._source = source
        self._target = target

    @property
    def source(self) -> Object | Root | Goroutine | None:
        return self.heap._make(self._source)

    @property
    def target(self) -> Object | Root | Goroutine | None:
        return self.heap._make(self._target)

    @property
    def name(self) -> str:
        """The field, element or map key with the pointer: `.next`, `["a"]`; of
        a root with the name of its variable. If several words lead there, the
        first one's. Empty if it is not known."""
        links = self._links(1)
        source = None if self._from_object() else self.source
        variable = source.name if isinstance(source, Root) else ""
        return variable + (links[0].name if links else "")

    def _from_object(self) -> bool:
        return bool(self._source < self.heap._graph_size().objects)

    @property
    def offset(self) -> int | None:
        """The offset of that word in the object or variable; None if it lies
        in no memory."""
        links = self._links(1)
        return links[0].off_bytes if links and links[0].addr else None

    @property
    def names(self) -> list[str]:
        """The names of all words that lead there."""
        return [link.name for link in self._links()]

    def _links(self, max: int = 0) -> list[NamedLink]:
        return self.heap._scan().links(self._source, self._target, max)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and (
            self.heap,
            self._source,
            self._target,
        ) == (other.heap, other._source, other._target)

    def __hash__(self) -> int:
        return hash((self.heap, self._source, self._target))

    def __repr__(self) -> str:
        return (
            f"<goref.Reference {self.source!r} {self.name} -> {self.target!r}>"
        )


Thing = Union[Object, Root, Goroutine]
