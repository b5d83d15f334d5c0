# SPDX-License-Identifier: Apache-2.0
"""goref verify."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ledger import gap_lines, gaps_document, total_document
from .report import Report, fields_of, partial_lines
from .style import title
from .table import of_how_many, table
from .target import headline, target_document
from .verify_native import native_document, native_end, native_lines

if TYPE_CHECKING:
    from .._goref import ClassTotal, Difference, FreeSlot, Info, Verdict
    from .report import Document

_MAX_CLASSES = 10

_MOST_LOST = [
    "Most of what the last collection kept is not reached: the program has",
    "let go of it since, or something that holds it is not seen.",
]


class VerifyReport(Report):
    """A walk against the allocator's own books.

    nothing: why the C memory that the program may have is not known, if so."""

    info: Info
    verdict: Verdict
    nothing: str = ""

    def lines(self) -> list[str]:
        verdict = self.verdict
        most_lost = ["", *_MOST_LOST] if verdict.is_most_lost else []
        return [
            *headline(self.info),
            *partial_lines(self.partial),
            "",
            *_total_lines(verdict),
            "",
            *_figure_lines(verdict),
            "",
            *_pointer_lines(verdict),
            *gap_lines(verdict.gaps),
            *most_lost,
            *_class_lines(verdict),
            *_difference_lines(verdict),
            *native_lines(verdict.native),
            "",
            _end_line(verdict, bool(self.partial)),
            *([self.nothing] if self.nothing else []),
            *native_end(verdict.native),
        ]

    def body(self) -> Document:
        verdict = self.verdict
        stats, rebuilt = verdict.stats, verdict.rebuilt
        return {
            **target_document(self.info),
            "allocated_objects": verdict.allocated.objects,
            "allocated_bytes": verdict.allocated.bytes,
            "reached_objects": verdict.reached.objects,
            "reached_bytes": verdict.reached.bytes,
            "kept": total_document(verdict.kept),
            "kept_reached": total_document(verdict.kept_reached),
            "is_most_lost": verdict.is_most_lost,
            "free_slot_pointers": verdict.free_slot_pointers,
            "free_slots": [_free_slot_document(s) for s in verdict.free_slots],
            "missed_pointers": verdict.missed_pointers,
            "heap_alloc": {
                "read": stats.bytes if stats else None,
                "rebuilt": rebuilt.bytes,
            },
            "heap_objects": {
                "read": stats.objects if stats else None,
                "rebuilt": rebuilt.objects,
            },
            "classes": [_class_document(c) for c in verdict.classes],
            "differences": [
                _difference_document(d) for d in verdict.differences
            ],
            **native_document(verdict.native),
            "gaps": gaps_document(verdict.gaps),
            "unexplained": verdict.unexplained,
            "warnings": list(self.info.warnings),
        }


def unexplained(count: int) -> str:
    what = "difference" if count == 1 else "differences"
    return f"{count:,} {what} without an explanation"


# -------------------------------------------------------------------- text


def _total_lines(verdict: Verdict) -> list[str]:
    allocated, reached = verdict.allocated, verdict.reached
    kept, survivors = verdict.kept, verdict.kept_reached
    missing = allocated.objects - reached.objects
    totals = [
        ("allocated", allocated.objects, allocated.bytes),
        ("reached", reached.objects, reached.bytes),
        ("not reached", missing, allocated.bytes - reached.bytes),
    ]
    if missing:
        totals.append(
            (
                "that the last collection kept",
                kept.objects - survivors.objects,
                kept.bytes - survivors.bytes,
            )
        )
    rows = [["heap", "objects", "bytes"]]
    rows += [[name, f"{n:,}", f"{size:,}"] for name, n, size in totals]
    return table(rows, left=[0], has_head=True)


def _figure_row(
    title: str, read: int | None, rebuilt: int, exactly: str
) -> list[str]:
    if read is None:
        return [title, "not known", f"{rebuilt:,}", ""]
    more = rebuilt - read
    note = f"differs by {more:+,}" if more else exactly
    return [title, f"{read:,}", f"{rebuilt:,}", note]


def _figure_lines(verdict: Verdict) -> list[str]:
    stats, rebuilt = verdict.stats, verdict.rebuilt
    rows = [
        ["figure", "the runtime's", "rebuilt", ""],
        _figure_row(
            "HeapAlloc",
            stats.bytes if stats else None,
            rebuilt.bytes,
            "equal to the byte",
        ),
        _figure_row(
            "HeapObjects",
            stats.objects if stats else None,
            rebuilt.objects,
            "equal",
        ),
    ]
    return table(rows, left=[0, 3], has_head=True)


def _pointer_lines(verdict: Verdict) -> list[str]:
    slots = [
        f"    {slot.addr:#x}, held by "
        + (
            "a root"
            if slot.held_by is None
            else f"the object at {slot.held_by:#x}"
        )
        for slot in verdict.free_slots
    ]
    return [
        f"  pointers to free slots: {verdict.free_slot_pointers:,}",
        *slots,
        "  pointers to objects that were not reached: "
        f"{verdict.missed_pointers:,}",
    ]


def _missing_bytes(total: ClassTotal) -> int:
    """Bytes of a span class that are allocated but not reached."""
    return total.allocated.bytes - total.reached.bytes


def _class_lines(verdict: Verdict) -> list[str]:
    classes = sorted(verdict.classes, key=_missing_bytes, reverse=True)
    if not classes:
        return []
    shown = classes[:_MAX_CLASSES]
    rows = [["slot size", "", "allocated", "reached", "not reached"]]
    for c in shown:
        rows.append(
            [
                "large" if c.elem_bytes is None else f"{c.elem_bytes:,} B",
                "no pointers" if c.spanclass & 1 else "pointers",
                f"{c.allocated.objects:,}",
                f"{c.reached.objects:,}",
                f"{c.allocated.objects - c.reached.objects:,}",
            ]
        )
    more = of_how_many(len(shown), len(classes))
    return [
        "",
        title(f"Span classes that differ, by bytes{more}"),
        *table(rows, left=[1], has_head=True),
    ]


def _difference_lines(verdict: Verdict) -> list[str]:
    found = verdict.differences
    if not found:
        return []
    whole = verdict.allocated.objects - verdict.reached.objects
    rows = [
        [
            f"{d.addr:#x}",
            f"{d.bytes:,} B",
            d.type or "type not known",
            d.reason or "NO EXPLANATION",
        ]
        for d in found
    ]
    more = of_how_many(len(found), whole)
    return [
        "",
        title(f"Objects not reached, by address{more}"),
        *table(rows, left=[0, 2, 3]),
    ]


def _end_line(verdict: Verdict, is_torn: bool) -> str:
    allocated = verdict.allocated.objects
    missing = allocated - verdict.reached.objects
    if is_torn and (verdict.unexplained or missing or not allocated):
        return "not verified: what is missing may explain the differences"
    if verdict.unexplained:
        return f"NOT verified: {unexplained(verdict.unexplained)}"
    if is_torn:
        return (
            f"not verified: all {allocated:,} objects that are seen are "
            "reached, but a part is missing"
        )
    if not missing:
        return f"verified: all {allocated:,} objects are reached"
    return (
        f"verified: of {allocated:,} objects, {missing:,} are not reached, "
        "each for a reason"
    )


# -------------------------------------------------------------------- JSON


def _free_slot_document(slot: FreeSlot) -> Document:
    holder = slot.held_by
    return {
        "address": f"{slot.addr:#x}",
        "held_by": None if holder is None else f"{holder:#x}",
    }


def _class_document(total: ClassTotal) -> Document:
    return {
        "span_class": total.spanclass,
        "slot_bytes": total.elem_bytes,
        "noscan": bool(total.spanclass & 1),
        "allocated_objects": total.allocated.objects,
        "allocated_bytes": total.allocated.bytes,
        "reached_objects": total.reached.objects,
        "reached_bytes": total.reached.bytes,
    }


def _difference_document(difference: Difference) -> Document:
    return {
        "address": f"{difference.addr:#x}",
        **fields_of(difference, "bytes type reason"),
    }
