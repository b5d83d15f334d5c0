# SPDX-License-Identifier: Apache-2.0
"""The memory that the kernel has allocated for a process and not freed, as the
helper tells it in the mode kernel."""

from __future__ import annotations

import struct
from typing import NamedTuple

from .stacks import UNSEEN, Frame, Stack

_RECORD = struct.Struct("<IIQQQ")
_UNFINISHED = 1  # a flag of the helper: the start of the stack was not reached

# enum gr_kernel_kind: the class, and its text.
KINDS = {
    1: ("kmalloc", "kmalloc"),
    2: ("slab", "slab objects"),
    3: ("pages", "pages"),
    4: ("percpu", "percpu memory"),
}
BENEATH = 5  # pages of the other allocators


class Outstanding(NamedTuple):
    """Blocks of one kind that one stack allocated. oldest_ns: when the first
    one was, by CLOCK_MONOTONIC."""

    kind: int
    stack: int
    bytes: int
    blocks: int
    oldest_ns: int


class Kernel:
    """The outstanding memory, and the stacks of the kernel.

    rows: as of the last look of the helper. other_events, other_ns: how often
    the probes ran for nothing, mostly in other processes, and how long."""

    def __init__(self) -> None:
        self.rows: list[Outstanding] = []
        self.other_events = self.other_ns = 0
        self._places: dict[int, str] = {}
        self._stacks: dict[int, tuple[bool, tuple[int, ...]]] = {}

    def take(self, name: str, rest: str, records: bytes) -> bool:
        """Take a message of the helper; False if it is about something else."""
        if name == "kplace":
            pc, _, function = rest.partition(" ")
            self._places[int(pc)] = function
        elif name == "kstack":
            number, flags, _count, *pcs = rest.split(" ")
            is_finished = not int(flags) & _UNFINISHED
            self._stacks[int(number)] = is_finished, tuple(map(int, pcs))
        elif name == "kernel":
            self.rows = [
                Outstanding(*values) for values in _RECORD.iter_unpack(records)
            ]
        elif name == "others":
            events, ns = map(int, rest.split())
            self.other_events += events
            self.other_ns += ns
        else:
            return False
        return True

    def stack(self, number: int) -> Stack:
        """A stack of the kernel, the innermost call first."""
        if number not in self._stacks:
            return UNSEEN
        is_finished, pcs = self._stacks[number]
        frames = (Frame(self._places.get(pc) or f"{pc:#x}") for pc in pcs)
        return Stack(tuple(frames), is_finished)
