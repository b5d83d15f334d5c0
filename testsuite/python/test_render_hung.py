# SPDX-License-Identifier: Apache-2.0
"""goref hung: rows to text and JSON."""

import json

import pytest

import rows
from goref.render.hung import HungReport, Outside
from test_render_goroutine_wait import wait_row


@pytest.fixture
def report(goref, make):
    def make_report(
        found,
        leaks=None,
        outside=(),
        unknown="",
        crowd=None,
        states=None,
        **fields,
    ):
        count = goref.GoroutineCount("waiting", "sync.Mutex.Lock", False, 3)
        listed = rows.make("GoroutineList", crowd or {}, total=3)
        return HungReport(
            tool_version="1.2.3",
            partial=(),
            states=states if states is not None else [count],
            listed=listed,
            found=found,
            leaks=leaks,
            unknown=unknown,
            outside=outside,
            **fields,
        )

    return make_report


def blocked(make, behind=9, **fields):
    group = make.awaited([make.wait_owner()], waiters=behind)
    return make.waits([group], blockers=(make.wait_blocker(behind, **fields),))


def outside(make, is_in_c, file="/srv/app/f.go"):
    row = rows.make("Goroutine", id=4, state="syscall", thread_id=99)
    calls = tuple(
        rows.make("Call", at=at)
        for at in (
            make.location("runtime.cgocall", "/go/src/runtime/cgocall.go"),
            make.location("main._Cfunc_wait", "_cgo_gotypes.go"),
            make.location("os.read", "/go/src/os/file.go"),
            make.location("main.f", file, 12),
        )
    )
    at = calls[1 if is_in_c else 2].at
    return Outside(
        rows.make("GoroutineGroup", at=at, goroutines=2, nrows=1),
        row,
        wait_row("system call", is_in_c=is_in_c, number=0),
        rows.make("Backtrace", goroutine=row, calls=calls),
    )


def test_deadlock_first(report, make):
    mutexes = [make.awaited(), make.awaited()]
    found = make.waits(
        [make.awaited()],
        [make.deadlock([5, 6], mutexes, behind=9)],
        blockers=(make.wait_blocker(10, is_in_cycle=True),),
    )
    lines = report(found, make.leaks()).lines()
    assert lines[0] == (
        "1 likely deadlock of 2 goroutines; 9 more wait for what they hold"
    )
    assert lines[2].startswith("deadlock 1: 2 goroutines")
    assert not any("likely owner: goroutine" in line for line in lines[:7])
    assert any("goref goroutine 5 locals" in line for line in lines)


def test_blocker(report, make):
    shown = report(blocked(make), make.leaks())
    assert shown.lines()[:8] == [
        "no deadlock found; 9 goroutines wait for goroutine 8, the likely owner of "
        "main.store.mu (mutex, locked) in main.Store, which is [sleep] in "
        "main.hold at f.go:20",
        "",
        "largest pile-up: 9 goroutines wait for main.store.mu (mutex, locked) "
        "in main.Store",
        "  17, 18, ...; the first one in main.f at f.go:7",
        "",
        "likely owner: goroutine 8, [sleep] in main.hold at f.go:20",
        "  has deferred its unlocking in main.hold",
        "",
    ]
    (owner,) = json.loads(shown.json())["owners"]
    assert (owner["id"], owner["behind"], owner["certain"]) == (8, 9, False)


def test_blocker_in_no_cycle(report, make):
    """Not the first one, whose deadlock has lines of its own."""
    others = make.wait_blocker(9, is_in_cycle=True)
    free = make.wait_blocker(2, owner=make.wait_owner(id=7))
    shown = report(make.waits([make.awaited()], blockers=(others, free)))
    assert "goroutine 7, the likely owner" in shown.cause.text
    assert "owner: goroutine 8" not in shown.text()


def test_long_lines_are_wrapped(report, make):
    far = "a/" * 40 + "main.go"
    owner = make.wait_owner(
        evidence=" ".join(["has", "deferred", "its", "unlocking"] * 6)
    )
    asked = rows.make(
        "GoroutineWait",
        waits=(wait_row("mutex", path="main.store.locks[17].mu" * 4),),
    )
    row = outside(make, True)
    crowded = row._replace(
        group=row.group._replace(
            at=make.location("main._Cfunc_" + "wait" * 12, far)
        )
    )
    lines = report(
        blocked(make, owner=owner),
        make.leaks(),
        [crowded],
        awaits={owner.id: asked},
    ).lines()
    next_at = lines.index("Next")
    assert all(len(line) <= 100 for line in lines[1:next_at])


