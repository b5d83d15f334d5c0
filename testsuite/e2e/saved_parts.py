# SPDX-License-Identifier: Apache-2.0
"""The description in a saved file (savedfile/description.c) and its tables
(scanner/dwarf/store.c) in parts, to which rows are added."""

import struct

import saved_file
from varint import read_varint, varint

REGISTERS = 33
# The fields of a row of a list, as a letter each: number or text.
MAPPING, THREAD = "nnnnt", "n" * (REGISTERS + 5)
LISTS = (
    # The fields in front of the list, its name, its rows.
    ("nt" + "n" + "ttt" + "nnn" + "nnnn", "segments", MAPPING),
    ("", "files", MAPPING),
    ("", "threads", THREAD),
    ("", "modules", "tnnn"),
    ("nnn", "mappings", MAPPING),
    ("", "resident", "nnnn"),
    ("", "memory", "nn"),
)


def signed(value):
    return varint(value << 1 if value >= 0 else ~value << 1 | 1)


def text(value):
    return varint(0) if value is None else varint(len(value) + 1) + value


class Description:
    """`lists` has for each list its count and its rows as bytes; `heads` has
    the bytes in front of it."""

    def __init__(self, data):
        self.data, self.at = data, 0
        self.heads, self.lists = {}, {}
        for head, name, row in LISTS:
            self.heads[name] = self._skip(head)
            count = self._number()
            self.lists[name] = [count, self._skip(row * count)]
        assert self.at == len(data)

    def _number(self):
        value, self.at = read_varint(self.data, self.at)
        return value

    def _skip(self, letters):
        start = self.at
        for letter in letters:
            value = self._number()
            if letter == "t" and value:
                self.at += value - 1
        return bytes(self.data[start : self.at])

    def add(self, name, rows, count, end=0):
        """Rows behind the others. Ranges that end at `end` come in front of
        them: the first of the others is reckoned from there."""
        old, others = self.lists[name]
        if end and others:
            start = self.signed(others)
            others = signed(start - end) + others[len(signed(start)) :]
            rows, others = others, rows
        self.lists[name] = [old + count, others + rows]

    @staticmethod
    def signed(data):
        """The number at the start of these bytes."""
        bits, _ = read_varint(data, 0)
        return bits >> 1 ^ -(bits & 1)

    def replace(self, name, rows, count):
        self.lists[name] = [count, rows]

    def bytes(self):
        return b"".join(
            self.heads[name] + varint(count) + rows
            for name, (count, rows) in self.lists.items()
        )

    def frame(self):
        return saved_file.pack(saved_file.DESCRIPTION, bytearray(self.bytes()))


SECTIONS = (
    "types", "fields", "variables", "functions", "constants", "canonical",
    "types_by_name", "types_by_runtime_type", "variables_by_name",
    "constants_by_name", "answers", "locals", "captures", "names",
)  # fmt: skip
ROW_BYTES = dict(
    zip(SECTIONS, (64, 24, 24, 32, 24, 4, 4, 4, 4, 4, 24, 440, 24, 1))
)
HEADER_BYTES, PLACES_OFFSET = 304 + 14 * 16, 304
NO_TYPE = (1 << 32) - 1
LOCALS = (0, 3)  # questions about variables: dwarf/answers.h
TYPE = struct.Struct("<QQQQBBHIIIQII")
FIELD = struct.Struct("<QQIB3x")


class Tables:
    """A block of tables by its sections; rows can be added to each."""

    def __init__(self, block):
        self.head = bytes(block[:PLACES_OFFSET])
        self.rows = {}
        for i, name in enumerate(SECTIONS):
            at, count = struct.unpack_from(
                "<QQ", block, PLACES_OFFSET + 16 * i
            )
            size = count * ROW_BYTES[name]
            self.rows[name] = bytearray(block[at : at + size])

    def count(self, name):
        return len(self.rows[name]) // ROW_BYTES[name]

    def name(self, value):
        """The offset of a new name."""
        self.rows["names"] += value + b"\0"
        return len(self.rows["names"]) - len(value) - 1

    def add_type(self, name, size, kind, elem=NO_TYPE, key=NO_TYPE,
                 header=NO_TYPE, count=0, fields=(0, 0)):  # fmt: skip
        """The number of a new type."""
        number = self.count("types")
        self.rows["types"] += TYPE.pack(
            self.name(name), 1 << 40, size, 0, kind, 0, 0, elem, key, header,
            count, *fields,
        )  # fmt: skip
        self.rows["canonical"] += struct.pack("<I", number)
        return number

    def add_fields(self, *rows):
        """rows: name, offset, type. Where they are."""
        first = self.count("fields")
        for name, offset, type_number in rows:
            self.rows["fields"] += FIELD.pack(name, offset, type_number, 0)
        return first, len(rows)

    def _row(self, number):
        return TYPE.unpack_from(self.rows["types"], number * TYPE.size)

    def name_of(self, number):
        at = self._row(number)[0]
        return bytes(self.rows["names"][at : self.rows["names"].index(0, at)])

    def kind_of(self, number):
        return self._row(number)[4]

    def fields_of(self, number):
        return self._row(number)[-2:]

    def find(self, name):
        """The first type of that name."""
        return next(
            i for i in range(self.count("types")) if self.name_of(i) == name
        )

    def change_type(self, number, **changes):
        keys = ("name", "die", "size", "runtime", "kind", "methods", "dict",
                "elem", "key", "header", "count", "first", "nfields")  # fmt: skip
        row = dict(zip(keys, self._row(number)))
        row.update(changes)
        TYPE.pack_into(self.rows["types"], number * 64, *row.values())

    def repeat_type(self, number, count):
        """So many more types like that one."""
        size, first = TYPE.size, self.count("types")
        row = self.rows["types"][number * size : (number + 1) * size]
        self.rows["types"] += row * count
        self.rows["canonical"] += struct.pack(
            f"<{count}I", *range(first, first + count)
        )

    def repeat_last(self, section, count):
        """So many more rows like its last one."""
        self.rows[section] += self.rows[section][-ROW_BYTES[section] :] * count

    def set_names(self, section, name):
        """All rows have the name at that offset, and those of variables of
        functions also a function of that name."""
        number = 2 if section == "locals" else 1
        rows = self.rows[section]
        for at in range(0, len(rows), ROW_BYTES[section]):
            struct.pack_into(f"<{number}Q", rows, at, *[name] * number)

    def set_variables(self, number):
        """All package variables are of that type."""
        for i in range(self.count("variables")):
            struct.pack_into("<I", self.rows["variables"], i * 24 + 16, number)

    def set_answers(self, count):
        """All questions about variables have that many."""
        rows = self.rows["answers"]
        for at in range(0, len(rows), 24):
            (question,) = struct.unpack_from("<I", rows, at + 12)
            if question in LOCALS:
                struct.pack_into("<II", rows, at + 16, 0, count)

    def bytes(self):
        places, parts, at = [], [], HEADER_BYTES
        for name in SECTIONS:
            rows = self.rows[name]
            places.append(struct.pack("<QQ", at, len(rows) // ROW_BYTES[name]))
            parts.append(bytes(rows) + bytes(-len(rows) % 8))
            at += len(parts[-1])
        # The names end the block.
        parts[-1] = bytes(self.rows["names"])
        return bytearray(self.head + b"".join(places + parts))
