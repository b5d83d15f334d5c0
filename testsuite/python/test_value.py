# SPDX-License-Identifier: Apache-2.0
"""Values over a made-up stop: memory that makes sense or does not, types that
lead to themselves, and how often memory is read."""

import struct
from types import SimpleNamespace

import pytest

from goref import errors
from goref.gotypes import GoType, Types
from goref.locals import CallLocals, Locals
from goref.objectvalue import of_vertex
from goref.value import Value
from goref.valuereader import ValueReader

BASE = 0xC000000000
WORD = 8


class NativeError(Exception):
    pass


class FaultError(NativeError):
    pass


class NotSavedError(NativeError):
    pass


NATIVE = SimpleNamespace(
    Error=NativeError, FaultError=FaultError, NoMemoryError=NotSavedError
)


def field(name, type_, offset, embedded=False):
    return SimpleNamespace(
        name=name, type=type_, offset=offset, is_embedded=embedded
    )


def info(name, kind, size, elem=None, key=None, length=0, fields=()):
    return SimpleNamespace(
        name=name, kind=kind, size=size, elem=elem, key=key, length=length,
        has_itab=False, fields=fields,
    )  # fmt: skip


(INT, UINT8, FLOAT, STRING, INTS, BYTES, POINTER, LOOP, NODE, INNER, OUTER,
 MAP, ANY, ARRAY, COMPLEX, BOOL, UNTYPED, ODD, CHAN, FLOAT32) = range(20)  # fmt: skip

TYPES = {
    INT: info("int", "int", 8),
    UINT8: info("uint8", "uint", 1),
    FLOAT: info("float64", "float", 8),
    STRING: info("string", "string", 16),
    INTS: info("[]int", "slice", 24, elem=INT),
    BYTES: info("[]uint8", "slice", 24, elem=UINT8),
    POINTER: info("*main.Node", "pointer", 8, elem=NODE),
    LOOP: info("main.Loop", "pointer", 8, elem=LOOP),
    NODE: info("main.Node", "struct", 16,
               fields=(field("next", POINTER, 0), field("n", INT, 8))),
    # Embeds itself: no search ends in it.
    INNER: info("main.Inner", "struct", 16,
                fields=(field("Inner", INNER, 0, True),
                        field("deep", INT, 8))),
    OUTER: info("main.Outer", "struct", 32,
                fields=(field("Inner", INNER, 0, True),
                        field("own", INT, 16), field("_", INT, 24))),
    MAP: info("map[string]int", "map", 8, elem=INT, key=STRING),
    ANY: info("interface {}", "interface", 16),
    ARRAY: info("[3]int", "array", 24, elem=INT, length=3),
    COMPLEX: info("complex64", "complex", 8),
    BOOL: info("bool", "bool", 1),
    UNTYPED: info("[]?", "slice", 24),
    ODD: info("[1099511627776]int", "array", 1 << 43, elem=INT,
              length=1 << 40),
    CHAN: info("chan int", "chan", 8, elem=INT),
    FLOAT32: info("float32", "float", 4),
}  # fmt: skip


class Scan:
    """Memory from BASE on, and what was asked."""

    def __init__(self, size=0x1000):
        self.memory = bytearray(size)
        self.reads = []
        self.without_values = False
        self.lengths = {}
        self.maps = {}
        self.dynamic = {}
        self.places = {}
        self.locals = ()
        self.asked = []

    def put(self, offset, *words):
        data = b"".join((w % 2**64).to_bytes(WORD, "little") for w in words)
        self.memory[offset : offset + len(data)] = data

    def read(self, addr, size):
        self.reads.append((addr, size))
        if self.without_values:
            raise NotSavedError("this file was saved without values")
        start = addr - BASE
        if start < 0 or start + size > len(self.memory):
            raise FaultError(f"there is no memory at {addr:#x}")
        return bytes(self.memory[start : start + size])

    def type_info(self, number):
        return TYPES[number]

    def length(self, number, header):
        return self.lengths[header]

    def map_find(self, number, header, key):
        self.asked.append(key)
        return self.maps[header].get(key)

    def map_entries(self, number, header):
        return iter(self.maps[header])

    def dynamic_type(self, number, word):
        return self.dynamic[word]

    def value_place(self, vertex):
        return self.places[vertex]

    def local_values(self, goroutine, first, count):
        self.asked.append((goroutine, first, count))
        return self.locals

    def show(self, number, addr, content):
        return f"shown {number} {addr:#x} {content!r}"


