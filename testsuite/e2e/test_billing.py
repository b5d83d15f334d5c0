# SPDX-License-Identifier: Apache-2.0
"""Who is billed for what several roots share."""

import pytest

from session import run_goref
from toolchains import variants

rows = variants("default", "noopt")


@pytest.fixture
def scan(scanned, variant):
    return scanned("shared", variant)


def objects(scan, name):
    return scan.profile.root(name)[0]


def truth(scan, name):
    return scan.target.held[name]["objects"]


@rows
@pytest.mark.parametrize("name", ["main.sNear", "main.sFar"])
def test_nearest_root_pays(scan, name):
    assert objects(scan, name) == truth(scan, name)


@rows
def test_why_follows_the_bill(scan):
    for place in ("sNear", "sNear.last"):
        assert scan.whys[place]["root"]["name"] == "main.sNear"
    assert scan.whys["sFar"]["root"]["name"] == "main.sFar"


@rows
def test_tie_goes_to_the_lower_address(scan):
    places = scan.target.places
    first, second = "main.sTieA", "main.sTieB"
    if int(places["&sTieA"], 16) > int(places["&sTieB"], 16):
        first, second = second, first
    assert objects(scan, first) == 21
    assert objects(scan, second) == 0
    assert scan.whys["sTieA"]["root"]["name"] == first


@rows
def test_parts_of_an_array(scan):
    """The array is counted once, its leaves once each. The middle belongs to
    whoever is billed for the array."""
    parts = objects(scan, "main.sPartA"), objects(scan, "main.sPartB")
    assert sum(parts) == 61
    assert min(parts) == 24


@rows
def test_parts_of_an_array_with_a_header(scan, variant):
    """Where a header names the array's type, the first to come is billed for
    all of it."""
    parts = objects(scan, "main.sHeadA"), objects(scan, "main.sHeadB")
    assert sum(parts) == 101
    assert min(parts) == (40 if variant.release == "go1.19" else 0)


@rows
def test_list_of_pools(scan):
    """sync's list of pools is bookkeeping: it leads into what has a pool in
    it, and is billed only for what nothing else holds."""
    extra = objects(scan, "main.sShelf") - truth(scan, "main.sShelf")
    assert extra == 1


@rows
def test_closure_and_method_value(scan):
    """They hold what a variable holds already: each is one object."""
    for name in ("main.sServer", "main.sMethod", "main.sClosure"):
        assert objects(scan, name) == truth(scan, name), name


@rows
def test_channel_with_waiters(scan):
    assert objects(scan, "main.sChan") == truth(scan, "main.sChan")


@rows
def test_timer_and_context(scan):
    assert objects(scan, "main.sTimer") == truth(scan, "main.sTimer")
    # The context, its timer and the closure that this calls; the variables
    # share them, and the cancelling function is one more.
    both = objects(scan, "main.sContext") + objects(scan, "main.sCancel")
    assert both == 4


@rows
def test_the_timer_pays_for_itself(scan):
    """Neither channel nor context nor another timer is billed for what only
    this one holds."""
    count = scan.profile.prefix("time.Timer.")[0]
    assert truth(scan, "main.timer") - 1 <= count
    assert count <= truth(scan, "main.timer") + 12
    assert scan.profile.labels_of("time.Timer.", "root_kind") == {"timer"}


@rows
def test_variable_before_stack(scan):
    assert objects(scan, "main.sLocal") == truth(scan, "main.sLocal")
    # The channel that said it was ready may still be on the stack.
    assert scan.profile.prefix("main.shareLocal.")[0] <= 1


@rows
def test_goroutine_pays_for_its_own(scan):
    count = scan.profile.prefix("main.waitFor.")[0]
    # The channel that said it was ready may still be on the stack.
    assert count - truth(scan, "main.waitFor.") in (0, 1)


@rows
def test_largest_root_comes_first(scan):
    first = scan.ledger["roots"][0]
    assert first["name"] == "main.sHuge"
    assert first["kind"] == "global"
    assert first["objects"] == truth(scan, "main.sHuge")
    sizes = [r["bytes"] for r in scan.ledger["roots"]]
    assert sizes == sorted(sizes, reverse=True)


@rows
def test_scan_of_one_variable(scan, tmp_path):
    """With an expression only what that holds counts: the far end of the
    chain then pays for all five links."""
    out = tmp_path / "one.pb"
    run = run_goref(
        scan.target,
        ["goref scan --json main.sFar", f"goref scan --out {out} main.sHuge"],
    )
    assert run.rc == 0, run.stderr
    assert run.json(0)["reached"]["objects"] == 5 * 12
    assert run.json(0)["phases_ms"]["typed"] > 0
    assert [r["name"] for r in run.json(0)["roots"]] == ["main.sFar"]
    assert out.exists()
