# SPDX-License-Identifier: Apache-2.0
"""Objects that lie at the same address on both sides, from two lists of
objects. Pure: never imports gdb.

The memory of a dead object may belong to a new one of the same size by then: the
survivors are an upper bound unless no collection has run between the lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

_NOT_KNOWN = "(type not known)"  # as the scanner has it
_Line = tuple[int, int, str]  # address, bytes, type


class Survivors(NamedTuple):
    """Objects by type, as NEW has it: on the old side, on the new one, and on
    both."""

    is_exact: bool
    old: Counter[str]
    new: Counter[str]
    both: Counter[str]


def _lines(path: str) -> Iterator[_Line]:
    """The lines of a list of objects, in the order of addresses."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            address, size, type_ = line.rstrip("\n").split(None, 2)
            yield int(address, 16), int(size), type_


def _may_be(old_type: str, new_type: str) -> bool:
    """True unless both types are known and differ: then the memory belongs to
    a new object."""
    return old_type == new_type or _NOT_KNOWN in (old_type, new_type)


def count(old_path: str, new_path: str, is_exact: bool) -> Survivors:
    found = Survivors(is_exact, Counter(), Counter(), Counter())
    after = _lines(new_path)
    new = next(after, None)
    for address, size, type_ in _lines(old_path):
        found.old[type_] += 1
        while new and new[0] < address:
            found.new[new[2]] += 1
            new = next(after, None)
        if new and new[:2] == (address, size) and _may_be(type_, new[2]):
            found.both[new[2]] += 1
    while new:
        found.new[new[2]] += 1
        new = next(after, None)
    return found


def no_collection_between(old: Any, new: Any) -> bool:
    """Whether nothing was freed between two documents of totals of one
    process: the times of the last collection are equal, and none runs."""
    return (
        old["last_gc_ns"] is not None
        and old["last_gc_ns"] == new["last_gc_ns"]
        and old["gc_phase"] == new["gc_phase"] == "off"
    )
