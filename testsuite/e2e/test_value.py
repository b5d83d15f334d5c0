# SPDX-License-Identifier: Apache-2.0
"""goref.Value, by what the program says of its variables, and against gdb's
own values of all objects."""

import json
import textwrap

import pytest

from session import TOP, run_gdb, run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")

# A value as encoding/json writes it; the errors that questions end with.
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

def refused(*asks):
    said = []
    for ask in asks:
        try:
            ask()
        except Exception as problem:
            said.append([type(problem).__name__, str(problem)])
    return said
"""


def run_script(target, tmp_path, text, before=(), after=()):
    """The JSON that a script prints."""
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
    """Fields of embedded structs, of pointers, and those that are named like
    methods."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        derived = heap.value("main.derived")
        ring = heap.value("main.ring")
        said = refused(
            lambda: derived.Nam, lambda: derived["Nope"],
            lambda: ring.Next.Value.X, lambda: derived[3],
            lambda: heap.value("main.world.NilAt").X)
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
         "goref: main.Derived has no field Nam; did you mean Name?"],
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
        said = refused(lambda: points[2], lambda: array[-5])
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
        ["IndexError",
         "goref: the index 2 is out of range: []main.Point has 2 elements"],
        ["IndexError",
         "goref: the index -5 is out of range: [4]int16 has 4 elements"],
    ]  # fmt: skip


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
        said = refused(
            lambda: int(world.Text), lambda: len(world.Int),
            lambda: world.Int.dereference(), lambda: world.Ints.is_x,
            lambda: hash(world.Ints), lambda: world.Text["x"])
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
        [98, 121, 116, 101, 115, 0, 255], True, True, True, 7, "ümlaut",
        10000,
        "*main.Circle", 2, "struct", 3, None, True, True, True, False, True,
        True, 2, "chan int 2/5 [1,2]", values[28],
        "<goref.Value string 'a \"text\"\\n'>", "<goref.Value int -12345>",
        "<goref.Value []main.Point of 2>", "<goref.Value *main.Point nil>",
        True, "main.Point {X: 7, Y: 8}", True, True,
    ]  # fmt: skip
    assert values[28].startswith("main.fillOthers.func1")
    assert abs(when - typed.truth["when"]) <= 1
    kinds, texts = zip(*said)
    assert kinds == (*["TypeError"] * 3, "NoFieldError", *["TypeError"] * 2)
    assert texts[:3] + texts[4:] == (
        "goref: a value of type string is no number",
        "goref: a value of type int has no length",
        "goref: a value of type int is no pointer",
        "goref: unhashable type: []int",
        "goref: a value of type string has no element 'x'",
    )


# The same in gdb's values and in ours. Fields of `_' have no name that counts.
AGAINST_GDB = """
import gdb
checked = wrong = 0
seen = {}

def same(value, theirs):
    kind = value.kind
    if kind in ("int", "uint", "bool"):
        return int(value) == int(theirs)
    if kind == "float":
        theirs = float(theirs)
        return float(value) == theirs or theirs != theirs
    if kind == "string":
        return value.content() == int(theirs["str"]).to_bytes(8, "little") \\
            + int(theirs["len"]).to_bytes(8, "little")
    if kind == "slice":
        return b"".join(
            int(theirs[name]).to_bytes(8, "little")
            for name in ("array", "len", "cap")) == value.content()
    if kind == "struct":
        names = [f.name for f in theirs.type.strip_typedefs().fields()
                 if f.name != "_"]
        return names == list(value.keys()) and all(
            same(value[name], theirs[name]) for name in names)
    if kind == "array":
        low, high = theirs.type.strip_typedefs().range()
        return high - low + 1 == len(value) and all(
            same(value[i], theirs[i]) for i in range(min(len(value), 40)))
    if kind == "interface":
        first = [f.name for f in theirs.type.strip_typedefs().fields()][0]
        return value.content() == int(theirs[first]).to_bytes(8, "little") \\
            + int(theirs["data"]).to_bytes(8, "little")
    if kind in ("pointer", "map", "chan", "unsafe pointer"):
        return int(value) == int(theirs)
    if kind == "func":  # gdb takes it for the code itself
        return value.address == int(theirs.address)
    return kind == "complex"

heap = goref.heap()
missing, bad = set(), set()
for o in heap.objects():
    number = seen[o.type] = seen.get(o.type, 0) + 1
    if number > 100 or not o.type:
        continue
    try:
        value = o.value()
        theirs = value.gdb
    except goref.Error as problem:
        missing.add(o.type)
        continue
    checked += 1
    if not same(value, theirs):
        bad.add(f"{o.type} {o.address:#x}")
print(json.dumps([checked, sorted(bad)[:10], sorted(missing), len(seen)]))
"""


