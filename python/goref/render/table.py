# SPDX-License-Identifier: Apache-2.0
"""Tables and lines of text."""

import textwrap
from collections.abc import Iterable, Sequence

from .units import printable

WIDTH = 100  # columns, where a line can be broken


def wrapped(line: str) -> list[str]:
    """The line in pieces that fit, the further ones six columns further in. A
    word stays whole."""
    indent = " " * (len(line) - len(line.lstrip()) + 6)
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(
    rows: Sequence[Sequence[str]], left: Iterable[int] = ()
) -> list[str]:
    """Aligned columns. left: the columns of text; the others are numbers,
    which go to the right."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    left = set(left)
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append(("  " + "  ".join(padded)).rstrip())
    return lines


def of_how_many(shown: int, number: int) -> str:
    """The words behind the title of a table that was cut."""
    return f" (of {number:,})" if shown < number else ""
