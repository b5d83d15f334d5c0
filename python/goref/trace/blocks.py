# SPDX-License-Identifier: Apache-2.0
"""The words of the helper in the mode native: windows, and the blocks of C
that are outstanding at the end."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

RECORD = struct.Struct("<QQQQQQQIIII")
LABELS = struct.Struct("<QQ")
_WORDS = RECORD.size // 8
_STACK_AT = 14  # the 32-bit word of a record that has its stack
_MOST_BLOCKS = 1 << 20
_MOST_WINDOWS = 1 << 20

# enum gr_alloc_kind of native_event.h: the kind of a record, as the lines of
# the setup name it.
KINDS = (
    "", "malloc", "calloc", "realloc", "reallocarray", "aligned",
    "posix_memalign", "new", "mmap", "free", "munmap",
)  # fmt: skip


class Record(NamedTuple):
    """A call, as the helper has it.

    weight: the bytes for which a sample stands; 0: this is no sample. time_ns:
    by CLOCK_MONOTONIC. labels: the address of the goroutine's labels.
    sweepgen: the runtime's, when the labels were in use. window: its number;
    0: none."""

    addr: int
    bytes: int
    weight: int
    time_ns: int
    goroutine_id: int
    labels: int
    sweepgen: int
    stack: int
    window: int
    kind: int
    thread_id: int

    @property
    def kind_name(self) -> str:
        return KINDS[self.kind] if self.kind < len(KINDS) else ""

    @property
    def is_mapping(self) -> bool:
        return self.kind_name == "mmap"


def records(data: bytes | bytearray) -> Iterator[Record]:
    return map(Record._make, RECORD.iter_unpack(data))


class Window(NamedTuple):
    """A time in which the probes were on. calls: those that pass the filters;
    lost: those of them that could not be recorded."""

    number: int
    begin_ns: int
    end_ns: int
    calls: int
    lost: int


class Blocks:
    """Windows in their order, and the records of outstanding blocks. Records
    stay as bytes: a million of them as tuples would take half a gigabyte.

    end_ns: when the helper took its probes away; 0: it has not yet."""

    def __init__(self) -> None:
        self.windows: list[Window] = []
        self.end_ns = 0
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data) // RECORD.size

    def __iter__(self) -> Iterator[Record]:
        return records(self._data)

    def add_window(self, rest: str) -> int:
        """The words behind `window'. Returns the calls that are lost because
        there are too many windows."""
        window = Window(*map(int, rest.split()))
        if len(self.windows) >= _MOST_WINDOWS:
            return window.calls
        self.windows.append(window)
        return 0

    def add(self, data: bytes) -> int:
        """Take records. Returns the number of those that have no room."""
        room = _MOST_BLOCKS * RECORD.size - len(self._data)
        self._data += data[:room]
        return max(len(data) - room, 0) // RECORD.size

    def places(self) -> bytes:
        """The address and the bytes of each record, as Scan.growth_blocks()
        takes them."""
        words = array("Q", bytes(self._data))
        found = array("Q", bytes(16 * len(self)))
        found[0::2] = words[0::_WORDS]
        found[1::2] = words[1::_WORDS]
        return found.tobytes()

    def count_without_stack(self) -> int:
        words = array("I", bytes(self._data))
        return words[_STACK_AT :: 2 * _WORDS].count(0)
