# SPDX-License-Identifier: Apache-2.0
"""Who holds an object: paths whose hops are words of the core, roots, and what
is freed without the holder, which the program then tries."""

import json
import random

import pytest

from corewords import CoreWords
from session import run_goref
from targets import attach_reason, gdb_core, skip_if, Target
from test_verify import addresses
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
DRAWN = 150


def asked(target, places, options="--json"):
    """The documents of several objects, in one run."""
    run = run_goref(target, [f"goref why {p} {options}" for p in places])
    assert run.rc == 0, run.stderr
    return [run.json(i) for i in range(len(places))]


@pytest.fixture(scope="module")
def cleared(farm):
    """cleared(variant): a core, and the falls that came after it."""
    made = {}

    def make(variant):
        skip_if(attach_reason())
        process = farm.process("holders", variant)
        process.rest()
        core = gdb_core(process, stays=True)
        process.popen.stdin.write(b"x")
        process.popen.stdin.flush()
        falls = json.loads(process.read_line())
        return Target("gcore", process.exe, process.truth, core=core), falls

    def get(variant):
        if variant not in made:
            made[variant] = make(variant)
        return made[variant]

    return get


@variants("default")
def test_freed_bytes_are_freed(cleared, variant):
    """All thirty, to the byte."""
    target, falls = cleared(variant)
    names = [name for name in falls if name != "main.hTwo"]
    assert len(names) == 30
    documents = asked(target, [target.places[name] for name in names])
    found = {
        d["holder"]["name"]: (d["holder"]["kind"], d["holder"]["freed_bytes"])
        for d in documents
    }
    assert found == {name: ("reference", falls[name]) for name in names}


@variants(newest=("default",))
def test_two_fields(cleared, variant):
    """No field alone holds the list; the variable does."""
    target, falls = cleared(variant)
    (document,) = asked(target, [target.places["two"]])
    holder = document["holder"]
    assert holder["only"] and holder["kind"] == "root"
    assert holder["name"] == "main.hTwo"
    assert holder["freed_bytes"] == falls["main.hTwo"] > 0


@variants(newest=("default",))
def test_two_variables(cleared, variant):
    target, _ = cleared(variant)
    (document,) = asked(
        target, [target.places["shared"]], "--all-roots --paths 5 --json"
    )
    holder = document["holder"]
    assert not holder["only"] and holder["roots"] == 2
    assert not holder["more_roots"] and document["root_count"] == 2
    roots = {r["name"]: r["distance"] for r in document["roots"]}
    assert roots == {"main.hThisWay": 2, "main.hThatWay": 2}
    assert document["paths_complete"] and len(document["paths"]) == 2
    # The object that it is reached through is gone with both.
    assert holder["through"]["type"] == "main.Node"
    assert holder["freed_bytes"] == 20 * (16 + 24)
    text = run_goref(target, [f"goref why {target.places['shared']}"]).parts[0]
    assert "held by 2 roots, none alone; all paths go through" in text


@variants(newest=("default",))
def test_goroutine(cleared, variant):
    """A stack root comes with its goroutine."""
    target, _ = cleared(variant)
    (document,) = asked(target, [target.places["local"]], "--paths 3 --json")
    goroutine = document["holder"]["goroutine"]
    assert document["holder"]["only"]
    assert goroutine["state"] == "waiting"
    assert goroutine["wait_reason"] == "chan receive"
    assert goroutine["function"].startswith("main.")
    assert document["holder"]["freed_bytes"] >= 10 * (16 + 24)
    assert document["paths"][0][0]["goroutine_id"] == goroutine["id"]


