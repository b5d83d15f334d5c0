# SPDX-License-Identifier: Apache-2.0
"""The trees of the page, bounded: what keeps what alive, and references as
they are billed.

A tree is a list of nodes, the top first and parents before children; it may
be too deep to nest. A node has: p, the index of its parent; n, its name; b,
the bytes of all below and itself; cb, the part of it in blocks of C, if any;
o, its own bytes; c, how many are merged in it; is_c, if it is a block or a
root of C. What is left out below a node is b - o less the b of its children;
x says how many rows that is, where it is known."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .limits import NODES, short
from .origins import is_c_kind

if TYPE_CHECKING:
    from .._goref import Dominator, Dominators
    from ..render.report import Document


def of_dominators(found: Dominators) -> Document:
    """The tree of Scan.dominators() of the program."""
    nodes: list[dict[str, Any]] = []
    line: list[int] = []  # the last row of each depth
    for row in found.rows:
        del line[row.depth :]
        nodes.append(_dominator(row, line[-1] if line else None))
        line.append(len(nodes) - 1)
    return {
        "reached_bytes": found.reached_bytes,
        "cut": sum(row.cut for row in found.rows),
        "nodes": nodes or [_top(found.reached_bytes)],
    }


def _top(whole: int) -> dict[str, Any]:
    return {
        "p": None,
        "n": "the program",
        "b": whole,
        "o": 0,
        "c": 1,
        "kind": "top",
    }


def _dominator(row: Dominator, parent: int | None) -> dict[str, Any]:
    node: dict[str, Any] = {
        "p": parent,
        "n": "the program" if row.kind == "top" else short(row.name),
        "b": row.retained_bytes,
        "o": row.bytes,
        "c": row.vertices,
        "kind": row.kind,
    }
    if row.type and row.type != row.name:
        node["type"] = short(row.type)
    if row.addr is not None:
        node["at"] = f"{row.addr:#x}"
    if row.goroutine_id is not None:
        node["goroutine"] = row.goroutine_id
    if row.retained_c_bytes:
        node["cb"] = row.retained_c_bytes
    if _is_c(row):
        node["is_c"] = True
    if row.cut:
        node["x"] = row.cut
    return node


def _is_c(row: Dominator) -> bool:
    """Is it a block of C, or a root of C? An object of Go has bytes of Go, and
    the kinds of roots of C say so."""
    if row.kind == "object":
        return 0 < row.retained_c_bytes == row.retained_bytes
    return is_c_kind(row.kind)


def of_references(lines: Iterable[str]) -> Document:
    """The largest nodes of a profile, by its lines in the format jsonl. A
    parent has at least the bytes of its child and comes first, so the largest
    are a tree."""
    rows = [json.loads(line) for line in lines]
    rows.sort(key=lambda row: (-row["total_bytes"], row["id"]))
    whole = sum(r["total_bytes"] for r in rows if r["parent"] is None)
    nodes = [_top(whole)]
    index: dict[int | None, int] = {None: 0}
    for row in rows[: NODES - 1]:
        index[row["id"]] = len(nodes)
        nodes.append(_reference(row, index[row["parent"]]))
    return {
        "reached_bytes": whole,
        "cut": len(rows) + 1 - len(nodes),
        "nodes": nodes,
    }


def _reference(row: dict[str, Any], parent: int) -> dict[str, Any]:
    node = {
        "p": parent,
        "n": short(row["name"]),
        "b": row["total_bytes"],
        "o": row["bytes"],
        "c": row["total_objects"],
    }
    if "kind" in row:
        node["kind"] = row["kind"]
    return node
