# SPDX-License-Identifier: Apache-2.0
"""Totals, gaps and times of a walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import table
from .units import BYTES, Unit, human_bytes, percent, seconds

if TYPE_CHECKING:
    from .._goref import Gaps, Ledger, Phases, Total
    from .report import Document


def ledger_lines(ledger: Ledger, unit: Unit = BYTES) -> list[str]:
    rows = [["heap", "objects", unit.head, "share"]]
    for title, total in (
        ("allocated", ledger.allocated),
        ("reached", ledger.reached),
        ("not reached", ledger.unreached),
    ):
        rows.append(
            [
                title,
                f"{total.objects:,}",
                unit.cell(total.bytes),
                percent(total.bytes, ledger.allocated.bytes),
            ]
        )

    def share(total: Total) -> str:
        return percent(total.bytes, ledger.reached.bytes)

    return [
        *table(rows, left=[0], has_head=True),
        f"  reached by type {share(ledger.typed)}, "
        f"runtime type {share(ledger.runtime_type)}, "
        f"header {share(ledger.header)}, "
        f"pointer mask only {share(ledger.masked)} (of {unit.name})",
        *_folded_lines(ledger, unit),
        *gap_lines(ledger.gaps),
    ]


def _folded_lines(ledger: Ledger, unit: Unit) -> list[str]:
    folded = ledger.folded
    if not folded.objects:
        return []
    share = percent(folded.bytes, ledger.reached.bytes)
    return [
        f"  folded: {folded.objects:,} objects, "
        f"{unit.text(folded.bytes)} ({share}), are "
        "counted on the nearest node above (max-nodes, max-depth)"
    ]


# The words for each gap, one and many. A gap without words is expected and says
# nothing about the heap, or makes the answer partial, which has words for it.
_GAPS = {
    "free_slot_pointers": (
        "pointer leads to a free slot",
        "pointers lead to free slots",
    ),
    "unknown_types": (
        "runtime type could not be read",
        "runtime types could not be read",
    ),
    "unresolved_generics": (
        "generic type could not be resolved",
        "generic types could not be resolved",
    ),
    "frames_not_unwound": (
        "stack could not be unwound to its end",
        "stacks could not be unwound to their ends",
    ),
    "conservative_frames": (
        "frame was scanned conservatively",
        "frames were scanned conservatively",
    ),
    "spans_mid_sweep": (
        "span was being swept",
        "spans were being swept",
    ),
    "broken_containers": (
        "map or channel is inconsistent",
        "maps or channels are inconsistent",
    ),
    "unknown_locations": (
        "variable has an unknown location",
        "variables have unknown locations",
    ),
    "threads_not_stopped": (
        "thread did not stop, and its registers are not known",
        "threads did not stop, and their registers are not known",
    ),
}


def gap_lines(gaps: Gaps) -> list[str]:
    """Things that could not be read, or made no sense, in one line."""
    found = zip(gaps._fields, gaps, strict=True)
    parts = [
        f"{count:,} {_GAPS[cause][count != 1]}"
        for cause, count in found
        if count and cause in _GAPS
    ]
    return [f"  gaps: {'; '.join(parts)}"] if parts else []


def timing_line(
    elapsed_us: int, phases: Phases, graph_us: int, peak_bytes: int
) -> str:
    """The phases are those of the scan, which an earlier question may have
    made: elapsed_us is the time of this command."""
    named = [*zip(phases._fields, phases), ("object graph", graph_us)]
    parts = [f"{name} {seconds(us)}" for name, us in named if us >= 500]
    parts.append(f"{human_bytes(peak_bytes)} of memory")
    return f"took {seconds(elapsed_us)}; the scan: {', '.join(parts)}"


def total_document(total: Total) -> Document:
    return {"objects": total.objects, "bytes": total.bytes}


def gaps_document(gaps: Gaps) -> Document:
    return dict(zip(gaps._fields, gaps))


def phases_document(phases: Phases) -> Document:
    """Phases in milliseconds."""
    return {
        name: round(us / 1000, 3) for name, us in zip(phases._fields, phases)
    }


def reached_document(ledger: Ledger) -> Document:
    document = total_document(ledger.reached)
    for name, total in (
        ("typed", ledger.typed),
        ("runtime_type", ledger.runtime_type),
        ("header", ledger.header),
        ("masked", ledger.masked),
    ):
        document[f"{name}_objects"] = total.objects
        document[f"{name}_bytes"] = total.bytes
    return document
