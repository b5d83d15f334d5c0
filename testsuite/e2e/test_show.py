# SPDX-License-Identifier: Apache-2.0
"""Values of all kinds against Delve's text on the same core, and against what
the program says of them."""

import random
import re

import pytest

import mutate
from delves import delve, run_delve
from asking import run_scanner
from session import run_goref
from toolchains import RELEASES, Variant, variants

CENTRAL = Variant("go1.24", "noopt")

# Prints all variables of main.show on one line each, as `bt -full' does, but
# with the limits of `print'.
_SCRIPT = """
def main():
    limits = {"FollowPointers": True, "MaxVariableRecurse": 1,
              "MaxStringLen": 64, "MaxArrayValues": 64, "MaxStructFields": -1}
    frames = stacktrace(1, 100, False, False, None).Locations
    for i in range(len(frames)):
        if frames[i].Function and frames[i].Function.Name_ == "main.show":
            scope = {"GoroutineID": 1, "Frame": i}
            for v in local_vars(scope, limits).Variables:
                print(v.Name, "=", v)
"""
_LEAST = 80


def delve_values(target, folder):
    """{name: text} of the variables of main.show; skips without Delve."""
    script = folder / "show.star"
    script.write_text(_SCRIPT)
    done = run_delve(target, folder, [f"source {script}"])
    found = re.findall(r"^(\w+) = Variable<(.*)>$", done.stdout, re.M)
    if not found:
        refused = re.search(r"Version of Delve.*|Go version.*", done.stderr)
        assert refused, done.stdout + done.stderr
        pytest.skip(f"Delve {delve()[0]}: {refused.group(0)}")
    return dict(found)


def goref_frame(target, function, goroutine=1, options=""):
    """The frame of a function, as JSON."""
    run = run_goref(
        target, [f"goref goroutine {goroutine} locals {options} --json"]
    )
    assert run.rc == 0, run.stderr
    frames = run.json()["frames"]
    return next(f for f in frames if f["function"] == function)


def goref_values(target, function="main.show", goroutine=1, options=""):
    """{name: text} of the variables of a call."""
    frame = goref_frame(target, function, goroutine, options)
    return {v["name"]: v["value"] for v in frame["variables"]}


# A channel or a function, which Delve prints on one line.
_BARE = re.compile(r"(<-)?chan .* \d+/\d+|main\.[\w.()*-]+")


def is_same(got, delve_text):
    """Both have words of their own for what is not there: for a variable
    without a location, and for one whose memory has another use by now. On one
    line, Delve has neither elements of channels nor captured variables."""
    if "(unreadable" in delve_text:
        return got == "(optimized out)" or "(unreadable" in got
    if _BARE.fullmatch(delve_text):
        got = re.sub(r" [\[{].*[\]}]$", "", got)
    return got == delve_text


@variants(newest=("noopt", "default"))
def test_values_are_those_of_delve(farm, variant, tmp_path):
    target = farm.target("shown", variant)
    want = delve_values(target, tmp_path)
    got = goref_values(target)
    wrong = {
        name: (got.get(name), text)
        for name, text in want.items()
        if not is_same(got.get(name, ""), text)
    }
    assert not wrong
    if variant.flavour == "noopt":
        assert len(want) > _LEAST and set(got) == set(want)


@variants(newest=("noopt",))
def test_channels_and_functions(farm, variant):
    """The values of a channel, in the order in which they are received, and
    those of a closure, which no debug information has before Go 1.23."""
    target = farm.target("shown", variant)
    old = variant.release == "go1.19"
    got = goref_values(target)
    assert got["aChannel"] == "chan int 2/4 [1,2]"
    assert got["aReceiver"] == "<-chan int 2/4 [1,2]"
    assert got["anUnbuffered"] == "chan string 0/0"
    assert got["aFunction"] == got["aHandler"] == "main.handle"
    assert got["aMethod"] == (
        "main.(*Point).Move-fm {R: *main.Point {X: 10, Y: 20}}"
    )
    captured = "" if old else " {anInt: -12345}"
    assert got["aClosure"] == f"main.show.func1{captured}"
    function = "main.captured"
    got = goref_values(target, function, waiting_in(target, function))
    captured = "" if old else ' {aCount: 7, aName: "captured"}'
    assert got["aCounter"] == f"main.captured.func1{captured}"
    assert got["aLateChannel"] == (
        "chan main.Point 3/3 [{X: 2, Y: 2},{X: 3, Y: 3},{X: 4, Y: 4}]"
    )


