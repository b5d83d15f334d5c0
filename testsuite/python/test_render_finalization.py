# SPDX-License-Identifier: Apache-2.0
"""Finalizers, cleanups and pools in the answers of `hung' and `overview'."""

import pytest

import rows
from goref.render.finalization import (
    finalization_document,
    finalization_lines,
    finding,
    stuck_finding,
)
from goref.render.hung import HungReport

MIB = 1 << 20


def runner(make, doing="blocked", runs="finalizers", **fields):
    row = rows.make(
        "Goroutine",
        id=fields.pop("id", 17),
        state="waiting",
        wait_reason="semacquire" if doing == "blocked" else None,
        user=make.location("main.lockIt", "/srv/f.go", 7),
    )
    return rows.make(
        "FinalizerRunner",
        doing=doing,
        runs=runs,
        **{
            "goroutine": row,
            "call": make.location("main.finalize", "/srv/f.go", 30),
            **fields,
        },
    )


def found(runners=(), **fields):
    ordinary = {
        "queued_finalizers": 3,
        "queue_bytes": 5 * MIB,
        "heap_bytes": 100 * MIB,
        "runners": tuple(runners),
    }
    return rows.make("Finalization", **{**ordinary, **fields})


def test_blocked(make):
    awaited = make.awaited([make.wait_owner(is_likely=True)], likely=1)
    text = finding(found([runner(make, awaits=(awaited,))]))
    assert text == (
        "3 finalizers wait for goroutine 17 [semacquire] in main.lockIt at "
        "f.go:7: it waits for main.store.mu (mutex, locked) in main.Store, "
        "likely owner: goroutine 8; only the queue holds 5.0 MiB (5.0 % of "
        "the heap)"
    )


def test_a_small_queue_counts_if_it_is_blocked(make):
    small = {"queue_bytes": 0, "queued_finalizers": 1}
    blocked = found([runner(make)], **small)
    assert finding(blocked) == (
        "1 finalizer waits for goroutine 17 [semacquire] in main.lockIt at "
        "f.go:7"
    )
    for doing in "running", "waiting", "in a system call", "idle":
        assert not finding(found([runner(make, doing)], **small))
    assert not finding(found([runner(make)], queued_finalizers=0))
    assert not finding(None)


def test_a_large_queue_counts_always(make):
    text = finding(found([runner(make, "running")]))
    assert text.startswith("3 finalizers are queued behind goroutine 17 [")
    assert "5.0 MiB (5.0 % of the heap)" in text
    assert "which is idle" in finding(found([runner(make, "idle")]))
    share = {"queue_bytes": MIB, "heap_bytes": 100 * MIB}
    assert not finding(found([runner(make, "running")], **share))


def test_one_that_can_run_cleanups_is_enough(make):
    """Cleanups wait only if all that run them are blocked; and they do not
    wait for who runs finalizers, if they have goroutines of their own."""
    small = {"queue_bytes": 0, "queued_finalizers": 0, "queued_cleanups": 2}
    blocked = runner(make, runs="cleanups")
    free = runner(make, "idle", runs="cleanups", id=18)
    other = runner(make, id=19)
    assert "2 cleanups wait for" in finding(found([blocked], **small))
    assert not finding(found([blocked, free], **small))
    assert not finding(found([other, free], **small))
    # Go 1.24 has one goroutine for both.
    assert "goroutine 19" in finding(found([other], **small))


def test_in_c(make):
    row = rows.make("Goroutine", id=5, user=make.location("main._Cfunc_close"))
    text = finding(found([runner(make, "in C", goroutine=row)]))
    assert "goroutine 5 in C (C.close), called in main.finalize" in text


def test_library_calls_are_not_where_it_is(make):
    """The finalizer's own line is."""
    row = rows.make(
        "Goroutine",
        id=5,
        wait_reason="sleep",
        user=make.location("time.Sleep", "/go/src/time/sleep.go", 9),
    )
    text = finding(found([runner(make, "waiting", goroutine=row)]))
    assert "goroutine 5 [sleep] in main.finalize at f.go:30" in text


def test_stuck(make):
    group = rows.make(
        "StuckGroup", kind="finalizer", type="main.T", objects=4,
        retained_bytes=2 * MIB, example=0xC000010000,
    )  # fmt: skip
    answer = found(
        queued_finalizers=0, stuck=4, stuck_bytes=2 * MIB,
        queue_bytes=0, stuck_groups=(group,) * 5,
    )  # fmt: skip
    assert stuck_finding(answer) == (
        "4 objects can never be freed: what their finalizers or cleanups need "
        "leads back to them; they hold 2.0 MiB (2.0 % of the heap)"
    )
    assert stuck_finding(answer._replace(stuck=1)).startswith(
        "1 object can never be freed: what its finalizer or cleanup needs "
        "leads back to it; it holds 2.0 MiB"
    )
    lines = finalization_lines(answer)
    assert lines[-2:] == [
        "  4  main.T  finalizer  2.0 MiB  0xc000010000",
        "  and 2 more types",
    ]
    assert not stuck_finding(answer._replace(stuck_bytes=MIB))


