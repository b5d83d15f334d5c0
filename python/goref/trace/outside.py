# SPDX-License-Identifier: Apache-2.0
"""The memory that the kernel keeps for a process beside its resident pages, and
that its control group counts."""

from __future__ import annotations

from typing import NamedTuple

from .. import procfs
from . import cgroup, sockets

_PROCS = "cgroup.procs"
_MOST_PROCESSES = 1 << 20


class Level(NamedTuple):
    """name: the key. scope: process or cgroup."""

    name: str
    text: str
    scope: str
    bytes: int


class Outside(NamedTuple):
    """group: the name of the control group, or None. processes: in it; None:
    not known."""

    group: str | None
    processes: int | None
    levels: tuple[Level, ...]


def read(pid: int) -> Outside:
    """The levels now."""
    levels = []
    tables = procfs.status_kb(pid, "VmPTE") * 1024
    if tables:
        levels.append(
            Level("page_tables", "page tables", "process", tables)
        )
    used = sockets.bytes_of(pid)
    if used is not None:
        levels.append(Level("sockets", "sockets", "process", used))
    group = cgroup.find(pid)
    counts = cgroup.read(group) if group else None
    if group is None or counts is None:
        return Outside(None, None, tuple(levels))
    levels.append(
        Level("all", "all that the group counts, resident memory included", "cgroup", counts.bytes)
    )
    levels += [
        Level(name, counts.texts[name], "cgroup", size)
        for name, size in counts.parts.items()
    ]
    return Outside(group.name, _count_processes(group), tuple(levels))


def _count_processes(group: cgroup.Group) -> int | None:
    try:
        with open(f"{group.path}/{_PROCS}") as file:
            return sum(1 for _, _ in zip(file, range(_MOST_PROCESSES)))
    except OSError:
        return None


class Change(NamedTuple):
    """A level at the end, and how far it has grown."""

    name: str
    text: str
    scope: str
    bytes: int
    growth_bytes: int


def changes(before: Outside, after: Outside) -> list[Change]:
    """The levels that both have. A process that has moved to another group has
    only its own."""
    was = {(row.scope, row.name): row.bytes for row in before.levels}
    return [
        Change(*row, row.bytes - was[row.scope, row.name])
        for row in after.levels
        if (row.scope, row.name) in was
        and (row.scope == "process" or before.group == after.group)
    ]
