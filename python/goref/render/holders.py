# SPDX-License-Identifier: Apache-2.0
"""Who keeps an object alive: paths, roots, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import fields_of
from .sizes import retains, sizes_of, without
from .table import table
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .._goref import (
        GoroutineBrief,
        Holder,
        Holders,
        Path,
        PathHop,
        ReachingRoot,
        RootGroup,
        Vertex,
    )
    from .report import Document

_MAX_ROOTS = 20  # rows of a table
_MAX_HOPS = 24  # of a path in a text; the middle of a longer one is cut


def exact_bytes(count: int) -> str:
    """For a person, and to the byte."""
    if count < 1024:
        return human_bytes(count)
    return f"{human_bytes(count)} ({count:,} bytes)"


def goroutine_text(goroutine: GoroutineBrief) -> str:
    """goroutine 7 (main.serve), waiting: chan receive"""
    text = f"goroutine {goroutine.id}"
    if goroutine.function:
        text += f" ({goroutine.function})"
    text += f", {goroutine.state}"
    if goroutine.wait_reason:
        text += f": {goroutine.wait_reason}"
    return text


def holder_line(holder: Holder, exclude_weak: bool = False) -> str:
    """The end of the answer: who holds it."""
    sizes = holder.freed_bytes, holder.freed_c_bytes
    freed = f"without it, {without(*sizes, exact_bytes)}"
    if holder.kind == "several":
        return _several_line(holder, freed, exclude_weak)
    name = holder.name or "an unnamed root"
    if holder.goroutine:
        text = goroutine_text(holder.goroutine)
        name = text if holder.kind == "goroutine" else f"{name} of {text}"
    return f"only through {name}; {freed}"


def _several_line(holder: Holder, freed: str, exclude_weak: bool) -> str:
    if exclude_weak and holder.nroots == 0:
        return "only by weak references"
    roots = counted(holder.nroots, "root")
    if holder.is_more:
        roots += " or more"
    line = f"by {roots}, none alone"
    if exclude_weak and holder.nroots == 1:
        line = "by 1 root and by weak references, none alone"
    if holder.vertex:
        where = f"{holder.vertex.name} at {holder.vertex.addr:#x}"
        line += f"; all paths go through {where}; {freed}"
    return line


# ------------------------------------------------------------------- paths


CONSERVATIVE = (
    "~> the collector does not follow this word: it may be a number"
)


def path_lines(holders: Holders, exclude_weak: bool = False) -> list[str]:
    """All paths, root first. The part that a path shares with one before it is
    not printed again."""
    aside = ", weak references aside" if exclude_weak else ""
    if not holders.paths:
        return [f"no path from a root{aside}"]
    number = counted(len(holders.paths), "shortest path")
    if holders.is_complete and len(holders.paths) == 1:
        number = f"one root reaches it{aside}; the shortest path from there"
        aside = ""
    elif holders.is_complete:
        number += " from all roots that reach it"
    elif len(holders.paths) > 1:
        number += " from different roots"
    pieces = _pieces(holders.paths)
    rows = table([row for piece in pieces for row in piece], left=[0, 1, 2])
    lines = [f"{number}{aside}:"]
    for i, (path, piece) in enumerate(zip(holders.paths, pieces)):
        lines.append(f"{i + 1}. {_root_text(path.hops[0].vertex, path)}")
        lines += rows[: len(piece)]
        rows = rows[len(piece) :]
    if any(hop.is_conservative for path in holders.paths for hop in path.hops):
        lines.append(CONSERVATIVE)
    return lines


def _root_text(vertex: Vertex, path: Path) -> str:
    words = vertex.kind
    if path.goroutine:
        words += f", {goroutine_text(path.goroutine)}"
    return f"{vertex.name} ({words})"


def _pieces(paths: Sequence[Path]) -> list[list[list[str]]]:
    """The rows of each path up to where it joins one before."""
    met: dict[int, int] = {}
    pieces = []
    for number, path in enumerate(paths, 1):
        rows = []
        for i, hop in enumerate(path.hops):
            joined = met.setdefault(hop.vertex.vertex, number)
            if joined != number:
                rows.append(_joining_row(hop, i, joined))
                break
            if hop.left_out:
                rows.append(_middle_row(hop.left_out))
            rows.append(_hop_row(hop, i))
        left_out = sum(hop.left_out for hop in path.hops)
        pieces.append(_without_middle(rows, left_out))
    return pieces


def _hop_row(hop: PathHop, number: int) -> list[str]:
    vertex = hop.vertex
    arrow = "~>" if hop.is_conservative else "->"
    is_memory = vertex.kind == "object"
    return [
        f"{arrow if number else '  '} {hop.name}".rstrip(),
        "" if vertex.addr is None else f"{vertex.addr:#x}",
        vertex.type or ("C block" if vertex.is_c and is_memory else ""),
        human_bytes(vertex.bytes) if is_memory else "",
        retains(vertex),
    ]


def _joining_row(hop: PathHop, number: int, joined: int) -> list[str]:
    row = _hop_row(hop, number)
    return [*row[:2], f"(from here on as path {joined})", "", ""]


def _middle_row(left_out: int) -> list[str]:
    return [f"   ... {left_out:,} hops ...", "", "", "", ""]


def _without_middle(rows: list[list[str]], left_out: int) -> list[list[str]]:
    """left_out: hops that a row stands for already."""
    cut = len(rows) - _MAX_HOPS
    if cut <= 1:
        return rows
    half = _MAX_HOPS // 2
    middle = _middle_row(cut + left_out - bool(left_out))
    return [*rows[:half], middle, *rows[-half:]]


# ------------------------------------------------------------------- roots


def root_lines(holders: Holders, exclude_weak: bool = False) -> list[str]:
    """All roots that reach it; many are counted by name."""
    aside = ", weak references aside" if exclude_weak else ""
    number = counted(holders.all_roots, "root")
    verb = "reaches" if holders.all_roots == 1 else "reach"
    lines = [f"{number} {verb} it{aside}:"]
    if not holders.all_roots:
        return [f"no root reaches it{aside}"]
    if holders.all_roots <= _MAX_ROOTS:
        rows = [["distance", "root", "kind", "goroutine"]]
        rows += [_root_row(root) for root in holders.roots]
        return lines + table(rows, left=[1, 2, 3], has_head=True)
    rows = [["roots", "distance", "root", "kind", "goroutine"]]
    rows += [_group_row(group) for group in holders.groups[:_MAX_ROOTS]]
    lines += table(rows, left=[2, 3, 4], has_head=True)
    cut = sum(g.roots for g in holders.groups[_MAX_ROOTS:]) + holders.ungrouped
    if cut:
        lines.append(f"  and {counted(cut, 'root')} of other names")
    return lines


def _root_row(root: ReachingRoot) -> list[str]:
    return [
        f"{root.distance:,}",
        root.vertex.name,
        root.vertex.kind,
        goroutine_text(root.goroutine) if root.goroutine else "",
    ]


def _group_row(group: RootGroup) -> list[str]:
    goroutine = ""
    if group.goroutine_id is not None:
        goroutine = f"goroutine {group.goroutine_id}"
        if group.roots > 1:
            goroutine += " ..."
    return [
        f"{group.roots:,}",
        f"{group.least_distance:,}",
        group.name,
        group.kind,
        goroutine,
    ]


# -------------------------------------------------------------------- JSON


def _hex(addr: int | None) -> str | None:
    return None if addr is None else f"{addr:#x}"


def goroutine_document(goroutine: GoroutineBrief | None) -> Document | None:
    if not goroutine:
        return None
    return fields_of(goroutine, "id state wait_reason function")


def holder_document(holder: Holder) -> Document:
    vertex = holder.vertex
    return {
        "only": holder.kind != "several",
        "kind": holder.kind,
        "name": holder.name,
        "root": vertex.kind if vertex and holder.name else None,
        "through": (
            {
                "type": vertex.type,
                "address": _hex(vertex.addr),
                **sizes_of(vertex, "retained"),
            }
            if vertex and not holder.name
            else None
        ),
        **sizes_of(holder, "freed"),
        "goroutine": goroutine_document(holder.goroutine),
        "roots": holder.nroots or None,
        "more_roots": holder.is_more,
    }


def path_document(path: Path) -> list[Document]:
    return [
        {
            "name": hop.name,
            "type": hop.vertex.type,
            "address": _hex(hop.vertex.addr),
            **fields_of(hop.vertex, "bytes kind goroutine_id"),
            **sizes_of(hop.vertex, "retained"),
            "word": _hex(hop.word_addr),
            "conservative": hop.is_conservative,
            "left_out": hop.left_out,
        }
        for hop in path.hops
    ]


def root_documents(holders: Holders) -> list[Document]:
    return [
        {
            **fields_of(root.vertex, "name kind type"),
            "address": _hex(root.vertex.addr),
            "distance": root.distance,
            "goroutine": goroutine_document(root.goroutine),
        }
        for root in holders.roots
    ]


def root_group_documents(holders: Holders) -> list[Document]:
    return [
        {
            **fields_of(group, "name kind roots"),
            "distance": group.least_distance,
        }
        for group in holders.groups
    ]
