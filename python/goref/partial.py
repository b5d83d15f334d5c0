# SPDX-License-Identifier: Apache-2.0
"""The reasons why an answer is partial. Pure: never imports gdb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .render.units import human_bytes

if TYPE_CHECKING:
    from ._goref import (
        Dominators,
        Gaps,
        Info,
        Leaks,
        Ledger,
        NativeLeaks,
        ObjectInfo,
        Verdict,
        Why,
    )

# Gaps behind which there may be memory that nothing else leads to, and what
# was wrong with it, if it did not simply lie in the missing part of a core.
_LOSSES = {
    "unreadable_pages": ("page of memory", "pages of memory", "missing"),
    "bad_spans": ("span of the heap", "spans of the heap", "senseless"),
    "goroutines_skipped": ("goroutine", "goroutines", "unread"),
    "broken_lists": (
        "of the runtime's lists and tables",
        "of the runtime's lists and tables",
        "senseless",
    ),
}
_WRONG = {
    "missing": ("is missing", "are missing"),
    "senseless": ("makes no sense", "make no sense"),
    "unread": ("could not be read",) * 2,
    "torn": ("lay in that part",) * 2,
}
_TABLES = ("bad_spans", "broken_lists")


def _loss(count: int, one: str, many: str, wrong: str) -> str:
    if count == 1:
        return f"1 {one} {_WRONG[wrong][0]}"
    return f"{count:,} {many} {_WRONG[wrong][1]}"


def _late(threads: int) -> str:
    """The reason for threads that did not stop, because they waited in the
    kernel, such as for a disk or for the child of vfork()."""
    if threads == 1:
        return "1 thread did not stop, and may have changed memory meanwhile"
    return (
        f"{threads:,} threads did not stop, and may have changed memory "
        "meanwhile"
    )


def reasons(
    info: Info,
    answer: (
        Ledger | Dominators | Leaks | ObjectInfo | Why | Verdict | Gaps | None
    ),
    ended: str = "",
) -> list[str]:
    """Why an answer is not about all of the memory; empty: it is.
    answer: an answer with its gaps, or gaps; None: there are none.
    ended: why the walk was ended, if it was not by Ctrl-C."""
    found = []
    if getattr(answer, "is_partial", False):
        found.append(ended or "interrupted")
    if info.missing_bytes:
        found.append(
            "the core file is truncated, "
            f"{human_bytes(info.missing_bytes)} are missing"
        )
    if info.bad_headers:
        words = ("program header of the core", "program headers of the core")
        found.append(_loss(info.bad_headers, *words, "senseless"))
    if info.late_threads:
        found.append(_late(info.late_threads))
    gaps = getattr(answer, "gaps", answer)
    for gap, (one, many, wrong) in _LOSSES.items():
        count: int = getattr(gaps, gap) if gaps else 0
        if gap in _TABLES and info.missing_bytes:
            wrong = "torn"
        if gap == "broken_lists" and info.broken_list:
            name = info.broken_list
            one, many = f"{one} ({name})", f"{many} ({name} and more)"
        if count:
            found.append(_loss(count, one, many, wrong))
    return found


def lost_holders(info: Info, found: NativeLeaks | ObjectInfo) -> list[str]:
    """Why an answer on blocks of C is partial: memory that is not at hand.
    What a truncated core lacks is told otherwise."""
    if not found.missing_bytes or info.missing_bytes:
        return []
    size = human_bytes(found.missing_bytes)
    return [f"{size} of memory that may hold pointers to blocks is missing"]


def reasons_of_block(info: Info, block: ObjectInfo) -> list[str]:
    """Why an answer on one block is partial."""
    return [*reasons(info, block), *lost_holders(info, block)]
