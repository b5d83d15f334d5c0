# SPDX-License-Identifier: Apache-2.0
"""The trees of growth and of loss, by paths of references. Each has the shape
of the trees of goref report (../tree.py): `b` of a node is the sum of what the
paths at and below it grew by, those that shrank left out; `o` is what its own
path grew by, and `c` is the change of the number of objects of all these paths.
`sign` stands before their sizes. Blocks of C are below a box of their own, by
what holds them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...trees import Change
from ..limits import NODES, short

if TYPE_CHECKING:
    from ...difference import Row
    from ...render.report import Document

TITLES = {"grown": "Grew", "shrunk": "Shrank"}


def grown_and_shrunk(changes: Sequence[Change]) -> dict[str, Document]:
    """The trees by their names, without those of nothing."""
    found = {
        "grown": _tree(changes, 1, "+", "what grew"),
        "shrunk": _tree(changes, -1, "-", "what shrank"),
    }
    return {name: tree for name, tree in found.items() if tree["nodes"][1:]}


def of_c(rows: Sequence[Row], first: int) -> list[Change]:
    """The changes of blocks of C by holder, behind so many others."""
    if not rows:
        return []
    below = [
        Change(first, row.key, row.objects, row.bytes, True) for row in rows
    ]
    return [Change(-1, "C memory", 0, 0, True), *below]


def _tree(changes: Sequence[Change], way: int, sign: str, top: str) -> Any:
    """way: 1: what grew, -1: what shrank."""
    own = [max(0, way * change.bytes) for change in changes]
    sizes = [*own]
    objects = [
        way * change.objects if size else 0
        for change, size in zip(changes, own)
    ]
    for i in range(len(changes) - 1, -1, -1):
        above = changes[i].above
        if above >= 0:
            sizes[above] += sizes[i]
            objects[above] += objects[i]
    # A path is no larger than the one above it, and comes after it: the
    # largest are a tree.
    some = [i for i, size in enumerate(sizes) if size]
    chosen = heapq.nlargest(NODES - 1, some, key=lambda i: (sizes[i], -i))
    tops = [i for i in some if changes[i].above < 0]
    whole = sum(sizes[i] for i in tops)
    count = sum(objects[i] for i in tops)
    nodes = [{"p": None, "n": top, "b": whole, "o": 0, "c": count,
              "kind": "top"}]  # fmt: skip
    index = {-1: 0}
    for i in chosen:
        index[i] = len(nodes)
        mark = {"is_c": True} if changes[i].is_c else {}
        nodes.append(
            {
                "p": index[changes[i].above],
                "n": short(changes[i].name),
                "b": sizes[i],
                "o": own[i],
                "c": objects[i],
                **mark,
            }
        )
    return {
        "sign": sign,
        "reached_bytes": whole,
        "cut": len(some) - len(chosen),
        "nodes": nodes,
    }
