# SPDX-License-Identifier: Apache-2.0
"""goref object: every reference is a word of the core, and the same ones as
the edges of the graph; what the programs say of their own objects."""

import random
import subprocess
from collections import Counter

import pytest

from corewords import CoreWords
from asking import GOREF_SCAN
from session import run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
DRAWN = 50


def asked(target, places, options="--json"):
    """The documents of several objects, in one run."""
    run = run_goref(target, [f"goref object {p} {options}" for p in places])
    assert run.rc == 0, run.stderr
    return [run.json(i) for i in range(len(places))]


def edges_of(target):
    """Edges between objects, by their ends, as goref-scan --edges has them."""
    done = subprocess.run(
        [GOREF_SCAN, "--edges", target.exe, target.core],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    forward, back = {}, {}
    for line in done.stdout.splitlines():
        start, end = line.split("\t")
        if not end.startswith("0x"):
            continue
        back.setdefault(end, Counter())[start] += 1
        if start.startswith("0x"):
            forward.setdefault(start, Counter())[end] += 1
    return forward, back


def draw(forward, back):
    """Objects of all sorts: with many references, with many referrers."""
    objects = sorted(set(forward) | set(back))
    few = [o for o in objects if sum(forward.get(o, {}).values()) < 900
           and sum(back.get(o, {}).values()) < 900]  # fmt: skip
    most = sorted(few, key=lambda o: -len(back.get(o, ())))[:10]
    most += sorted(few, key=lambda o: -len(forward.get(o, ())))[:10]
    return most + random.Random(9).sample(few, DRAWN)


def leads_into(value, document_bytes, address):
    return address <= value < address + document_bytes


@variants("default")
@pytest.mark.parametrize("program", ["shared", "values", "roots"])
def test_references_are_words(farm, program, variant):
    target = farm.target(program, variant)
    core = CoreWords(target.core)
    forward, back = edges_of(target)
    for document in asked(
        target, draw(forward, back), "--refs --referrers --json"
    ):
        start, size = int(document["address"], 16), document["bytes"]
        for reference in document["references"]:
            word = int(reference["word"], 16)
            assert start <= word <= start + size - 8
            value = core.word(word)
            assert leads_into(
                value, max(reference["bytes"], 1), int(reference["address"], 16)
            ), (document["address"], reference)
        for referrer in document["referrers"]:
            if referrer["word"] is None:
                assert referrer["kind"] != "object"
                continue
            assert leads_into(core.word(int(referrer["word"], 16)), size, start)
            if referrer["kind"] == "object":
                at = int(referrer["address"], 16)
                off = int(referrer["word"], 16) - at
                assert 0 <= off <= referrer["bytes"] - 8
        mine = document["address"]
        assert (
            Counter(r["address"] for r in document["references"])
            == forward.get(mine, Counter())
        )  # fmt: skip
        between = Counter(
            {a: n for a, n in back[mine].items() if a.startswith("0x")}
        )
        assert between == Counter(
            r["address"] for r in document["referrers"] if r["kind"] == "object"
        )
        assert document["referrer_count"] == sum(back[mine].values())
        assert len(document["referrers"]) == document["referrer_count"]
        assert len(document["references"]) == document["reference_count"]
    core.close()


def test_names_and_dominators(farm):
    target = farm.target("shared", CENTRAL)
    near, far = asked(target, ["main.sNear", "main.sNear.Next"])
    assert near["type"] == "main.Chain" and near["bytes"] == 32
    assert near["slot"]["unused_bytes"] == 0
    assert {(r["name"], r["kind"]) for r in near["referrers"]} == {
        ("main.sNear", "global"), (".Next", "object"),
    }  # fmt: skip
    assert {r["name"]: r["address"] for r in near["references"]}[
        ".Next"
    ] == far["address"]
    assert near["dominator"]["name"] == "several roots"
    assert far["dominator"]["address"] == near["address"]
    assert far["dominator"]["type"] == "main.Chain"
    assert far["retained_bytes"] < near["retained_bytes"]


def test_groups(farm):
    """A hundred thousand elements are one row; nothing is lost in it."""
    target = farm.target("shared", CENTRAL)
    (document,) = asked(target, ["main.sHuge"], "--refs --json")
    assert document["reference_count"] == 100_000
    (group,) = document["reference_groups"]
    assert group["references"] == 100_000
    assert group["type"] == "main.Leaf" and group["name"] == "[]"
    assert group["bytes"] + document["bytes"] == document["retained_bytes"]
    assert len(document["references"]) == 1000
    text = run_goref(target, ["goref object main.sHuge --refs"]).parts[0]
    assert "100,000 references:" in text and len(text.splitlines()) < 24


def test_short_screen(farm):
    """Without options, the first few of both."""
    target = farm.target("shared", CENTRAL)
    run = run_goref(target, ["goref object main.sHuge"])
    assert run.rc == 0, run.stderr
    assert len(run.parts[0].splitlines()) < 24
    assert "more (--refs shows them)" in run.parts[0]


def test_specials(farm):
    target = farm.target("roots", CENTRAL)
    finalized, cleaned = asked(target, ["main.fObjects[0]", "main.cObject"])
    assert [s["kind"] for s in finalized["specials"]] == ["finalizer"]
    assert "finalizeWith.func1" in finalized["specials"][0]["function"]
    assert [s["kind"] for s in cleaned["specials"]] == ["cleanup"]


def test_no_object(farm):
    target = farm.target("shared", CENTRAL)
    places = ["0x10", "$sp", "main.sServer"]
    commands = [f"goref {v} {p}" for p in places for v in ("object", "why")]
    run = run_goref(target, commands, in_gdb=True)
    assert run.rc == 0, run.stderr
    for i in range(0, len(commands), 2):
        assert run.parts[i] == run.parts[i + 1] != ""
    (document,) = asked(target, ["0x10"])
    assert document["description"] == "unmapped" and document["type"] is None


def test_garbage_has_no_dominator(farm):
    """An object that died since the last collection."""
    target = farm.target("churn", CENTRAL)
    verdict = run_goref(target, ["goref verify --json"]).json(0)
    if not verdict["differences"]:
        pytest.skip("no garbage in this core")
    (document,) = asked(target, [verdict["differences"][0]["address"]])
    assert not document["reachable"] and document["dominator"] is None
    assert document["retained_bytes"] == 0 and document["references"] == []


def test_garbage_has_no_type_of_its_own(farm):
    """An object to which no pointer leads has its header's type, or none; the
    same as `why' says."""
    target = farm.target("leaky", CENTRAL)
    run = run_goref(target, ["goref verify --json --max-differences 0"])
    garbage = [d["address"] for d in run.json(0)["differences"]][:20]
    assert garbage
    run = run_goref(
        target,
        [f"goref {verb} --json {address}" for address in garbage
         for verb in ("object", "why")],
    )  # fmt: skip
    for i in range(len(garbage)):
        described, why = run.json(2 * i), run.json(2 * i + 1)
        assert described["type"] == (why["object"]["type"] or None)


def test_an_expression_is_one_object_for_all_verbs(farm):
    """The object is the target, if it is an element or a field."""
    target = farm.target("leaky", CENTRAL)
    for text in (
        "main.pageCache.order[3]",
        'main.sessionsByToken["token-25000"]',
        'main.sessionsByToken["token-25000"].User',
    ):
        run = run_goref(
            target,
            [f"goref object --json {text}", f"goref dominators --json {text}"],
        )
        assert run.rc == 0, run.stderr
        described, [asked] = run.json(0), run.json(1)["asked"]
        assert asked["address"] == described["address"]
        assert asked["retained_bytes"] == described["retained_bytes"]
