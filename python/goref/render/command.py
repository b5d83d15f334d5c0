# SPDX-License-Identifier: Apache-2.0
"""Commands that an answer suggests: they run as they are printed."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import TYPE_CHECKING

from .style import joined, styled
from .table import WIDTH, table

if TYPE_CHECKING:
    from .._goref import Vertex

_IN_GDB = "goref"


def command(how: str, *words: str) -> str:
    """how: the command up to the verb; `goref` in gdb. The words behind it are
    quoted where the shell or gdb would take them apart."""
    quoted = [
        word if how == _IN_GDB and " " not in word else shlex.quote(word)
        for word in words
    ]
    return " ".join([how, *quoted])


def next_lines(
    rows: Collection[tuple[str, str]], most: int | None = None
) -> list[str]:
    """Commands to run next, and what each tells: behind it, or below if one of
    them is too long. most: lines at most; the last commands are left out."""
    cells = [(styled(line, "command"), what) for line, what in rows]
    lines = table(cells, left=[0, 1])
    if max(map(len, lines), default=0) > WIDTH:
        lines = []
        for line, what in cells:
            lines += [joined(["  ", line]), f"      {what}"]
        most = most and most - most % 2
    lines = lines[:most]
    return ["", styled("Next", "title"), *lines]


def operand(vertex: Vertex) -> str | None:
    """An object or a root as an operand; None if none names it."""
    # Without a type, a name may stand for more words than this one.
    if vertex.kind == "global" and (vertex.type or vertex.name[:1] == "$"):
        return vertex.name
    if vertex.kind in ("local", "stack") and vertex.goroutine_id is not None:
        return f"{vertex.name}@{vertex.goroutine_id}"
    return None if vertex.addr is None else f"{vertex.addr:#x}"
