# SPDX-License-Identifier: Apache-2.0
"""goref histogram: its rows are those of the truth. test_sums.py has its
sums."""

from session import run_cli, run_goref
from toolchains import variants

GARBAGE_KEYS = ("type", "package", "span-class")


def ask(target, *options):
    """The documents of several histograms."""
    commands = [f"goref histogram {text} --json" for text in options]
    run = run_goref(target, ["goref scan --json --top 0", *commands])
    assert run.rc == 0, run.stderr
    return run.json(0), [run.json(i + 1) for i in range(len(options))]


def rows_of(document):
    return {row["key"]: row for row in document["rows"]}


@variants(newest=("default", "noopt"))
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


@variants(newest=("default",))
def test_a_lower_bound(farm, variant):
    """Sessions that only other sessions lead to: the first one has all."""
    target = farm.target("suspects", variant, args=["list"])
    _, (document,) = ask(target, "--retained --exact main.Session")
    row = rows_of(document)["main.Session"]
    assert row["retained_bytes"] == document["exact"]["retained_bytes"]
    assert row["retained_bytes"] > 0.97 * target.truth["bytes"]


@variants(newest=("default",))
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


@variants(newest=("default", "noopt"))
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
    scan, found = ask(target, *(f"--garbage --by {key}" for key in GARBAGE_KEYS))
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
