# SPDX-License-Identifier: Apache-2.0
"""goref verify: the memory of C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .native import TOP, place_of, refusal_line
from .style import title
from .table import of_how_many, table
from .units import counted

if TYPE_CHECKING:
    from .._goref import (
        AllocatorVerdict,
        ArenaVerdict,
        NativeArena,
        NativeVerdict,
    )
    from .report import Document

Figure = tuple[str, int | None, int, str]


def native_lines(verdict: NativeVerdict) -> list[str]:
    """The counters and the blocks of each allocator; nothing without C
    memory."""
    if not verdict.allocators:
        return []
    lines = []
    for allocator in verdict.allocators:
        if allocator.refusal:
            lines += ["", title(f"C memory: {refusal_line(allocator)}")]
            continue
        lines += [
            "",
            *_figure_lines(allocator),
            "",
            *_block_lines(allocator),
            *_unchecked_lines(allocator),
        ]
    return [
        *lines,
        f"  pointers of Go to free memory of C: {verdict.free_pointers:,}",
        "  words of C variables that look like pointers to free memory of C: "
        f"{verdict.free_words:,}",
    ]


def native_end(verdict: NativeVerdict) -> list[str]:
    """The last line, of blocks; none without C memory."""
    if not verdict.allocators:
        return []
    refused = sum(bool(each.refusal) for each in verdict.allocators)
    if refused == len(verdict.allocators):
        return ["C memory: its blocks are not known"]
    arenas = [a for each in verdict.allocators for a in each.arenas]
    doubtful = sum(not a.arena.is_checked for a in arenas)
    blocks, _ = _in_use(arenas)
    leaked = blocks - sum(a.reached_blocks for a in arenas)
    text = f"C memory: {counted(blocks, 'block')} in use"
    if leaked:
        text += f", of which {leaked:,} are not reached (`native leaks')"
    if doubtful:
        text += f"; {counted(doubtful, 'arena')} not checked"
    if refused:
        text += f"; {counted(refused, 'allocator')} not read"
    return [text]


def native_document(verdict: NativeVerdict) -> Document:
    return {
        "allocators": [_allocator(a) for a in verdict.allocators],
        "free_c_pointers": verdict.free_pointers,
        "free_c_words": verdict.free_words,
    }


# -------------------------------------------------------------------- text


def _in_use(arenas: list[ArenaVerdict]) -> tuple[int, int]:
    """Blocks in use of the arenas that are checked, and their bytes."""
    checked = [a.arena for a in arenas if a.arena.is_checked]
    return (
        sum(arena.in_use_blocks for arena in checked),
        sum(arena.in_use_bytes for arena in checked),
    )


def _figures(verdict: ArenaVerdict) -> list[Figure]:
    """The allocator's counters of an arena, beside the same as found."""
    arena = verdict.arena
    of = "" if arena.addr is None else f" of the {place_of(arena)}"
    found = []
    if arena.blocks_counter:
        found.append((f"{arena.blocks_counter}{of}", arena.counted_blocks,
                      arena.found_blocks, "equal"))  # fmt: skip
    if arena.bytes_counter:
        found.append((f"{arena.bytes_counter}{of}", arena.counted_bytes,
                      arena.found_bytes, "equal to the byte"))  # fmt: skip
    return found


def _figure_lines(allocator: AllocatorVerdict) -> list[str]:
    """The arenas that are not checked come first."""
    arenas = sorted(
        allocator.arenas,
        key=lambda a: (a.arena.is_checked, -a.arena.mapped_bytes),
    )
    shown = arenas[:TOP]
    name = f"{allocator.name} {allocator.version}".strip()
    rows = [["figure", "counted", "rebuilt", ""]]
    for arena in shown:
        for what, read, rebuilt, exactly in _figures(arena):
            rows.append(_figure_row(what, read, rebuilt, exactly))
    more = of_how_many(len(shown), len(arenas))
    return [
        title(f"C memory, {name}: arenas{more}"),
        *table(rows, left=[0, 3], has_head=True),
    ]


def _figure_row(
    what: str, read: int | None, rebuilt: int, exactly: str
) -> list[str]:
    if read is None:
        return [what, "not known", f"{rebuilt:,}", ""]
    more = rebuilt - read
    note = f"differs by {more:+,}" if more else exactly
    return [what, f"{read:,}", f"{rebuilt:,}", note]


def _block_lines(allocator: AllocatorVerdict) -> list[str]:
    arenas = list(allocator.arenas)
    blocks, in_use = _in_use(arenas)
    reached = sum(a.reached_blocks for a in arenas)
    held = sum(a.reached_bytes for a in arenas)
    rows = [
        ["C memory", "blocks", "bytes"],
        ["in use", f"{blocks:,}", f"{in_use:,}"],
        ["reached", f"{reached:,}", f"{held:,}"],
        ["not reached", f"{blocks - reached:,}", f"{in_use - held:,}"],
    ]
    return table(rows, left=[0], has_head=True)


def _unchecked_lines(allocator: AllocatorVerdict) -> list[str]:
    found = [a for a in allocator.arenas if not a.arena.is_checked]
    lines = [
        f"  {place_of(a.arena)} is not checked: {a.arena.reason} "
        f"({a.explanation or 'NO EXPLANATION'})"
        for a in found[:TOP]
    ]
    left = len(found) - len(lines)
    return [*lines, *([f"  and {left:,} more"] if left else [])]


# -------------------------------------------------------------------- JSON


def _counters(arena: NativeArena) -> list[Document]:
    rows = [
        (arena.blocks_counter, arena.counted_blocks, arena.found_blocks),
        (arena.bytes_counter, arena.counted_bytes, arena.found_bytes),
    ]
    return [
        {"counter": name, "read": read, "rebuilt": rebuilt}
        for name, read, rebuilt in rows
        if name
    ]


def _arena(verdict: ArenaVerdict) -> Document:
    arena = verdict.arena
    reached = verdict.reached_blocks, verdict.reached_bytes
    blocks_reached, bytes_reached = (
        reached if arena.is_checked else (None, None)
    )
    return {
        "address": arena.addr and f"{arena.addr:#x}",
        "kind": arena.kind,
        "checked": arena.is_checked,
        "reason": arena.reason,
        "explanation": verdict.explanation,
        "counters": _counters(arena),
        "in_use_blocks": arena.in_use_blocks,
        "in_use_bytes": arena.in_use_bytes,
        "reached_blocks": blocks_reached,
        "reached_bytes": bytes_reached,
    }


def _allocator(verdict: AllocatorVerdict) -> Document:
    return {
        "name": verdict.name,
        "version": verdict.version or None,
        "checked": verdict.is_checked,
        "refusal": verdict.refusal,
        "arenas": [_arena(arena) for arena in verdict.arenas],
    }