@variants("noopt")
def test_numbers_are_those_of_the_program(farm, variant):
    target = farm.target("shown", variant)
    got = goref_values(target)
    told = target.truth["values"]
    assert len(told) > 15
    assert {name: got[name] for name in told} == told


def waiting_in(target, function):
    """The goroutine that waits in a function."""
    run = run_goref(
        target, [f"goref goroutines -with userloc {function} --json"]
    )
    return run.json()["goroutines"][0]["id"]


@variants(newest=("noopt", "default"))
def test_arguments(farm, variant):
    """Spilled to the stack when the goroutine blocks, or lost."""
    target = farm.target("shown", variant)
    function = "main.argued"
    got = goref_values(target, function, waiting_in(target, function))
    want = {
        "number": "42",
        "name": '"argument"',
        "list": "[]int len: 2, cap: 2, [1,2]",
        "point": "main.Point {X: 3, Y: 4}",
        "at": "*main.Point {X: 5, Y: 6}",
        "problem": 'error(*errors.errorString) *{s: "e"}',
    }
    lost = {n for n in want if got[n] == "(optimized out)"}
    assert {n: got[n] for n in want if n not in lost} == {
        n: text for n, text in want.items() if n not in lost
    }
    assert "ready" in got
    if variant.flavour == "noopt":
        assert not lost


def test_what_is_escaped(farm):
    """DWARF has a pointer to a variable that was moved to the heap."""
    frame = goref_frame(farm.target("shown", CENTRAL), "main.show")
    row = next(v for v in frame["variables"] if v["name"] == "escaped")
    assert row == {"name": "escaped", "type": "int", "value": "77"}


@pytest.mark.parametrize(
    "options, name, want",
    [
        ("--max-string 5", "aLongString", '"01234...+195 more"'),
        ("--max-string unlimited", "aLongString",
         '"' + "0123456789" * 20 + '"'),
        ("--max-elements 2", "aSlice",
         "[]int len: 3, cap: 3, [1,2,...+1 more]"),
        ("--max-elements 1", "anArray", "[3]int [1,...+2 more]"),
        ("--max-depth 2", "aDerived",
         'main.Derived {Base: main.Base {ID: 7}, '
         'Point: *main.Point {X: 8, Y: 9}, Name: "derived"}'),
    ],
)  # fmt: skip
def test_limits(farm, options, name, want):
    target = farm.target("shown", CENTRAL)
    assert goref_values(target, options=options)[name] == want


def test_ring_without_a_limit_ends(farm):
    target = farm.target("shown", CENTRAL)
    values = goref_values(target, options="--max-depth unlimited")
    assert values["aRing"].startswith('*main.Drawing {Title: "ring"')
    assert "..." in values["aRing"]


def test_one_frame(farm):
    target = farm.target("shown", CENTRAL)
    run = run_goref(
        target,
        [
            "goref goroutine 1 bt --json",
            "goref goroutine 1 locals --json",
            "goref goroutine 1 frame 1 --json",
            "goref goroutine 1 frame 1",
        ],
    )
    calls, full, one = (run.json(i)["frames"] for i in range(3))
    assert [c["variables"] for c in calls] == [[]] * len(calls)
    assert [c["function"] for c in calls] == [c["function"] for c in full]
    assert one == full[1:2]
    assert one[0]["function"] in run.parts[3]
    # A long value has several lines.
    text = "".join(run.parts[3].split())
    for row in one[0]["variables"]:
        said = "".join(f"{row['name']} = {row['value']}".split())
        assert said in text


