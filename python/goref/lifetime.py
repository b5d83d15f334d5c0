# SPDX-License-Identifier: Apache-2.0
"""Tells whether cores, processes and saved files are of one process. Pure: never
imports gdb.

The kernel gives a program 16 random bytes when it begins (AT_RANDOM). A fork
copies them, so the number of the process must be the same, too. The bytes
guard stacks: only their digest leaves this module."""

import hashlib
import json
import os
import re
import struct
from typing import Any, NamedTuple

_AT_RANDOM = 25
_BYTES = 16
_MAX_AUXV = 4096


class Lifetime(NamedTuple):
    """One run of a program. pids: its number in each of its namespaces."""

    pids: frozenset[int]
    digest: str


def _of(pids: set[int], secret: bytes) -> Lifetime | None:
    if len(secret) < _BYTES or not any(secret) or not pids:
        return None
    return Lifetime(frozenset(pids), hashlib.sha256(secret).hexdigest())


def of_core(path: str) -> Lifetime | None:
    """The process that a core is of; None: it does not tell."""
    from . import native  # only needed here

    goref = native.load()
    try:
        facts = goref.core_facts(path)
    except (goref.Error, ValueError):
        return None
    return _of({facts.pid} - {0}, facts.random)


def _pids(pid: int) -> set[int]:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key == "NSpid":
                return {int(word) for word in value.split()}
    return {pid}


def of_process(pid: int) -> Lifetime | None:
    """The process of that number now; None: it does not tell."""
    try:
        with open(f"/proc/{pid}/auxv", "rb") as file:
            data = file.read(_MAX_AUXV)
        rows = struct.iter_unpack("<QQ", data[: len(data) // 16 * 16])
        found = {int(kind): int(value) for kind, value in rows}
        where = found.get(_AT_RANDOM, 0)
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            secret = os.pread(memory.fileno(), _BYTES, where) if where else b""
        return _of(_pids(pid), secret)
    except (OSError, ValueError, OverflowError, UnicodeError):
        return None


def pack(life: Lifetime | None) -> str | None:
    """As text, for a saved file."""
    return (
        None if life is None else json.dumps([life.digest, *sorted(life.pids)])
    )


def unpack(text: str | None) -> Lifetime | None:
    """The lifetime that a file has; None if its text makes no sense."""
    try:
        digest, *pids = json.loads(text or "[]")
    except (TypeError, ValueError, RecursionError):
        return None
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        return None
    if not pids or not all(type(pid) is int and pid > 0 for pid in pids):
        return None
    return Lifetime(frozenset(pids), digest)


def of_target(info: Any, before: Lifetime | None = None) -> Lifetime | None:
    """The lifetime of what a scan looks at; info: its info(). before: the
    lifetime of a running process, read before the scan; since then, the
    process may have ended, or have started another program (exec)."""
    if info.kind == "saved":
        return unpack(info.identity)
    if info.core_path:
        return of_core(info.core_path)
    now = of_process(info.pid) if info.pid else None
    if before is None or now is None:
        return before or now
    return before if is_same(before, now) else None


def is_same(one: Lifetime | None, other: Lifetime | None) -> bool:
    """Are both certainly of one process?"""
    if one is None or other is None:
        return False
    return one.digest == other.digest and bool(one.pids & other.pids)
