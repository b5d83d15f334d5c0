# SPDX-License-Identifier: Apache-2.0
"""The Go runtime's own dump of a heap: runtime/debug.WriteHeapDump().

The file lists every object with its contents and the offsets of its pointers,
by the masks of the collector, and the pointers of data and bss. The format is
that of https://go.dev/wiki/heapdump15-through-heapdump17.
"""

import bisect
import mmap
import struct
from pathlib import Path

from varint import read_varint

MAGIC = b"go1.7 heap dump\n"
EOF, OBJECT, OTHER_ROOT, TYPE, GOROUTINE, FRAME, PARAMS, FINALIZER = range(8)
ITAB, THREAD, MEM_STATS, QUEUED, DATA, BSS, DEFER, PANIC = range(8, 16)
MEM_PROF, ALLOC_SAMPLE = 16, 17
POINTER, WAITING = 1, 4
# The fields of records that are only skipped: n a number, s a string.
SHAPES = {
    OTHER_ROOT: "sn",
    TYPE: "nnsn",
    PARAMS: "nnnnssn",
    FINALIZER: "nnnnn",
    ITAB: "nn",
    THREAD: "nnn",
    MEM_STATS: "n" * (24 + 256 + 1),
    QUEUED: "nnnnn",
    DEFER: "nnnnnnn",
    PANIC: "nnnnnn",
    ALLOC_SAMPLE: "nn",
}


class HeapDump:
    """The rows of a dump, all of them addresses: objects, `{slot: (bytes,
    pointer words)}`; goroutines, `{g: (whether it is the user's and waits,
    pointer words of its frames)}`; statics, the pointer words of data and bss.
    """

    def __init__(self, path):
        self._data = Path(path).read_bytes()
        self._at = len(MAGIC)
        self.objects = {}
        self.goroutines = {}
        # The last goroutine, and the pointers of its frames.
        self._goroutine, self._frames = 0, []
        self.statics = []
        assert self._data.startswith(MAGIC)
        while (tag := self._number()) != EOF:
            self._record(tag)
        self._slots = sorted(self.objects)

    def slot(self, addr):
        """The slot that has the byte at an address, or None."""
        i = bisect.bisect_right(self._slots, addr) - 1
        if i < 0:
            return None
        slot = self._slots[i]
        return slot if addr < slot + self.objects[slot][0] else None

    def _number(self):
        value, self._at = read_varint(self._data, self._at)
        return value

    def _text(self):
        """Bytes that follow their number."""
        size = self._number()
        self._at += size
        return self._data[self._at - size : self._at]

    def _pointers(self, addr):
        """The addresses of the pointer fields that follow."""
        found = []
        while (kind := self._number()) != 0:
            assert kind == POINTER, kind
            found.append(addr + self._number())
        return found

    def _record(self, tag):
        if tag == OBJECT:
            addr = self._number()
            self.objects[addr] = len(self._text()), self._pointers(addr)
        elif tag in (DATA, BSS):
            addr = self._number()
            self._text()
            self.statics += self._pointers(addr)
        elif tag == GOROUTINE:
            g, _, _, _, status, is_system = (self._number() for _ in range(6))
            self._skip("nnsnnnn")
            self._goroutine, self._frames = g, []
            waits = status == WAITING and not is_system
            self.goroutines[g] = waits, self._frames
        elif tag == FRAME:
            addr = self._number()
            self._skip("nnsnnn")
            # It goes on after the dump. Before Go 1.20, nothing else says so.
            if self._text() == b"runtime/debug.WriteHeapDump":
                self.goroutines[self._goroutine] = False, self._frames
            self._frames += self._pointers(addr)
        elif tag == MEM_PROF:
            self._skip("nn")
            for _ in range(self._number()):
                self._skip("ssn")
            self._skip("nn")
        else:
            self._skip(SHAPES[tag])

    def _skip(self, shape):
        for field in shape:
            if field == "n":
                self._number()
            else:
                self._text()


class Memory:
    """The memory of a core, as its program headers say where it is."""

    def __init__(self, core):
        with open(core, "rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start, size, count = (
            struct.unpack_from(form, self._data, at)[0]
            for form, at in (("<Q", 32), ("<H", 54), ("<H", 56))
        )
        self._parts = sorted(
            (addr, offset, stored)
            for i in range(count)
            for kind, _, offset, addr, _, stored in [
                struct.unpack_from("<IIQQQQ", self._data, start + i * size)
            ]
            if kind == 1
        )

    def word(self, addr):
        """The word at an address; 0 where the core has nothing."""
        i = bisect.bisect_right(self._parts, (addr, 1 << 64, 0)) - 1
        base, offset, stored = self._parts[i]
        if not base <= addr <= base + stored - 8:
            return 0
        return struct.unpack_from("<Q", self._data, offset + addr - base)[0]
