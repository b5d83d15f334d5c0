# SPDX-License-Identifier: Apache-2.0
"""Values as Delve writes them, on several lines if they are long.

The scanner writes a value on one line. A long one is broken behind the commas
of its outermost brackets, and so on inside; types are never broken. Nothing
but spaces at the ends of lines is left out.
"""

from __future__ import annotations

import re

_WIDTH = 80
_INDENT = "    "
_MAX_DEPTH = 64  # brackets in brackets
_MAX_HEADER = 64  # characters of the end of a slice's header
_HEADER = re.compile(r"\S len: \d+(, cap: \d+)?\Z")
_PAIRS = {"{": "}", "[": "]", "(": ")"}


def value_lines(before: str, text: str, width: int = _WIDTH) -> list[str]:
    """A value behind the text @before of its first line, such as a name."""
    if len(before) + len(text) <= width:
        return [before + text]
    indent = before[: len(before) - len(before.lstrip())]
    ends = _find_ends(text)
    return _lines(before, text, (0, len(text)), ends, indent, width, 0)


def _find_ends(text: str) -> dict[int, int]:
    """Where brackets end, by where they begin; not those in strings."""
    ends: dict[int, int] = {}
    begun: list[int] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == '"':
            at = _string_end(text, at)
        elif char in _PAIRS:
            begun.append(at)
        elif begun and char == _PAIRS[text[begun[-1]]]:
            ends[begun.pop()] = at
        at += 1
    return ends


def _string_end(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at


def _has_values(text: str, start: int, end: int) -> bool:
    """Do these brackets have values, and not a part of a type: `[]int`,
    `map[string]int`, `struct { A int }`?"""
    char = text[start]
    if char == "(":
        return False
    if char == "{":
        return not text.endswith(("struct ", "interface "), 0, start)
    is_begun = start == 0 or text[start - 1] in " ,[{"
    is_ended = end + 1 == len(text) or text[end + 1] in ",]}:"
    return is_begun and is_ended


def _outermost(
    text: str, span: tuple[int, int], ends: dict[int, int]
) -> tuple[int, int] | None:
    """The last brackets with values in a part of the text."""
    found = None
    at, end = span
    while at < end:
        if text[at] == '"':
            at = _string_end(text, at)
        elif at in ends:
            if _has_values(text, at, ends[at]):
                found = (at, ends[at])
            at = ends[at]
        at += 1
    return found


def _is_in_header(text: str, begin: int, comma: int) -> bool:
    """Does the comma belong to `[]T len: 2, cap: 2, [...]`? A field may be
    called `len', too."""
    start = max(begin, comma - _MAX_HEADER)
    return bool(_HEADER.search(text, start, comma))


def _items(
    text: str, span: tuple[int, int], ends: dict[int, int]
) -> list[tuple[int, int]]:
    """The parts between the commas, each with its comma."""
    items = []
    begin = at = span[0]
    while at < span[1]:
        if text[at] == '"':
            at = _string_end(text, at)
        elif at in ends:
            at = ends[at]
        elif text[at] == "," and not _is_in_header(text, begin, at):
            items.append((begin, at + 1))
            begin = at + 2 if text[at + 1 : at + 2] == " " else at + 1
        at += 1
    if begin < span[1]:
        items.append((begin, span[1]))
    return items


def _lines(
    before: str,
    text: str,
    span: tuple[int, int],
    ends: dict[int, int],
    indent: str,
    width: int,
    depth: int,
) -> list[str]:
    whole = text[span[0] : span[1]]
    brackets = _outermost(text, span, ends)
    is_short = len(before) + len(whole) <= width
    if is_short or not brackets or depth == _MAX_DEPTH:
        return [before + whole]
    start, end = brackets
    inside = indent + _INDENT
    lines = [before + text[span[0] : start + 1]]
    items = _items(text, (start + 1, end), ends)
    if text[start] == "[" and not any(
        _outermost(text, item, ends) for item in items
    ):
        lines += _filled([text[a:b] for a, b in items], inside, width)
    else:
        for item in items:
            lines += _lines(
                inside, text, item, ends, inside, width, depth + 1
            )
    return [*lines, indent + text[end : span[1]]]


def _filled(items: list[str], indent: str, width: int) -> list[str]:
    """Numbers and other short elements: as many on a line as fit."""
    lines = [""]
    for item in items:
        if lines[-1] and len(indent) + len(lines[-1]) + len(item) > width:
            lines.append("")
        lines[-1] += item
    return [indent + line for line in lines]