def test_blocker_in_c(report, make):
    at = make.location("main._Cfunc_wait", "_cgo_gotypes.go", 46)
    owner = make.wait_owner(user=at, is_certain=True)
    text = report(blocked(make, owner=owner), make.leaks()).cause.text
    assert text.endswith("which is in C: C.wait")
    assert "the owner of" in text


def test_lost_lock_before_idle_workers(report, make):
    """A receiver may be a worker without work, however many there are."""
    workers = make.awaited(kind="chan receive", waiters=500, verdict="idle")
    lost = make.awaited(waiters=3, verdict="a lost Unlock")
    cause = report(make.waits([workers, lost])).cause.text
    assert cause == (
        "no deadlock found; 3 goroutines wait for main.store.mu (mutex, locked) in "
        "main.Store: a lost Unlock"
    )


PARKED = {"kind": "empty select", "addr": None, "waiters": 1, "ids": (1,)}


def states(**counts):
    """IO_wait=3: three goroutines that wait for the network."""
    return [
        rows.make(
            "GoroutineCount",
            state="waiting",
            wait_reason=reason.replace("_", " "),
            goroutines=count,
        )
        for reason, count in counts.items()
    ]


def crowd(make, count, wait_reason, line=7):
    """The list of goroutines, with one group of many."""
    at = make.location(line=line)
    row = rows.make("Goroutine", state="waiting", wait_reason=wait_reason)
    group = rows.make("GoroutineGroup", at=at, goroutines=count, nrows=1)
    return {"rows": (row,), "groups": (group,)}


def test_parked_main(report, make):
    """`select {}' in main hides nothing, and is no pile-up."""
    parked = make.awaited(**PARKED)
    idle = make.awaited(kind="condition", state=None, waiters=40)
    shown = report(make.waits([idle, parked]), make.leaks())
    assert shown.cause.text == (
        "no deadlock found; 40 goroutines wait for main.store.mu (condition) in "
        "main.Store"
    )
    alone = report(make.waits([parked]), make.leaks())
    assert alone.cause.kind == "idle"
    assert "pile-up" not in alone.text()


def test_one_is_no_pile_up(report, make):
    lines = report(make.waits([make.awaited(waiters=1)])).lines()
    assert lines[2].startswith("1 goroutine waits for main.store.mu")


def test_not_the_largest_pile_up(report, make):
    workers = make.awaited(kind="chan receive", waiters=500)
    lines = report(make.waits([workers, make.awaited(waiters=3)])).lines()
    assert lines[2].startswith("pile-up: 3 goroutines wait for main.store.mu")


def test_crowd(report, make):
    """Many at one place, each for a thing of its own."""
    own = make.awaited(kind="select", waiters=1)
    shown = report(make.waits([own]), crowd=crowd(make, 115, "select"))
    assert shown.cause.text == (
        "no deadlock found; 115 goroutines wait in main.f at f.go:7 [select], for "
        "different things"
    )


def test_crowd_of_locks(report, make):
    found = make.waits([make.awaited(verdict="a lost Unlock")])
    many = crowd(make, 400, "sync.Mutex.Lock")
    assert report(found, crowd=many).cause.text == (
        "no deadlock found; 400 goroutines wait in main.f at f.go:7 "
        "[sync.Mutex.Lock]; 2 goroutines wait for main.store.mu (mutex, "
        "locked) in main.Store: a lost Unlock"
    )
    elsewhere = crowd(make, 400, "select", line=70)
    assert report(found, crowd=elsewhere).cause.text == (
        "no deadlock found; 2 goroutines wait for main.store.mu (mutex, locked) in "
        "main.Store: a lost Unlock"
    )


def test_crowd_of_the_network(report, make):
    """Connections without work do not wait for each other."""
    many = crowd(make, 1000, "IO wait")
    shown = report(
        make.waits(), crowd=many, states=states(IO_wait=1000, select=9)
    )
    assert shown.cause.text == (
        "nothing stands out: 1,000 of 1,009 goroutines wait for the network "
        "or timers, 9 for channels or conditions"
    )
    assert json.loads(shown.json())["cause_kind"] == "idle"