@pytest.mark.parametrize("program", ["values", "shown", "generics", "typed"])
@variants("noopt")
def test_same_as_gdb(farm, variant, program, tmp_path):
    """All fields of the objects of each type, where gdb knows the type."""
    target = farm.target(program, variant)
    checked, wrong, missing, types = run_script(target, tmp_path, AGAINST_GDB)
    assert wrong == []
    assert checked > 50 and types - len(missing) > 10, missing


LOCALS = """
heap = goref.heap()
def is_ours(frame):
    return frame.function == "main.locals"
[frame] = [f for g in heap.goroutines() for f in g.frames() if is_ours(f)]
"""


@variants("noopt")
def test_locals(typed, tmp_path):
    """Arguments and variables: in memory, moved to the heap, shadowed."""
    got = run_script(
        typed,
        tmp_path,
        LOCALS
        + """
found = {}
for name, value in frame.locals.items():
    try:
        found[name] = plain(value) if value.kind != "chan" else None
    except goref.NoMemoryError as problem:
        found[name] = str(problem)
print(json.dumps([
    found, list(frame.locals) == list(found), len(frame.locals),
    [[v.name, v.is_argument, v.line > 0] for v in frame.locals.all],
    frame.locals["escaped"].address == int(heap.value("main.kept")),
    "nothing" in frame.locals, repr(frame.locals),
]))
""",
    )
    found, same, count, all_, is_escaped, nothing, text = got
    assert same and count == len(found) and not nothing
    # The inner one of two variables called text is what "text" means.
    assert found == {
        "count": 12, "name": "argument", "at": {"X": 30, "Y": 31},
        "list": [1, 2, 3], "ready": None, "sum": 6, "text": "outer2",
        "escaped": {"X": 1, "Y": 2}, "i": 2,
    }  # fmt: skip
    assert is_escaped
    arguments = [name for name, is_argument, _ in all_ if is_argument]
    assert arguments == ["count", "name", "at", "list", "ready"]
    assert [name for name, *_ in all_].count("text") == 2
    assert text.startswith("<goref.Locals count, name, at, list")


@every_release
def test_locals_as_printed(typed, tmp_path):
    """In optimized code, in registers and lost, they are what `goref goroutine
    locals' prints, which Delve prints, too."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        def text(value):
            try:
                if value.kind != "string":
                    return str(value)
                return value._reader.ask("show", value._type.id,
                    value.address or 0, value._content or
                    (None if value.address else value.content()))
            except goref.NoMemoryError:
                return "(optimized out)"
        differ, count, lost = [], 0, 0
        for g in heap.goroutines():
            calls = heap._scan().backtrace(g.id, with_variables=True).calls
            for frame, call in zip(g.frames(), calls, strict=True):
                ours = [(v.name, v.value.type, text(v.value), v.is_argument,
                         v.line) for v in frame.locals.all]
                theirs = [(v.name, v.type or "unknown", v.value,
                           v.is_argument, v.line) for v in call.variables]
                count += len(theirs)
                lost += sum(v[2] == "(optimized out)" for v in theirs)
                if ours != theirs:
                    differ.append([frame.function, ours, theirs])
        print(json.dumps([differ, count, lost]))
    """,
    )
    differ, count, _lost = got
    assert differ == [] and count > 30


