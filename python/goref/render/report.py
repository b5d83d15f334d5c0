# SPDX-License-Identifier: Apache-2.0
"""The base of all answers: a report, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    TypeVar,
    dataclass_transform,
)

from .style import painted, styled

if TYPE_CHECKING:
    from typing import Union

    Json = Union[
        None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]
    ]
    Document = dict[str, Json]


_PIECE_CHARS = 1 << 18  # of an answer that is written in pieces


def fields_of(row: object, names: str) -> Document:
    """The fields of a row whose names are their keys in a document, too, in
    this order."""
    return {name: getattr(row, name) for name in names.split()}


class Listed:
    """A list in a document that may be long: each entry is made as it is
    written, and has a line of its own in JSON."""

    def __init__(
        self, entry: Callable[[Any], Document], rows: Iterable[Any]
    ) -> None:
        """entry: makes the entry of a row."""
        self._entry = entry
        self._rows = rows

    def __iter__(self) -> Iterator[Document]:
        return map(self._entry, self._rows)


@dataclass_transform(kw_only_default=True)
class Fields:
    """An object with the fields that its class declares, all given by name.
    One that has a value in the class may be left out.

    A dataclass would be the same, but importing that module takes 8 ms of
    every start."""

    def __init__(self, **given: Any) -> None:
        """TypeError: a field is missing, or there is no such field."""
        declared = [
            vars(kind).get("__annotations__", ())
            for kind in type(self).__mro__
        ]
        known = set().union(*declared)
        self.__dict__.update(given)
        missing = {name for name in known if not hasattr(self, name)}
        wrong = missing | given.keys() - known
        if wrong:
            raise TypeError(f"{type(self).__name__}: {', '.join(wrong)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Make what follows from the fields."""


class Report(Fields):
    """An answer to one verb.

    A JSON document of any verb has these keys:

    schema: the number of this verb's set of keys. New keys leave it as it
        is; it grows when a key goes, or means something else.
    tool_version: the version of goref-gdb.
    partial: why the answer is not about all of the memory, a list of lines;
        empty if it is.
    complete: whether `partial` is empty.
    """

    schema: ClassVar[int] = 1
    tool_version: str
    partial: Sequence[str]

    def lines(self) -> list[str]:
        """The answer as text."""
        raise NotImplementedError

    def body(self) -> Mapping[str, Json | Listed]:
        """The keys of this verb's own."""
        raise NotImplementedError

    def text(self, with_color: bool = False) -> str:
        return as_text(self.lines(), with_color)

    def document(self) -> Document:
        return {
            key: list(value) if isinstance(value, Listed) else value
            for key, value in self._keys().items()
        }

    def _keys(self) -> Mapping[str, Json | Listed]:
        return {
            "schema": self.schema,
            "tool_version": self.tool_version,
            "complete": not self.partial,
            "partial": list(self.partial),
            **self.body(),
        }

    def json(self) -> str:
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The document, in pieces of some size."""
        return _in_pieces(_json_parts(self._keys()))

    def text_pieces(self, with_color: bool = False) -> Iterator[str]:
        """The answer as text, in pieces of some size."""
        return _in_pieces(
            painted(line, with_color) + "\n" for line in self.lines()
        )


Found = TypeVar("Found")


class TopReport(Report, Generic[Found]):
    """An answer that lists what was found, the most important first.

    top: items to show; 0: all; None: all in JSON, few as text.
    how: the command up to the verb, as a person types it."""

    found: Found
    top: int | None = None
    how: str = "goref"


def as_text(lines: Sequence[str], with_color: bool = False) -> str:
    return "".join(painted(line, with_color) + "\n" for line in lines)


def as_json(document: Json) -> str:
    import json  # takes a millisecond that text does not need

    return json.dumps(document, indent=1) + "\n"


def _json_parts(keys: Mapping[str, Json | Listed]) -> Iterator[str]:
    import json

    line = json.JSONEncoder().encode
    before = "{"
    for key, value in keys.items():
        yield f"{before}\n {line(key)}: "
        before = ","
        if isinstance(value, Listed):
            yield from _listed_parts(value, line)
        else:
            yield json.dumps(value, indent=1).replace("\n", "\n ")
    yield "\n}\n"


def _listed_parts(
    entries: Listed, line: Callable[[Document], str]
) -> Iterator[str]:
    before = "["
    for entry in entries:
        yield f"{before}\n  {line(entry)}"
        before = ","
    yield "[]" if before == "[" else "\n ]"


def _in_pieces(parts: Iterable[str]) -> Iterator[str]:
    piece: list[str] = []
    chars = 0
    for part in parts:
        piece.append(part)
        chars += len(part)
        if chars >= _PIECE_CHARS:
            yield "".join(piece)
            piece, chars = [], 0
    yield "".join(piece)


LOWER_BOUNDS = "sizes are lower bounds"
# Memory in a gap may be held by an object, or may hold what it holds.
UNCERTAIN = "retained sizes may be too small or too large"
BOTH = f"{LOWER_BOUNDS}, {UNCERTAIN}"


def partial_lines(
    reasons: Sequence[str], consequence: str = LOWER_BOUNDS
) -> list[str]:
    if not reasons:
        return []
    return [
        styled(f"PARTIAL: {', '.join(reasons)}: {consequence}", "warn")
    ]