def test_idle_pool(report, make):
    """A pool of workers is a fact, and no cause; one that is larger than what
    waits for the world outside is said, for it may be a crowd of requests."""
    pool = make.awaited(kind="chan receive", waiters=9, state="unbuffered")
    shown = report(
        make.waits([pool]), make.leaks(), states=states(IO_wait=12)
    )
    assert shown.cause.kind == "idle"
    assert "largest group: 9 goroutines wait for" in shown.text()
    assert "pile-up" not in shown.text()
    few = states(IO_wait=3)
    shown = report(make.waits([pool]), make.leaks(), states=few)
    assert shown.cause.kind == "crowd"
    assert shown.cause.text.startswith("no deadlock found; 9 goroutines wait")


def test_own_calls(report, make):
    """A place in Go's library is that of the program's call, where all are in
    it; else where one of them is."""
    library = make.location("net/http.(*persistConn).loop", "/go/src/net/h.go")
    own = make.location("main.fetch", "/srv/f.go", 12)
    runtime = make.location("runtime.gopark", "/go/src/runtime/proc.go", 1)
    calls = tuple(
        rows.make("Call", at=at) for at in (runtime, library, own)
    )
    many = crowd(make, 9, "select")
    row = many["rows"][0]._replace(id=17)
    group = many["groups"][0]._replace(at=library)
    stacks = {17: rows.make("Backtrace", goroutine=None, calls=calls)}
    seen = []
    for count in (1, 9):
        listed = {
            "rows": (row,),
            "groups": (group._replace(goroutines=count),),
        }
        shown = report(make.waits(), crowd=listed, stacks=stacks)
        seen.append([t for t in shown.lines() if "main.fetch" in t][-1])
    assert seen[0].endswith("  main.fetch at f.go:12")
    assert seen[1].endswith(".loop at h.go:7, one in main.fetch at f.go:12")
    assert "one in main.fetch" in shown.cause.text


def test_senders_in_a_select(report, make):
    """Workers without work do not wait to send."""
    stuck = make.awaited(kind="select", waiters=9, senders=9)
    many = states(IO_wait=100)
    shown = report(make.waits([stuck]), make.leaks(), states=many)
    assert shown.cause.kind == "waits"
    assert shown.cause.text.startswith("no deadlock found; 9 goroutines wait")


def queue(make, **fields):
    channel = make.awaited(kind="chan receive", path="main.done", type=None)
    owner = make.wait_owner(
        wait_reason=None, state="runnable", evidence="no other", is_certain=True
    )
    return make.wait_blocker(101, owner, primitive=channel, **fields)


def test_queue_through_channels(report, make):
    """Its head is named first."""
    found = make.waits([make.awaited(kind="chan receive")], blockers=(
        queue(make, depth=101),
    ))  # fmt: skip
    shown = report(found, make.leaks())
    assert shown.cause == (
        "owner",
        "no deadlock found; 101 goroutines wait, one for another, for "
        "goroutine 8, which alone can reach main.done (chan receive, locked), "
        "and is [runnable] in main.hold at f.go:20",
    )
    short = make.waits((), blockers=(queue(make, depth=1),))
    assert report(short, make.leaks()).cause.kind == "idle"


def test_holder_of_a_pool(report, make):
    """Those that wait for a pool whose values others hold are no idle pool."""
    pool = make.awaited(kind="chan receive", path="main.pool", type=None)
    found = make.waits([pool], blockers=(make.wait_blocker(9, primitive=pool),))
    shown = report(found, make.leaks())
    assert shown.cause == (
        "owner",
        "no deadlock found; 9 goroutines wait for goroutine 8, the likely "
        "holder of main.pool (chan receive, locked), which is [sleep] in main.hold at "
        "f.go:20",
    )


def test_ended(report, make):
    """How the program ended comes before what its goroutines wait for."""
    shown = report(
        make.waits((), [make.deadlock([5, 6], [make.awaited()] * 2)]),
        ended="ended by fatal error: all goroutines are asleep - deadlock!",
    )
    assert shown.cause.kind == "ended"
    assert shown.lines()[0] == (
        "ended by fatal error: all goroutines are asleep - deadlock!; "
        "1 likely deadlock of 2 goroutines"
    )


