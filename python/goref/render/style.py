# SPDX-License-Identifier: Apache-2.0
"""Lines with colors for a terminal.

A line is a text, and a `Line` is one that knows which of its parts have a
style. Without colors, both print the same text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .units import printable

# Styles, and the parameters of SGR (ECMA-48, 8.3.117) that terminals take.
_SGR = {
    "bad": "1;31",
    "warn": "1;33",
    "good": "1;32",
    "title": "1",
    "head": "2",
    "command": "36",
    "grown": "31",
    "shrunk": "32",
}


class Span(NamedTuple):
    """Characters [start, end) of a line."""

    start: int
    end: int
    style: str


class Line(str):
    """A line with spans, which are in order and do not overlap."""

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, text: str, spans: Iterable[Span]) -> Line:
        line = cls(text)
        line.spans = tuple(spans)
        return line


def styled(text: str, style: str) -> Line:
    """A whole line, or a cell of a table, in one style."""
    return Line.of(text, [Span(0, len(text), style)])


def title(text: str) -> Line:
    """The line above a table or a list."""
    return styled(text, "title")


def joined(parts: Sequence[str]) -> Line:
    """One line of parts, which keep their styles."""
    spans: list[Span] = []
    at = 0
    for part in parts:
        spans += [
            Span(at + span.start, at + span.end, span.style)
            for span in getattr(part, "spans", ())
        ]
        at += len(part)
    return Line.of("".join(parts), spans)


def painted(line: str, with_color: bool) -> str:
    """The line as it is written: printable, and with the sequences that a
    terminal takes for colors if it is to have them."""
    spans = getattr(line, "spans", ()) if with_color else ()
    pieces = []
    at = 0
    for start, end, style in spans:
        pieces.append(printable(line[at:start]))
        text = printable(line[start:end])
        pieces.append(f"\x1b[{_SGR[style]}m{text}\x1b[0m" if text else "")
        at = end
    pieces.append(printable(line[at:]))
    return "".join(pieces)
