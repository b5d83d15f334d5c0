# SPDX-License-Identifier: Apache-2.0
"""Which resident memory a process did not access for a time, by the accessed
bits in its page tables and the referenced flags of its pages
(Documentation/filesystems/proc.rst: clear_refs, smaps)."""

from __future__ import annotations

import bisect
import heapq
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Error
from ..render.idle import IdleClass, IdleMapping, IdleMemory, LeftOut

if TYPE_CHECKING:
    from .._goref import GrowthMapping

_NEW = "new", "new at the last moment"
_MOST_MAPPINGS = 10_000  # that are kept
_R, _A, _Z = b"RAZ"  # the first bytes of lines


def _refusal(pid: int, problem: OSError) -> Error:
    who = (
        " (only root and the owner of the process may write it)"
        if isinstance(problem, PermissionError)
        else ""
    )
    return Error(
        f"goref: --idle: /proc/{pid}/clear_refs: {problem.strerror}{who}"
    )


def check(pid: int) -> None:
    """Raise an Error if the accessed bits of a process cannot be cleared."""
    try:
        os.close(os.open(f"/proc/{pid}/clear_refs", os.O_WRONLY))
    except OSError as problem:
        raise _refusal(pid, problem) from None


def clear(pid: int) -> None:
    """Clear all accessed bits of a process."""
    try:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("1")
    except OSError as problem:
        raise _refusal(pid, problem) from None


class _Mapping(NamedTuple):
    """A mapping of smaps, with its bytes."""

    start: int
    end: int
    permissions: str
    name: str
    rss_bytes: int
    referenced_bytes: int


def _mappings(pid: int) -> Iterator[_Mapping]:
    """All mappings by address. The kernel escapes newlines in names; other
    line ends of text files may be in them."""
    head, rss = b"", 0
    with open(f"/proc/{pid}/smaps", "rb") as file:
        for line in file:
            if not _A <= line[0] <= _Z:
                head = line
            elif line[0] != _R:
                continue
            elif line.startswith(b"Rss:"):
                rss = int(line.split()[1]) * 1024
            elif line.startswith(b"Referenced:"):
                yield _mapping(head, rss, int(line.split()[1]) * 1024)


def _mapping(head: bytes, rss: int, referenced: int) -> _Mapping:
    span, permissions, _, _, rest = head.split(b" ", 4)
    start, _, end = span.partition(b"-")
    _, _, name = rest.rstrip(b"\n").partition(b" ")
    return _Mapping(
        int(start, 16),
        int(end, 16),
        permissions.decode(),
        name.lstrip(b" ").decode(errors="backslashreplace"),
        rss,
        referenced,
    )


class _Classes:
    """The classes of mappings, which may have changed their sizes since."""

    def __init__(self, mappings: Sequence[GrowthMapping]) -> None:
        self._rows = mappings
        self._ends = [row.end for row in mappings]

    def at(self, start: int, end: int) -> tuple[str, str]:
        i = bisect.bisect_right(self._ends, start)
        if i < len(self._rows) and self._rows[i].start < end:
            return self._rows[i].class_name, self._rows[i].class_text
        return _NEW


def _row(it: _Mapping, of_class: tuple[str, str]) -> IdleMapping:
    idle = max(it.rss_bytes - it.referenced_bytes, 0)
    return IdleMapping(*it[:4], *of_class, 1, it.rss_bytes, idle)


def _joined(
    mappings: Iterable[_Mapping], classes: _Classes
) -> Iterator[IdleMapping]:
    """The mappings that have resident pages. Go's runtime and others split one
    range into many, for which they give the kernel advice: neighbours that are
    alike are one row, with those between them that are not resident."""
    row: IdleMapping | None = None
    reach = between = 0
    for it in mappings:
        is_beside = (
            row is not None
            and it.start == reach
            and (it.permissions, it.name) == (row.permissions, row.name)
        )
        if not it.rss_bytes:
            if is_beside:
                reach, between = it.end, between + 1
            continue
        more = _row(it, classes.at(it.start, it.end))
        if row and is_beside and row.class_name == more.class_name:
            row = _sum(row, more, between)
        else:
            if row:
                yield row
            row = more
        reach, between = it.end, 0
    if row:
        yield row


def _sum(row: IdleMapping, more: IdleMapping, between: int) -> IdleMapping:
    return row._replace(
        end=more.end,
        mappings=row.mappings + between + 1,
        rss_bytes=row.rss_bytes + more.rss_bytes,
        idle_bytes=row.idle_bytes + more.idle_bytes,
    )


def _by_class(rows: Iterable[IdleMapping]) -> list[IdleClass]:
    sums: dict[str, IdleClass] = {}
    for row in rows:
        was = sums.get(row.class_name)
        sums[row.class_name] = IdleClass(
            row.class_name,
            row.class_text,
            row.rss_bytes + (was.rss_bytes if was else 0),
            row.idle_bytes + (was.idle_bytes if was else 0),
        )
    return sorted(sums.values(), key=lambda row: -row.idle_bytes)


def read(pid: int, mappings: Sequence[GrowthMapping]) -> IdleMemory | None:
    """The memory that was not accessed since clear(); None: the process has
    ended. mappings: as of a moment before."""
    try:
        rows = _resident(pid, mappings)
    except (OSError, ValueError):
        return None
    if not rows:
        return None
    return _memory(rows)


def _resident(
    pid: int, mappings: Sequence[GrowthMapping]
) -> list[IdleMapping]:
    """The mappings that have resident pages; none if the process has ended:
    smaps then stops early, and says nothing. pagemap tells."""
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as memory:
        rows = list(_joined(_mappings(pid), _Classes(mappings)))
        return rows if memory.read(8) else []


def _memory(rows: Sequence[IdleMapping]) -> IdleMemory:
    idle = [row for row in rows if row.idle_bytes]
    kept = heapq.nlargest(
        _MOST_MAPPINGS, idle, key=lambda row: (row.idle_bytes, -row.start)
    )
    every = LeftOut(0, 0).and_rows(idle)
    of_kept = LeftOut(0, 0).and_rows(kept)
    return IdleMemory(
        _by_class(rows),
        kept,
        LeftOut(
            every.mappings - of_kept.mappings,
            every.idle_bytes - of_kept.idle_bytes,
        ),
    )
