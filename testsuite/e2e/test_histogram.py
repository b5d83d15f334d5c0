# SPDX-License-Identifier: Apache-2.0
"""goref histogram: its sums are those of the walk, its rows those of the
truth."""

import collections

import pytest

from session import run_cli, run_goref
from toolchains import variants

KEYS = ("type", "package", "span-class", "field", "root", "goroutine")


def ask(target, *options):
    """The documents of several histograms."""
    commands = [f"goref histogram {text} --json" for text in options]
    run = run_goref(target, ["goref scan --json --top 0", *commands])
    assert run.rc == 0, run.stderr
    return run.json(0), [run.json(i + 1) for i in range(len(options))]


def rows_of(document):
    return {row["key"]: row for row in document["rows"]}


@pytest.mark.parametrize("program", ["rest", "roots", "values"])
@variants("default", "stripped")
def test_sums(farm, variant, program):
    target = farm.target(program, variant)
    scan, found = ask(target, *(f"--by {key} --retained" for key in KEYS))
    for key, document in zip(KEYS, found):
        rows = document["rows"]
        assert document["by"] == key
        assert sum(r["objects"] for r in rows) == scan["reached"]["objects"]
        assert sum(r["bytes"] for r in rows) == scan["reached"]["bytes"]
        assert all(r["retained_bytes"] >= 0 for r in rows)
        sizes = [r["retained_bytes"] for r in rows]
        assert sizes == sorted(sizes, reverse=True)
    # Each object of a type is in what some object of the type retains.
    for document in found[:4]:
        assert all(r["bytes"] <= r["retained_bytes"] for r in document["rows"])
    # What is only theirs does not overlap, but the runtime holds its own
    # goroutines, too (heapgraph.h).
    for document in found[4:]:
        assert sum(
            r["retained_bytes"]
            for r in document["rows"]
            if not r["key"].startswith("goroutine ")
            or "(runtime." not in r["key"]
        ) <= scan["reached"]["bytes"]


# Variables that point into the array of another one. A scan bills the parts of
# an array separately, if it comes to them over different variables.
ONE_ARRAY = {
    "runtime.allgs": "runtime.allgptr",
    "main.sPartB": "main.sPartA",
    "main.sHeadB": "main.sHeadA",
}


@variants("default")
@pytest.mark.parametrize("program", ["rest", "roots", "shared", "suspects"])
def test_roots_are_those_of_a_scan(farm, variant, program):
    """Objects are counted where a scan bills them."""
    target = farm.target(program, variant, args=["two"][: program == "suspects"])
    scan, (roots, goroutines) = ask(
        target, "--by root --retained", "--by goroutine"
    )
    billed = collections.Counter()
    for root in scan["roots"]:
        billed[ONE_ARRAY.get(root["name"], root["name"])] += root["bytes"]
    assert {r["key"]: r["bytes"] for r in roots["rows"]} == +billed
    # What is held by one root alone is billed to it.
    assert all(r["retained_bytes"] <= r["bytes"] for r in roots["rows"])
    groups = rows_of(goroutines)
    kinds = collections.Counter()
    for root in scan["roots"]:
        kinds[root["kind"]] += root["bytes"]
    assert groups["package variables"]["bytes"] == kinds["global"]
    assert sum(r["bytes"] for r in goroutines["rows"]) == sum(billed.values())


@variants("default", "noopt")
def test_types_and_exact_sizes(farm, variant):
    target = farm.target("suspects", variant, args=["map"])
    truth = target.truth
    scan, (plain, retained, exact) = ask(
        target, "", "--retained", "--retained --exact main.Session"
    )
    row = rows_of(retained)["main.Session"]
    assert row["objects"] == truth["count"]
    assert rows_of(plain)["main.Session"]["retained_bytes"] is None
    # Each session has its data to itself.
    data = rows_of(retained)["[200]uint8"]
    assert row["retained_bytes"] == row["bytes"] + data["bytes"]
    assert exact["exact"]["type"] == "main.Session"
    assert exact["exact"]["objects"] == 2 * truth["count"]
    assert exact["exact"]["retained_bytes"] == row["retained_bytes"]
    types = {t["type"]: t for t in scan["types"]}
    assert types["main.Session"]["bytes"] == row["bytes"]


@variants("default")
def test_a_lower_bound(farm, variant):
    """Sessions that only other sessions lead to: the first one has all."""
    target = farm.target("suspects", variant, args=["list"])
    _, (document,) = ask(target, "--retained --exact main.Session")
    row = rows_of(document)["main.Session"]
    assert row["retained_bytes"] == document["exact"]["retained_bytes"]
    assert row["retained_bytes"] > 0.97 * target.truth["bytes"]


@variants("default")
def test_roots_and_goroutines(farm, variant):
    target = farm.target("suspects", variant, args=["two"])
    _, (roots, packages) = ask(target, "--by root --retained", "--by package")
    first, second = roots["rows"][:2]
    assert (first["key"], second["key"]) == ("main.sessions", "main.history")
    assert first["retained_bytes"] <= first["bytes"]
    main = rows_of(packages)["main"]
    assert main["objects"] >= 2 * target.truth["count"]
    target = farm.target("suspects", variant, args=["goroutines"])
    _, (document,) = ask(target, "--by goroutine --retained")
    rows = [r for r in document["rows"] if r["key"].startswith("goroutine ")]
    assert len(rows) > target.truth["count"]


@variants("default", "noopt")
def test_fields(farm, variant):
    target = farm.target("suspects", variant, args=["slice"])
    _, (document,) = ask(target, "--by field")
    rows = rows_of(document)
    count = target.truth["count"]
    assert rows["main.Session.Data"]["objects"] == count
    assert rows["main.Session.ID"]["objects"] == count
    assert rows["in []*main.Session"]["objects"] == count
    assert rows["main.history"]["objects"] == 1


@variants("default", releases=("go1.24",))
def test_garbage(farm, variant):
    target = farm.target("suspects", variant, args=["hello"])
    scan, found = ask(target, *(f"--garbage --by {key}" for key in KEYS[:3]))
    for document in found:
        rows = document["rows"]
        lost = scan["unreached"]
        assert sum(r["objects"] for r in rows) == lost["objects"]
        assert sum(r["bytes"] for r in rows) == lost["bytes"]


@variants("default", releases=("go1.24",))
def test_options(farm, variant):
    target = farm.target("suspects", variant, args=["hello"])
    ask_cli = ["core", *target.gdb_args, "histogram"]
    done = run_cli([*ask_cli, "--filter", "^main\\.", "--top", "1"])
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) <= 4
    for options, words in (
        (["--filter", "("], "not a regular expression: ("),
        (["--exact", "main.T", "--by", "root"], "it goes with --by type"),
        (["--garbage", "--retained"], "garbage is not held"),
        (["--garbage", "--by", "root"], "it has no root"),
        (["--garbage", "--by", "field"], "it has no field"),
    ):
        done = run_cli([*ask_cli, *options])
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1
    done = run_cli([*ask_cli, "--exact", "main.Nothing"])
    assert done.returncode == 1
    assert done.stderr == (
        "goref: there is no type main.Nothing; "
        "`goref histogram' lists the types\n"
    )
