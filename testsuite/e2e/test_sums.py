# SPDX-License-Identifier: Apache-2.0
"""Whatever a program does, each answer about its heap adds up to what is
reached, to the byte. Each core is asked everything once."""

import collections
import json
import random
import subprocess

import pytest

from heapgraph import Graph
from pprof import Profile
from session import run_goref
from toolchains import RELEASES, Variant, variant_id, variants

# Programs, with their arguments.
PROGRAMS = {
    **dict.fromkeys(
        "busy churn counter crash cycle generics growing holders hops "
        "indexes labelled layout named offers profiled reflected "
        "resident rest roots shared shown stacks steady values waits".split(),
        (),
    ),
    "barrier": ["20000"],
    "deadlocks": ["lost"],
    "hung": ["lost", "100"],
    "leaks": ["leaked"],
    "leaky": ["5000"],
    "sampled": ["65536"],
    "suspects": ["two"],
}
NEWEST = Variant(RELEASES[-1], "default")
# Without names, and older releases, these have the most kinds of objects.
MANY_KINDS = ("rest", "roots", "values")
OTHERS = [Variant(release, "default") for release in RELEASES[:-1]]
OTHERS.append(Variant(RELEASES[-1], "stripped"))
ROWS = [(program, NEWEST) for program in PROGRAMS]
ROWS += [(p, variant) for variant in OTHERS for p in MANY_KINDS]
LIMITS = ("", "--max-depth 2", "--max-nodes 9", "--max-samples 5")
KEYS = ("type", "package", "span-class", "field", "root", "goroutine")
PHASES = ["masks", "edges", "nearest", "reverse", "dominators"]
# A scan bills the parts of an array separately, if it comes to them over
# different roots. In these programs, that happens only with these variables.
BILLED = ("rest", "roots", "shared", "suspects")
# These are at work at any moment. A list that is being built may have more
# levels than an answer has, and a stack may share objects with a variable.
AT_WORK = ("churn", "steady")
ONE_ARRAY = {
    "runtime.allgs": "runtime.allgptr",
    "main.sPartB": "main.sPartA",
    "main.sHeadB": "main.sHeadA",
}


class Answers:
    """The documents about one core, and its profiles of the dominators."""

    def __init__(self, target, folder):
        self.profiles = {limit: folder / f"{limit}.pb" for limit in LIMITS}
        asked = {
            "scan": "scan --retained",
            "apart": "scan --retained --per-goroutine",
            "whole": "dominators --top 0 --depth 0",
            "top": "dominators --top 0",
            "cut": "dominators --top 3 --depth 4",
            **{key: f"histogram --by {key} --retained" for key in KEYS},
            **{limit: f"scan --view dominators {limit} -o '{path}'"
               for limit, path in self.profiles.items()},
        }  # fmt: skip
        commands = [f"goref {text} --json" for text in asked.values()]
        run = run_goref(target, commands)
        assert run.rc == 0, run.stderr
        self.documents = {name: run.json(i) for i, name in enumerate(asked)}

    def __getitem__(self, name):
        return self.documents[name]


@pytest.mark.parametrize(
    "program, variant", ROWS, ids=[f"{p}-{variant_id(v)}" for p, v in ROWS]
)
def test_everything_adds_up(farm, program, variant, tmp_path):
    target = farm.target(program, variant, args=PROGRAMS[program])
    answers = Answers(target, tmp_path)
    check_histograms(answers)
    if variant.flavour == "stripped":
        reached = answers["scan"]["reached"]
        assert check_sums(answers["whole"], reached["bytes"]) > 10
    else:
        if program not in AT_WORK:
            check_dominators(answers)
            check_groups(answers)
        check_view(answers)
        check_retained(answers)
        graph = Graph(target)
        check_top(graph)
        check_marks(graph)
        check_stripped(target, graph, tmp_path)
        if program in BILLED:
            check_roots(answers)
    farm.forget(program)


@variants(newest=("c-shared", "plugin", "cgo"))
def test_top_of_a_library_adds_up(farm, variant, tmp_path):
    """Go code beside the executable, in a C program and in a Go program; and
    with threads of C."""
    is_library = variant.flavour != "cgo"
    target = farm.target("rest" if is_library else "cgo", variant)
    library = target.exe.with_suffix(".so") if is_library else None
    graph = Graph(target, library=library)
    assert len(graph.objects) > 7000 or not is_library
    check_top(graph)
    check_stripped(target, graph, tmp_path)


# ------------------------------------------------------------- the equations


def check_top(graph):
    """The top of the tree holds all that is reached."""
    ledger = json.loads(graph.walked())
    totals = graph.totals
    assert totals["garbage"] == 0
    listed = graph.walked("--objects").splitlines()
    walked = {int(x.split()[0], 16) for x in listed}
    # A walk does not count blocks of C.
    blocks = set(graph.objects) - walked
    assert walked <= set(graph.objects)
    assert totals["objects"] == ledger["reached"]["objects"] + len(blocks)
    c_bytes = totals["retained_bytes"] - ledger["reached"]["bytes"]
    assert c_bytes >= 32 * len(blocks) and bool(c_bytes) == bool(blocks)
    held = sum(totals["groups"].values()) + totals["shared_bytes"]
    assert held == totals["retained_bytes"]


def check_marks(graph):
    """A vertex retains what a plain mark without it loses."""
    count = min(50, len(graph.objects))
    asked = random.Random(9).sample(graph.objects, count) + graph.others[-20:]
    lost = graph.lost([[v] for v in asked])
    assert lost == [graph.retained[v] for v in asked]