def all_locals(target, core):
    """(return code, lines, stderr) of all variables of all goroutines; the
    code is `hangs' if that takes too much processor time."""
    done = run_scanner(
        "--locals", target.exe, core, max_seconds=mutate.MAX_SECONDS
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def damage(core, addresses, rng):
    """Give words in the heap and on stacks other values."""
    values = [0, 1, 7, 1 << 63, (1 << 64) - 1, 0x80808080808080]
    for at in rng.sample(addresses, min(300, len(addresses))):
        value = rng.choice([rng.choice(values), rng.choice(addresses)])
        core.put(at + 8 * rng.randrange(-2, 8), value)


@pytest.mark.parametrize("release", RELEASES[:2])
def test_damaged_memory(farm, release, tmp_path):
    """Each variable has a text, whatever its memory says."""
    target = farm.target("shown", Variant(release, "noopt"))
    rc, lines, stderr = all_locals(target, target.core)
    assert rc == 0, stderr
    addresses = sorted(
        {int(a, 16) for a in re.findall(r"0x[0-9a-f]{9,12}", "".join(lines))}
    )
    assert len(addresses) > 30
    for seed in range(20):
        path = tmp_path / "core"
        mutate.copy_sparse(target.core, path)
        core = mutate.Core(path)
        damage(core, addresses, random.Random(seed))
        core.close()
        rc, found, stderr = all_locals(target, path)
        assert rc in (0, 1), (seed, rc, stderr)
        if rc:
            assert len(stderr.splitlines()) == 1, (seed, stderr)
        else:
            assert len(found) > 10
        path.unlink()


def printed(target, places, options=""):
    """The values of places, by `goref object --print'; None: there is no such
    place."""
    run = run_goref(
        target, [f"goref object {p} --print {options} --json" for p in places]
    )
    return [
        run.json(i)["value"] if "{" in part else None
        for i, part in enumerate(run.parts)
    ]


@variants(newest=("noopt",))
def test_values_of_objects(farm, variant):
    """An expression has the value that the call's variable has, with the same
    limits; an address is the object that lies there."""
    target = farm.target("shown", variant)
    wanted = goref_values(target)
    names = sorted(wanted)
    got = dict(
        zip(names, printed(target, [f"main.show.{n}@1" for n in names]))
    )
    known = {name for name in names if got[name] is not None}
    assert len(known) > 20
    assert {n: got[n] for n in known} == {n: wanted[n] for n in known}
    short = goref_values(target, options="--max-string 3 --max-elements 1")
    places = [f"main.show.{n}@1" for n in sorted(known)]
    limited = printed(target, places, "--max-string 3 --max-elements 1")
    assert limited == [short[n] for n in sorted(known)]


@variants(newest=("default",))
def test_value_at_an_address(farm, variant):
    target = farm.target("waits", variant)
    run = run_goref(
        target, ["goref object main.cases --json",
                 "goref object main.cases[0] --json",
                 "goref object main.store.jobs --json"],
    )  # fmt: skip
    array, case, channel = (run.json(i)["address"] for i in range(3))
    first = target.truth["cases"][0]
    asked = [array, case, channel, "main.cases[0]", "main.store.jobs"]
    array, case, channel, pointer, jobs = printed(
        target, asked, "--max-elements 1"
    )
    begin = f'{{Name: "{first["name"]}", Id: {first["id"]}, '
    assert case.startswith(f"main.Case {begin}")
    assert pointer.startswith(f"*main.Case {begin}")
    assert re.match(
        rf"\[\]\*main\.Case len: (\d+), cap: \1, \[\*{begin}", array
    )
    assert array.endswith(" more]")
    assert channel == jobs
    assert jobs == 'chan main.Job 2/2 [{Number: 1, Name: "one"},...+1 more]'
    static = {case["name"]: case["waits"][0] for case in target.truth["cases"]}
    mutex = int(static["Mutex"]["address"], 16)
    # An address in a variable means all of it.
    assert printed(target, [hex(mutex), hex(mutex + 4)]) == (
        printed(target, ["main.mutex"]) * 2
    )
    (text,) = run_goref(target, ["goref object main.store --print"]).parts
    lines = [line.strip() for line in text.splitlines()]
    assert lines[:2] == ["value: *main.Store {", 'name: "store",']
