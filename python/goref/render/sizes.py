# SPDX-License-Identifier: Apache-2.0
"""Sizes with parts in Go and in C. A row has the sum and the part in C. Text
prints the sum, followed by both parts. A document has the part in Go, and the
part in C beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .units import BYTES, Unit, human_bytes

if TYPE_CHECKING:
    from .._goref import Vertex
    from .report import Document


def parts(whole: int, in_c: int) -> str:
    """The parts of a size in Go and in C, if C has one."""
    if not in_c:
        return ""
    if in_c == whole:
        return "all in C"
    return f"Go {human_bytes(whole - in_c)}, C {human_bytes(in_c)}"


def c_part(whole: int, in_c: int) -> str:
    """The parts in parentheses, behind the size."""
    text = parts(whole, in_c)
    return f" ({text})" if text else ""


def both(whole: int, in_c: int, unit: Unit = BYTES) -> str:
    """The size, and its parts if C has one. C memory has no words."""
    return unit.text(whole) + c_part(whole, in_c)


def without(
    whole: int,
    in_c: int,
    size: Callable[[int], str] = human_bytes,
    gone: str = "freed",
) -> str:
    """The words for what a holder alone keeps alive, if it lets go: the
    collector frees the part in Go, but no block of C.

    gone: the word for it if there is only Go."""
    if not in_c:
        return f"{size(whole)} would be {gone}"
    lost = f"nothing would hold {size(in_c)} of C"
    if in_c == whole:
        return lost
    return f"Go would free {size(whole - in_c)}, and {lost}"


def loss(in_c: int) -> str:
    """The same in one word, for sizes that are not printed in it."""
    return "held by nothing" if in_c else "freed"


def retains(vertex: Vertex, is_partial: bool = False) -> str:
    """The words for what a vertex retains. That of a block of C is mostly its
    own, so that it needs no parts. is_partial: memory that may hold it is
    missing."""
    if vertex.is_leaked:
        return "not reached" if is_partial else "leaked"
    sizes = vertex.retained_bytes, vertex.retained_c_bytes
    is_plain = vertex.is_c and vertex.kind == "object"
    return f"retains {human_bytes(sizes[0]) if is_plain else both(*sizes)}"


def apart(whole: int | None, in_c: int | None, name: str) -> Document:
    """The keys of a size of that name. None: not known, or not asked for."""
    in_go = None if whole is None else whole - (in_c or 0)
    return {f"{name}_bytes": in_go, f"{name}_c_bytes": in_c}


def retained_of(vertex: Vertex) -> Document:
    """The keys of what a vertex retains. A leaked block retains nothing that
    could be freed without it."""
    if vertex.is_leaked:
        return apart(None, None, "retained")
    return sizes_of(vertex, "retained")


def sizes_of(row: Any, names: str, knows_c: bool = True) -> Document:
    """The keys of sizes of a row, which has `NAME_bytes' and
    `NAME_c_bytes'. knows_c: what is in C is known."""
    document: Document = {}
    for name in names.split():
        whole, in_c = (getattr(row, f"{name}{end}") for end in _ENDS)
        document |= apart(whole, in_c if knows_c else None, name)
    return document


_ENDS = ("_bytes", "_c_bytes")
