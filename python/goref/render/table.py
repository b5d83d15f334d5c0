# SPDX-License-Identifier: Apache-2.0
"""Tables and lines of text."""

import textwrap
from collections.abc import Iterable, Sequence

from .style import joined, styled
from .units import printable

WIDTH = 100  # columns, where a line can be broken


def wrapped(line: str, further: int = 6) -> list[str]:
    """The line in pieces that fit, the further ones so many columns further
    in. A word stays whole."""
    indent = " " * (len(line) - len(line.lstrip()) + further)
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(
    rows: Sequence[Sequence[str]],
    left: Iterable[int] = (),
    has_head: bool = False,
) -> list[str]:
    """Aligned columns. left: the columns of text; the others are numbers,
    which go to the right. has_head: the first row names the columns."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    left = set(left)
    lines = [
        _row(row, widths, [i in left for i in range(len(row))])
        for row in cells
    ]
    return [*map(_head, lines[:has_head]), *lines[has_head:]]


def _cell(text: str) -> str:
    """A cell without what would break the table. It keeps its style."""
    return text if text.isprintable() else printable(text)


def _row(
    cells: Sequence[str], widths: Sequence[int], is_left: Sequence[bool]
) -> str:
    parts = []
    for cell, width, at_left in zip(cells, widths, is_left, strict=True):
        blanks = " " * (width - len(cell))
        parts += [*(["  ", cell, blanks] if at_left else ["  ", blanks, cell])]
    while parts and not parts[-1].strip():
        parts.pop()
    whole = joined(parts)
    return whole if not whole.endswith(" ") else whole.rstrip()


def _head(line: str) -> str:
    return styled(line, "head")


def of_how_many(shown: int, number: int) -> str:
    """The words behind the title of a table that was cut."""
    return f" (of {number:,})" if shown < number else ""
