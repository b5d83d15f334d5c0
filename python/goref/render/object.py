# SPDX-License-Identifier: Apache-2.0
"""goref object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import block as of_block
from .holders import exact_bytes
from .report import UNCERTAIN, Report, fields_of, partial_lines
from .sites import allocation_document, allocation_lines
from .sizes import apart, c_part, retained_of, retains, sizes_of
from .table import table
from .units import counted, human_bytes
from .values import value_lines

if TYPE_CHECKING:
    from .._goref import (
        ObjectInfo,
        Reference,
        ReferenceGroup,
        References,
        StackFrame,
        Vertex,
    )
    from .report import Document
    from .why import WhyReport

_MAX_GROUPS = 20  # rows of a text
_SEVERAL = ("group", "top")  # roots, of which none holds it alone


class ObjectReport(Report):
    """One object of the heap.

    asked: what a person typed, if the address was read from there.
    instead: what `why` says of an address in no object.
    value: as Delve prints it; "": it is not known how; None: it was not
    asked for.
    stack: the calls that allocated it; None: not sampled."""

    info: ObjectInfo
    asked: str | None = None
    instead: WhyReport | None = None
    value: str | None = None
    stack: Sequence[StackFrame] | None = None

    def lines(self) -> list[str]:
        if self.instead:
            return [*self._value_lines(), *self.instead.lines()]
        info = self.info
        lines = []
        if self.asked:
            lines.append(f"{self.asked} refers to {info.addr:#x}")
        lines += [_headline(info), *self._value_lines()]
        lines += _fact_lines(info, self.partial)
        lines += allocation_lines(self.stack)
        if info.is_reachable or info.is_c:
            for title in "references", "referrers":
                lines += _reference_lines(
                    title, getattr(info, title), bool(self.partial)
                )
        if self.partial:
            lines += partial_lines(
                self.partial,
                f"other referrers may exist in the missing part, {UNCERTAIN}",
            )
        return lines

    def _value_lines(self) -> list[str]:
        if self.value is None:
            return []
        if not self.value:
            what = "not known"
            if (self.info.type or "").startswith("map["):
                what = "not known: this is a piece of a map"
            return [f"value: {what} (name a variable that leads to it)"]
        return value_lines("value: ", self.value)

    def body(self) -> Document:
        return {**self._body(), "value": self.value or None}

    def _body(self) -> Document:
        info = self.info
        if self.instead:
            what = self.instead.body()
            return {
                **_EMPTY,
                "address": f"{info.addr:#x}",
                "description": what["description"],
                "variable": what["variable"],
            }
        return {
            **_EMPTY,
            "address": f"{info.base_addr:#x}",
            "kind": "c" if info.is_c else "go",
            "leaked": of_block.is_leaked(info, self.partial),
            **fields_of(info, "offset type type_source bytes"),
            **(
                apart(None, None, "retained")
                if info.is_c and not info.is_reachable
                else sizes_of(info, "retained")
            ),
            "reachable": info.is_reachable,
            "unswept": info.is_unswept,
            "fresh": info.is_fresh,
            "slot": None if info.is_c else _slot_document(info),
            "span": None if info.is_c else _span_document(info),
            "allocated_by": allocation_document(self.stack),
            "specials": [
                {"kind": special.kind, "function": special.function}
                for special in info.specials
            ],
            "dominator": _dominator_document(info.dominator),
            "reference_count": info.references.total,
            "references": _documents(info.references),
            "reference_groups": _group_documents(info.references),
            "referrer_count": info.referrers.total,
            "referrers": _documents(info.referrers),
            "referrer_groups": _group_documents(info.referrers),
        }


# An address in no object has the same keys.
_EMPTY: Document = {
    "address": None,
    "kind": None,
    "leaked": None,
    "offset": None,
    "type": None,
    "type_source": None,
    "bytes": None,
    "retained_bytes": None,
    "retained_c_bytes": None,
    "reachable": False,
    "unswept": False,
    "fresh": False,
    "slot": None,
    "span": None,
    "allocated_by": None,
    "specials": [],
    "dominator": None,
    "reference_count": 0,
    "references": [],
    "reference_groups": [],
    "referrer_count": 0,
    "referrers": [],
    "referrer_groups": [],
    "description": None,
    "variable": None,
}


def dominator_name(vertex: Vertex) -> str:
    """How a person calls an immediate dominator."""
    if vertex.kind in _SEVERAL:
        return "several roots"
    if vertex.kind == "goroutine":
        return f"{vertex.name}, by several variables"
    if vertex.kind == "object":
        return f"{vertex.name} at {vertex.addr:#x}"
    words = vertex.kind
    if vertex.goroutine_id is not None:
        words += f", goroutine {vertex.goroutine_id}"
    return f"{vertex.name} ({words})"


def unused_bytes(info: ObjectInfo) -> int | None:
    """The bytes that the slot wastes; None if the size of the value is not
    known."""
    if info.type_bytes is None or info.type_bytes > info.bytes:
        return None
    return info.slot_bytes - info.type_bytes


# -------------------------------------------------------------------- text


def _headline(info: ObjectInfo) -> str:
    kind = info.type or (
        of_block.NAME if info.is_c else "object of unknown type"
    )
    where = f" + {info.offset}" if info.offset else ""
    return (
        f"{info.addr:#x}: {kind}, {info.bytes:,} bytes "
        f"at {info.base_addr:#x}{where}"
    )


def _fact_lines(info: ObjectInfo, partial: Sequence[str]) -> list[str]:
    facts = []
    if info.dominator:
        facts += [
            [
                "retains",
                exact_bytes(info.retained_bytes)
                + (
                    ""
                    if info.is_c
                    else c_part(info.retained_bytes, info.retained_c_bytes)
                ),
            ],
            ["dominator", dominator_name(info.dominator)],
        ]
    facts.append(["state", _state(info, partial)])
    if not info.is_c:
        facts += [
            ["type", f"known by {info.type_source}"],
            ["slot", _slot(info)],
            ["span", _span(info)],
        ]
    return table(facts, left=[0, 1])


def _state(info: ObjectInfo, partial: Sequence[str]) -> str:
    words = ["reachable"]
    if not info.is_reachable and info.is_c:
        words = [of_block.lost_words(info, partial)]
    elif not info.is_reachable:
        words = ["not reachable: garbage"]
    if info.is_unswept:
        words.append("its span is not yet swept")
    if info.is_fresh:
        words.append("allocated last, perhaps not yet initialised")
    for special in info.specials:
        words.append(
            f"{special.kind} {special.function}"
            if special.function
            else special.kind
        )
    return ", ".join(words)


def _slot(info: ObjectInfo) -> str:
    text = f"{info.slot_bytes:,} bytes at {info.slot_addr:#x}"
    unused = unused_bytes(info)
    if unused is not None:
        text += f", {unused:,} of them unused"
    if info.header_bytes:
        text += f" (malloc header: {info.header_bytes})"
    return text


def _span(info: ObjectInfo) -> str:
    pointers = "no pointers" if info.spanclass & 1 else "pointers"
    return (
        f"{info.span_start:#x}-{info.span_end:#x}, "
        f"slot {info.slot_index + 1:,} of {info.nslots:,}, "
        f"size class {info.spanclass >> 1}, {pointers}"
    )


def _reference_lines(
    title: str, references: References, is_partial: bool
) -> list[str]:
    if not references.total:
        return [f"no {title}"]
    lines = [f"{references.total:,} {title.removesuffix('s')}"]
    if references.total > 1:
        lines[0] += "s"
    lines[0] += ":"
    if references.groups:
        return lines + _group_lines(references)
    rows = [_row(reference, is_partial) for reference in references.list]
    lines += table(rows, left=[0, 1, 2])
    if any(reference.is_conservative for reference in references.list):
        lines.append(
            "  (~ the collector does not follow this word: it may be a number)"
        )
    others = references.total - len(references.list)
    if others:
        option = "--refs" if title == "references" else "--referrers"
        lines.append(f"  and {others:,} more ({option} shows them)")
    return lines


def _row(reference: Reference, is_partial: bool) -> list[str]:
    vertex = reference.vertex
    is_object = vertex.kind == "object"
    words = vertex.kind
    if vertex.goroutine_id is not None:
        words += f", goroutine {vertex.goroutine_id}"
    name = reference.name or "(itself)"
    return [
        f"~ {name}" if reference.is_conservative else name,
        "" if vertex.addr is None else f"{vertex.addr:#x}",
        vertex.name if is_object else f"{vertex.type or ''} ({words})".strip(),
        human_bytes(vertex.bytes) if is_object else "",
        retains(vertex, is_partial),
    ]


def _group_lines(references: References) -> list[str]:
    rows = [["references", "objects' bytes", "field", "type", "for example"]]
    for group in references.groups[:_MAX_GROUPS]:
        example = group.example_addr
        rows.append(
            [
                f"{group.references:,}",
                human_bytes(group.bytes) if group.bytes else "",
                group.name or "(itself)",
                group.type,
                "" if example is None else f"{example:#x}",
            ]
        )
    lines = table(rows, left=[2, 3, 4], has_head=True)
    cut = sum(g.references for g in references.groups[_MAX_GROUPS:])
    if cut:
        lines.append(f"  and {counted(cut, 'reference')} of other fields")
    if references.ungrouped:
        lines.append(
            f"  and {counted(references.ungrouped, 'other reference')}"
        )
    return lines


# -------------------------------------------------------------------- JSON


def _hex(addr: int | None) -> str | None:
    return None if addr is None else f"{addr:#x}"


def _slot_document(info: ObjectInfo) -> Document:
    return {
        "address": f"{info.slot_addr:#x}",
        "bytes": info.slot_bytes,
        "header_bytes": info.header_bytes,
        "unused_bytes": unused_bytes(info),
        "index": info.slot_index,
    }


def _span_document(info: ObjectInfo) -> Document:
    return {
        "start": f"{info.span_start:#x}",
        "end": f"{info.span_end:#x}",
        "slots": info.nslots,
        "span_class": info.spanclass,
        "noscan": bool(info.spanclass & 1),
    }


def _dominator_document(vertex: Vertex | None) -> Document | None:
    if not vertex:
        return None
    return {
        "name": "several roots" if vertex.kind in _SEVERAL else vertex.name,
        "kind": vertex.kind,
        "type": vertex.type,
        "address": _hex(vertex.addr),
        **sizes_of(vertex, "retained"),
        "goroutine_id": vertex.goroutine_id,
    }


def _documents(references: References) -> list[Document]:
    return [
        {
            "address": _hex(reference.vertex.addr),
            "type": reference.vertex.type,
            "name": reference.name,
            **fields_of(reference.vertex, "kind bytes goroutine_id"),
            **retained_of(reference.vertex),
            "word": _hex(reference.word_addr),
            "conservative": reference.is_conservative,
        }
        for reference in references.list
    ]


def _group_document(group: ReferenceGroup) -> Document:
    return {
        **fields_of(group, "name type references bytes"),
        "example": _hex(group.example_addr),
    }


def _group_documents(references: References) -> list[Document]:
    return [_group_document(group) for group in references.groups]
