# SPDX-License-Identifier: Apache-2.0
"""Executables without debug information: poorer names, the same truth.

The core of a program is scanned with the executable that ran and with copies
of it that were stripped afterwards (the build id stays): what is reached must
be the same to the object.
"""

import shutil
import subprocess

import pytest

from session import run_goref
from targets import Target
from test_verify import addresses
from toolchains import FLAGS, RELEASES, Variant, variant_id, variants

# As the linker leaves them out: with the symbol table kept, and without.
FLAGS.setdefault("nodwarf", ["-ldflags=-w"])
FLAGS.setdefault("stripped", ["-ldflags=-s -w"])
FLAGS.setdefault("pie-stripped", ["-buildmode=pie", "-ldflags=-s -w"])

# How a copy is stripped, and whether it still has names of variables.
STRIPS = {"--strip-debug": True, "--strip-all": False}

PROGRAMS = ("rest", "values", "shared", "roots")
WARNING = "no debug information"

ROWS = [
    (program, Variant(release, flavour), strip)
    for program in PROGRAMS
    for release in RELEASES
    for flavour in ("default", "pie")
    for strip in STRIPS
    if flavour == "default" or program in ("rest", "roots")
]

rows = pytest.mark.parametrize(
    "program, variant, strip",
    ROWS,
    ids=[f"{p}-{variant_id(v)}{s[1:]}" for p, v, s in ROWS],
)


class Look:
    """The answers of one session about a core: its objects and its ledger."""

    def __init__(self, target):
        self.run = run_goref(
            target,
            ["goref objects --addresses", "goref scan --json", "goref verify "
             "--json", "info goref"],
        )  # fmt: skip
        assert self.run.rc == 0, self.run.stderr
        self.objects = addresses(self.run.parts[0])
        self.ledger = self.run.json(1)
        self.verdict = self.run.json(2)
        self.info = self.run.parts[3]
        self.roots = {r["name"]: r for r in self.ledger["roots"]}


@pytest.fixture(scope="module")
def looks(farm, tmp_path_factory):
    """looks(program, variant, strip): a Look, made once; strip None: at the
    executable as it is."""
    made = {}

    def stripped(target, strip):
        copy = tmp_path_factory.mktemp("stripped") / target.exe.name
        subprocess.run(["objcopy", strip, target.exe, copy], check=True)
        return Target("core", copy, target.truth, core=target.core)

    def look(program, variant, strip=None):
        key = program, variant, strip
        if key not in made:
            target = farm.target(program, variant)
            made[key] = Look(stripped(target, strip) if strip else target)
        return made[key]

    if not shutil.which("objcopy"):
        pytest.skip("no objcopy")
    return look


@pytest.fixture
def twins(looks, program, variant, strip):
    """The same core with debug information and without."""
    return looks(program, variant), looks(program, variant, strip)


@rows
def test_same_objects(twins):
    full, poor = twins
    assert full.objects == poor.objects
    assert full.ledger["heap"] == poor.ledger["heap"]
    for unit in ("objects", "bytes"):
        assert full.ledger["reached"][unit] == poor.ledger["reached"][unit]


@rows
def test_nothing_is_lost(twins):
    """Neither gaps nor differences that the full look does not have."""
    full, poor = twins
    assert poor.verdict["unexplained"] == 0
    assert poor.verdict["missed_pointers"] == 0
    assert poor.verdict["free_slot_pointers"] == 0
    assert poor.ledger["gaps"] == full.ledger["gaps"]
    assert poor.verdict["heap_objects"]["rebuilt"] == (
        full.verdict["heap_objects"]["rebuilt"]
    )


@rows
def test_it_is_said(twins):
    full, poor = twins
    assert WARNING not in full.run.stdout + full.run.stderr
    assert WARNING in poor.run.stdout + poor.run.stderr
    assert WARNING in poor.info
    for key in ("go_version", "gc_phase"):
        assert poor.ledger[key] == full.ledger[key]