@every_release
def test_roots(typed, tmp_path):
    """A root has the value of its variable; a word without one has none."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        wrong, refused, right = [], set(), 0
        for root in heap.roots():
            try:
                value = root.value()
            except goref.Error:
                refused.add(root.kind)
                continue
            if root.type and value.type != root.type:
                wrong.append([root.name, root.type, value.type])
            repr(value)
            right += 1
        print(json.dumps([wrong, sorted(refused), right,
            len(heap.evaluate("main.growing").value())]))
    """,
    )
    wrong, _refused, right, count = got
    assert wrong == [] and right > 20
    assert count == len(typed.truth["growing"])


@every_release
def test_every_object(typed, tmp_path):
    """Each object has a value, or says why it has none; what has a value is of
    the object's type and in its memory, and can be printed."""
    got = run_script(
        typed,
        tmp_path,
        """
        heap = goref.heap()
        wrong, kinds, seen = [], {}, {}
        for o in heap.objects():
            seen[o.type] = seen.get(o.type, 0) + 1
            if seen[o.type] > 50:
                continue
            try:
                value = o.value()
            except goref.Error as problem:
                kinds.setdefault(str(problem).split(" is ")[1][:12], o.type)
                continue
            try:
                text = str(value)
                repr(value)
            except goref.NoMemoryError:
                text = ""
            if value.address not in (None, o.address) or not text:
                wrong.append([o.type, hex(o.address)])
            if value.kind in ("map", "chan") and value.object != o:
                wrong.append([o.type, hex(o.address), "header"])
        large = heap.value("main.huge").object
        [one] = [o for o in heap.objects(type=large.type)
                 if o == large]
        print(json.dumps([wrong, kinds, len(one.value())]))
    """,
    )
    wrong, refused, length = got
    assert wrong == []
    assert {text.split()[0] for text in refused} <= {"a", "not"}
    assert length == typed.truth["length"]


@pytest.fixture
def saved(farm, tmp_path):
    """The program, and its saved files with and without values."""
    target = farm.target("typed", CENTRAL)
    whole, bare = tmp_path / "whole.goref", tmp_path / "bare.goref"
    run = run_goref(
        target, [f"goref save {whole} --values", f"goref save {bare}"]
    )
    assert run.rc == 0, run.stderr
    return target, whole, bare


def test_saved_files(saved, tmp_path):
    """With values, a file gives what the core gives; without them, a clear
    error when a value is read, and the types all the same."""
    target, whole, bare = saved
    got = run_script(
        target,
        tmp_path,
        f"""
        heap = goref.open({str(whole)!r})
        bare = goref.open({str(bare)!r})
        world = bare.value("main.world")
        said = []
        for ask in (lambda: plain(world), lambda: len(world.Large),
                    lambda: world.Text == "x", lambda: str(world.At),
                    lambda: list(bare.value("main.huge")),
                    lambda: next(bare.goroutines()).__class__ and
                    [f.locals["count"] for g in bare.goroutines()
                     for f in g.frames() if f.function == "main.locals"]):
            try:
                said.append(str(ask()))
            except goref.NoMemoryError as problem:
                said.append(str(problem))
        [frame] = [f for g in heap.goroutines() for f in g.frames()
                   if f.function == "main.locals"]
        print(json.dumps([
            plain(heap.value("main.world")),
            sum(int(v) for v in heap.value("main.huge").values()),
            str(frame.locals["name"]), world.type, repr(world.Text), said]))
    """,
    )
    world, total, name, type_, text, said = got
    assert world == target.truth["world"]
    assert total == -sum(range(target.truth["length"]))
    assert name in ("argument", "(optimized out)")
    assert type_ == "main.World"
    assert text == "<goref.Value string (not there)>"
    assert len(said) == 6
    assert all("this file was saved without values" in s for s in said), said