def test_more_runnable_than_run(report, make):
    """No cause, but not a service that looks fine."""
    text = "no P is free, and 10 goroutines are runnable"
    few = states(IO_wait=3)
    shown = report(make.waits(), make.leaks(), states=few, runnable=text)
    assert shown.cause == ("crowd", text)


def test_scheduler(report, make):
    text = "no P is free, and 301 goroutines are runnable"
    assert report(make.waits(), scheduler=text).cause == ("scheduler", text)


def test_main_waits_for_workers(report, make):
    """That is no more than how the program ends; its workers have leaked."""
    group = make.awaited(
        [make.wait_owner()], kind="wait group", waiters=1, ids=(1,)
    )
    blocker = make.wait_blocker(1, primitive=group)
    found = make.waits([group], blockers=(blocker,))
    leaks = make.leaks(make.leak_group([17, 18, 19]))
    assert report(found, leaks).cause.text.startswith("no deadlock found; 3 leaked")
    assert report(found).cause.kind == "crowd"


def test_senders_have_leaked(report, make):
    """Stages of one pipeline wait for different channels."""
    stage = make.awaited(kind="chan send", waiters=1, ids=(17,))
    leaks = make.leaks(make.leak_group([17, 18, 19]))
    cause = report(make.waits([stage]), leaks).cause.text
    assert cause.startswith("no deadlock found; 3 leaked goroutines")
    other = make.awaited(kind="chan send", waiters=1, ids=(4,))
    cause = report(make.waits([other]), leaks).cause.text
    assert cause.startswith("no deadlock found; 1 goroutine waits for")


def test_large_deadlock(report, make):
    """There is no room for all calls, but for where each one is."""
    mutexes = [make.awaited()] * 4
    own = make.location("main.lock", "/srv/f.go", 12)
    calls = (rows.make("Call", at=own),)
    found = make.waits([], [make.deadlock([5, 6, 7, 8], mutexes)])
    stacks = {n: rows.make("Backtrace", goroutine=None, calls=calls) for n in (5, 6, 7, 8)}
    lines = report(found, stacks=stacks).lines()
    assert lines[3].startswith(
        "  goroutine 5 in main.lock at f.go:12 waits for main.store.mu"
    )
    assert any(line.startswith("  goroutine 6 in main.lock") for line in lines)


def test_leaks_before_receivers(report, make):
    """Each of those that leaked may wait for a thing of its own."""
    found = make.waits([make.awaited(kind="chan receive", waiters=1)])
    leaks = make.leaks(make.leak_group([17, 18, 19]))
    cause = report(found, leaks).cause.text
    assert cause.startswith("no deadlock found; 3 leaked goroutines in 1 group")


def test_outside(report, make):
    """Calls of C are named, and system calls by who is their caller outside
    of Go's own library."""
    others = [outside(make, True), outside(make, False)]
    shown = report(make.waits(), make.leaks(), others)
    assert shown.cause.text == "no deadlock found; 2 goroutines are in C"
    text = " ".join(shown.text().split())
    assert (
        "2 goroutines wait, the first one for C to return (cgo) on thread 99: "
        "C.wait, called in main.f at f.go:12 "
    ) in text
    assert (
        "2 goroutines wait, the first one for system call read (0) on thread 99 "
        "in main.f at f.go:12 "
    ) in text


def test_outside_without_paths(report, make):
    """Built with -trimpath, the library's files have no root."""
    row = outside(make, False, file=None)
    assert (
        "in os.read at file.go:7" in report(make.waits(), None, [row]).text()
    )


def test_nothing(report, make):
    lines = report(make.waits(), make.leaks()).lines()
    assert lines[0] == (
        "nothing stands out: 3 of 3 goroutines wait for channels or conditions"
    )
    assert "no goroutine has leaked" in lines


def test_unknown_leaks(report, make):
    shown = report(make.waits(), unknown="no memory")
    assert "whether goroutines have leaked is not known: no memory" in (
        shown.lines()
    )
    document = json.loads(shown.json())
    assert document["leaked"] is None
    assert document["no_leaks"] == "no memory"


def test_keys(report, make):
    document = json.loads(report(blocked(make), make.leaks()).json())
    assert {"groups", "deadlocks", "owners", "leaked", "states"} <= {*document}
    assert document["states"] == [
        {"state": "waiting", "wait_reason": "sync.Mutex.Lock", "count": 3}
    ]
