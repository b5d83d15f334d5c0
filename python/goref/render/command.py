# SPDX-License-Identifier: Apache-2.0
"""Commands that an answer suggests: they run as they are printed."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import TYPE_CHECKING

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


def next_lines(rows: Collection[tuple[str, str]]) -> list[str]:
    """Commands to run next, and what each tells. A command is a line that can
    be copied; what does not fit behind a long one is left out."""
    aligned = table([list(row) for row in rows], left=[0, 1])
    if max(map(len, aligned)) <= WIDTH:
        return ["", "Next", *aligned]
    lines = []
    for line, what in rows:
        whole = f"  {line}  {what}"
        lines.append(whole if len(whole) <= WIDTH else f"  {line}")
    return ["", "Next", *lines]


def operand(vertex: Vertex) -> str | None:
    """An object or a root as an operand; None if none names it."""
    # Without a type, a name may stand for more words than this one.
    if vertex.kind == "global" and (vertex.type or vertex.name[:1] == "$"):
        return vertex.name
    if vertex.kind in ("local", "stack") and vertex.goroutine_id is not None:
        return f"{vertex.name}@{vertex.goroutine_id}"
    return None if vertex.addr is None else f"{vertex.addr:#x}"
