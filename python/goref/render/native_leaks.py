# SPDX-License-Identifier: Apache-2.0
"""goref native leaks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .report import Report, partial_lines
from .style import styled
from .table import table
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .._goref import NativeLeak, NativeLeaks
    from .report import Document

TOP = 12  # groups as text
_TEXT = 5  # columns from here on may be empty
_WORD = 8  # bytes
_NUMBERS = 4  # words in hexadecimal of an example
# A text ends with a 0, or with the bytes that were read.
_TEXT_BYTES = re.compile(rb"[\t\n\r -~]{4,}(?=\0|\Z)")
_SHARE = 0.01  # of C memory in use, above which leaks stand out
_LEAST = 16 << 10  # libc and the Go runtime lose a few KiB themselves


def stands_out(leaked_bytes: int, in_use_bytes: int) -> bool:
    """Is more leaked than what libc itself leaves?"""
    return leaked_bytes >= _LEAST and leaked_bytes > in_use_bytes * _SHARE


def leaked_line(found: NativeLeaks) -> str:
    """How much nothing holds."""
    verb = "is" if found.leaked_blocks == 1 else "are"
    return (
        f"{counted(found.leaked_blocks, 'block')} of C memory {verb} held by "
        f"nothing, {human_bytes(found.leaked_bytes)}"
    )


def verdict_line(found: NativeLeaks, is_partial: bool) -> str:
    """The same with its share of what is in use. is_partial: a holder may be
    missing."""
    share = percent(found.leaked_bytes, found.in_use_bytes)
    line = (
        f"{leaked_line(found)} ({share} of "
        f"{human_bytes(found.in_use_bytes)} in use)"
    )
    return f"in what could be read: {line}" if is_partial else line


class NativeLeaksReport(Report):
    """Blocks of C that nothing holds.

    nothing: why no block is known, if so.
    contents: the first bytes of examples, by address.
    top: groups; 0: all; None: all in JSON, 12 as text."""

    found: NativeLeaks
    nothing: str = ""
    contents: Mapping[int, bytes] = {}
    top: int | None = None

    def lines(self) -> list[str]:
        found = self.found
        if not found.is_known:
            return [
                styled(self.nothing, "title"),
                *partial_lines(self.partial, "there may be leaks"),
            ]
        lines = [
            styled(
                self._verdict(), "warn" if found.leaked_blocks else "title"
            ),
            *partial_lines(self.partial, self._consequence()),
        ]
        if not found.groups:
            return lines
        top = TOP if self.top is None else self.top
        shown = found.groups[: top or None]
        lines += ["", *self._table(shown)]
        left = found.groups[len(shown) :]
        if left:
            size = human_bytes(sum(group.bytes for group in left))
            lines.append(
                f"and {counted(len(left), 'more group')} with {size} "
                "(--top 0 shows all)"
            )
        lines += ["", "heads: blocks that no other leaked block leads to"]
        if any(group.beside for group in shown):
            lines.append(
                "beside: what holds the adjacent blocks, for at least half of "
                "these"
            )
        return lines

    def _table(self, shown: Sequence[NativeLeak]) -> list[str]:
        """The groups, without columns in which nothing stands."""
        head = ["leaked", "blocks", "of size", "heads", "example",
                "beside blocks of", "content"]  # fmt: skip
        rows = [self._cells(group) for group in shown]
        kept = [
            i
            for i in range(len(head))
            if i < _TEXT or any(row[i] for row in rows)
        ]
        cells = [[row[i] for i in kept] for row in [head, *rows]]
        left = range(_TEXT - 1, len(kept))
        return table(cells, left=tuple(left), has_head=True)

    def _verdict(self) -> str:
        found = self.found
        if not found.in_use_blocks and found.unchecked_arenas:
            return "no block could be checked: no arena is whole"
        if not found.leaked_blocks:
            held = counted(found.in_use_blocks, "block")
            size = human_bytes(found.in_use_bytes)
            return f"no leak found: all {held} in use are held ({size} in use)"
        return verdict_line(found, bool(self.partial))

    def _consequence(self) -> str:
        """The effect of a partial answer. Blocks that count as held only
        hide leaks."""
        found = self.found
        if found.unchecked_arenas and len(self.partial) == 1:
            return "leaks may be missing"
        return "a holder may be missing"

    def _cells(self, group: NativeLeak) -> list[str]:
        type_ = group.type or group.content
        text = " ".join(content(type_, group.content, group.library))
        data = self.contents.get(group.example)
        if data is not None:
            text += f"  {_first_words(data)}"
        return [
            human_bytes(group.bytes),
            f"{group.blocks:,}",
            human_bytes(group.size),
            f"{group.heads:,}",
            f"{group.example:#x}",
            beside(group.beside, group.beside_blocks, group.blocks),
            text.strip(),
        ]

    def body(self) -> Document:
        found = self.found
        return {
            "leaked_blocks": found.leaked_blocks,
            "leaked_bytes": found.leaked_bytes,
            "in_use_blocks": found.in_use_blocks,
            "in_use_bytes": found.in_use_bytes,
            "unchecked_arenas": found.unchecked_arenas,
            "groups": [
                {
                    "blocks": group.blocks,
                    "bytes": group.bytes,
                    "size": group.size,
                    "heads": group.heads,
                    "type": group.type or group.content or None,
                    "symbol": group.content or None,
                    "library": group.library or None,
                    "example": f"{group.example:#x}",
                    "beside": group.beside or None,
                    "beside_blocks": group.beside_blocks,
                    "words": self._words(group),
                }
                for group in found.groups[: self.top or None]
            ],
        }

    def _words(self, group: NativeLeak) -> list[str] | None:
        data = self.contents.get(group.example)
        if data is None:
            return None
        return [
            f"{int.from_bytes(data[i : i + 8], 'little'):#x}"
            for i in range(0, len(data), 8)
        ]


def beside(holder: str | None, beside_blocks: int, blocks: int) -> str:
    """The holder of neighbours, and beside how many of the blocks, unless it
    is all."""
    if not holder:
        return ""
    return (
        holder
        if beside_blocks == blocks
        else f"{holder} ({beside_blocks:,})"
    )


def content(
    type_: str | None, symbol: str | None, library: str | None
) -> tuple[str, str]:
    """The type of the blocks; or how a word of them leads to a variable or into
    a library, and to which; or nothing."""
    if type_ and type_ != symbol:
        return "", type_
    if symbol:
        return "leads to", symbol
    return ("leads into", library) if library else ("", "")


def text_of_words(words: Sequence[str] | None) -> str:
    """The words of the document as people read them."""
    data = (int(word, 16).to_bytes(_WORD, "little") for word in words or ())
    return _first_words(b"".join(data))


def _first_words(data: bytes) -> str:
    """Text where the bytes are text; the other words in hexadecimal, a few of
    them."""
    shown: list[str] = []
    at = numbers = 0
    while at < len(data):
        text = _TEXT_BYTES.match(data, at)
        if text:
            shown.append(json.dumps(text[0].decode("ascii")))
            end = text.end() + 1  # behind the 0 that ends it
            at = -(-end // _WORD) * _WORD
            continue
        if numbers == _NUMBERS:
            return " ".join([*shown, "..."])
        word = int.from_bytes(data[at : at + _WORD], "little")
        shown.append(f"{word:#x}")
        numbers += 1
        at += _WORD
    return " ".join(shown)
