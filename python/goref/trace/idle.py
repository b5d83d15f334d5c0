# SPDX-License-Identifier: Apache-2.0
"""Which resident memory a process has not used for a time, by the marks of use
in its page tables (Documentation/filesystems/proc.rst: clear_refs, smaps)."""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Error

if TYPE_CHECKING:
    from .._goref import GrowthMapping

_NEW = "new", "mapped at the last moment"


class Used(NamedTuple):
    """Bytes of the mappings of one class."""

    name: str
    text: str
    rss_bytes: int
    idle_bytes: int


def _refusal(pid: int, problem: OSError) -> Error:
    return Error(
        f"goref: --idle: /proc/{pid}/clear_refs: {problem.strerror}"
    )


def check(pid: int) -> None:
    """Raise an Error if the marks of a process cannot be cleared."""
    try:
        os.close(os.open(f"/proc/{pid}/clear_refs", os.O_WRONLY))
    except OSError as problem:
        raise _refusal(pid, problem) from None


def clear(pid: int) -> None:
    """Clear all marks of use of a process."""
    try:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("1")
    except OSError as problem:
        raise _refusal(pid, problem) from None


def _mappings(pid: int) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, resident and used bytes of each mapping."""
    start = end = rss = 0
    with open(f"/proc/{pid}/smaps", errors="backslashreplace") as file:
        for line in file:
            key, _, rest = line.partition(":")
            if key == "Rss":
                rss = int(rest.split()[0]) * 1024
            elif key == "Referenced":
                yield start, end, rss, int(rest.split()[0]) * 1024
            elif "-" in (span := line.split(" ", 1)[0]):
                start, end = (int(word, 16) for word in span.split("-"))


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


def read(pid: int, mappings: Sequence[GrowthMapping]) -> list[Used] | None:
    """The memory that was not used since clear(), the largest first; None: the
    process has ended. mappings: as of a moment before."""
    classes = _Classes(mappings)
    rss: dict[tuple[str, str], int] = {}
    unused: dict[tuple[str, str], int] = {}
    try:
        for start, end, resident, used in _mappings(pid):
            if resident:
                key = classes.at(start, end)
                rss[key] = rss.get(key, 0) + resident
                unused[key] = unused.get(key, 0) + max(resident - used, 0)
    except (OSError, ValueError):
        return None
    rows = [Used(*key, size, unused[key]) for key, size in rss.items()]
    return sorted(rows, key=lambda row: -row.idle_bytes)