@pytest.fixture
def scan():
    return Scan()


@pytest.fixture
def source(scan):
    return ValueReader(lambda: scan, Types(lambda: scan), NATIVE)


@pytest.fixture
def at(source):
    """The value of a type at an offset."""
    return lambda number, offset=0: Value(
        source, source.types.of(number), BASE + offset
    )


def test_nothing_is_read_before_it_is_asked_for(scan, at):
    value = at(NODE)
    part = value.next
    assert part.type == "*main.Node" and part.address == BASE
    at(INTS), at(ARRAY)[1], value.items(), value.keys(), dir(value)
    assert scan.reads == []
    scan.put(0, BASE + 32)
    assert value.next.n.address == BASE + 40
    assert scan.reads == [(BASE, 8)]


def test_numbers(scan, at):
    scan.put(0, -5, 200)
    assert int(at(INT)) == -5 == at(INT) and at(INT) != 5
    assert hex(at(UINT8, 8)) == "0xc8" and not at(UINT8, 16)
    assert at(INT) < -4 and at(INT) <= -5 and at(INT) < at(INT, 16)
    scan.memory[0:8] = struct.pack("<ff", 1.5, -2)
    assert complex(at(COMPLEX)) == 1.5 - 2j == at(COMPLEX)
    assert float(at(FLOAT32)) == 1.5
    scan.memory[0:8] = struct.pack("<d", float("nan"))
    assert at(FLOAT) != at(FLOAT)
    assert bool(at(BOOL, 8)) and at(BOOL, 8) == True  # noqa: E712
    with pytest.raises(TypeError, match="is no integer"):
        hex(at(BOOL, 8))
    with pytest.raises(TypeError, match="int is no pointer"):
        at(INT).dereference()


def test_formats(scan, at):
    scan.put(0, -5, BASE + 64, 3)
    scan.memory[64:67] = b"abc"
    scan.memory[32:40] = struct.pack("<d", 2.5)
    assert f"{at(INT):d}|{at(INT):>5}|{at(UINT8):#x}" == "-5|   -5|0xfb"
    assert f"{at(BOOL, 16):d}|{at(FLOAT, 32):.2f}" == "1|2.50"
    assert f"{at(STRING, 8):>5}|{at(STRING, 8):.2}" == "  abc|ab"
    for value in at(INT), at(BOOL, 16), at(STRING, 8), at(NODE):
        assert f"{value}" == str(value)
    assert f"{at(NODE):>99}" == str(at(NODE)).rjust(99)
    with pytest.raises(ValueError, match="format code 'd'"):
        f"{at(STRING, 8):d}"


def test_wild_lengths(scan, at):
    """They allocate nothing, and say what is wrong."""
    for words, error, said in (
        ((BASE, 1 << 40), errors.NoMemoryError, "no memory"),
        ((BASE, 1 << 63), errors.Error, "makes no sense: its length is"),
        ((0, 5), errors.Error, "makes no sense"),
    ):
        scan.put(0, *words)
        for ask in (
            str,
            bytes,
            hash,
            lambda v: v == "x" * words[1] if words[1] < 9 else str(v),
        ):
            with pytest.raises(error, match=said):
                ask(at(STRING))
        assert "no" in repr(at(STRING)) or ".." in repr(at(STRING))
    for words, error in (
        ((BASE, 1 << 40, 1 << 41), errors.NoMemoryError),
        ((BASE, 3, 2), errors.Error),
        ((BASE, 1 << 63, 1 << 63), errors.Error),
    ):
        scan.put(0, *words)
        with pytest.raises(error):
            list(at(INTS))
        with pytest.raises(error):
            bytes(at(INTS))
    # An element is read where it is, whatever the length.
    scan.put(0, BASE, 1 << 40, 1 << 41)
    assert at(INTS)[1] == 1 << 40
    with pytest.raises(errors.NoMemoryError):
        len(at(INTS))
    scan.put(0, BASE, 1 << 20, 1 << 41)
    assert len(at(INTS)) == 1 << 20
    scan.put(0, BASE)
    assert len(at(ODD)) == 1 << 40 and at(ODD)[0] == BASE
    with pytest.raises(errors.NoMemoryError):
        sum(map(int, at(ODD)))
    scan.put(0, 5)
    scan.lengths[5] = 1 << 64
    with pytest.raises(errors.Error, match="the map makes no sense"):
        len(at(MAP))


