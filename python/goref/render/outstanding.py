# SPDX-License-Identifier: Apache-2.0
"""The outstanding blocks of C of one row: how many there are, who holds them,
and how old they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .table import wrapped
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .report import Document

_LISTED = 100  # blocks of a row as text
_WAITS = 3  # of a row as text
_ROLES = {"holds": "which holds it", "allocated": "which allocated it"}
_STATES = {True: "waits", False: "does not wait", None: "may wait"}


class ListedBlock(NamedTuple):
    """One block. resident_bytes, is_held: None: not known."""

    address: int
    bytes: int
    age_s: float
    in_use: bool | None
    resident_bytes: int | None
    is_held: bool | None
    holder: str | None


class OwnerWait(NamedTuple):
    """Whether a goroutine waits. role: "holds": the block is reached from its
    stack; "allocated": it has called the allocator. is_waiting: None: not
    known. seconds: it has waited at least so long; None: not known. function,
    place: its innermost call, and where that is; c_function: the function of C
    that it has called. awaits: for what it waits, in words. is_woken: it is
    about to run."""

    goroutine: int
    role: str
    is_waiting: bool | None
    reason: str
    seconds: float | None = None
    function: str | None = None
    place: str | None = None
    c_function: str | None = None
    awaits: str | None = None
    is_woken: bool = False


class Outstanding(NamedTuple):
    """The blocks of one row. low, high, low_blocks, high_blocks: the interval
    of the estimate. nobody_bytes: the part of the bytes that nobody holds.
    held, in_use: None: not known; in a row of --totals, also: the blocks
    differ. resident_bytes: estimated as the bytes are; None: not known.
    smallest_bytes, largest_bytes: of one block. waits, blocks: None: not asked
    for."""

    low: int
    high: int
    low_blocks: int
    high_blocks: int
    seen_blocks: int
    seen_bytes: int
    nobody_bytes: int
    held: bool | None
    in_use: bool | None
    resident_bytes: int | None
    smallest_bytes: int
    largest_bytes: int
    youngest_s: float
    is_total: bool = False
    waits: Sequence[OwnerWait] | None = None
    blocks: Sequence[ListedBlock] | None = None

    def identity(self) -> Outstanding:
        """The part that is equal in two rows that are one row as text."""
        return self._replace(
            low=0, high=0, low_blocks=0, high_blocks=0, seen_blocks=0,
            seen_bytes=0, nobody_bytes=0, resident_bytes=None,
            smallest_bytes=0, largest_bytes=0, youngest_s=0.0, waits=None,
            blocks=None,
        )  # fmt: skip

    def plus(self, other: Outstanding) -> Outstanding:
        """Two rows as one. Their intervals may not be reached at once, so the
        sum of these is no narrower than that of both."""
        resident = None
        known = self.resident_bytes, other.resident_bytes
        if known[0] is not None and known[1] is not None:
            resident = known[0] + known[1]
        return self._replace(
            low=self.low + other.low,
            high=self.high + other.high,
            low_blocks=self.low_blocks + other.low_blocks,
            high_blocks=self.high_blocks + other.high_blocks,
            seen_blocks=self.seen_blocks + other.seen_blocks,
            seen_bytes=self.seen_bytes + other.seen_bytes,
            nobody_bytes=self.nobody_bytes + other.nobody_bytes,
            resident_bytes=resident,
            smallest_bytes=min(self.smallest_bytes, other.smallest_bytes),
            largest_bytes=max(self.largest_bytes, other.largest_bytes),
            youngest_s=min(self.youngest_s, other.youngest_s),
            waits=_joined(self.waits, other.waits),
            blocks=_joined(self.blocks, other.blocks),
        )


def _joined(one: Sequence | None, other: Sequence | None) -> Sequence | None:
    if one is None or other is None:
        return one if other is None else other
    return [*dict.fromkeys([*one, *other])]


# ------------------------------------------------------------------------ text


def amount_words(it: Outstanding, blocks: int) -> list[str]:
    """The interval of the bytes, and the blocks."""
    said = []
    if it.low != it.high:
        said.append(f"{human_bytes(it.low)} to {human_bytes(it.high)}")
    return [*said, _number(it, blocks)]


def state_words(
    it: Outstanding, bytes_: int, oldest_s: float | None
) -> list[str]:
    """Are the blocks resident, and how old are they?"""
    said = _residence(it, bytes_)
    if oldest_s is not None:
        said.append(_ages(it.youngest_s, oldest_s))
    return said


def _number(it: Outstanding, blocks: int) -> str:
    """98 blocks (90 to 107) of 64 B."""
    text = counted(blocks, "block")
    if it.low_blocks != it.high_blocks:
        text += f" ({it.low_blocks:,} to {it.high_blocks:,})"
    sizes = human_bytes(it.smallest_bytes)
    largest = human_bytes(it.largest_bytes)
    if sizes != largest:
        sizes += f" to {largest}"
    return f"{text} of {sizes}"


def owner_words(it: Outstanding, holder: str | None) -> list[str]:
    """Who holds the blocks, if that is known. The rows of --totals have blocks
    of several."""
    if it.is_total:
        nobody = human_bytes(it.nobody_bytes)
        return [f"{nobody} of it held by nobody"] if it.nobody_bytes else []
    if it.held is False:
        return ["held by nobody"]
    if holder:
        return [f"held by {holder}"]
    if it.in_use is None:
        return ["not known whether in use"]
    return ["held" if it.held else "not known who holds it"]


def _residence(it: Outstanding, bytes_: int) -> list[str]:
    if it.resident_bytes is None:
        return []
    if not it.resident_bytes:
        return ["not resident"] if bytes_ else []
    if it.resident_bytes >= bytes_:
        return ["resident"]
    return [f"{human_bytes(it.resident_bytes)} resident"]


def _ages(youngest_s: float, oldest_s: float) -> str:
    young, old = f"{youngest_s:.1f}", f"{oldest_s:.1f}"
    return f"{old} s old" if young == old else f"{young} to {old} s old"


def more_lines(it: Outstanding) -> list[str]:
    """The lines below the calls of a row."""
    waits = [
        piece
        for text in wait_words(it.waits or ())
        for piece in wrapped(f"      {text}")
    ]
    return [*waits, *_block_lines(it)]


def wait_words(waits: Sequence[OwnerWait]) -> list[str]:
    """A text for each of the first goroutines."""
    said = [_wait_text(wait) for wait in waits[:_WAITS]]
    left = len(waits) - len(said)
    if left > 0:
        said.append(f"and {counted(left, 'more goroutine')}")
    return said


def _wait_text(wait: OwnerWait) -> str:
    """Goroutine 7, which holds it, waits (chan receive) for at least 12.3 s in
    main.f at main.go:12: to receive from main.gate."""
    text = f"goroutine {wait.goroutine}, {_ROLES[wait.role]}, "
    text += f"{_STATES[wait.is_waiting]} ({wait.reason})"
    if wait.seconds is not None:
        text += f" for at least {wait.seconds:.1f} s"
    places = [*filter(None, (wait.c_function, wait.place or wait.function))]
    if places:
        text += f" in {', called by '.join(places)}"
    if wait.awaits:
        text += f": {wait.awaits}"
    return f"{text}; it is about to run" if wait.is_woken else text


def _block_lines(it: Outstanding) -> list[str]:
    blocks = it.blocks or ()
    lines = [f"      {_block_text(block)}" for block in blocks[:_LISTED]]
    left = it.seen_blocks - len(lines)
    if lines and left > 0:
        lines.append(f"      and {counted(left, 'more block')} (--json)")
    return lines


def _block_text(block: ListedBlock) -> str:
    said = [f"{block.address:#x}", human_bytes(block.bytes)]
    said.append(f"{block.age_s:.1f} s old")
    said.append("in use" if block.in_use else "not known whether in use")
    if block.resident_bytes is not None:
        whole = block.resident_bytes >= block.bytes
        part = f"{human_bytes(block.resident_bytes)} resident"
        there = "resident" if whole else part
        said.append(there if block.resident_bytes else "not resident")
    if block.is_held is False:
        said.append("held by nobody")
    elif block.holder:
        said.append(f"held by {block.holder}")
    return ", ".join(said)


# ------------------------------------------------------------------------ JSON


def document(it: Outstanding | None) -> Document:
    """The keys of a stack in the mode native."""
    if it is None:
        return {}
    return {
        "low": it.low,
        "high": it.high,
        "low_blocks": it.low_blocks,
        "high_blocks": it.high_blocks,
        "seen_blocks": it.seen_blocks,
        "nobody_bytes": it.nobody_bytes,
        "held": it.held,
        "in_use": it.in_use,
        "resident_bytes": it.resident_bytes,
        "smallest_bytes": it.smallest_bytes,
        "largest_bytes": it.largest_bytes,
        "youngest_s": round(it.youngest_s, 3),
        "waits": None
        if it.waits is None
        else [_wait_document(wait) for wait in it.waits],
        "list": None
        if it.blocks is None
        else [_block_document(block) for block in it.blocks],
    }


def _wait_document(wait: OwnerWait) -> Document:
    found = wait._asdict()
    found["waiting"] = found.pop("is_waiting")
    found["woken"] = found.pop("is_woken")
    return found


def _block_document(block: ListedBlock) -> Document:
    return {
        "address": f"{block.address:#x}",
        "bytes": block.bytes,
        "age_s": round(block.age_s, 3),
        "in_use": block.in_use,
        "resident_bytes": block.resident_bytes,
        "held": block.is_held,
        "holder": block.holder,
    }
