# SPDX-License-Identifier: Apache-2.0
"""The pprof labels of samples, as far as they are proven.

A sample has the address of its goroutine's labels, and the sweepgen of the
runtime at that moment. Labels are never changed once they are set. They were in
use then, so their memory is not freed before a collection ends, which changes
the sweepgen first (runtime/mheap.go: sweepgen; mgc.go: gcSweep). So labels that
are read while the sweepgen is still that of the sample are those of the sample.
A goroutine that has labels at the same address later does not prove this: they
may be others, at an address that is used again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import Error

if TYPE_CHECKING:
    from .._goref import Scan

Labels = tuple[tuple[str, str], ...]

_SWEEPGEN_BYTES = 4
_MOST_AT_ONCE = 64  # sets that are read between two looks at the sweepgen
_MOST_CACHED = 1 << 14
_MOST_BYTES = 1 << 27  # of all sets, nearly
_SET_BYTES, _LABEL_BYTES = 250, 160  # beside the text


class Word:
    """A number of four bytes in the memory of a process."""

    def __init__(self, pid: int, addr: int) -> None:
        self.addr = addr
        try:
            # An open file stays with the program that the process has now.
            self._file = open(f"/proc/{pid}/mem", "rb", buffering=0)
        except OSError:
            self._file = None

    def read(self) -> int | None:
        """None: it cannot be read."""
        if self._file is None:
            return None
        try:
            found = os.pread(self._file.fileno(), _SWEEPGEN_BYTES, self.addr)
        except (OSError, OverflowError):
            return None
        if len(found) < _SWEEPGEN_BYTES:
            return None
        return int.from_bytes(found, "little")


class LabelSets:
    """Sets of labels by their address and the sweepgen of their sample."""

    def __init__(
        self, scan: Scan, sweepgen: Callable[[], int | None]
    ) -> None:
        self._scan = scan
        self._sweepgen = sweepgen
        self._cached: dict[tuple[int, int], Labels | None] = {}
        self._sets: dict[Labels, Labels] = {}  # each is kept once
        self._left = _MOST_BYTES

    def learn(self, keys: Iterable[tuple[int, int]]) -> None:
        """Read sets as soon as their samples are there."""
        new = iter({key for key in keys if key not in self._cached})
        while some := [*islice(new, _MOST_AT_ONCE)]:
            self._read(some)

    def _read(self, keys: list[tuple[int, int]]) -> None:
        before = self._sweepgen()
        try:
            found = [
                (key, self._scan.labels_at(key[0]))
                for key in keys
                if key[1] == before
            ]
        except Error:
            return  # the process has just ended
        if not found or self._sweepgen() != before:
            return
        if len(self._cached) + len(found) > _MOST_CACHED:
            self._cached.clear()
        for key, labels in found:
            self._cached[key] = self._kept(tuple(map(tuple, labels)))

    def _kept(self, labels: Labels) -> Labels | None:
        """None: what is there is not readable as labels, or there is no more
        room."""
        if labels and labels not in self._sets:
            texts = sum(len(key) + len(value) for key, value in labels)
            size = texts + len(labels) * _LABEL_BYTES + _SET_BYTES
            if size > self._left:
                return None
            self._left -= size
            self._sets[labels] = labels
        return self._sets.get(labels)

    def at(self, addr: int, sweepgen: int) -> Labels | None:
        """The labels of a sample that has some; None: they are not known."""
        return self._cached.get((addr, sweepgen))
