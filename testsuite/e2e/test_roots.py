# SPDX-License-Identifier: Apache-2.0
"""Every kind of root: who holds what no package variable holds."""

import pytest

from session import run_goref
from test_rest import targets
from test_verify import addresses
from toolchains import variants

rows = targets("live")

STACKS = [
    "holdReceive.", "holdSelect.", "holdMutex.", "holdSleep.",
    "holdSyscall.", "holdGroup.", "holdCond.", "holdArgument.",
    "holdDefer.", "holdDeferArgument.", "holdStackObject.",
    "holdRecursion.", "(*Walker).Run.", "main.",
]  # fmt: skip

STACK_KINDS = {"local", "stack", "register", "defer"}


@pytest.fixture
def scan(scanned, variant, kind):
    return scanned("roots", variant, kind)


@rows
def test_truth_counts_by_hand(scan):
    assert scan.target.truth["faults"] == []


@rows
def test_stack_holds(scan):
    """All that only one function's frames hold is billed to these frames."""
    names = ["main." + function for function in STACKS]
    held = scan.target.held
    assert {name: scan.profile.prefix(name)[0] for name in names} == {
        name: held[name]["objects"] for name in names
    }


@rows
def test_stack_labels(scan):
    for function in STACKS[:-1]:
        name = "main." + function
        kinds = scan.profile.labels_of(name, "root_kind")
        assert kinds and kinds <= STACK_KINDS, (name, kinds)
        states = scan.profile.labels_of(name, "goroutine_state")
        assert states and None not in states, (name, states)


@rows
def test_json_roots_have_the_goroutines_state(scan):
    """The states that the profile has, of stacks, and of nothing else."""
    states = {}
    for root in scan.ledger["roots"]:
        if root["kind"] in STACK_KINDS and root["objects"]:
            assert root["goroutine_state"], root
        if root["kind"] == "global":
            assert "goroutine_state" not in root
        states.setdefault(root["name"], set()).add(
            root.get("goroutine_state")
        )
    for function in STACKS[:-1]:
        name = "main." + function
        said = {s for n in states if n.startswith(name) for s in states[n]}
        assert said >= scan.profile.labels_of(name, "goroutine_state"), name


@rows
def test_package_variables(scan):
    held = scan.target.held
    for name in ("main.rGlobal", "main.fObjects", "main.cObject"):
        if name in held:
            assert scan.profile.root(name)[0] == held[name]["objects"], name
    assert scan.profile.labels_of("main.rGlobal", "root_kind") == {"global"}


@rows
def test_tiny_blocks(scan):
    """Small objects share blocks; a block is one object, billed once. The
    first block of each may have been begun by somebody else."""
    for name in ("main.tStrings", "main.tBytes"):
        objects = scan.profile.root(name)[0]
        truth = scan.target.held[name]["objects"]
        assert truth - 1 <= objects <= truth + 1, name


@rows
def test_pool(scan):
    """Ten leaves, the array of one slot for each P, and the queue's links."""
    assert scan.whys["rPool.leaf"]["root"]["name"] == "main.rPool"
    assert 12 <= scan.profile.root("main.rPool")[0] <= 16
    assert "local. ([]sync.poolLocal)" in scan.profile.children("main.rPool")


@pytest.mark.parametrize("kind", ["core"])
@variants(newest=("noopt",))
def test_variables_have_names_without_optimisation(scan):
    """The compiler may keep no variable otherwise."""
    for function in STACKS[:7]:
        name = f"main.{function}leaves"
        assert scan.profile.root(name)[0] == 11, name
    assert scan.profile.root("main.holdRecursion.leaf")[0] == 100
    assert scan.profile.root("main.main.local")[0] == 11
    assert scan.profile.labels_of("main.main.local", "root_kind") == {"local"}


@variants("default", "noopt")
def test_calls_by_reflection(scanned, farm, variant):
    """Those words of their frames are live that the called value's own map
    and the caller's name, and no others."""
    scan = scanned("reflected", variant)
    target = scan.target
    run = run_goref(target, ["goref objects --addresses"])
    check_calls_by_reflection(
        target.places, {a for a, _ in addresses(run.parts[0])},
        scan.ledger["gaps"],
    )  # fmt: skip


def check_calls_by_reflection(places, reached, gaps):
    held = {n for n, a in places.items() if int(a, 16) in reached}
    assert held >= {
        "made.first", "made.last", "method.last", "method.receiver"
    }  # fmt: skip
    assert not held & {"made.past", "method.past"}
    assert not any(gaps.values()), gaps


