# SPDX-License-Identifier: Apache-2.0
"""A program at rest: everything allocated is reached, and nothing twice."""

import os

import pytest

from pprof import Profile
from session import run_goref
from toolchains import RELEASES, Variant, variant_id, variants


def targets(*kinds, since=0):
    """Rows: a core of each release; of the newest one (or of those that
    GOREF_RELEASES names), also cores of other builds, and targets of these
    kinds. since: 24 for releases since Go 1.24, which have what is tested."""
    releases = [r for r in RELEASES if int(r.split(".")[1]) >= since]
    asked = releases if "GOREF_RELEASES" in os.environ else releases[-1:]
    found = [(Variant(r, "default"), "core") for r in releases]
    found += [(Variant(r, f), "core") for r in asked for f in ("noopt", "pie")]
    found += [(Variant(r, "default"), kind) for r in asked for kind in kinds]
    return pytest.mark.parametrize(
        "variant, kind", found, ids=[f"{variant_id(v)}-{k}" for v, k in found]
    )


rows = targets("live", "gcore")


@pytest.fixture
def scan(scanned, variant, kind):
    return scanned("rest", variant, kind)


@rows
def test_reached_equals_allocated(scan):
    heap, reached = scan.ledger["heap"], scan.ledger["reached"]
    assert abs(reached["objects"] - heap["allocated_objects"]) <= 2
    unreached = scan.ledger["unreached"]
    missing = heap["allocated_objects"] - reached["objects"]
    assert unreached["objects"] == missing
    assert unreached["bytes"] == heap["allocated_bytes"] - reached["bytes"]


@rows
def test_allocated_is_what_the_runtime_says(scan):
    heap, truth = scan.ledger["heap"], scan.target.truth["heap"]
    assert abs(heap["allocated_objects"] - truth["objects"]) <= 8
    assert abs(heap["allocated_bytes"] - truth["bytes"]) <= 16384


@rows
def test_ledger_adds_up(scan):
    reached = scan.ledger["reached"]
    for unit in ("objects", "bytes"):
        parts = (
            reached[f"{k}_{unit}"]
            for k in ("typed", "runtime_type", "header", "masked")
        )
        assert sum(parts) == reached[unit]


@rows
def test_profile_equals_ledger(scan):
    reached = scan.ledger["reached"]
    assert scan.profile.total() == (reached["objects"], reached["bytes"])


@rows
def test_most_is_typed(scan):
    reached = scan.ledger["reached"]
    assert reached["masked_bytes"] <= 0.01 * reached["bytes"]


@rows
def test_no_gaps(scan):
    """Nothing that the walk needed was unreadable or torn."""
    assert not any(scan.ledger["gaps"].values()), scan.ledger["gaps"]


@rows
def test_collector_is_off(scan):
    assert scan.ledger["gc_phase"] == "off"


@rows
def test_types_are_counted(scan):
    types = {t["type"]: t for t in scan.ledger["types"]}
    assert types["main.Event"]["objects"] > 5000
    assert types["main.Event"]["bytes"] == 48 * types["main.Event"]["objects"]
    sizes = [t["bytes"] for t in scan.ledger["types"]]
    assert sizes == sorted(sizes, reverse=True)


@rows
def test_phases_are_timed(scan):
    phases = scan.ledger["phases_ms"]
    assert set(phases) == {
        "symbols", "estimate", "heap", "capture", "goroutines", "roots",
        "typed", "mask", "result", "output",
    }  # fmt: skip
    assert all(value >= 0 for value in phases.values())


@variants("default")
def test_same_core_same_bytes(farm, variant, tmp_path):
    """Within one session, and from one session to the next."""
    target = farm.target("rest", variant)
    outs = [tmp_path / f"{n}.pb" for n in range(3)]
    first = run_goref(
        target, [f"goref scan --out {outs[0]}", f"goref scan --out {outs[1]}"]
    )
    second = run_goref(target, [f"goref scan --out {outs[2]}"])
    assert first.rc == 0 and second.rc == 0, first.stderr + second.stderr
    one, two, three = (out.read_bytes() for out in outs)
    assert one == two
    assert one == three
    assert Profile(one).gzip_time == 0


@variants(newest=("default",))
def test_kernel_and_gcore_agree(scanned, variant):
    """Two processes of one program: the roots' totals are the same."""
    one = scanned("rest", variant, "live")
    two = scanned("rest", variant, "gcore")
    for name in ("main.users", "main.matrix", "main.wide"):
        assert one.profile.root(name) == two.profile.root(name), name