def test_unknown_types(farm, tmp_path):
    """An unknown name is an error that names the near ones; a type without an
    object is none."""
    target = farm.target("leaky", CENTRAL)
    got = run_script(
        target,
        tmp_path,
        """
        heap = goref.heap()
        said = []
        for name in ("main.Sesion", "main.session", "Session", "nothing.AtAll",
                     "[]main.Sesion", "[4]main.Itm"):
            try:
                next(heap.objects(type=name), None)
                said.append(name)
            except goref.UnknownTypeError as problem:
                said.append(str(problem))
        empty = [len(list(heap.objects(type=name, min_bytes=1 << 40)))
                 for name in ("main.Session", "[]main.Session", "string",
                              "map[string]*main.Session", "[9]main.Item",
                              "runtime.hex")]
        print(json.dumps([said, empty]))
    """,
    )
    said, empty = got
    assert said[0] == (
        "goref: there is no type main.Sesion; did you mean main.Session?"
    )
    assert said[1].startswith("goref: there is no type main.session; did you mean ")
    assert "main.Session" in said[1] and "main.Session" in said[2]
    assert said[3] == (
        "goref: there is no type nothing.AtAll; `goref histogram' lists the "
        "types"
    )
    assert said[4:] == [
        "goref: there is no type main.Sesion; did you mean main.Session?",
        "goref: there is no type main.Itm; did you mean main.Item?",
    ]
    assert empty == [0] * 6


def test_names_of_references(farm, tmp_path):
    """The name and the offset of each reference are those of the first of its
    links, whatever was asked before, forwards, backwards and at random."""
    target = farm.target("typed", CENTRAL)
    got = run_script(
        target,
        tmp_path,
        """
        import random
        heap = goref.heap()
        scan = heap._scan()
        naive = {}
        for source in list(heap.objects()) + list(heap.roots()):
            for reference in source.references():
                key = (reference._source, reference._target)
                if key not in naive:
                    # All links of the source, in the order of words.
                    naive[key] = reference
        keys = list(naive)
        random.Random(1).shuffle(keys)
        wrong = []
        for key in keys:
            names = naive[key].names
            links = scan.links(*key, 1)
            if [link.name for link in links] != names[:1]:
                wrong.append(key)
            offsets = [link.off_bytes for link in scan.links(*key)]
            if offsets != sorted(set(offsets)):
                wrong.append(key)
        back = sum(1 for o in heap.objects() for r in o.referrers()
                   if (r._source, r._target) in naive)
        words = {}
        for o in heap.objects():
            for r in o.references():
                words.setdefault(o, []).append(r.offset)
        print(json.dumps([wrong, len(keys), back,
                          sum(None in w for w in words.values())]))
    """,
    )
    wrong, count, back, without = got
    assert wrong == [] and count > 5000 and back >= 5000 and without == 0


def test_dir():
    """dir(goref) shows the API."""
    run = run_gdb([], ["python import goref; print(dir(goref) == "
                       "sorted(goref.__all__))"])  # fmt: skip
    assert "True" in run.stdout, run.stderr


def test_example_of_the_manual(farm, tmp_path):
    """The script of the section "Values" of doc/python.md runs as it is
    printed."""
    target = farm.target("leaky", CENTRAL)
    text = (TOP / "doc/python.md").read_text().split("\n## Values\n")[1]
    begin = text.index("    session = ")
    script = textwrap.dedent(text[begin : text.index("\n\n", begin)])
    typed = tmp_path / "typed.py"
    typed.write_text(f"import goref\nheap = goref.heap()\n{script}")
    run = run_goref(target, [f"source {typed}"])
    assert run.rc == 0 and "Traceback" not in run.stderr, run.stderr
    first, *items, last = run.parts[0].splitlines()
    token, _user, count = first.split()
    assert token.startswith("token-") and len(items) == int(count)
    assert last == "True False"
