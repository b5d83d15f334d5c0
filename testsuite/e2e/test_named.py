# SPDX-License-Identifier: Apache-2.0
"""Names of memory: objects that are reached by pointers to their parts,
and memory that holds many values, or a part of one."""

import subprocess

import pytest

from asking import GOREF_SCAN
from session import run_goref
from toolchains import Variant, variants

MANY = 1000
rows = variants("default")
# The smallest objects of the size classes that waste most, and of large ones.
ROOMY = (1544, 2312, 3464, 4104, 6920, 8200, 32776, 40968)


@pytest.fixture
def scan(scanned, variant):
    return scanned("named", variant)


def count(scan, name):
    types = {t["type"]: t["objects"] for t in scan.ledger["types"]}
    return types.get(name, 0)


@rows
@pytest.mark.parametrize(
    "name", ["main.Whole", "main.Begun", "main.Plain"]
)  # fmt: skip
def test_a_pointer_to_the_whole_names_it(scan, name):
    """Another one to a field of it came first."""
    assert count(scan, name) >= MANY


@rows
def test_a_pointer_to_a_field_does_not_name_the_whole(scan):
    assert count(scan, "main.Part") == count(scan, "main.Inside") == 0


@rows
def test_the_first_field_names_what_nothing_else_does(scan):
    assert count(scan, "main.Outset") == MANY


@rows
def test_totals_stay_the_same(scan):
    """Memory that is named late is counted once."""
    ledger = scan.ledger
    for key in ("objects", "bytes"):
        assert ledger["reached"][key] == sum(
            ledger["reached"][f"{way}_{key}"]
            for way in ("typed", "runtime_type", "header", "masked")
        )
        assert ledger["reached"][key] == sum(t[key] for t in ledger["types"])


@rows
@pytest.mark.parametrize(
    "place, name",
    [
        ("inner", "main.Whole"),
        ("first", "main.Begun"),
        ("plain", "main.Plain"),
        ("start", "main.Plain"),
        ("triple", "main.Triple"),
        ("pair", "main.Pair"),
        *((f"Of{n}", f"main.Of{n}") for n in ROOMY),
    ],
)
def test_why_names_the_whole(scan, place, name):
    assert scan.whys[place]["object"]["type"] == name


@rows
@pytest.mark.parametrize(
    "place, name",
    [
        ("text", "string"),
        ("map", "main.Names"),
        ("chan", "chan *main.Leaf"),
        ("value.plain", "main.Plain"),
        ("value.string", "string"),
        ("value.slice", "[]uint64"),
        ("value.map", "main.Names"),
        ("value.array", "[100]*main.Leaf"),
        ("value.shape", "main.Shape"),
        ("onlyFirst", "begins with main.Outset"),
    ],
)
def test_why_names_what_lies_there(scan, place, name):
    answer = scan.whys[place]
    assert answer["object"]["type"] == name
    assert answer["path"][-1]["type"] == name


@rows
@pytest.mark.parametrize(
    "place, name, elem, size",
    [
        ("shapes", "[]main.Shape", "main.Shape", 16),
        ("element", "[]main.Shape", "main.Shape", 16),
        ("numbers", "main.Numbers", "uint64", 8),
        ("large", "[]*main.Leaf", "*main.Leaf", 8),
        ("wholes", "[]main.Whole", "main.Whole", 56),
    ],
)
def test_why_names_an_array(scan, place, name, elem, size):
    """Whoever leads to it. It is also one of as many values as fit."""
    thing = scan.whys[place]["object"]
    assert thing["type"] == name
    count = thing["bytes"] // size
    asked = f"goref objects --type [{{}}]{elem}"
    run = run_goref(scan.target, [asked.format(count), asked.format(count + 1)])
    assert thing["base"] in run.parts[0].split()
    assert thing["base"] not in run.parts[1].split()


@rows
def test_tables_group_by_slice(scan):
    """The array that is reached by its element first, too."""
    assert count(scan, "[]main.Shape") == 2
    assert count(scan, "main.Shape") == 1


@variants("default")
def test_why_does_not_depend_on_limits(farm, variant):
    target = farm.target("named", variant)
    places = list(target.places)
    ask = [f"goref why {target.places[p]} --json" for p in places]
    run = run_goref(
        target,
        ["set goref max-nodes 2", "set goref max-depth 1", *ask,
         "set goref max-nodes 0", "set goref max-depth 0", *ask],
    )  # fmt: skip
    for i, place in enumerate(places):
        few, all_ = run.json(2 + i), run.json(4 + len(places) + i)
        assert few == all_, place
    names = [h["name"] for h in run.json(2 + places.index("inner"))["path"]]
    assert names == ["main.nInner", "Parts. ([]*main.Part)",
                     "[7]. (*main.Part)"]  # fmt: skip


CENTRAL = Variant("go1.24", "default")
COUNT = (
    "python import goref.session as s; scan = s.current.scan; polls = []; "
    "scan.set_progress(lambda step, done, total: polls.append(step)); "
    "scan.why(scan.resolve('main.chain')[4], 9, 9); print(len(polls) > 0)"
)


def test_the_second_question_needs_no_walk(farm):
    """How objects are reached is kept until another walk; a walk of so many
    objects takes long enough to be polled."""
    target = farm.target("counter", CENTRAL, args=("1500000",))
    run = run_goref(
        target,
        ["goref scan", COUNT, COUNT, COUNT, "goref scan main.line", COUNT],
    )
    farm.forget("counter")
    assert run.rc == 0, run.stderr
    said = [run.parts[i].strip() for i in (1, 2, 3, 5)]
    assert said == ["True", "False", "False", "True"]




def locate(target, address):
    """kind, base, bytes, type, name, section, goroutine, slot, span class"""
    done = subprocess.run(
        [GOREF_SCAN, "--locate", hex(address), target.exe, target.core],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rstrip("\n").split("\t")


@variants("default")
def test_locate(farm, variant):
    """The object at an address, without a walk."""
    target = farm.target("named", variant)
    at = {name: int(text, 16) for name, text in target.places.items()}
    kind, base, size, type_, *_, slot, spanclass = locate(
        target, at["shapes"] + 100
    )
    header = 0 if variant.release == "go1.19" else 8
    assert (kind, int(base, 16)) == ("object", at["shapes"])
    assert int(slot) == int(size) + header
    assert int(spanclass) % 2 == 0  # it has pointers
    if header:
        assert type_ == "[]main.Shape"
    assert locate(target, at["large"])[:3] == [
        "object", hex(at["large"]), "65536"
    ]  # fmt: skip
    assert int(locate(target, at["plain"])[8]) % 2 == 1
    run = run_goref(target, ["goref why &main.nText --json"])
    variable = int(run.json(0)["address"], 16)
    found = locate(target, variable + 8)
    assert found[:2] == ["data", hex(variable)]
    assert found[2:5] == ["16", "string", "main.nText"]
    assert locate(target, 0x10)[0] == "unmapped"
    text = subprocess.run(
        ["nm", target.exe], capture_output=True, text=True, check=True
    ).stdout
    main = next(
        int(line.split()[0], 16)
        for line in text.splitlines()
        if line.endswith(" T main.main")
    )
    assert locate(target, main + 1)[4] == "main.main"