def check_stripped(target, graph, folder):
    """Without names every object retains the same."""
    file = folder / (graph.library or target.exe).name
    subprocess.run(
        ["strip", "-o", file, graph.library or target.exe], check=True
    )
    bare = (
        Graph(target, library=file)
        if graph.library
        else Graph(target, exe=file)
    )
    lines, bare_lines = graph.object_lines(), bare.object_lines()
    assert len(lines) == len(bare_lines) > 0
    assert not [pair for pair in zip(lines, bare_lines) if pair[0] != pair[1]]


def check_sums(row, retained):
    """The rows below a row of `dominators` add up to it, on every level.
    Returns the number of rows below."""
    if "children" not in row:
        return 0
    below = row["children"]
    sizes = [child["retained_bytes"] for child in below]
    assert sizes == sorted(sizes, reverse=True)
    whole = sum(sizes) + row["cut"]["retained_bytes"] + row.get("bytes", 0)
    assert whole == retained, row.get("name")
    return len(below) + sum(
        check_sums(child, child["retained_bytes"]) for child in below
    )


def everything(rows):
    for row in rows:
        yield row
        yield from everything(row.get("children", ()))


def check_dominators(answers):
    whole, top, cut = (answers[name] for name in ("whole", "top", "cut"))
    reached = answers["scan"]["reached"]
    assert whole["reached_bytes"] == reached["bytes"]
    assert check_sums(whole, reached["bytes"]) >= len(whole["children"]) > 10
    # Nothing is cut, so every object is in one row.
    rows = list(everything(whole["children"]))
    assert not any(row.get("cut", {}).get("children") for row in rows)
    assert sum(row["objects"] for row in rows) == reached["objects"]
    assert sum(row["bytes"] for row in rows) == reached["bytes"]
    none = {"children": 0, "retained_bytes": 0, "retained_c_bytes": 0}
    assert top["cut"] == none
    assert sum(row["retained_bytes"] for row in top["children"]) == (
        reached["bytes"]
    )
    assert len(cut["children"]) == 3
    assert check_sums(cut, reached["bytes"]) >= 3
    assert list(whole["phases_ms"]) == PHASES


def check_view(answers):
    """The flame graph is what was reached, and its first level what
    `dominators` says."""
    for limit, path in answers.profiles.items():
        reached = answers[limit]["reached"]
        profile = Profile.load(path)
        objects = sum(sample.values[0] for sample in profile.samples)
        size = sum(sample.values[1] for sample in profile.samples)
        assert objects == reached["objects"], limit
        assert size == reached["bytes"], limit
        assert size == answers["top"]["reached_bytes"], limit
    profile = Profile.load(answers.profiles[""])
    for row in answers["top"]["children"]:
        if row["kind"] == "global":
            assert profile.root(row["name"])[1] == row["retained_bytes"], row


def check_histograms(answers):
    reached = answers["scan"]["reached"]
    for key in KEYS:
        document, rows = answers[key], answers[key]["rows"]
        assert document["by"] == key
        assert sum(r["objects"] for r in rows) == reached["objects"]
        assert sum(r["bytes"] for r in rows) == reached["bytes"]
        sizes = [r["retained_bytes"] for r in rows]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] >= 0
    # Each object of a type is in what some object of the type retains.
    for key in KEYS[:4]:
        rows = answers[key]["rows"]
        assert all(r["bytes"] <= r["retained_bytes"] for r in rows)
    # Memory that is only theirs does not overlap, but the runtime holds its
    # own goroutines, too (heapgraph.h).
    for key in KEYS[4:]:
        assert (
            sum(
                r["retained_bytes"]
                for r in answers[key]["rows"]
                if not r["key"].startswith("goroutine ")
                or "(runtime." not in r["key"]
            )
            <= reached["bytes"]
        )


def check_roots(answers):
    """Objects are counted where a scan bills them."""
    billed = collections.Counter()
    for root in answers["scan"]["roots"]:
        billed[ONE_ARRAY.get(root["name"], root["name"])] += root["bytes"]
    rows = answers["root"]["rows"]
    assert {r["key"]: r["bytes"] for r in rows} == +billed
    # An object that one root alone holds is billed to it.
    assert all(r["retained_bytes"] <= r["bytes"] for r in rows)


def check_groups(answers):
    """Goroutines and package variables have what a scan bills to theirs."""
    groups = {row["key"]: row["bytes"] for row in answers["goroutine"]["rows"]}
    kinds = collections.Counter()
    for root in answers["scan"]["roots"]:
        kinds[root["kind"]] += root["bytes"]
    assert groups["package variables"] == kinds["global"]
    assert sum(groups.values()) == sum(kinds.values())


def check_retained(answers):
    """A root alone keeps no more alive than what is billed to it; and a
    variable as much as `dominators` says."""
    keeps = {row["name"]: row for row in answers["top"]["children"]
             if row["kind"] in ("global", "runtime")}  # fmt: skip
    together, apart = answers["scan"]["roots"], answers["apart"]["roots"]
    compared = 0
    for root in (*together, *apart):
        assert 0 <= root["retained_bytes"] <= root["bytes"], root
        row = keeps.get(root["name"])
        if row and row["count"] == 1 and row["kind"] == root["kind"]:
            assert root["retained_bytes"] == row["retained_bytes"], root
            compared += 1
    assert compared > 10
    # All goroutines with a local let it go, or only one of them.
    alone, number = collections.Counter(), collections.Counter()
    for root in apart:
        alone[root["name"]] += root["retained_bytes"]
    for root in together:
        number[root["name"]] += 1
    for root in together:
        name = root["name"]
        assert root["retained_bytes"] >= alone[name] or number[name] > 1
