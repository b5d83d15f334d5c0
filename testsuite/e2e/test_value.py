# SPDX-License-Identifier: Apache-2.0
"""goref.Value, by what the program says of its variables, and against gdb's own
values of all objects."""

import json
import textwrap

import pytest

from session import run_goref
from toolchains import RELEASES, Variant, variants

CENTRAL = Variant("go1.24", "default")

# A value as encoding/json writes it.
PLAIN = """
def plain(value):
    kind = value.kind
    if kind in ("bool", "int", "uint", "float", "string"):
        return {"bool": bool, "int": int, "uint": int, "float": float,
                "string": str}[kind](value)
    if kind != "array" and kind != "struct" and value.is_nil:
        return None
    if kind == "pointer":
        return plain(value.dereference())
    if kind == "interface":
        return plain(value.dynamic)
    if kind == "struct":
        return {name: plain(field) for name, field in value.items()
                if name[0].isupper()}
    if kind == "map":
        return {str(key): plain(element) for key, element in value.items()}
    if kind == "slice" and value.type == "[]uint8":
        return bytes(value)
    return [plain(element) for element in value]
"""


def run_script(target, tmp_path, text, before=(), after=()):
    """What a script prints as JSON."""
    script = tmp_path / "script.py"
    script.write_text(
        "import json\nimport goref\n" + PLAIN + textwrap.dedent(text)
    )
    run = run_goref(target, [*before, f"source {script}", *after])
    assert run.rc == 0 and "Traceback" not in run.stderr, run.stderr
    return json.loads(run.parts[len(before)])


@pytest.fixture
def typed(farm, variant):
    return farm.target("typed", variant)


every_release = variants("default", "noopt")


@every_release
def test_all_kinds(typed, tmp_path):
    """A struct of many fields is what the program prints of it."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        print(json.dumps([
            plain(heap.evaluate("main.world").value()),
            plain(heap.evaluate("main.growing").value()),
            len(heap.evaluate("main.huge").value()),
            sum(1 for k, v in heap.evaluate("main.huge").value().items()
                if int(k) == -int(v)),
        ]))
    """,
    )
    world, growing, length, right = got
    truth = typed.truth
    assert set(world) == set(truth["world"])
    wrong = {k: (world[k], truth["world"][k]) for k in world
             if world[k] != truth["world"][k]}  # fmt: skip
    assert wrong == {}
    assert growing == truth["growing"]
    assert length == right == truth["length"]


@every_release
def test_fields(typed, tmp_path):
    """Of embedded structs, of pointers, and those that are named like
    methods."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        derived = heap.value("main.derived")
        ring = heap.value("main.ring")
        said = []
        for ask in (lambda: derived.Nam, lambda: derived["Nope"],
                    lambda: ring.Next.Value.X, lambda: derived[3],
                    lambda: heap.value("main.world.NilAt").X):
            try:
                ask()
            except (goref.Error, TypeError) as problem:
                said.append([type(problem).__name__, str(problem)])
        print(json.dumps([
            int(derived.ID), str(derived.Notes[0]), int(derived.Depth),
            str(derived.Label), str(derived["Name"]), derived.Deep.type,
            int(ring.Value), int(ring.Next.Value), ring.Next.Next == ring,
            int(ring["keys"]), callable(ring.keys), "Value" in dir(ring),
            hasattr(derived, "Name"), hasattr(derived, "Nope"),
            ring.object == heap.object(int(ring)),
            ring.dereference().address == int(ring),
            said,
        ]))
    """,
    )
    *values, said = got
    assert values == [
        42, "note", 3, "far", "derived", "main.Deep", 1, 2, True, 77, True,
        True, True, False, True, True,
    ]  # fmt: skip
    assert said == [
        ["NoFieldError",
         "goref: main.Derived has no field Nam: is it Name?"],
        ["NoFieldError", "goref: main.Derived has no field Nope"],
        ["NoFieldError", "goref: int has no fields: no X"],
        ["TypeError", "goref: a value of type main.Derived has no element 3"],
        ["Error", "goref: a pointer of type *main.Point is nil"],
    ]  # fmt: skip


@every_release
def test_sequences(typed, tmp_path):
    got = run_script(
        typed,
        tmp_path,
        """
        world = goref.heap().value("main.world")
        points, array = world.Points, world.Array
        said = []
        for ask in (lambda: points[2], lambda: array[-5]):
            try:
                ask()
            except IndexError as problem:
                said.append(str(problem))
        print(json.dumps([
            len(points), [int(p.Y) for p in points], int(points[-1].X),
            [int(n) for n in reversed(array)], array == [-1, 2, -3, 4],
            [int(n) for n in array[1:3]], array[1:3].type, len(array[3:1]),
            [int(n) for n in array[::2]], -3 in array, 5 in array,
            int(points[1:][0].X), points[1:].capacity,
            bool(world.NoInts), world.NoInts.is_nil, world.NilInts.is_nil,
            world.NilInts == None, list(world.NilInts), str(array[1:3]),
            sorted(array) == [-3, -1, 2, 4], str(world.Matrix),
            [int(x) for row in world.Matrix for x in row], said,
        ]))
    """,
    )
    *values, said = got
    assert values == [
        2, [2, 4], 3, [4, -3, 2, -1], True, [2, -3], "[]int16", 0, [-1, -3],
        True, False, 3, 1, False, False, True, True, [], "[]int16 [2,-3]",
        True, "[2][3]uint8 [[1,2,3],[4,5,6]]", [1, 2, 3, 4, 5, 6],
    ]  # fmt: skip
    assert said == [
        "goref: the index 2 is out of range: []main.Point has 2 elements",
        "goref: the index -5 is out of range: [4]int16 has 4 elements",
    ]


