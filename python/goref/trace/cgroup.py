# SPDX-License-Identifier: Apache-2.0
"""The memory that a control group counts beside the resident memory of its
processes. Source: Documentation/admin-guide/cgroup-v2.rst and
cgroup-v1/memory.rst of Linux."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

# Keys of memory.stat, and what they are.
_V2 = {
    "file": "page cache of files",
    "slab": "slab of the kernel",
    "pagetables": "page tables",
    "sec_pagetables": "page tables of devices",
    "kernel_stack": "kernel stacks of threads",
    "percpu": "per-processor memory of the kernel",
    "sock": "sockets",
    "vmalloc": "vmalloc of the kernel",
}
_V1 = {"cache": "page cache of files"}
_V1_FILES = {
    "memory.kmem.usage_in_bytes": ("kernel", "memory of the kernel"),
    "memory.kmem.tcp.usage_in_bytes": ("sock", "sockets"),
}


class Group(NamedTuple):
    """A control group with the controller of memory. path: its folder. name:
    as /proc/PID/cgroup has it."""

    path: str
    name: str
    is_v2: bool


class Counts(NamedTuple):
    """bytes: all that the group counts. parts: by key, outside of the memory of
    processes. texts: what these keys are."""

    bytes: int
    parts: dict[str, int]
    texts: dict[str, str]


def _lines(path: str) -> list[str]:
    with suppress(OSError):
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    return []


def _mounts(proc: str) -> list[tuple[bool, str, str]]:
    """(is it v2, root, mount point) of each hierarchy that may count memory."""
    found = []
    for line in _lines(f"{proc}/self/mountinfo"):
        before, _, behind = line.partition(" - ")
        words, kinds = before.split(), behind.split()
        if len(words) < 5 or len(kinds) < 3:
            continue
        if kinds[0] == "cgroup2":
            found.append((True, words[3], words[4]))
        elif kinds[0] == "cgroup" and "memory" in kinds[2].split(","):
            found.append((False, words[3], words[4]))
    return found


def find(pid: int, proc: str = "/proc", top: str = "") -> Group | None:
    """The control group that counts the memory of a process; None: there is
    none, or it is not seen from here.

    proc, top: for tests, in place of /proc and before mount points."""
    names: dict[bool, str] = {}
    for line in _lines(f"{proc}/{pid}/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if not controllers:
            names[True] = name
        elif "memory" in controllers.split(","):
            names[False] = name
    for is_v2, root, point in _mounts(proc):
        name = names.get(is_v2, "")
        if not name.startswith("/") or "/.." in name:
            continue
        below = name.removeprefix(root.rstrip("/"))
        group = Group(f"{top}{point}{below}".rstrip("/"), name, is_v2)
        if read(group) is not None:
            return group
    return None


def _number(path: str) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def read(group: Group) -> Counts | None:
    """The counts of the group now; None: it does not tell."""
    total = "memory.current" if group.is_v2 else "memory.usage_in_bytes"
    size = _number(os.path.join(group.path, total))
    if size is None:
        return None
    texts = dict(_V2 if group.is_v2 else _V1)
    parts = {}
    for line in _lines(os.path.join(group.path, "memory.stat")):
        key, _, value = line.partition(" ")
        if key in texts and value.isdigit():
            parts[key] = int(value)
    if not group.is_v2:
        for name, (key, text) in _V1_FILES.items():
            found = _number(os.path.join(group.path, name))
            if found is not None:
                parts[key], texts[key] = found, text
    return Counts(size, parts, texts)
