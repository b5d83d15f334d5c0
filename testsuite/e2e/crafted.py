# SPDX-License-Identifier: Apache-2.0
"""Crafted cores: a real core, with memory of its own added, and the runtime's
lists led into it. Random damage does not find what these do."""

import os
import struct

import mutate

_LOAD, _READ_WRITE = 1, 6
# Above everything that a program has mapped.
FIRST_ADDRESS = 0x7E00_0000_0000


def _constants(scanner, exe, core):
    """{"kind_weak_handle": 2, ...} of the target."""
    text = mutate.layout_text(scanner, exe, core)
    rows = (line.split() for line in text.splitlines())
    return {
        row[1]: int(row[2])
        for row in rows
        if len(row) > 2 and row[0] == "const" and row[2] != "-"
    }


class Crafted:
    """A copy of a core that is changed."""

    def __init__(self, scanner, target, path):
        self.path = path
        self.points = mutate.Points(scanner, target.exe, target.core)
        self.layout = self.points.layout
        self.constants = _constants(scanner, target.exe, target.core)
        mutate.copy_sparse(target.core, path)
        self.next = FIRST_ADDRESS

    def add(self, data):
        """Memory with these bytes; its address."""
        address = self.next
        self.next += (len(data) + 0xFFFF) & ~0xFFFF
        with open(self.path, "r+b") as file:
            (table,) = struct.unpack("<Q", _at(file, 0x20, 8))
            (count,) = struct.unpack("<H", _at(file, 0x38, 2))
            headers = _at(file, table, count * mutate.HEADER.size)
            place = (file.seek(0, os.SEEK_END) + 0xFFF) & ~0xFFF
            file.seek(place)
            file.write(data)
            # The table moves to the end, where it has room for one more.
            headers += mutate.HEADER.pack(
                _LOAD, _READ_WRITE, place, address, 0, len(data), len(data), 1
            )
            table = (file.seek(0, os.SEEK_END) + 7) & ~7
            file.seek(table)
            file.write(headers)
            file.seek(0x20)
            file.write(struct.pack("<Q", table))
            file.seek(0x38)
            file.write(struct.pack("<H", count + 1))
        return address

    def put(self, words):
        """words: {address: value}"""
        core = mutate.Core(self.path)
        for address, value in words.items():
            core.put(address, value)
        core.close()

    def types_begin(self):
        """The first type of the program."""
        core = mutate.Core(self.path)
        found = core.u64(self.points.module_field("types"))
        core.close()
        return found

    def record(self, size, fields):
        """Bytes of a record: {name: value}."""
        data = bytearray(size)
        for name, value in fields.items():
            offset, length = self.layout[name]
            data[offset : offset + length] = value.to_bytes(length, "little")
        return bytes(data)


def _at(file, offset, size):
    file.seek(offset)
    return file.read(size)


# -------------------------------------------------------------- what is crafted


def specials(core, count=1_000_000):
    """All spans have the same specials, a list that is long."""
    size, step = core.layout["special"][0], 32
    kind = core.constants["kind_finalizer"]
    fields = [core.layout[f"special.{n}"] for n in ("next", "kind")]
    at, record = core.next, bytearray(max(size, step))
    data = bytearray(step * count + 64)
    for i in range(count):
        struct.pack_into("<Q", record, fields[0][0], at + (i + 1) * step)
        record[fields[1][0]] = kind
        data[i * step : i * step + step] = record[:step]
    struct.pack_into("<Q", data, (count - 1) * step + fields[0][0], 0)
    assert core.add(data) == at
    slot = core.layout["mspan.specials"][0]
    core.put({span + slot: at for span in core.points.in_use})


def span_table(core, count=1 << 24):
    """The list of spans is long, and has one span in it."""
    span = core.points.in_use[0]
    first = core.add(struct.pack("<Q", span) * count)
    slot = core.points.lengths[0]
    core.put({slot - 8: first, slot: count, slot + 8: count})


def modules(core):
    """The list of modules comes back to its first one."""
    core.put({core.points.module_field("next"): core.points.module})


def itab_table(core, count=1 << 24):
    """The table of interfaces is long, and full of one of them."""
    size, entries = (
        core.layout[f"itab_table.{n}"][0] for n in ("size", "entries")
    )
    data = bytearray(entries) + struct.pack("<Q", FIRST_ADDRESS) * count
    struct.pack_into("<Q", data, size, count)
    core.put({core.points.variable("itabTable"): core.add(data)})


# Lists of specials and spans that cover too much are unit tests: test_root_lists
# and test_heap_damage.
ALL = (span_table, modules, itab_table)