def test_types_of_themselves(scan, at):
    scan.put(0, BASE)
    with pytest.raises(errors.Error, match="pointers lead to pointers only"):
        at(LOOP).x
    outer = at(OUTER)
    scan.put(8, 7, 9)
    assert outer.deep == 7 and outer.own == 9
    with pytest.raises(errors.NoFieldError, match="no field dep; did you mean"):
        outer.Inner.dep
    with pytest.raises(KeyError):
        outer["nothing"]
    assert list(outer.keys()) == ["Inner", "own"]
    assert not hasattr(outer, "nothing") and hasattr(outer, "deep")
    # A list whose last element is the first one.
    scan.put(0, BASE, 1)
    node = at(NODE)
    for _ in range(100):
        node = node.next
    assert node.n == 1


def test_unknown_types(scan, source, at):
    scan.put(0, BASE, 1, 1)
    for ask in (list, lambda v: v[0], bytes):
        with pytest.raises(errors.Error, match="is not known"):
            ask(at(UNTYPED))
    with pytest.raises(errors.Error, match="its type is not known"):
        source.type(None)


def test_maps(scan, source, at):
    scan.put(0, 5)
    scan.put(64, BASE + 128, 1)
    scan.memory[128:129] = b"k"
    scan.put(96, 42)
    scan.lengths[5] = 1

    class Map(dict):
        def __iter__(self):
            return iter([(BASE + 64, BASE + 96)])

    scan.maps[5] = Map({b"k": BASE + 96})
    map_ = at(MAP)
    assert map_["k"] == 42 and map_.get("x") is None and "x" not in map_
    assert scan.asked == [b"k", b"x", b"x"]
    assert dict(map_) == {"k": 42} == map_ and list(map_) == ["k"]
    assert map_.items() == {("k", 42)} and len(map_.values()) == 1
    assert (5 in map_) is False  # compared with each key
    key = next(iter(map_.keys()))
    assert map_[key] == 42 and {"k": 1}[key] == 1
    with pytest.raises(KeyError):
        map_["other"]


def test_interfaces(scan, at):
    scan.dynamic = {
        1: SimpleNamespace(type=INT, is_direct=False),
        2: SimpleNamespace(type=POINTER, is_direct=True),
        3: SimpleNamespace(type=None, is_direct=False),
    }
    scan.put(0, 1, BASE + 32, 2, BASE + 64)
    scan.put(32, 7)
    scan.put(72, 9)
    assert at(ANY).dynamic == 7 == at(ANY) and int(at(ANY)) == 7
    held = at(ANY, 16)
    assert held.dynamic.type == "*main.Node" and held.n == 9
    assert at(ANY, 48).dynamic is None and at(ANY, 48) == None  # noqa: E711
    assert hash(at(ANY)) == hash(7)
    scan.put(0, 3)
    with pytest.raises(errors.Error, match="is not known"):
        at(ANY).dynamic
    with pytest.raises(errors.Error, match="is nil"):
        at(ANY, 48).x


def test_registers(scan, source):
    """A value that was in registers has no address, and its parts neither."""
    content = struct.pack("<QQ", BASE, 5)
    value = Value(source, source.types.of(NODE), content=content)
    assert value.n == 5 and value.n.address is None
    assert value.next.address is None and int(value.next) == BASE
    assert "in registers" in repr(value)
    assert str(value) == f"shown {NODE} 0x0 {content!r}"
    short = Value(source, source.types.of(NODE), content=content[:8])
    with pytest.raises(errors.NoMemoryError, match="in no register"):
        int(short.n)
    ints = Value(source, source.types.of(ARRAY),
                 content=struct.pack("<QQQ", 1, 2, 3))  # fmt: skip
    assert ints == [1, 2, 3] and ints[1:] == [2, 3] and ints[-1] == 3
    lost = Value(source, source.types.of(NODE), missing="optimized out")
    for ask in (str, bytes, lambda v: int(v.n), lambda v: v == v):
        with pytest.raises(errors.NoMemoryError, match="optimized out"):
            ask(lost)
    assert repr(lost) == "<goref.Value main.Node (optimized out)>"


