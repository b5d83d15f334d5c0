# SPDX-License-Identifier: Apache-2.0
"""Crafted tables of debug information in saved files: a kind for
crafted_saved.py each."""

import struct

import saved_file
import saved_parts
from saved_file import TABLES
from saved_parts import NO_TYPE
from varint import varint

MOST = 64 << 20  # of a frame
MOST_FIELDS, MOST_NAMES = 1 << 16, 1000
LONGEST = 16 << 10  # of a name
KIND_INT, KIND_ARRAY, KIND_MAP, KIND_PTR, KIND_STRUCT = 2, 17, 21, 22, 25


def tabled(frames, change):
    """The tables of the first module, changed."""
    at = next(i for i, f in enumerate(frames) if f.kind == TABLES)
    tables = saved_parts.Tables(frames[at].unpack())
    before = sum(f.bytes for f in frames if f.kind == TABLES)
    assert before == frames[at].bytes
    change(tables)
    block = tables.bytes()
    description = saved_parts.Description(frames[0].unpack())
    old = varint(before)
    count, rows = description.lists["modules"]
    assert count == 1 and rows.endswith(old)
    description.replace("modules", rows[: -len(old)] + varint(len(block)), 1)
    saved_file.seal_tables(block)
    pieces = [block[i : i + MOST] for i in range(0, len(block), MOST)]
    packed = [
        saved_file.Frame(TABLES, len(x), saved_file.zstd("-3", bytes(x)))
        for x in pieces
    ]
    return [description.frame(), *frames[1:at], *packed, *frames[at + 1 :]]


def _maps_of(tables, key):
    """All map types have keys and elements of that type."""
    for i in range(tables.count("types")):
        if tables.kind_of(i) == KIND_MAP:
            tables.change_type(i, key=key, elem=key, header=NO_TYPE)


def _tower(tables, leaf, levels=40):
    """Structs that hold the next one twice."""
    for _ in range(levels):
        where = tables.add_fields((1, 0, leaf), (1, 0, leaf))
        leaf = tables.add_type(b"S", 8, KIND_STRUCT, fields=where)
    return leaf


def tower(frames):
    """In all maps, whose groups are not described."""
    return tabled(
        frames,
        lambda tables: _maps_of(tables, _tower(tables, tables.find(b"int8"))),
    )


def tower_of_pointers(frames):
    return tabled(
        frames,
        lambda tables: _maps_of(tables, _tower(tables, tables.find(b"*int"))),
    )


def tower_of_variables(frames):
    """All package variables are towers of numbers."""

    def change(tables):
        tables.set_variables(_tower(tables, tables.find(b"int8")))

    return tabled(frames, change)


def deep(frames):
    """A struct in a struct, a hundred thousand times."""

    def change(tables):
        leaf = tables.find(b"*int")
        for _ in range(100_000):
            where = tables.add_fields((1, 0, leaf))
            leaf = tables.add_type(b"S", 8, KIND_STRUCT, fields=where)
        _maps_of(tables, leaf)

    return tabled(frames, change)


def ring(frames):
    """Structs and arrays that hold each other."""

    def change(tables):
        first = tables.count("types")
        where = tables.add_fields((1, 0, first + 1), (1, 0, first + 2))
        tables.add_type(b"A", 8, KIND_STRUCT, fields=where)
        tables.add_type(b"B", 8, KIND_ARRAY, elem=first, count=1)
        tables.add_type(b"C", 8, KIND_ARRAY, elem=first + 1, count=1)
        _maps_of(tables, first)

    return tabled(frames, change)


def _wide(tables, count, name=1):
    """A struct of numbers that has so many fields."""
    row = (name, 0, tables.find(b"int8"))
    where = tables.add_fields(*[row] * count)
    return tables.add_type(b"W", 8, KIND_STRUCT, fields=where)


def same_fields(frames):
    """Structs that share 65,536 fields, all of them in one."""

    def change(tables):
        first = _wide(tables, MOST_FIELDS)
        where = tables.fields_of(first)
        tables.repeat_type(first, MOST_FIELDS - 1)
        rows = [(1, 0, first + i) for i in range(MOST_FIELDS)]
        where = tables.add_fields(*rows)
        whole = tables.add_type(b"T", 8, KIND_STRUCT, fields=where)
        _maps_of(tables, whole)

    return tabled(frames, change)


def wide(frames):
    """More fields than a struct can have."""
    return tabled(frames, lambda tables: _wide(tables, MOST_FIELDS + 1))


def wide_records(frames):
    """The runtime's own structs have as many fields as they can."""

    def change(tables):
        row = (tables.name(b"y"), 0, tables.find(b"int8"))
        where = tables.add_fields(*[row] * MOST_FIELDS)
        for i in range(tables.count("types")):
            if tables.name_of(i).startswith(b"runtime."):
                tables.change_type(i, first=where[0], nfields=where[1])

    return tabled(frames, change)


def long_names(frames):
    """Each step of a type has a name of 8 kB."""

    def change(tables):
        names = [
            tables.name(b"%d" % i + b"n" * 4000) for i in range(MOST_NAMES)
        ]
        pointer = tables.add_type(b"p" * 4000, 8, KIND_PTR)
        for _ in range(50):
            rows = [(name, 0, pointer) for name in names]
            where = tables.add_fields(*rows)
            pointer = tables.add_type(
                b"p" * 4000, 8, KIND_STRUCT, fields=where
            )
        tables.set_variables(pointer)
        _maps_of(tables, pointer)

    return tabled(frames, change)


