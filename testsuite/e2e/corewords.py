# SPDX-License-Identifier: Apache-2.0
"""The words of a core, read without any of goref."""

import bisect
import struct

_PT_LOAD = 1


class CoreWords:
    """word(address): eight bytes of the process that a kernel's core has."""

    def __init__(self, path):
        self.file = open(path, "rb")
        header = self.file.read(64)
        offset, = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        self.segments = []
        for i in range(count):
            self.file.seek(offset + i * size)
            kind, _, at, addr, _, in_file, _, _ = struct.unpack(
                "<IIQQQQQQ", self.file.read(56)
            )
            if kind == _PT_LOAD and in_file:
                self.segments.append((addr, at, in_file))
        self.segments.sort()

    def read(self, addr, count):
        i = bisect.bisect_right(self.segments, (addr, 1 << 62, 0)) - 1
        start, at, in_file = self.segments[i]
        assert i >= 0 and addr + count <= start + in_file, hex(addr)
        self.file.seek(at + addr - start)
        return self.file.read(count)

    def word(self, addr):
        return struct.unpack("<Q", self.read(addr, 8))[0]

    def words(self, addr, count):
        """All words of an object."""
        return struct.unpack(f"<{count // 8}Q", self.read(addr, count // 8 * 8))

    def close(self):
        self.file.close()
