# SPDX-License-Identifier: Apache-2.0
"""Coroutines (iter.Pull) and bubbles of testing/synctest, by the numbers that
the goroutines print of themselves."""

from session import run_goref
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variants

# Package iter is there since Go 1.23.
WITH_ITER = [r for r in RELEASES if int(r.split(".")[1]) >= 23]
WITH_BUBBLES = 25
NEWEST = Variant(RELEASES[-1], "default")


def asked(target, names, options="--json"):
    ids = [target.truth[name] for name in names]
    run = run_goref(target, [f"goref goroutine {i} wait {options}" for i in ids])
    assert run.rc == 0, run.stderr
    return run


def check(target):
    truth = target.truth
    names = ["caller", "second caller", "callee", "yielded"]
    run = asked(target, names)
    first, second, callee, yielded = (run.json(i)["waits"][0] for i in range(4))
    assert first["kind"] == second["kind"] == "coroutine"
    assert first["coroutine"] == {
        "waits_for": truth["callee"],
        "is_callee": False,
    }
    assert second["coroutine"]["waits_for"] == truth["second callee"]
    assert callee["kind"] == "channel receive"
    assert yielded["kind"] == "coroutine"
    assert yielded["coroutine"] == {"waits_for": None, "is_callee": True}


@variants("default", "noopt", releases=WITH_ITER)
def test_both_sides(farm, variant):
    check(farm.target("coroutines", variant))


def test_live(farm):
    skip_if(attach_reason())
    check(farm.target("coroutines", NEWEST, "live"))


@variants("stripped", releases=WITH_ITER[-1:])
def test_stripped(farm, variant):
    check(farm.target("coroutines", variant))


@variants("default", releases=WITH_ITER)
def test_bubble(farm, variant):
    """A goroutine outside of any bubble is in none."""
    target = farm.target("coroutines", variant)
    has_bubble = int(variant.release.split(".")[1]) >= WITH_BUBBLES
    assert ("bubble" in target.truth) == has_bubble
    outside = asked(target, ["caller"]).json()
    assert not outside["in_bubble"] and outside["bubble_id"] is None
    if not has_bubble:
        return
    run = asked(target, ["in a bubble"])
    assert run.json()["in_bubble"]
    assert run.json()["bubble_id"] == target.truth["bubble"]
    assert run.json()["waits"][0]["kind"] == "channel receive"
    (text,) = asked(target, ["in a bubble"], "").parts
    assert f"It is in synctest bubble {target.truth['bubble']}." in text