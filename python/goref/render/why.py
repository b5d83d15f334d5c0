# SPDX-License-Identifier: Apache-2.0
"""goref why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from . import block as of_block
from . import holders as of_holders
from .report import UNCERTAIN, Report, as_json, fields_of, partial_lines
from .sites import allocation_document, allocation_lines
from .sizes import apart, retains, sizes_of, without
from .style import title
from .table import table
from .units import human_bytes

if TYPE_CHECKING:
    from .._goref import (
        Held,
        Holders,
        Hop,
        ObjectInfo,
        StackFrame,
        Variable,
        Vertex,
        Why,
    )
    from .report import Document

# This is not certain if spans were lost.
_NOWHERE = ("memory outside the Go heap", "free memory of the Go heap")
MAX_LINES = 40  # of a chain; a list may have a million elements
MAX_HOPS = 1000  # of a chain in JSON
_NOT_KNOWN = "not known: in no part of the heap that could be read"


class WhyReport(Report):
    """The chain of references that holds an object.

    asked: what a person typed, if the address was read from there.
    variable: what was asked for, if it lies in no object.
    holders: who keeps the object alive, with paths and roots.
    not_known: why that is not known.
    vertices: hops of the chain by address, for their sizes.
    freed: the bytes that nothing would hold without the variable, and the
    part of them in C. None: it is not known, or it is a part of a variable.
    is_holder: words of the variable lead to objects, or to blocks of C.
    stack: the calls that allocated it; None: not sampled.
    block: the block of C at the address, if it is in one.
    root: the stack or other memory of C that was asked for by its name."""

    why: Why
    asked: str | None = None
    variable: Variable | None = None
    holders: Holders | None = None
    not_known: str = ""
    vertices: Mapping[int, Vertex] = {}
    freed: tuple[int, int] | None = None
    is_holder: bool = False
    shows_paths: bool = False
    shows_roots: bool = False
    exclude_weak: bool = False
    stack: Sequence[StackFrame] | None = None
    block: ObjectInfo | None = None
    root: Vertex | None = None

    def lines(self) -> list[str]:
        why = self.why
        lines = []
        if self.asked:
            lines.append(f"{self.asked} refers to {why.addr:#x}")
        if self.variable:
            lines += self._variable_lines(self.variable)
        elif self.block:
            lines += self._block_lines(self.block)
        elif self.root:
            lines += _memory_lines(why, self.root)
        elif not why.is_object:
            what = self._description() or "no object of the heap"
            lines.append(f"{why.addr:#x}: {what}")
        else:
            lines.append(_object_line(why))
            lines += self._verdict_lines()
            lines += self._chain_lines()
            lines += self._holder_lines()
            lines += allocation_lines(self.stack)
        if self.partial:
            consequence = "other holders may exist in the missing part"
            if self.holders:
                consequence += f", {UNCERTAIN}"
            lines += partial_lines(self.partial, consequence)
        return lines

    def _block_lines(self, block: ObjectInfo) -> list[str]:
        name = block.type or of_block.NAME
        where = f" + {block.offset}" if block.offset else ""
        lines = [
            f"{self.why.addr:#x}: {name}, {block.bytes:,} bytes at "
            f"{block.base_addr:#x}{where}"
        ]
        if not self.holders or not self.holders.holder:
            lost = of_block.lost_words(block, self.partial)
            if block.has_leaked_referrers and not self.partial:
                lost += " (`object' lists them)"
            return [*lines, lost]
        lines += self._verdict_lines()
        lines += of_holders.path_lines(self.holders, self.exclude_weak)
        if self.shows_roots:
            lines += of_holders.root_lines(self.holders, self.exclude_weak)
        return lines

    def _section(self) -> str:
        """The section of a variable: data, bss, noptrdata, noptrbss."""
        return (self._description() or "").partition(":")[0]

    def _variable_lines(self, variable: Variable) -> list[str]:
        section = self._section()
        lines = [
            f"{variable.name}: {variable.type}, {variable.bytes:,} bytes "
            f"at {variable.addr:#x}" + (f" ({section})" if section else ""),
        ]
        if not variable.held and not self.is_holder:
            return [*lines, "It points to no object of the heap."]
        if self.freed is not None:
            freed = without(*self.freed, of_holders.exact_bytes)
            lines.append(title(f"Without it, {freed}."))
        if not variable.held:
            return [*lines, "Only words that are no pointers lead to C."]
        lines.append("It points to:")
        lines += table(
            [_held_row(held) for held in variable.held], left=[0, 1, 2, 3]
        )
        if variable.nothers:
            lines.append(f"  and {variable.nothers:,} more")
        if variable.is_cut:
            lines.append("  and what the rest of it points to")
        return lines

    def _description(self) -> str | None:
        if self.partial and self.why.description in _NOWHERE:
            return _NOT_KNOWN
        return self.why.description

    def _verdict_lines(self) -> list[str]:
        """Who holds it, by the object graph, in one line."""
        if self.not_known:
            return [f"who else holds it is not known: {self.not_known}"]
        if not self.holders or not self.holders.holder:
            return []
        end = of_holders.holder_line(self.holders.holder, self.exclude_weak)
        return [title(f"held {end}")]

    def _holder_lines(self) -> list[str]:
        """The paths and the roots that were asked for."""
        if self.not_known or not self.holders or not self.holders.holder:
            return []
        lines = []
        if self.shows_paths:
            lines += of_holders.path_lines(self.holders, self.exclude_weak)
        if self.shows_roots:
            lines += of_holders.root_lines(self.holders, self.exclude_weak)
        return lines

    def _chain_lines(self) -> list[str]:
        why = self.why
        if why.is_reachable:
            rows = _hop_rows(why, self.vertices)
            return [_root_line(why), *table(rows, left=[0, 1, 2])]
        if self.partial:
            return ["not reached from what could be read"]
        return ["not reachable: garbage, or not yet swept"]

    def body(self) -> Document:
        why = self.why
        return {
            "address": f"{why.addr:#x}",
            "object": self._object_document(),
            "allocated_by": allocation_document(self.stack),
            "reachable": (
                self.block.is_reachable if self.block else why.is_reachable
            ),
            "root": _root_document(why) if why.is_reachable else None,
            "path": [
                _hop_document(hop, self.vertices.get(hop.addr or 0))
                for _, hop in chain_ends(why.hops)
            ],
            "path_left_out": max(0, len(why.hops) - MAX_HOPS),
            "description": self._description(),
            "variable": self._variable_document(),
            **self._holders_document(),
        }

    def _object_document(self) -> Document | None:
        block = self.block
        if block:
            return {
                "base": f"{block.base_addr:#x}",
                **fields_of(block, "bytes type offset"),
                "kind": "c",
                "leaked": of_block.is_leaked(block, self.partial),
            }
        return _object_document(self.why) if self.why.is_object else None

    def _holders_document(self) -> Document:
        found = self.holders
        if not found or not found.holder:
            return {
                **(
                    sizes_of(self.root, "retained")
                    if self.root
                    else apart(None, None, "retained")
                ),
                "holder": None,
                "paths": [],
                "paths_complete": False,
                "roots": [],
                "root_count": None,
                "root_groups": [],
            }
        return {
            **sizes_of(found, "retained"),
            "holder": of_holders.holder_document(found.holder),
            "paths": [of_holders.path_document(p) for p in found.paths],
            "paths_complete": found.is_complete,
            "roots": of_holders.root_documents(found),
            "root_count": found.all_roots if self.shows_roots else None,
            "root_groups": of_holders.root_group_documents(found),
        }

    def _variable_document(self) -> Document | None:
        variable = self.variable
        if not variable:
            return None
        return {
            "name": variable.name,
            "type": variable.type,
            "address": f"{variable.addr:#x}",
            "bytes": variable.bytes,
            "section": self._section(),
            "holds": [_held_document(held) for held in variable.held],
            "others": variable.nothers,
            "complete": not variable.is_cut,
            **apart(*(self.freed or (None, None)), "retained"),
        }


def why_json(reports: Sequence[WhyReport]) -> str:
    """One answer is an object, several are an array."""
    documents = [report.document() for report in reports]
    return as_json(documents if len(documents) > 1 else documents[0])


def _object_line(why: Why) -> str:
    kind = why.type or "object of unknown type"
    where = f" + {why.offset}" if why.offset else ""
    return (
        f"{why.addr:#x}: {kind}, {why.bytes:,} bytes "
        f"at {why.base_addr:#x}{where}"
    )


def _memory_lines(why: Why, root: Vertex) -> list[str]:
    lost = without(
        root.retained_bytes, root.retained_c_bytes, of_holders.exact_bytes
    )
    return [
        f"{root.name}: {root.kind}, from {why.addr:#x} on",
        title(f"Without it, {lost}."),
    ]


def _root_line(why: Why) -> str:
    words = f"{why.root_kind}"
    if why.goroutine_id is not None:
        words += f", goroutine {why.goroutine_id}"
    return f"billed to {why.root_name} ({words}):"


def _hop_rows(why: Why, vertices: Mapping[int, Vertex]) -> list[list[str]]:
    rows = [
        [
            f"{'->' if i else '  '} {hop.name}",
            "" if hop.addr is None else f"{hop.addr:#x}",
            hop.type or "",
            *_size_cells(vertices.get(hop.addr or 0)),
        ]
        for i, hop in _ends(why.hops, MAX_LINES)
    ]
    left_out = len(why.hops) - len(rows)
    if left_out:
        middle = MAX_LINES // 2
        rows.insert(middle, [f"   ... {left_out:,} more", "", "", "", ""])
    return rows


def _size_cells(vertex: Vertex | None) -> list[str]:
    """The own size of an object, and the retained one."""
    if vertex is None:
        return ["", ""]
    own = human_bytes(vertex.bytes) if vertex.kind == "object" else ""
    return [own, retains(vertex)]


def chain_ends(hops: Sequence[Hop]) -> list[tuple[int, Hop]]:
    """The hops of a chain that a document has, with their numbers."""
    return _ends(hops, MAX_HOPS)


def _ends(hops: Sequence[Hop], most: int) -> list[tuple[int, Hop]]:
    """The first and the last hops, with their numbers, if there are too
    many."""
    numbered = list(enumerate(hops))
    if len(numbered) <= most:
        return numbered
    return numbered[: most // 2] + numbered[-(most // 2) :]


def _held_row(held: Held) -> list[str]:
    offset = held.addr - held.base_addr
    return [
        held.name,
        held.type,
        f"{held.addr:#x}",
        f"{held.bytes:,} bytes"
        + (" in C" if held.is_c else "")
        + (f" at {held.base_addr:#x} + {offset}" if offset else ""),
    ]


def _held_document(held: Held) -> Document:
    return {
        "name": held.name,
        "type": held.type,
        "address": f"{held.addr:#x}",
        "base": f"{held.base_addr:#x}",
        "bytes": held.bytes,
        "kind": "c" if held.is_c else "go",
    }


def _object_document(why: Why) -> Document:
    return {
        "base": f"{why.base_addr:#x}",
        **fields_of(why, "bytes type offset"),
        "kind": "go",
        "leaked": False,
    }


def _root_document(why: Why) -> Document:
    return {
        "name": why.root_name,
        "kind": why.root_kind,
        "goroutine_id": why.goroutine_id,
    }


def _hop_document(hop: Hop, vertex: Vertex | None) -> Document:
    return {
        "name": hop.name,
        "type": hop.type,
        "address": None if hop.addr is None else f"{hop.addr:#x}",
        "bytes": vertex and vertex.bytes,
        **(
            sizes_of(vertex, "retained")
            if vertex
            else apart(None, None, "retained")
        ),
    }
