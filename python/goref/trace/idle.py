# SPDX-License-Identifier: Apache-2.0
"""Which resident pages a process has not used for a time, by the marks of use
in its page tables (Documentation/filesystems/proc.rst: clear_refs, smaps)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import Error

_MOST = 40  # rows
_ANONYMOUS = "anonymous memory"
_REST = "all other mappings"


class Used(NamedTuple):
    """Bytes of the mappings of one name."""

    name: str
    rss_bytes: int
    idle_bytes: int


def clear(pid: int) -> None:
    """Clear all marks of use of a process."""
    try:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("1")
    except OSError as problem:
        raise Error(
            f"goref: --idle: /proc/{pid}/clear_refs: {problem.strerror}"
        ) from None


def _mappings(pid: int) -> Iterator[tuple[str, int, int]]:
    """Name, resident and used bytes of each mapping."""
    name, rss = _ANONYMOUS, 0
    with open(f"/proc/{pid}/smaps", errors="backslashreplace") as file:
        for line in file:
            key, _, rest = line.partition(":")
            if key == "Rss":
                rss = int(rest.split()[0]) * 1024
            elif key == "Referenced":
                yield name, rss, int(rest.split()[0]) * 1024
            elif "-" in line.split(" ", 1)[0]:
                words = line.rstrip("\n").split(None, 5)
                name = words[5] if len(words) > 5 else _ANONYMOUS


def read(pid: int) -> list[Used] | None:
    """The memory that was not used since clear(), the largest first; None: the process
    has ended."""
    rss: dict[str, int] = {}
    unused: dict[str, int] = {}
    try:
        for name, resident, used in _mappings(pid):
            rss[name] = rss.get(name, 0) + resident
            unused[name] = unused.get(name, 0) + max(resident - used, 0)
    except (OSError, ValueError):
        return None
    rows = [Used(name, size, unused[name]) for name, size in rss.items()]
    rows.sort(key=lambda row: -row.idle_bytes)
    rest = rows[_MOST:]
    if rest:
        rows = rows[:_MOST]
        rows.append(
            Used(
                _REST,
                sum(row.rss_bytes for row in rest),
                sum(row.idle_bytes for row in rest),
            )
        )
    return rows
