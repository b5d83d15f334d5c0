# SPDX-License-Identifier: Apache-2.0
"""The checks of goref waste that are about the runtime against a naive
implementation (naive_runtime_waste.py), on cores of 100,000 objects at
random."""

import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from naive_runtime_waste import size_text
from plain import told
from session import run_cli, run_goref
from targets import GDB
from test_waste import opened, rows_of
from toolchains import variants

HERE = Path(__file__).parent
OBJECTS = 100_000
CHECKS = "goroutine-stack,far-timers,stuck-finalizer,gc-headroom"
# With the first one, GOGC is 100 and there is no GOMEMLIMIT.
SEEDS = [4, 16]
NAIVE = """
    import json, sys
    sys.path.insert(0, sys.argv[1])
    import goref, naive_runtime_waste
    with open(sys.argv[4]) as file:
        facts = json.load(file)
    with goref.core(sys.argv[3], sys.argv[2]) as heap:
        scan = heap._scan()
        answer = naive_runtime_waste.answer(scan, facts, int(sys.argv[5]))
    print(json.dumps(answer))
"""


class Answers(NamedTuple):
    target: object
    facts: dict  # as gdb reads them
    naive: dict
    document: dict


def ask_gdb(target):
    done = subprocess.run(
        [GDB, "-nx", "-batch", "-iex", "set auto-load python-scripts off",
         "-iex", "set debuginfod enabled off", target.exe, target.core,
         "-x", HERE / "runtime_in_gdb.py"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    found = re.search("^RUNTIME(.*)$", done.stdout, re.M)
    assert found, done.stdout + done.stderr
    return json.loads(found[1])


def said(target, what):
    """The findings that the program has noted, by name."""
    return {
        row["type"]: row
        for row in target.truth["findings"]
        if row["field"] == what
    }


@pytest.fixture(scope="module")
def answers(farm, tmp_path_factory):
    """answers(variant, seed, ...): those of gdb, of the naive version, and of
    goref."""
    made = {}

    def make(variant, seed, *more):
        count = OBJECTS // 10 if more else OBJECTS
        args = ("mix-runtime", str(seed), str(count), *more)
        target = farm.target("wastes", variant, args=args)
        facts = ask_gdb(target)
        file = tmp_path_factory.mktemp("facts") / "facts"
        file.write_text(json.dumps(facts))
        allocated = said(target, "allocated")[""]["bytes"]
        words = (HERE, target.exe, target.core, file, allocated)
        naive = told(NAIVE, *words)
        options = f"--json --min-share 0% --checks {CHECKS}"
        run = run_goref(target, [f"goref waste {options}"])
        assert run.rc == 0, run.stderr
        return Answers(target, facts, naive, run.json())

    def answer(*what):
        if what not in made:
            made[what] = make(*what)
        return made[what]

    return answer


def sort(rows):
    """Rows that save something."""
    return sorted(tuple(row) for row in rows if row[0])


def found(document, check):
    return sort(
        (row["bytes"], row["count"], row["type"])
        for row in rows_of(document, check)
    )


seeds = pytest.mark.parametrize("seed", SEEDS)


@seeds
@variants("default")
def test_heap(answers, variant, seed):
    """The objects are those that the program has made."""
    _, _, naive, document = answers(variant, seed)
    assert OBJECTS * 0.95 < naive["objects"] < OBJECTS * 1.1
    assert document["heap_objects"] == naive["objects"]
    assert document["heap_bytes"] == naive["bytes"]


@seeds
@variants("default", newest=("race",))
def test_stacks(answers, variant, seed):
    """With the race detector, calls must leave more room."""
    _, facts, naive, document = answers(variant, seed)
    expected = sort(naive["goroutine-stack"])
    assert found(document, "goroutine-stack") == expected
    assert {"main.work", "main.await"} <= {row[2] for row in expected}
    addresses = [each["address"] for each in facts["goroutines"]]
    for row in rows_of(document, "goroutine-stack"):
        freed = naive["freed"][row["type"]]
        text = f"Collections would free {size_text(freed)} of this: "
        assert (text in row["advice"]) == (freed > 0), row
        assert int(row["example"], 16) in addresses


@seeds
@variants("default")
def test_timers(answers, variant, seed):
    target, facts, naive, document = answers(variant, seed)
    assert found(document, "far-timers") == sort(naive["far-timers"])
    truth = said(target, "far")
    rows = rows_of(document, "far-timers")
    counts = {row["type"]: row["count"] for row in rows}
    for name, row in truth.items():
        if name.startswith("main."):
            assert counts.pop(name) == row["count"], name
    of_contexts = sum(
        count for name, count in counts.items() if name.startswith("context.")
    )
    assert of_contexts == truth["context"]["count"]
    addresses = [each["address"] for each in facts["timers"]]
    for row in rows:
        assert int(row["example"], 16) in addresses


@seeds
@variants("default")
def test_finalizers(answers, variant, seed):
    target, facts, naive, document = answers(variant, seed)
    expected = sort(naive["stuck-finalizer"])
    assert found(document, "stuck-finalizer") == expected
    # The first one that ran, or, with goroutines of their own, two.
    first = {*said(target, "finalizer"), *said(target, "cleanup")} - {""}
    assert len(first & {row[2] for row in expected}) == 1
    owners = [each["owner"] for each in facts["specials"]]
    for row in rows_of(document, "stuck-finalizer"):
        assert row["type"] in first or int(row["example"], 16) in owners


@variants("default")
def test_slow_finalizer(answers, variant):
    """The queue waits for a finalizer that sleeps: this is no waste. Newer
    releases run cleanups in goroutines of their own, which are blocked."""
    target, _, naive, document = answers(variant, SEEDS[0], "slow")
    expected = sort(naive["stuck-finalizer"])
    assert found(document, "stuck-finalizer") == expected
    types = {row[2] for row in expected}
    assert not types & set(said(target, "finalizer"))
    has_own = int(variant.release.split(".")[1]) >= 25
    assert bool(types & (said(target, "cleanup").keys() - {""})) == has_own


@seeds
@variants("default")
def test_collector(answers, variant, seed):
    """It is asked alone, too: then, there is nothing else to find."""
    target, facts, naive, document = answers(variant, seed)
    (row,) = rows_of(document, "gc-headroom")
    assert row["advice"].startswith(naive["gc-headroom"] + " "), row
    assert (row["bytes"], row["type"]) == (0, None)
    alone = run_goref(target, ["goref waste --json --checks gc-headroom"])
    setting = facts["collector"]
    is_default = setting["percent"] == 100 and setting["limit"] == 2**63 - 1
    assert len(alone.json()["checks"]) == (0 if is_default else 1)


@seeds
@variants("default")
def test_total(answers, variant, seed):
    """Objects that two rows would both save count once; those that only both
    hold count, too."""
    _, _, naive, document = answers(variant, seed)
    rows = document["checks"]
    assert document["total_bytes"] == naive["total"]
    assert naive["total"] != sum(row["bytes"] for row in rows)


@variants("default")
def test_small_rows(answers, variant):
    """Rows below a limit are left out, and all others are as they were."""
    target, _, _, document = answers(variant, SEEDS[0])
    options = f"--json --min-share 2% --checks {CHECKS}"
    run = run_goref(target, [f"goref waste {options}"])
    assert run.rc == 0, run.stderr
    least = document["heap_bytes"] / 50
    rows = document["checks"]
    large = [row for row in rows if row["bytes"] >= least or not row["bytes"]]
    assert 1 < len(large) < len(rows)
    assert run.json()["checks"] == large


@variants("default")
def test_saved_file(answers, variant, tmp_path):
    """A saved file has the same answers."""
    target, _, _, document = answers(variant, SEEDS[0])
    file = tmp_path / "saved"
    done = run_cli(["core", target.exe, target.core, "save", file])
    assert done.returncode == 0, done.stderr
    saved = opened(file)
    for check in CHECKS.split(","):
        assert rows_of(saved, check) == rows_of(document, check)