@variants("default", releases=("go1.24",))
def test_exclude_weak(farm, variant):
    """Cleanups and pools do not count; what a goroutine holds still does."""
    target = farm.target("roots", variant)
    weak = [target.places[name] for name in ("cleanup.leaf", "rPool.leaf")]
    strong = target.places["holdReceive"]
    options = "--paths 5 --all-roots --json"
    held = asked(target, [*weak, strong], options)
    left = asked(target, [*weak, strong], f"{options} --exclude-weak")
    kinds = [document["roots"][0]["kind"] for document in held]
    assert kinds == ["cleanup", "global", "local"]
    assert held[1]["roots"][0]["name"] == "main.rPool"
    assert [len(document["paths"]) > 0 for document in held] == [True] * 3
    for document in left[:2]:
        assert document["paths"] == document["roots"] == []
        assert document["root_count"] == 0
    for key in ("paths", "roots", "holder"):
        assert left[2][key] == held[2][key]
    ask = "goref why --type main.Leaf --json"
    run = run_goref(target, [ask, f"{ask} --exclude-weak"])
    whole, rest = run.json(0), run.json(1)
    assert whole["unreached"] == 0 < rest["unreached"]
    below = rest["branches"][0]["objects"]
    assert below + rest["unreached"] == whole["objects"] == rest["objects"]
    text = run_goref(target, [f"goref why {weak[0]} --paths 2 --exclude-weak"])
    assert "no path from a root, weak references aside" in text.parts[0]


def check_path(core, path, asked_for):
    """Every hop is true: its word lies in the hop before, and leads into it."""
    before = None
    for hop in path:
        at = hop["address"] and int(hop["address"], 16)
        if before is None:
            assert hop["kind"] not in ("object", "group", "top")
        elif hop["left_out"]:
            pass
        elif hop["word"] is not None:
            word = int(hop["word"], 16)
            value = core.word(word)
            assert at <= value < at + max(hop["bytes"], 1), (path, hop)
            if before["kind"] == "object":
                start = int(before["address"], 16)
                assert start <= word <= start + before["bytes"] - 8
        else:
            assert before["kind"] != "object"
        before = hop
    assert path[-1]["kind"] == "object"
    start = int(path[-1]["address"], 16)
    assert start <= asked_for < start + max(path[-1]["bytes"], 1)


@variants(newest=("default",))
@pytest.mark.parametrize("program", ["holders", "shared", "rest"])
def test_hops_are_true(farm, program, variant):
    """Objects are drawn; in a small core, it is all of them."""
    target = farm.target(program, variant)
    listed = run_goref(target, ["goref objects --addresses"]).parts[0]
    drawn = [a for a, _ in addresses(listed)]
    if len(drawn) > 500:
        drawn = random.Random(7).sample(drawn, DRAWN)
    core = CoreWords(target.core)
    for address, document in zip(
        drawn, asked(target, [hex(a) for a in drawn], "--paths 3 --json")
    ):
        assert document["paths"], hex(address)
        roots = [(p[0]["name"], p[0]["address"]) for p in document["paths"]]
        assert len(set(roots)) <= 3
        for path in document["paths"]:
            check_path(core, path, address)
    core.close()


@variants(newest=("default",))
def test_merged_paths(farm, variant):
    """Each object of a type is on one path: branches add up."""
    target = farm.target("shared", variant)
    run = run_goref(
        target, ["goref why --type main.Leaf --json", "goref scan --json --top 0"]
    )
    assert run.rc == 0, run.stderr
    document, scan = run.json(0), run.json(1)
    (total,) = [t for t in scan["types"] if t["type"] == "main.Leaf"]
    assert document["objects"] == total["objects"]
    branches = document["branches"]
    assert branches[0]["kind"] == "top"
    assert branches[0]["objects"] == document["objects"]
    below = [0] * len(branches)
    for branch in branches[1:]:
        assert branch["depth"] == branches[branch["parent"]]["depth"] + 1
        below[branch["parent"]] += branch["objects"]
    for branch, sum_below in zip(branches, below):
        is_target = branch["kind"] == "object" and branch["type"] == "main.Leaf"
        own = branch["vertices"] if is_target else 0
        assert branch["objects"] == sum_below + own + branch["cut"], branch
    (huge,) = [b for b in branches if b["name"] == "main.sHuge"]
    assert huge["objects"] == 100_000
    (leaves,) = [
        b for b in branches
        if branches[b["parent"]]["parent"] == branches.index(huge)
        and b["depth"] == huge["depth"] + 2
    ]  # fmt: skip
    assert leaves["field"] == "[]" and leaves["vertices"] == 100_000


def test_merged_paths_of_nothing(farm):
    target = farm.target("shared", CENTRAL)
    run = run_goref(target, ["goref why --type main.Nothing"])
    assert run.rc == 1
    (line,) = run.error_lines()
    assert "there is no type main.Nothing" in line
    assert "`goref histogram' lists the types" in line
