# SPDX-License-Identifier: Apache-2.0
"""The parts of a heap for scripts: objects, roots and goroutines, and the
references between them. api.py has the heap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import objectvalue
from .locals import CallLocals, Locals
from .partial import reasons_of_block
from .render import block as of_block
from .value import Value

if TYPE_CHECKING:
    from ._goref import Backtrace, Call, NamedLink
    from ._goref import Vertex as VertexRow
    from ._goref import Wait as WaitRow
    from .api import Heap


def count(name: str, value: int, bits: int) -> int:
    """A number for the native half, which takes so many bits; the greatest of
    them for one that is greater."""
    if value < 0:
        raise ValueError(f"goref: {name} is negative: {value}")
    return min(value, (1 << bits) - 1)


class Vertex:
    """A vertex of the object graph."""

    __slots__ = ("heap", "_vertex")

    def __init__(self, heap: Heap, vertex: int) -> None:
        self.heap = heap
        self._vertex = vertex

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vertex)
            and self._vertex == other._vertex
            and self.heap == other.heap
        )

    def __hash__(self) -> int:
        return hash((self.heap, self._vertex))

    def _row(self) -> VertexRow:
        return self.heap._scan().vertex(self._vertex)

    @property
    def retained_size(self) -> int:
        """The bytes that only this keeps alive, including its own, in Go."""
        row = self.heap._scan().vertex(self._vertex, True)
        return row.retained_bytes - row.retained_c_bytes

    @property
    def retained_c_size(self) -> int:
        """The bytes that only this keeps alive in blocks of C."""
        return self.heap._scan().vertex(self._vertex, True).retained_c_bytes

    def _dominator(self) -> Object | Root | Goroutine | None:
        found = self.heap._scan().dominator(self._vertex)
        return None if found is None else self.heap._make(found)

    def references(self) -> Iterator[Reference]:
        """The references from here. If two words point to one object, there
        are two references."""
        scan = self.heap._scan()
        for target in scan.neighbours(self._vertex, "references"):
            yield Reference(self.heap, self._vertex, target)


class Object(Vertex):
    """An object of the heap, or a block of C."""

    __slots__ = ()

    @property
    def address(self) -> int:
        """The address of its first byte, after a malloc header."""
        return self._row().addr or 0

    @property
    def size(self) -> int:
        """The bytes of its memory, without a malloc header."""
        return self._row().bytes

    @property
    def kind(self) -> str:
        """`go`, or `c` for a block of C."""
        return "c" if self._row().is_c else "go"

    @property
    def is_leaked(self) -> bool | None:
        """True for a block of C that nothing holds, or only other leaked
        blocks; None: memory that may hold it is missing. It has no dominator
        and no paths, and retains nothing."""
        row = self._row()
        if not row.is_leaked:
            return False
        scan = self.heap._scan()
        info = scan.object_info(row.addr, 0, 0, False, False)
        return of_block.is_leaked(info, reasons_of_block(scan.info(), info))

    @property
    def type(self) -> str | None:
        """The type of its memory: `main.T`, `[]main.T`, `string` ...;
        None if it is not known."""
        return self._row().type

    def __repr__(self) -> str:
        row = self._row()
        return f"<goref.Object {row.addr:#x} {row.type or '?'}>"

    def value(self) -> Value:
        """Its value: a value of its type, or an array of such values. Error:
        its type is not known, or it is a part of a map or a channel."""
        what = f"the object at {self.address:#x}"
        return objectvalue.of_vertex(self.heap._values, self._vertex, what)

    def referrers(self) -> Iterator[Reference]:
        """The references to it, from objects and roots."""
        scan = self.heap._scan()
        for source in scan.neighbours(self._vertex, "referrers"):
            yield Reference(self.heap, source, self._vertex)

    @property
    def dominator(self) -> Object | Root | Goroutine | None:
        """Its immediate dominator: the last object, root or goroutine before
        it that is on all paths to it. None: several groups of roots hold it,
        or it is leaked."""
        return self._dominator()

    def paths(self, k: int = 1) -> Iterator[list[Root | Object]]:
        """The k shortest chains of references from distinct roots. Each chain
        begins with its root."""
        most = count("k", k, 32)
        for chain in self.heap._scan().paths(self._vertex, most):
            made = [self.heap._make(vertex) for vertex in chain]
            yield [x for x in made if isinstance(x, (Root, Object))]


class Root(Vertex):
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
        """The value of the variable. If the root is only a pointer, the value
        to which it points. Error: its type is not known."""
        what = f"the root {self.name}"
        return objectvalue.of_vertex(self.heap._values, self._vertex, what)

    @property
    def goroutine(self) -> Goroutine | None:
        """The goroutine whose stack has the root; None: it is on no stack."""
        made = self._dominator()
        return made if isinstance(made, Goroutine) else None

    def __repr__(self) -> str:
        row = self._row()
        return f"<goref.Root {row.name} ({row.kind})>"


class Goroutine(Vertex):
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
        """The labels of runtime/pprof. None: the file was saved without
        values."""
        labels = self._backtrace(1).goroutine.labels
        return None if labels is None else {t.key: t.value for t in labels}

    def waits(self) -> Iterator[Wait]:
        """The things that it waits for: one for each case of a select."""
        for row in self.heap._scan().goroutine_wait(self.id).waits:
            yield Wait(row)

    def frames(self) -> Iterator[Frame]:
        """Its calls, the innermost first, including inlined calls."""
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
        """Its arguments and local variables by their names. They are read when
        they are first used."""
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
        """The address of the lock or the channel; None for other kinds."""
        self.type = row.type
        self.path = row.path
        """A path to it, such as `main.store.mu`; None: no path leads there."""

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
        """The field, element or map key with the pointer, such as `.next` or
        `["a"]`. For a root, it begins with the name of the variable. If
        several words point there, this is the name of the first. It is empty
        if it is not known."""
        links = self._links(1)
        source = None if self._from_object() else self.source
        variable = source.name if isinstance(source, Root) else ""
        return variable + (links[0].name if links else "")

    def _from_object(self) -> bool:
        return bool(self._source < self.heap._graph_size().objects)

    @property
    def offset(self) -> int | None:
        """The offset of that word in the object or variable; None if the word
        was not in memory."""
        links = self._links(1)
        return links[0].off_bytes if links and links[0].addr else None

    @property
    def names(self) -> list[str]:
        """The names of all words that point there."""
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