@rows
def test_blocked_sender(scan):
    """The value is on the sender's stack and hangs on the channel."""
    channel = scan.profile.root("main.rSends")[0]
    stack = scan.profile.prefix("main.holdSend.")[0]
    assert (channel, stack) in ((1, 1), (2, 0))
    # The target of a word of the stack is counted on that word's own node.
    for sample in scan.profile.samples:
        if sample.path[0].startswith("main.holdSend."):
            assert len(sample.path) == 1, sample.path


@rows
def test_method_value_goroutine(scan):
    objects = scan.profile.prefix("main.(*Stroller).Stroll")[0]
    # The method value itself may or may not be live.
    assert objects in (12, 13)


@rows
def test_goroutine_closure(scan):
    objects = scan.profile.prefix("main.goClosure.func1.")[0]
    assert objects in (11, 12)


@rows
def test_deferred_in_a_loop(scan):
    """Slice and leaves of three calls, by whatever name."""
    answer = scan.whys["holdDeferLoop"]
    assert answer["reachable"]
    assert answer["root"]["kind"] in STACK_KINDS
    assert "main.holdDeferLoop." in answer["root"]["name"]


@rows
@pytest.mark.parametrize("place", ["holdPanic", "holdRecovered"])
def test_panic_value(scan, place):
    answer = scan.whys[place]
    assert answer["reachable"]
    assert answer["root"]["kind"] in STACK_KINDS
    assert answer["root"]["goroutine_id"] > 0


@rows
def test_why_on_a_stack(scan):
    answer = scan.whys["holdReceive"]
    assert answer["root"]["name"].startswith("main.holdReceive.")
    assert answer["root"]["goroutine_id"] > 1
    assert answer["object"]["type"] == "main.Leaf"


@rows
def test_every_hop_has_a_name(scan):
    nameless = [
        (place, answer["path"])
        for place, answer in scan.whys.items()
        if not all(hop["name"] for hop in answer["path"])
    ]
    assert nameless == []


@rows
def test_finalizers(scan):
    profile, held = scan.profile, scan.target.held
    assert (
        profile.prefix("runtime.SetFinalizer.fn")[0]
        >= held["main.finalizers.set"]["objects"]
    )
    queued = profile.prefix("runtime.SetFinalizer.obj")[0]
    truth = held["main.finalizers.queued"]["objects"]
    # The blocked one holds a pair more; dead objects of cleanups are gone.
    assert truth <= queued <= truth + 4
    kinds = profile.labels_of("runtime.SetFinalizer.", "root_kind")
    assert kinds == {"finalizer"}


@targets("live", since=24)
def test_cleanups(scan):
    answer = scan.whys["cleanup.leaf"]
    assert answer["reachable"]
    assert answer["root"]["name"].startswith("runtime.AddCleanup.")
    assert answer["root"]["kind"] == "cleanup"
    # Argument, slice and leaves of the one that is set.
    assert scan.profile.prefix("runtime.AddCleanup.")[0] >= 12


@rows
def test_timer_that_only_the_runtime_knows(scan):
    answer = scan.whys["timer.leaf"]
    assert answer["reachable"]
    assert answer["root"]["kind"] == "timer"
    objects = scan.profile.prefix("time.Timer.")[0]
    truth = scan.target.held["main.timers"]["objects"]
    assert truth - 1 <= objects <= truth + 12


@rows
def test_ledger_equals_allocator(scan):
    """Dead objects that wait for nothing but a sweep do not exist here."""
    ledger = scan.ledger
    allocated = ledger["heap"]["allocated_objects"]
    assert abs(ledger["reached"]["objects"] - allocated) <= 2


# Every register of a running or preempted goroutine counts, as it does for
# the collector; one or two may hold what an earlier function left there.
STALE = 6


@rows
def test_running_goroutines(scanned, variant, kind):
    """One is on a processor, the other was preempted in its loop; whichever
    is which, both hold their rings."""
    scan = scanned("busy", variant, kind)
    for function in ("main.spinFirst.", "main.spinSecond."):
        truth = scan.target.held[function]["objects"]
        objects = scan.profile.prefix(function)[0]
        assert truth <= objects <= truth + STALE, function
        kinds = scan.profile.labels_of(function, "root_kind")
        assert kinds <= STACK_KINDS


@variants("default")
def test_goroutines_not_yet_started(scanned, variant):
    scan = scanned(
        "busy", variant, "core", args=("frozen",),
        env={"GODEBUG": "asyncpreemptoff=1"},
    )  # fmt: skip
    assert 100 <= scan.profile.prefix("main.spinFirst.")[0] <= 100 + STALE
    objects = scan.profile.total(
        lambda p: p[0].startswith(("main.pending", "main.startPending"))
    )[0]
    assert objects == scan.target.held["main.pending"]["objects"]
