# SPDX-License-Identifier: Apache-2.0
"""goref native."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import kept_by_c
from .report import Report, fields_of, partial_lines
from .style import title
from .table import table
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .._goref import (
        AllocatorVerdict,
        Info,
        KeptByC,
        Native,
        NativeArena,
        NativeHeap,
        NativeLeaks,
    )
    from .report import Document

TOP = 8  # rows of each table as text
_FIELDS = (
    "in_use_blocks in_use_bytes free_blocks free_bytes cached_bytes "
    "trimmable_bytes largest_free_bytes mapped_bytes resident_bytes "
    "free_resident_bytes"
)
_CONSEQUENCE = "blocks may be missing here"
# These have no caches of threads.
UNCACHED = ("musl", "mimalloc")
_KNOWN = "glibc, jemalloc, musl, tcmalloc, mimalloc"
# How a program gets its allocator to give free memory back to the system.
GIVES_BACK = {
    "glibc": "malloc_trim would give back",
    "jemalloc": "a purge of the arenas (mallctl) would give back",
    "tcmalloc": "MallocExtension_ReleaseFreeMemory would give back",
    "mimalloc": "mi_collect(true) would give back",
}

Row = tuple[str, int, int]


def uncounted_reasons(arenas: int) -> list[str]:
    """Why an answer on blocks is partial: arenas that are not checked."""
    if not arenas:
        return []
    if arenas == 1:
        return [
            "1 arena is damaged or in the middle of a change, and all blocks "
            "in it count as held"
        ]
    return [
        f"{arenas:,} arenas are damaged or in the middle of a change, and all "
        "blocks in them count as held"
    ]


def unknown_reasons(found: Native) -> list[str]:
    """Why nothing is known of blocks that the program may have."""
    if found.is_known and not found.is_expected:
        return []
    return ["the blocks of C are not known"]


def refusal_line(heap: NativeHeap | AllocatorVerdict) -> str:
    """Why goref does not read an allocator."""
    name = f"{heap.name} {heap.version}".strip()
    return f"{name} {heap.refusal}; its blocks are not listed"


def refused_reasons(found: Native) -> list[str]:
    """Why an answer on blocks is partial: allocators that are not read."""
    return [refusal_line(heap) for heap in found.heaps if heap.refusal]


def nothing_line(found: Native, info: Info) -> str:
    """Why there are no arenas; "" if there are."""
    if found.heaps:
        return ""
    if not found.is_known:
        return (
            "C memory is not known: this target does not tell what is mapped; "
            "that needs a core, or a process on this machine"
        )
    if found.is_expected and info.missing_bytes:
        return (
            "no C allocator was found: its data (that of libc) may lie in the "
            "missing part of the core"
        )
    if found.is_expected:
        return (
            f"no C allocator that goref knows ({_KNOWN}) was found; `goref "
            "rss' has the classes of memory"
        )
    return "the program has no C memory: no C library is in it"


def overview_lines(
    found: Native,
    leaks: NativeLeaks | None,
    whole: int,
    is_partial: bool = False,
) -> list[str]:
    """One line, if C memory is a twentieth of the resident memory.
    whole: that memory; 0: not known. is_partial: a holder may be missing."""
    taken = sum(
        heap.sum.resident_bytes or heap.sum.mapped_bytes
        for heap in found.heaps
    )
    if taken * 20 < whole or not taken:
        return []
    in_use = sum(heap.sum.in_use_bytes for heap in found.heaps)
    free = sum(heap.sum.free_bytes for heap in found.heaps)
    line = f"C memory: {human_bytes(in_use)} in use; {human_bytes(free)} free"
    resident = _free_resident(found)
    if resident is not None:
        line += f", of which {human_bytes(resident)} are resident"
    if leaks and leaks.leaked_blocks:
        seen = " in what could be read" if is_partial else ""
        line += (
            f"; {human_bytes(leaks.leaked_bytes)} in "
            f"{counted(leaks.leaked_blocks, 'block')} that nothing holds{seen} "
            "(`native leaks')"
        )
    return [line]


def _free_resident(found: Native) -> int | None:
    """The resident part of free memory."""
    sizes = [heap.sum.free_resident_bytes for heap in found.heaps]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def overview_document(found: Native, leaks: NativeLeaks | None) -> Document:
    return {
        "in_use_bytes": sum(heap.sum.in_use_bytes for heap in found.heaps),
        "free_bytes": sum(heap.sum.free_bytes for heap in found.heaps),
        "free_resident_bytes": _free_resident(found),
        "leaked_bytes": leaks.leaked_bytes if leaks else None,
    }


class NativeReport(Report):
    """The memory of C: arenas, and blocks by size, type and holder; and what
    is kept alive for C.

    by_type, by_holder: key, blocks and bytes, most bytes first.
    nothing: why there are no arenas, if so.
    top: rows of each table; 0: all; None: all in JSON, 8 as text."""

    found: Native
    kept: KeptByC
    nothing: str = ""
    by_type: Sequence[Row] = ()
    by_holder: Sequence[Row] = ()
    top: int | None = None

    def lines(self) -> list[str]:
        found = self.found
        top = TOP if self.top is None else self.top
        kept = kept_by_c.lines(kept_by_c.document(self.kept, top))
        if not found.heaps:
            nothing = title(self.nothing)
            return [nothing, *partial_lines(self.partial), *kept]
        lines = []
        for heap in _in_order(found.heaps):
            lines += self._heap_lines(heap, is_first=not lines)
        sizes = [
            (human_bytes(s.bytes), s.blocks, s.bytes * s.blocks)
            for s in found.sizes
        ]
        for name, rows in (
            ("size", sizes),
            ("type", self.by_type),
            ("holder", self.by_holder),
        ):
            lines += self._blocks(name, rows)
        return lines + kept

    def _heap_lines(self, heap: NativeHeap, is_first: bool) -> list[str]:
        partial = list(self.partial) if is_first else []
        gap = [] if is_first else [""]
        if heap.refusal:
            line = refusal_line(heap)
            # It is said once, if there is no other allocator.
            rest = [reason for reason in partial if reason != line]
            warning = partial_lines(rest, _CONSEQUENCE)
            return [*gap, title(f"C memory: {line}"), *warning]
        warning = partial_lines(partial, _CONSEQUENCE)
        total = heap.sum
        name = f"{heap.name} {heap.version}".strip()
        head = (
            f"C memory ({name}): {human_bytes(total.in_use_bytes)} in "
            f"{counted(total.in_use_blocks, 'block')}, "
            f"{human_bytes(total.free_bytes)} free "
            f"({percent(total.free_bytes, total.mapped_bytes)} of "
            f"{human_bytes(total.mapped_bytes)} mapped)"
        )
        if total.free_resident_bytes is not None:
            # Most of it may never have been touched.
            size = human_bytes(total.free_resident_bytes)
            head += f"; {size} of the free memory is resident"
        return [
            *gap,
            title(head),
            *warning,
            _free_line(heap),
            "",
            *table(self._arenas(heap), left=(7,), has_head=True),
            *(
                f"{place_of(arena)} is not checked: {arena.reason}"
                for arena in heap.arenas
                if not arena.is_checked
            ),
        ]

    def _arenas(self, heap: NativeHeap) -> list[list[str]]:
        top = TOP if self.top is None else self.top
        arenas = sorted(
            heap.arenas, key=lambda a: (-a.in_use_bytes, -a.mapped_bytes)
        )
        shown = arenas[: top or None]
        cells = [
            [
                "in use",
                "blocks",
                "free",
                "trimmable",
                "mapped",
                "resident",
                "free share",
                "arena",
            ]
        ]
        cells += [_sums([arena], place_of(arena)) for arena in shown]
        left = arenas[len(shown) :]
        return [*cells, *([_sums(left, f"{len(left):,} more")] if left else [])]

    def _blocks(self, name: str, rows: Sequence[Row]) -> list[str]:
        top = TOP if self.top is None else self.top
        shown = rows[: top or None]
        whole = sum(row[2] for row in rows)
        cells = [["in use", "share", "blocks", name]]
        cells += [
            [human_bytes(size), percent(size, whole), f"{blocks:,}", key]
            for key, blocks, size in shown
        ]
        if len(rows) > len(shown):
            rest = sum(row[2] for row in rows[len(shown) :])
            cells.append(
                [
                    human_bytes(rest),
                    percent(rest, whole),
                    "",
                    f"{len(rows) - len(shown):,} more",
                ]
            )
        return ["", *table(cells, left=(3,), has_head=True)] if rows else []

    def body(self) -> Document:
        found = self.found
        return {
            "allocators": [
                _heap_document(heap) for heap in _in_order(found.heaps)
            ],
            "sizes": [
                {
                    "size": s.bytes,
                    "blocks": s.blocks,
                    "bytes": s.bytes * s.blocks,
                }
                for s in found.sizes[: self.top or None]
            ],
            "types": self._rows("type", self.by_type),
            "holders": self._rows("holder", self.by_holder),
            **kept_by_c.document(self.kept, self.top),
        }

    def _rows(self, name: str, rows: Sequence[Row]) -> list[Document]:
        return [
            {name: key, "blocks": blocks, "bytes": size}
            for key, blocks, size in rows[: self.top or None]
        ]


def _in_order(heaps: Sequence[NativeHeap]) -> list[NativeHeap]:
    """The largest one first; those that are not read come last."""
    return sorted(heaps, key=lambda h: (bool(h.refusal), -h.sum.mapped_bytes))


def _free_line(heap: NativeHeap) -> str:
    """Where the free memory of an allocator is."""
    total = heap.sum
    parts = []
    if heap.name == "glibc":
        parts.append(f"{human_bytes(total.top_bytes)} at the ends of arenas, ")
    if heap.name not in UNCACHED:
        cached = human_bytes(total.cached_bytes)
        parts.append(f"{cached} in caches of threads; ")
    largest = human_bytes(total.largest_free_bytes)
    other = "other " if heap.name == "glibc" else ""
    parts.append(f"largest {other}block {largest}")
    if heap.name in GIVES_BACK:
        trimmed = human_bytes(total.trimmable_bytes)
        parts.append(f"; {GIVES_BACK[heap.name]} {trimmed}")
    return f"free: {''.join(parts)}"


def _sums(arenas: Sequence[NativeArena], name: str) -> list[str]:
    """The cells of a row for all of them."""
    free = sum(arena.free_bytes for arena in arenas)
    mapped = sum(arena.mapped_bytes for arena in arenas)
    resident = [arena.resident_bytes for arena in arenas]
    known = [size for size in resident if size is not None]
    is_known = len(known) == len(resident)
    return [
        human_bytes(sum(arena.in_use_bytes for arena in arenas)),
        f"{sum(arena.in_use_blocks for arena in arenas):,}",
        human_bytes(free),
        human_bytes(sum(arena.trimmable_bytes for arena in arenas)),
        human_bytes(mapped),
        human_bytes(sum(known)) if is_known else "?",
        percent(free, mapped),
        name,
    ]


def place_of(arena: NativeArena) -> str:
    """Where an arena is."""
    return place({"kind": arena.kind, "address": f"{arena.addr or 0:#x}"})


def place(row: Mapping[str, Any]) -> str:
    """An arena of the document: where it is."""
    if row["kind"] == "mmap":
        return "mapped one by one"
    if row["kind"] == "page":
        return f"page heap {row['address']}"
    return f"{row['kind']} arena {row['address']}"


def _heap_document(heap: NativeHeap) -> Document:
    return {
        "name": heap.name,
        "version": heap.version or None,
        "checked": heap.is_checked,
        "refusal": heap.refusal,
        "arenas": sum(arena.kind != "mmap" for arena in heap.arenas),
        **fields_of(heap.sum, _FIELDS),
        "arena_list": [
            {
                "address": arena.addr and f"{arena.addr:#x}",
                "kind": arena.kind,
                "checked": arena.is_checked,
                "reason": arena.reason,
                **fields_of(arena, _FIELDS),
            }
            for arena in heap.arenas
        ],
    }
