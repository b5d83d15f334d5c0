# SPDX-License-Identifier: Apache-2.0
"""The sums of a trace of the kernel's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .table import table
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .report import Document


class KernelKind(NamedTuple):
    """The outstanding memory of one allocator of the kernel."""

    name: str
    text: str
    bytes: int
    blocks: int


class KernelMemory(NamedTuple):
    """All that the kernel has allocated and not freed.

    allocator_bytes: of pages in which the allocators keep their blocks, which
    are not in the kinds. other_events: runs of the probes from which nothing
    followed, mostly in other processes; other_percent: their time, of a
    processor."""

    kinds: Sequence[KernelKind]
    allocator_bytes: int
    other_events: int
    other_percent: float


def sum_lines(memory: KernelMemory) -> list[str]:
    """A table of the kinds."""
    rows = [
        (human_bytes(kind.bytes), f"{kind.blocks:,}", kind.text)
        for kind in memory.kinds
        if kind.blocks
    ]
    if not rows:
        return []
    if len(rows) > 1:
        rows.append((
            human_bytes(sum(kind.bytes for kind in memory.kinds)),
            f"{sum(kind.blocks for kind in memory.kinds):,}",
            "all",
        ))  # fmt: skip
    head = ("bytes", "blocks", "memory of the kernel")
    return ["", *table([head, *rows], left=(2,), has_head=True)]


def honest_lines(memory: KernelMemory) -> list[str]:
    """The memory that is not in the sums, and the cost for others."""
    lines = []
    if memory.allocator_bytes:
        lines.append(
            f"the allocators took {human_bytes(memory.allocator_bytes)} of "
            "pages during the trace, which hold these blocks and others"
        )
    lines.append(
        f"{counted(memory.other_events, 'run')} of the probes for other "
        f"memory, mostly of other processes, took {memory.other_percent:.2f} % "
        "of a processor"
    )
    return lines


def document(memory: KernelMemory | None) -> Document | None:
    if memory is None:
        return None
    return {
        "bytes": sum(kind.bytes for kind in memory.kinds),
        "kinds": [
            {"name": kind.name, "bytes": kind.bytes, "blocks": kind.blocks}
            for kind in memory.kinds
        ],
        "allocator_bytes": memory.allocator_bytes,
        "other_events": memory.other_events,
        "other_percent": round(memory.other_percent, 4),
    }