@every_release
def test_mappings(typed, tmp_path):
    """Keys of all kinds, and maps of both designs and of all sizes."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        world = heap.value("main.world")
        large, huge = world.Large, heap.value("main.huge")
        any_ = heap.value("main.byAny")
        point = heap.value("main.world.Points[0]")
        by_point = heap.value("main.byPoint")
        wide = heap.value("main.byWide")
        try:
            world.ByName["three"]
            missing = "found"
        except KeyError as problem:
            missing = problem.args[0]
        print(json.dumps([
            int(large["key-4999"]), "key-5000" in large, len(large),
            int(huge[99999]), huge.get(100000), 2**70 in huge, -1 in huge,
            int(world.ByName[""]), missing,
            str(world.ByLevel[-1]), int(world.ByNumber[1 << 40].X),
            world.ByUint[0].is_nil, sorted(map(int, world.Deleted)),
            str(world.Wides["b"].Tag), list(map(int, world.Nested["a"]["b"])),
            "member" in world.Set, str(world.Named["key"]),
            [int(heap.value("main.byBool")[b]) for b in (True, False)],
            [str(heap.value("main.byFloat")[f]) for f in (0.5, -2.0)],
            [int(any_[key]) for key in ("text", 2, 2.5, point, None)],
            str(by_point[point]), sorted(int(v) for v in wide.values()),
            int(next(v for k, v in wide.items() if k[19] == 9)),
            len(world.NilMap), list(world.NilMap), world.NilMap.get("x"),
            world.ByName == {"one": 1, "two": 2, "": 0},
            {"one": 5}.get(next(k for k in world.ByName if k == "one")),
            set(world.ByName.keys()) == {"one", "two", ""},
            len(world.ByName.items()), sorted(world.Point.keys()),
            int(heap.value("main.pointers")[None]),
            int(heap.value("main.world.ByName[\\"one\\"]")),
        ]))
    """,
    )
    assert got == [
        4999, False, 5000, -99999, None, False, False, 0, "three", "low", 2,
        True, list(range(10)), "wide b", [1, 2], True, "value", [1, 0],
        ["half", "minus two"], [1, 2, 3, 4, 5], "one two", [1, 2], 1, 0, [],
        None, True, 5, True, 3, ["X", "Y"], 2, 1,
    ]  # fmt: skip


@every_release
def test_as_python(typed, tmp_path):
    """Numbers, text, bytes, comparison."""
    got = run_script(
        typed,
        tmp_path,
        """
        import datetime
        heap = goref.heap()
        world = heap.value("main.world")
        complexes = heap.value("main.complexes")
        circle, square = world.Circle, world.Square
        said = []
        for ask in (lambda: int(world.Text), lambda: len(world.Int),
                    lambda: world.Int.dereference(), lambda: world.Ints.is_x,
                    lambda: hash(world.Ints), lambda: world.Text["x"]):
            try:
                ask()
            except TypeError as problem:
                said.append(str(problem))
            except Exception as problem:
                said.append(type(problem).__name__)
        seen = goref.time_of(heap.value("main.when"))
        print(json.dumps([
            hex(world.Uint8), world.Level == -3, -3 == world.Level,
            world.Float32 == 0.25, float(world.Int8), bool(world.No),
            [complex(c) == w for c, w in zip(complexes, (1-2j, 0.5+0.25j))],
            complex(heap.value("main.complex64s")) == 3+4j,
            list(bytes(heap.value("main.bytes"))),
            heap.value("main.bytes") == b"bytes\\x00\\xff",
            world.Text == 'a "text"\\n', "text" in world.Text,
            len(world.Umlaut), str(world.Umlaut), len(str(world.Long)),
            circle.dynamic.type, int(circle.Radius), square.dynamic.kind,
            int(square.Side), world.NilAny.dynamic, world.Any == 5,
            world.AnyText == "text", world.AnyPoint == world.AnyPoint,
            world.Int8 < world.Int, world.Int < 0 <= world.Uint8,
            max(world.Ints) == 3, len(heap.value("main.queue")),
            str(heap.value("main.queue")), str(heap.value("main.handler")),
            repr(world.Text), repr(world.Int), repr(world.Points),
            repr(world.NilAt), repr(world.Point).startswith(
                "<goref.Value main.Point at 0xc"
                if world.Point.address > 2**39 else "<goref.Value main.Point"),
            str(world.Point), world.Text.object is None,
            heap.value("main.number") == 7,
            int(seen.replace(tzinfo=datetime.timezone.utc).timestamp() * 1e6),
            said,
        ]))
    """,
    )
    *values, when, said = got
    assert values == [
        "0xff", True, True, True, -128.0, False, [True, True], True,
        [98, 121, 116, 101, 115, 0, 255], True, True, True, 7, "ümlaut", 10000,
        "*main.Circle", 2, "struct", 3, None, True, True, True, False, True,
        True, 2, "chan int 2/5 [1,2]", values[28],
        "<goref.Value string 'a \"text\"\\n'>", "<goref.Value int -12345>",
        "<goref.Value []main.Point of 2>", "<goref.Value *main.Point nil>",
        True, "main.Point {X: 7, Y: 8}", True, True,
    ]  # fmt: skip
    assert values[28].startswith("main.fillOthers.func1")
    assert abs(when - typed.truth["when"]) <= 1
    assert said == [
        "goref: a value of type string is no number",
        "goref: a value of type int has no length",
        "goref: a value of type int is no pointer",
        "NoFieldError",
        "goref: unhashable type: []int",
        "goref: a value of type string has no element 'x'",
    ]
