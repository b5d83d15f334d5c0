# SPDX-License-Identifier: Apache-2.0
"""goref why --type: the merged paths to all objects of a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import Report, fields_of, partial_lines
from .table import table
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .._goref import MergedBranch, MergedTypes
    from .report import Document

_MAX_BRANCHES = 20  # rows of a text
_MAX_INDENT = 12


class MergedReport(Report):
    """How many objects of a type each branch leads to."""

    merged: MergedTypes

    def lines(self) -> list[str]:
        merged = self.merged
        number = counted(merged.objects, "object")
        lines = [
            f"{merged.type}: {number}, {human_bytes(merged.bytes)}, "
            "by their shortest paths:"
        ]
        shown = _shown(merged.branches)
        rows = [["objects", "bytes", "path"]]
        rows += [_row(merged.branches[i]) for i in shown]
        lines += table(rows, left=[2], has_head=True)
        hidden = len(merged.branches) - 1 - len(shown)
        if hidden:
            what = "branch" if hidden == 1 else "branches"
            lines.append(f"  and {hidden:,} smaller {what}")
        if merged.unreached:
            lines.append(
                f"{counted(merged.unreached, 'object')} only by weak references"
            )
        return lines + partial_lines(self.partial)

    def body(self) -> Document:
        merged = self.merged
        return {
            **fields_of(merged, "type objects bytes unreached"),
            "branches": [_document(branch) for branch in merged.branches],
        }


def _shown(branches: Sequence[MergedBranch]) -> list[int]:
    """The branches with most objects, without the top, in the order of the
    tree. What is above a branch has no fewer objects and a smaller number."""
    numbers = range(1, len(branches))
    most = sorted(numbers, key=lambda i: (-branches[i].objects, i))
    kept = set(most[:_MAX_BRANCHES])
    below: dict[int, list[int]] = {}
    for i in most:
        if i in kept:
            below.setdefault(branches[i].parent, []).append(i)
    order = []
    stack = below.get(0, [])[::-1]
    while stack:
        i = stack.pop()
        order.append(i)
        stack += below.get(i, [])[::-1]
    return order


def _row(branch: MergedBranch) -> list[str]:
    vertex = branch.example
    name = vertex.name
    if vertex.kind == "goroutine":
        name = counted(branch.vertices, "goroutine")
    elif vertex.kind == "object" and branch.vertices > 1:
        name = f"{name} ({branch.vertices:,})"
    if branch.field:
        name = f"{branch.field}  {name}"
    if vertex.kind not in ("object", "goroutine", "group"):
        name = f"{name} ({vertex.kind})"
    indent = "  " * min(branch.depth - 1, _MAX_INDENT)
    return [f"{branch.objects:,}", human_bytes(branch.bytes), indent + name]


def _document(branch: MergedBranch) -> Document:
    vertex = branch.example
    return {
        "parent": branch.parent,
        "depth": branch.depth,
        "name": vertex.name,
        "kind": vertex.kind,
        "field": branch.field,
        "type": vertex.type,
        "example": None if vertex.addr is None else f"{vertex.addr:#x}",
        **fields_of(branch, "vertices objects bytes cut"),
    }