def test_without_values(scan, at):
    scan.without_values = True
    for ask in (int, str, bytes, bool, hash):
        with pytest.raises(errors.NoMemoryError, match="without values"):
            ask(at(INT) if ask is not str else at(STRING))
    assert repr(at(INT)) == "<goref.Value int (not there)>"
    assert at(NODE).n.type == "int"


def test_closed_heap(scan):
    def closed():
        raise errors.StaleError("goref: the heap is closed")

    source = ValueReader(closed, Types(lambda: scan), NATIVE)
    for type_ in STRING, INT, POINTER:
        value = Value(source, source.types.of(type_), BASE)
        name = f"<goref.Value {value.type}"
        assert repr(value) == f"{name} (the heap is closed)>"


def test_no_gdb(at):
    with pytest.raises(errors.NotInGdbError, match="there is no gdb"):
        at(INT).gdb
    assert not hasattr(at(INT), "gdb")


def test_names_that_are_not_fields(at):
    """Python's own protocols ask for names that no struct has."""
    import copy

    value = at(NODE)
    assert copy.copy(value).n.address == value.n.address
    for name in ("__array__", "_source_", "__len"):
        with pytest.raises(AttributeError):
            getattr(value, name)
    with pytest.raises(AttributeError):
        Value.__new__(Value)._type


@pytest.mark.parametrize(
    "form, type_, length, wanted",
    [
        ("value", NODE, 0, "main.Node"),
        ("array", NODE, 4, "[4]main.Node"),
        ("text", STRING, 16, "[16]uint8"),
        ("header", MAP, 0, "map[string]int"),
        ("header", CHAN, 0, "chan int"),
    ],
)
def test_objects(scan, source, form, type_, length, wanted):
    scan.places[1] = SimpleNamespace(
        form=form, type=type_, addr=BASE, length=length, content=None
    )
    value = of_vertex(source, 1, "it")
    assert value.type == wanted
    if form == "header":
        assert int(value) == BASE and value.address is None
    else:
        assert value.address == BASE
    if form == "array":
        assert value[3].address == BASE + 48 and len(value) == 4


@pytest.mark.parametrize(
    "form, type_, said",
    [("piece", MAP, "is a part of a map"), ("unknown", None, "not known"),
     ("value", None, "not known")],
)  # fmt: skip
def test_objects_without_a_value(scan, source, form, type_, said):
    scan.places[1] = SimpleNamespace(
        form=form, type=type_, addr=BASE, length=0, content=None
    )
    with pytest.raises(errors.Error, match=said):
        of_vertex(source, 1, "it")


def local(call, name, type_=INT, state="there", addr=BASE, line=1):
    return SimpleNamespace(
        call=call, name=name, type=type_, state=state, addr=addr,
        content=None, is_argument=False, line=line,
    )  # fmt: skip


def test_locals(scan, source):
    scan.put(0, 1, 2)
    scan.locals = (
        local(0, "x"), local(0, "x", addr=BASE + 8, line=2),
        local(1, "y", None, "optimized out", None),
    )  # fmt: skip
    calls = CallLocals(source, 7)
    inner, outer = Locals(calls, 0), Locals(calls, 1)
    assert scan.asked == []
    assert inner["x"] == 2 and len(inner) == 1 and list(inner) == ["x"]
    assert [v.value == i for i, v in enumerate(inner.all, 1)] == [True, True]
    assert "z" not in inner and "y" in outer
    assert repr(outer["y"]) == "<goref.Value unknown (optimized out)>"
    assert scan.asked == [(7, 0, 1024)]
    Locals(calls, 5000).all
    assert scan.asked[1:] == [(7, 4096, 1024)]


def test_made_types(source):
    byte = source.types.byte()
    array = source.types.array(byte, 3)
    value = Value(source, array, content=b"abc")
    assert value == b"abc" and bytes(value) == b"abc"
    assert str(value) == "[3]uint8 [97,98,99]"
    assert GoType(source.types, "x", "unknown", 0).elem is None
