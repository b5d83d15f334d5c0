# SPDX-License-Identifier: Apache-2.0
"""Memory that is free, and whether a scan fits in. Pure: never imports gdb."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._goref import Estimate

MIN_NODES = 4096
_NO_LIMIT = 1 << 60  # the kernel's way to write it


class TooMuch(Exception):
    """str() is one line for a person."""


def _number(path: str, key: str | None = None) -> int | None:
    """The number in a file, or the one behind a key."""
    try:
        with open(path) as file:
            if key is None:
                return int(file.read())
            for line in file:
                words = line.replace(":", " ").split()
                if words[:1] == [key]:
                    return int(words[1])
    except (OSError, ValueError, IndexError):
        pass
    return None


def free_bytes(proc: str = "/proc") -> int | None:
    """Bytes of memory that the machine can give without swapping."""
    kb = _number(f"{proc}/meminfo", "MemAvailable")
    return None if kb is None else kb << 10


# Limit, use, and what of the use can be had back, of version 2 and 1.
_FILES = (
    ("", "memory.max", "memory.current", "inactive_file"),
    (
        "/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def _paths(proc: str) -> Iterator[tuple[int, str]]:
    """(index into _FILES, path) of our cgroups."""
    try:
        with open(f"{proc}/self/cgroup") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        _number_, controllers, path = line.split(":", 2)
        if not controllers:
            yield 0, path
        elif "memory" in controllers.split(","):
            yield 1, path


def cgroup_free_bytes(
    proc: str = "/proc", top: str = "/sys/fs/cgroup"
) -> int | None:
    """Bytes that our cgroup and those above it still allow; None: no limit."""
    free: int | None = None
    for version, path in _paths(proc):
        mount, limit_name, use_name, back = _FILES[version]
        folder = path
        while True:
            where = f"{top}{mount}{folder.rstrip('/')}"
            limit = _number(f"{where}/{limit_name}")
            use = _number(f"{where}/{use_name}")
            if limit is not None and use is not None and limit < _NO_LIMIT:
                idle = _number(f"{where}/memory.stat", back) or 0
                left = max(limit - use + idle, 0)
                free = left if free is None else min(free, left)
            if folder in ("/", ""):
                break
            folder = os.path.dirname(folder)
    return free


def least_free_bytes() -> int | None:
    known = [b for b in (free_bytes(), cgroup_free_bytes()) if b is not None]
    return min(known, default=None)


def _copy_bytes(estimate: Estimate) -> int:
    copied = estimate.copy_bytes
    return copied and copied + copied // 16 + (4 << 20)


def needed_bytes(estimate: Estimate, max_nodes: int) -> int:
    nodes = min(max_nodes, estimate.max_nodes)
    return (
        _copy_bytes(estimate)
        + estimate.table_bytes
        + nodes * estimate.node_bytes
    )


def nodes_within(estimate: Estimate, max_nodes: int, limit: int | None) -> int:
    """Nodes that a limit of memory leaves room for, at most max_nodes;
    TooMuch if the rest alone goes over it."""
    nodes = min(max_nodes, estimate.max_nodes)
    if limit is None or needed_bytes(estimate, nodes) <= limit:
        return max_nodes
    left = limit - needed_bytes(estimate, 0)
    fitting = left // estimate.node_bytes
    if fitting < min(MIN_NODES, nodes):
        raise TooMuch
    return fitting


def has_room_for_graph(
    estimate: Estimate, max_nodes: int, limit: int | None
) -> bool:
    """Whether a limit leaves room for the object graph beside a scan."""
    needed = needed_bytes(estimate, max_nodes) + estimate.graph_bytes
    return limit is None or needed <= limit


def report(say: Any) -> str:
    """Free memory in words. say() turns bytes into text."""
    parts = []
    free, within = free_bytes(), cgroup_free_bytes()
    if free is not None:
        parts.append(f"{say(free)} are free")
    if within is not None:
        parts.append(f"{say(within)} in this cgroup")
    return ", ".join(parts) or "what is free is not known"