def test_pools():
    pools = [
        rows.make("Pool", addr=0x10, path=None, retained_bytes=2 * MIB),
        rows.make("Pool", addr=0x20, path="main.p", retained_bytes=MIB),
    ]
    answer = found(
        queued_finalizers=0, queue_bytes=0, has_pools=True,
        pool_bytes=3 * MIB, pool_rows=tuple(pools),
    )  # fmt: skip
    assert finalization_lines(answer) == [
        "only sync.Pools hold 3.0 MiB (3.0 % of the heap): 0x10 2.0 MiB"
    ]
    assert not finalization_lines(answer._replace(pool_bytes=MIB))
    assert finalization_document(answer)["pool_bytes"] == 3 * MIB
    unasked = answer._replace(has_pools=False)
    assert finalization_document(unasked)["pool_bytes"] is None


@pytest.fixture
def report(goref, make):
    def make_report(waits, finalization, leaks=None):
        return HungReport(
            tool_version="1.2.3",
            partial=(),
            states=[goref.GoroutineCount("waiting", "semacquire", False, 3)],
            listed=rows.make("GoroutineList", total=3),
            found=waits,
            leaks=leaks or make.leaks(),
            finalization=finalization,
        )

    return make_report


def test_cause_of_a_hang(report, make):
    blocked = found([runner(make)])
    shown = report(make.waits([make.awaited(waiters=1, ids=(17,))]), blocked)
    assert shown.cause.kind == "finalizers" and shown.grade == "warn"
    assert shown.lines()[0].startswith("no deadlock found; 3 finalizers wait")
    about = shown.document()["finalization"]
    assert about["queued_finalizers"] == 3
    assert shown.lines()[0].endswith(about["finding"])
    assert about["stuck_finding"] is None


def test_a_greater_cause_comes_first(report, make):
    """The first line says both."""
    pile = make.awaited(waiters=9)
    shown = report(make.waits([pile]), found([runner(make)]))
    assert shown.cause.kind == "waits"
    first = shown.lines()[0]
    assert "9 goroutines wait for" in first and "; 3 finalizers wait" in first


def test_nothing_is_said_of_idle_ones(report, make):
    idle = found([runner(make, "idle")], queued_finalizers=0, queue_bytes=0)
    shown = report(make.waits([]), idle)
    assert shown.cause.kind == "idle" and shown.grade is None
    assert "finalizer" not in shown.text()


IN_C = {
    "queue_c_bytes": 4 * MIB, "heap_c_bytes": 60 * MIB, "knows_c": True,
    "stuck": 2, "stuck_bytes": 6 * MIB, "stuck_c_bytes": 6 * MIB,
    "has_pools": True, "pool_bytes": 3 * MIB, "pool_c_bytes": 2 * MIB,
}  # fmt: skip


def test_sums_with_c(make):
    """Each sum has its parts in Go and in C, and shares are of both."""
    pool = rows.make("Pool", path="main.p", retained_bytes=3 * MIB,
                     retained_c_bytes=2 * MIB)  # fmt: skip
    row = found([runner(make)], pool_rows=(pool,), **IN_C)
    assert finding(row).endswith(
        "only the queue holds 5.0 MiB (5.0 % of the live memory; "
        "Go 1.0 MiB, C 4.0 MiB)"
    )
    assert stuck_finding(row).endswith(
        "they hold 6.0 MiB (6.0 % of the live memory; all in C)"
    )
    text = " ".join(" ".join(finalization_lines(row)).split())
    assert (
        "they hold 6.0 MiB (all in C) only sync.Pools hold 3.0 MiB (3.0 % of "
        "the live memory; Go 1.0 MiB, C 2.0 MiB): main.p 3.0 MiB (Go 1.0 MiB, "
        "C 2.0 MiB)"
    ) in text
    document = finalization_document(row)
    for name, sizes in (
        ("queue", (MIB, 4 * MIB)), ("heap", (40 * MIB, 60 * MIB)),
        ("stuck", (0, 6 * MIB)), ("pool", (MIB, 2 * MIB)),
    ):  # fmt: skip
        keys = f"{name}_bytes", f"{name}_c_bytes"
        assert tuple(document[key] for key in keys) == sizes
    assert document["pools"][0]["retained_c_bytes"] == 2 * MIB


def test_c_that_was_not_read(make):
    """No number stands for what is not known."""
    document = finalization_document(found([runner(make)]))
    for name in "queue", "heap", "stuck":
        assert document[f"{name}_c_bytes"] is None
    assert document["queue_bytes"] == 5 * MIB
