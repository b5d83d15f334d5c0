# SPDX-License-Identifier: Apache-2.0
"""For how long goroutines have waited at least, by the times at which the
program says that they began, and that collections ran."""

import json
import time

from session import run_cli, run_goref
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variants

NEWEST = Variant(RELEASES[-1], "default")


def check(rows, truth, not_before, not_after):
    """The stop was between two moments. The wait that is known ends there, and
    begins at the end of the collection that has seen the goroutine."""
    collections = truth["collections"]
    known = 0
    for case in truth["goroutines"]:
        waited = rows[case["id"]]["waited_ns"]
        if case["collections"] == len(collections):
            assert waited is None, case
            continue
        seen = collections[case["collections"]]
        assert not_before - seen["end"] <= (waited or 0), case
        assert (waited or 0) <= not_after - seen["begin"], case
        assert (waited or 0) <= not_after - case["began"], case
        known += 1
    assert known == 3


def by_id(document):
    return {row["id"]: row for row in document["goroutines"]}


@variants("default", newest=("stripped",))
def test_core(farm, variant):
    """The last moment that a core tells is the end of the last collection, or
    a later one."""
    target = farm.target("waited", variant)
    after = time.monotonic_ns()
    run = run_goref(target, ["goref goroutines --json"])
    assert run.rc == 0, run.stderr
    rows = by_id(run.json())
    if variant.flavour == "stripped":
        # Variables of the runtime are not known: neither is the time.
        assert all(row["waited_ns"] is None for row in rows.values())
        return
    last = target.truth["collections"][-1]
    check(rows, target.truth, last["begin"], after)


@variants("default")
def test_live(farm, variant):
    """The clock of a process on this machine is that of the machine."""
    skip_if(attach_reason())
    target = farm.target("waited", variant, "live")
    before = time.monotonic_ns()
    done = run_cli(["attach", target.process.pid, "goroutines", "--json"])
    assert done.returncode == 0, done.stderr
    check(
        by_id(json.loads(done.stdout)),
        target.truth,
        before,
        time.monotonic_ns(),
    )


def test_waits(farm):
    """A group has the longest time of its waiters."""
    target = farm.target("waited", NEWEST)
    run = run_goref(target, ["goref waits --json", "goref goroutines --json"])
    rows = by_id(run.json(1))
    first = target.truth["goroutines"][0]
    waits = {w["path"]: w for w in run.json(0)["waits"]}
    assert first["name"] == "before all"
    assert waits["main.first"]["waited_ns"] == rows[first["id"]]["waited_ns"]
    assert waits["main.first"]["waited_ns"] > 0
    assert waits["main.third"]["waited_ns"] is None