def atomics(frames):
    """Structs that look for the type of an atomic pointer."""

    def change(tables):
        first = _wide(tables, MOST_FIELDS)
        name = tables.name(b"sync/atomic.Pointer[int]")
        tables.change_type(first, name=name)
        tables.repeat_type(first, MOST_FIELDS)

    return tabled(frames, change)


def arrays(frames):
    """Arrays of arrays, 2^60 elements in all."""

    def change(tables):
        leaf = tables.find(b"*int")
        for _ in range(15):
            leaf = tables.add_type(
                b"A", 8, KIND_ARRAY, elem=leaf, count=1 << 4
            )
        tables.set_variables(leaf)
        _maps_of(tables, leaf)

    return tabled(frames, change)


def many_types(frames):
    def change(tables):
        tables.repeat_type(tables.find(b"*int"), 200_000)

    return tabled(frames, change)


def many_variables(frames):
    """All of them at one address, in one variable's place."""

    def change(tables):
        rows = tables.rows["variables"]
        rows += rows[:24] * 400_000

    return tabled(frames, change)


def many_functions(frames):
    return tabled(frames, lambda t: t.repeat_last("functions", 300_000))


def many_constants(frames):
    return tabled(frames, lambda t: t.repeat_last("constants", 400_000))


def many_locals(frames):
    return tabled(frames, lambda t: t.repeat_last("locals", 20_000))


def many_captures(frames):
    return tabled(frames, lambda t: t.repeat_last("captures", 400_000))


def locals_of_all(frames):
    """Each question about variables has all of them."""

    def change(tables):
        tables.repeat_last("locals", 20_000)
        tables.set_answers(tables.count("locals"))

    return tabled(frames, change)


def large_index(frames):
    """An index with nothing but free slots."""

    def change(tables):
        tables.rows["types_by_name"] = bytearray(b"\xff" * (4 << 21))

    return tabled(frames, change)


def full_index(frames):
    """An index whose slots are taken up to the middle."""

    def change(tables):
        rows = bytearray(b"\0" * (4 << 19)) + b"\xff" * (4 << 19)
        for name in ("types_by_name", "variables_by_name"):
            tables.rows[name] = rows

    return tabled(frames, change)


def names(frames):
    """A name of 12 MB."""
    return tabled(frames, lambda tables: tables.name(b"n" * (12 << 20)))


def _one_name(frames, section, count=0):
    """All rows, and so many more, share the longest name."""

    def change(tables):
        tables.repeat_last(section, count)
        tables.set_names(section, tables.name(b"n" * LONGEST))

    return tabled(frames, change)


def one_name_of_fields(frames):
    return _one_name(frames, "fields")


def one_name_of_variables(frames):
    return _one_name(frames, "variables", 400_000)


def one_name_of_functions(frames):
    return _one_name(frames, "functions", 300_000)


def one_name_of_constants(frames):
    return _one_name(frames, "constants", 400_000)


def one_name_of_locals(frames):
    return _one_name(frames, "locals", 20_000)


def one_name_of_captures(frames):
    return _one_name(frames, "captures", 400_000)


def one_name_of_tries(frames):
    """Each of these types looks for the types that its name has."""

    def change(tables):
        head = b"internal/sync.HashTrieMap["
        name = head + b"n" * (LONGEST - len(head) - 1) + b"]"
        first = tables.add_type(name, 8, KIND_STRUCT)
        tables.repeat_type(first, 10_000)

    return tabled(frames, change)


def names_of_locals(frames):
    """Names of functions and of their variables, of 16 kB each and many."""

    def change(tables):
        names = [
            tables.name(b"%d" % i + b"n" * (LONGEST - 5))
            for i in range(MOST_NAMES)
        ]
        rows = tables.rows["locals"]
        for i in range(tables.count("locals")):
            pair = names[i % MOST_NAMES], names[i // MOST_NAMES % MOST_NAMES]
            struct.pack_into("<2Q", rows, i * 440, *pair)

    return tabled(frames, change)


def many_names(frames):
    """12 million names of nothing."""
    return tabled(
        frames,
        lambda tables: tables.rows["names"].extend(bytes(12 << 20)),
    )


# The reason for which each is refused, as in crafted_saved.py.
ALL = {
    **dict.fromkeys(
        (tower, tower_of_pointers, tower_of_variables, deep, ring, same_fields,
         long_names, atomics, arrays, many_types, many_variables,
         many_functions, many_constants, many_locals, many_captures,
         one_name_of_functions, one_name_of_constants, one_name_of_locals,
         one_name_of_captures, one_name_of_tries, names_of_locals, many_names),
        "",
    ),
    **dict.fromkeys((wide, large_index, full_index, names), "is damaged ("),
    **dict.fromkeys((wide_records, one_name_of_fields), "has no field"),
    one_name_of_variables: "has no variable",
    locals_of_all: "lacks this answer about a function",
}  # fmt: skip
