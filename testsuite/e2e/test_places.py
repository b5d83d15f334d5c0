# SPDX-License-Identifier: Apache-2.0
"""People type this to name an object, and are told if it is none."""

import re

import pytest

from session import run_gdb, run_goref
from targets import kernel_core
from toolchains import Variant, build

CENTRAL = Variant("go1.24", "default")


@pytest.fixture(scope="module")
def shared(farm):
    return farm.target("shared", CENTRAL)


@pytest.fixture(scope="module")
def values(farm):
    return farm.target("values", CENTRAL)


def refused(target, command, *words, in_gdb=False):
    """With one line that has these words."""
    run = run_goref(target, [command], in_gdb)
    assert run.rc == 1, (command, run.stdout)
    lines = run.error_lines()
    assert len(lines) == 1 and "Traceback" not in run.stderr, lines
    for word in words:
        assert word in lines[0], lines
    return lines[0]


# ------------------------------------------------------------------ addresses


def test_scan_of_an_address_has_its_type(shared):
    """Typed below, as with the cast, and no package variable."""
    address = shared.places["sNear"]
    run = run_goref(
        shared,
        [f"goref scan --json {address}",
         f"goref scan --json (*main.Chain)({address})"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    plain, cast = run.json(0), run.json(1)
    assert plain["reached"] == cast["reached"]
    assert plain["types"] == cast["types"]
    assert plain["reached"]["objects"] > 1
    assert {r["kind"] for r in plain["roots"]} == {"address"}


@pytest.mark.parametrize(
    "place, words",
    [
        ("0", ["0 is not an object of the heap", "unmapped"]),
        ("0x10", ["not an object of the heap"]),
        ("$sp", ["not an object of the heap", "stack"]),
        ("$pc", ["not an object of the heap", "text"]),
    ],
)
def test_scan_of_no_object(shared, place, words):
    refused(shared, f"goref scan {place}", *words, in_gdb="$" in place)


def test_scan_of_the_address_of_a_variable(shared):
    run = run_goref(shared, ["goref why &main.sNear --json"])
    where = run.json(0)["address"]
    line = refused(shared, f"goref scan {where}")
    assert re.search(r"(data|bss): variable main\.sNear", line)


@pytest.mark.parametrize("command", ["why", "scan"])
@pytest.mark.parametrize("number", ["-1", "(char)-2"])
def test_no_address(shared, command, number):
    asked = f"goref {command} -- {number}"
    refused(shared, asked, "is not an address", in_gdb=True)


@pytest.mark.parametrize("command", ["why", "scan"])
def test_star_needs_a_type(shared, command):
    address = shared.places["sNear"]
    refused(
        shared, f"goref {command} *{address}", "of what type?",
        f"*(*main.T)({address})",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text, words",
    [
        ("0x", ['cannot read "0x"', "0xc000782240"]),
        ("0xzz", ['cannot read "0xzz"']),
        ("0x1c000000000000000", ["cannot read"]),
        ('"abc"', ['cannot read "abc"', '"path/to/pkg".Var']),
        ("main.nowhere", ['no package variable or local variable in use is called "main.nowhere"']),
        ("main.sNaer", ["main.sNear?"]),
        ("main.sNaer.next[3]", ["main.sNear?"]),
        ("'main.sNaer'", ["main.sNear?"]),
        ("sNear", ['no package variable is called "sNear"; did you mean main.sNear']),
        ("mian.sNear", ["main.sNear"]),
        ("other/main.sNear", ["main.sNear"]),
        (
            "main.Chain",
            ["main.Chain is a type", "`goref why --type main.Chain'"],
        ),
        ("(*main.Nothing)(0x10)", ["there is no type main.Nothing"]),
        ("(*main.Chain)(zz)", ["a cast is written"]),
        ("(*)(", ["a cast is written"]),
    ],
)
def test_wording(shared, text, words):
    refused(shared, f"goref why {text}", *words)


def test_cast_with_a_blank(shared):
    address = shared.places["sNear"]
    run = run_goref(
        shared,
        [f"goref why --json (*main.Chain) ({address})",
         f"goref scan --json (*main.Chain) ({address})",
         f"goref scan --json (*main.Chain) ({address}) main.sFar"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert run.json(0)["object"]["type"] == "main.Chain"
    assert len(run.json(1)["roots"]) == 1
    assert "main.sFar" in {r["name"] for r in run.json(2)["roots"]}


def test_fields_of_variables(values):
    """As Go writes them, through pointers."""
    run = run_goref(
        values,
        ["goref why --json main.vTree.Left", "goref why --json main.vTree",
         "goref scan --json main.vTree.Left", "goref scan --json main.vTree"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    left, tree = run.json(0), run.json(1)
    assert left["object"]["type"] == tree["object"]["type"] == "main.Tree"
    assert left["object"]["base"] != tree["object"]["base"]
    assert left["path"][-1]["name"].startswith("Left")
    below, all_ = run.json(2), run.json(3)
    assert 0 < below["reached"]["objects"] < all_["reached"]["objects"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("main.vTree.Middle", ['main.Tree has no field "Middle"']),
        ("main.vTree.Lft", ['has no field "Lft"; did you mean Left?']),
        ("main.vTree.Left.left", ['has no field "left"; did you mean Left?']),
        ("main.vTree.Left.Nothing.More", ['no field "Nothing"']),
    ],
)
def test_no_such_field(values, text, words):
    refused(values, f"goref why {text}", *words)


def test_why_of_a_variable(values):
    """One that is no pointer: what its own words point to."""
    names = ["vStruct", "vArray", "vEmbedded", "vSyncMap", "vStruct.List[1]"]
    run = run_goref(
        values,
        [f"goref why --json main.{name}" for name in names]
        + ["goref why main.vStruct"],
    )
    assert run.rc == 0, run.stderr
    told = {n: run.json(i)["variable"] for i, n in enumerate(names)}
    struct = told["vStruct"]
    assert struct["type"] == "main.Outer" and struct["section"] == "bss"
    assert struct["complete"] and struct["others"] == 0
    held = {h["name"]: h for h in struct["holds"]}
    assert set(held) == {
        "main.vStruct.Inner.Leaf", "main.vStruct.Inner.Name",
        "main.vStruct.List[0].Leaf", "main.vStruct.List[0].Name",
        "main.vStruct.List[1].Leaf", "main.vStruct.List[1].Name",
        "main.vStruct.Ptr",
    }  # fmt: skip
    assert held["main.vStruct.Ptr"]["type"] == "*main.Inner"
    assert len(told["vArray"]["holds"]) == 3
    assert told["vEmbedded"]["holds"][0]["name"] == (
        "main.vEmbedded.Base.BaseLeaf"
    )
    part = told["vStruct.List[1]"]
    assert part["type"] == "main.Inner" and len(part["holds"]) == 2
    # The name that is said can be asked.
    name = "main.vStruct.List[1].Leaf"
    run2 = run_goref(values, [f"goref why --json {name}"])
    assert run2.json(0)["address"] == held[name]["address"]
    assert run2.json(0)["object"]["base"] == held[name]["base"]
    lines = run.parts[len(names)].splitlines()
    assert re.match(
        r"main\.vStruct: main\.Outer, \d+ bytes at 0x\w+ \(bss\)$", lines[0]
    )
    assert lines[1] == "Without it, 248 B would be freed."
    assert lines[2] == "It points to:" and len(lines) == 3 + len(held)


@pytest.fixture(scope="module")
def indexes(farm):
    return farm.target("indexes", CENTRAL)


@pytest.mark.parametrize(
    "name, type_, words",
    [
        ("empty", "[]*main.Leaf", ["no object"]),
        ("nothing", "map[string]*main.Leaf", ["no object"]),
        ("nilAny", "interface {}", ["no object"]),
        ("nilPtr", "*main.Bank", ["no object"]),
        ("strings_", "[]string", ["no object"]),
        ("bank", "main.Bank", ["main.bank.any", "*main.Account"]),
    ],
)
def test_why_of_what_is_no_object(indexes, name, type_, words):
    """It is named with its type, size and section."""
    run = run_goref(indexes, [f"goref why main.{name}"])
    assert run.rc == 0, run.stderr
    text = run.parts[0]
    assert text.startswith(f"main.{name}: {type_}, "), text
    assert re.search(r" \((noptr)?(bss|data)\)$", text.splitlines()[0])
    for word in words:
        assert word in text


def test_address_of_a_variable_stays_one(indexes):
    run = run_goref(indexes, ["goref why &main.bank"])
    assert re.fullmatch(r"0x\w+: bss: variable main\.bank\n", run.parts[0])


def test_symbols_without_debug_information(farm):
    """-w keeps the symbol table: names, but no types."""
    target = farm.target("shared", Variant("go1.24", "nodwarf"))
    run = run_goref(
        target,
        ["goref why --json main.sNear", "goref scan --json main.sNear"],
    )
    assert run.rc == 0, run.stderr
    assert run.json(0)["reachable"]
    address = int(run.json(0)["object"]["base"], 16)
    assert address == int(target.places["sNear"], 16)
    assert run.json(1)["reached"]["objects"] > 1


def test_signal_stack(farm):
    """The thread that got the signal was on it."""
    process = farm.process("rest", CENTRAL)
    process.rest()
    core = kernel_core(process)
    run = run_gdb(
        [process.exe, core],
        ["python g = int(gdb.parse_and_eval(\"'runtime.m0'\")['gsignal'])",
         "python s = gdb.parse_and_eval(\"'runtime.m0'\")['gsignal']"
         "['stack']",
         "python gdb.execute('goref why %#x' % (int(s['hi']) - 64))"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert "signal stack of a thread" in run.parts[2]


# ------------------------------------------------------------------- options


def test_one_letter_and_the_end_of_options(shared):
    run = run_goref(
        shared, ["goref scan -j -to 3 -- main.sNear", "goref scan -to=2"]
    )
    told = run.json(0)
    assert len(told["roots"]) <= 3
    assert told["roots"][0]["name"] == "main.sNear"
    assert run.rc == 0, run.stderr
    refused(shared, "goref scan -m 3", "ambiguous", "--max-depth")
    refused(shared, "goref scan -t 3", "ambiguous", "--top")
    refused(shared, "goref scan -- -j", "-j")


def test_places_are_named_once(shared, tmp_path):
    run = run_goref(
        shared,
        [f"goref scan main.sNear main.sNear --max-samples 1 "
         f"--out {tmp_path}/refs.pb"],
    )  # fmt: skip
    assert re.search(r"^held by: main\.sNear$", run.parts[0], re.M)
    assert "(1 path," in run.parts[0] or "(1 path)" in run.parts[0]


# --------------------------------------------------------------------- files


def test_core_without_its_executable(farm, tmp_path):
    """The path that the core names is only said to be good if it is."""
    target = farm.target("rest", CENTRAL)
    run = run_gdb(["-c", target.core], ["file", "goref scan"])
    line = run.error_lines()[-1]
    assert str(target.exe) in line


def test_wrong_executable_is_short(farm):
    other = build("shared", CENTRAL.release)
    target = farm.target("rest", CENTRAL)
    run = run_gdb([other, target.core], ["goref scan"])
    line = run.error_lines()[-1]
    assert "is not the program of" in line
    identities = re.search(r"\(build ids ([^)]*)\)", line)
    assert identities and len(identities[1]) < 40, line