@rows
def test_names(twins, strip, program):
    """Variables by the symbol table, else by their place; functions always."""
    poor = twins[1]
    globals_ = [n for n, r in poor.roots.items() if r["kind"] == "global"]
    if STRIPS[strip]:
        assert any(n.startswith("main.") for n in globals_), globals_
        assert not any(n.startswith("$bss") for n in globals_), globals_
    else:
        known = ("$bss+0x", "$data+0x", "sync.allPools", "sync.oldPools")
        assert all(n.startswith(known) for n in globals_)
    if program == "roots":
        frames = [n for n, r in poor.roots.items() if r["kind"] == "stack"]
        assert any(n.startswith("main.") and ".$stack+0x" in n for n in frames)


@pytest.mark.parametrize("strip", STRIPS)
@variants("default", releases=["go1.24", "go1.27"])
def test_types_by_record(looks, variant, strip):
    """Types that headers and interfaces name have the names of DWARF."""
    full, poor = (looks("rest", variant, s) for s in (None, strip))
    known = {t["type"] for t in full.ledger["types"]}
    types = {t["type"]: t["objects"] for t in poor.ledger["types"]}
    assert types["main.Event"] == 7000
    assert types["chan *main.Event"] == 2000
    for name, objects in types.items():
        # Synthetic types of the runtime's maps have no name of their own.
        if objects >= 100 and "map.group" not in name and name[0] != "(":
            assert name in known, name


@variants("nodwarf", "stripped", "pie-stripped")
def test_as_the_linker_leaves_it(farm, variant):
    look = Look(farm.target("rest", variant))
    heap, reached = look.ledger["heap"], look.ledger["reached"]
    assert abs(reached["objects"] - heap["allocated_objects"]) <= 2
    assert look.verdict["unexplained"] == 0
    assert WARNING in look.run.stdout + look.run.stderr


@variants("stripped")
def test_why(farm, variant):
    """A chain begins at a place and goes through what headers and masks say;
    places that are variables are no objects."""
    target = farm.target("shared", variant)
    places = list(target.places.values())
    run = run_goref(target, [f"goref why {p} --json" for p in places])
    assert run.rc == 0, run.stderr
    answers = [run.json(n) for n in range(len(places))]
    objects = [a for a in answers if a["object"]]
    assert objects, answers
    for answer in objects:
        assert answer["reachable"] and answer["path"], answer


@variants("stripped")
def test_list_of_pools(farm, variant):
    """It is known, and gives way, also where no variable has a name."""
    target = farm.target("shared", variant)
    run = run_goref(
        target,
        ["goref scan --json --top 10000",
         f"goref why {target.places['sShelf.cache']} --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    roots = {r["name"]: r["objects"] for r in run.json(0)["roots"]}
    assert roots["sync.allPools"] == 1
    assert run.json(1)["root"]["name"].startswith("$bss+")


@variants("stripped")
def test_no_type_that_the_slot_contradicts(farm, variant):
    """The word before a pointer may be a type that has nothing to do with it:
    no string lies in 3,000 bytes without pointers."""
    target = farm.target("values", variant)
    run = run_goref(target, [f"goref why {target.places['vMisled.Data']} --json"])
    assert run.rc == 0, run.stderr
    held = run.json(0)["object"]
    assert held["bytes"] == 3072
    assert not held["type"], held


@variants("stripped")
def test_itabs_of_a_process(farm, variant):
    """Itabs that the runtime has made lie outside of heap and modules; the
    table of them has no name here."""
    target = farm.target("values", variant, "live")
    run = run_goref(target, ["goref scan --json --top 10000"])
    assert run.rc == 0, run.stderr
    types = {t["type"]: t["objects"] for t in run.json(0)["types"]}
    assert types.get("main.Answer") == 2
    assert run.json(0)["gaps"]["unknown_types"] == 0


@variants("stripped")
def test_live(farm, variant):
    target = farm.target("rest", variant, "live")
    run = run_goref(target, ["goref verify --json"])
    assert run.rc == 0, run.stderr
    verdict = run.json(0)
    assert verdict["unexplained"] == 0
    assert abs(
        verdict["allocated_objects"] - verdict["reached_objects"]
    ) <= 2  # fmt: skip
