# SPDX-License-Identifier: Apache-2.0
"""The object graph of goref as plain lists, and walks over it, for the naive
versions of the checks of `goref waste' that say what would be garbage."""

import bisect
import struct
from typing import NamedTuple

from naive_waste import Types


class Row(NamedTuple):
    type: str
    field: str
    bytes: int
    count: int
    example: int
    said: str = ""  # a part of the advice


class Graph:
    """vertices, edges by vertex, slots (bytes by object), and what is reached
    from the top."""

    def __init__(self, scan):
        self.scan = scan
        self.types = Types(scan)
        size = scan.graph_size()
        self.nobjects, self.roots_end = size.objects, size.roots_end
        self.vertices = [scan.vertex(v) for v in range(size.vertices)]
        self.edges = [
            list(scan.neighbours(v, "references"))
            for v in range(size.vertices)
        ]
        infos = [
            scan.object_info(self.vertices[v].addr, 0, 0, False, False)
            for v in range(size.objects)
        ]
        self.slots = [info.slot_bytes for info in infos]
        self.is_noscan = [bool(info.spanclass & 1) for info in infos]
        self.sizes = [info.bytes for info in infos]
        self.starts = [info.base_addr for info in infos]
        self.order = sorted(range(size.objects), key=self.starts.__getitem__)
        self._rising = [self.starts[v] for v in self.order]
        self.places = [scan.value_place(v) for v in range(size.objects)]
        self.alive = self.walk()

    def find(self, addr):
        """The object with the address in it, or None."""
        i = bisect.bisect_right(self._rising, addr) - 1
        if i < 0:
            return None
        v = self.order[i]
        return v if addr < self.starts[v] + self.sizes[v] else None

    def roots(self):
        return range(self.nobjects, self.roots_end)

    def walk(self, without=(), hidden=(), starts=()):
        """All to which the top and these lead. It enters no vertex of `without'
        and follows no edge of `hidden'."""
        without, hidden = set(without), set(hidden)
        seen = {len(self.vertices) - 1, *starts}
        queue = list(seen)
        while queue:
            v = queue.pop()
            for to in self.edges[v]:
                if to in seen or to in without or (v, to) in hidden:
                    continue
                seen.add(to)
                queue.append(to)
        return seen

    def gone(self, left):
        """The objects that are reached, and not in a walk that is left."""
        return [
            v for v in range(self.nobjects) if v in self.alive and v not in left
        ]

    def bytes(self, objects):
        return sum(self.slots[v] for v in objects)

    def word(self, addr):
        return struct.unpack("<Q", self.scan.read(addr, 8))[0]

    def type_of(self, v):
        """The type of an object that is one value of it, or None."""
        place = self.places[v]
        return place.type if place.form == "value" else None

    def variables(self, prefix):
        """The roots with the value of a package variable: (vertex, name)."""
        for v in self.roots():
            row = self.vertices[v]
            if row.kind == "global" and row.name.startswith(prefix):
                yield v, row.name.partition(" ")[0]
