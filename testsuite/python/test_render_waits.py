# SPDX-License-Identifier: Apache-2.0
"""goref waits: rows to text, JSON and dot."""

import json

from goref.render.waits import WaitsReport


def report(found, partial=(), **options):
    return WaitsReport(
        tool_version="1.2.3", partial=partial, found=found, **options
    )


def test_owner(make):
    found = make.waits([make.awaited([make.wait_owner()])])
    assert (
        report(found).text()
        == """\
no deadlock found; 1 group of goroutines waits for locks or channels

2 goroutines wait for main.store.mu (mutex, locked) in main.Store
  17, 18; the first one in main.f at f.go:7
  likely owner: goroutine 8 [sleep] in main.hold at f.go:20: has deferred its \
unlocking in main.hold
"""
    )


def test_nobody_likely(make):
    """Without a likely owner, all that have a pointer are others."""
    other = make.wait_owner(is_likely=False, evidence="has a pointer to it")
    found = make.waits([make.awaited([other], verdict="locked", reaching=3)])
    lines = report(found).lines()
    assert lines[4] == "  locked"
    assert lines[5].startswith("  others that reach it: goroutine 8 [sleep]")
    assert lines[6] == "  and 2 more"


def test_candidates(make):
    """Each is one of them; all are listed on request."""
    owners = [make.wait_owner(id=number) for number in range(8, 14)]
    group = make.awaited(owners)
    lines = report(make.waits([group])).lines()
    assert lines[4].startswith("  one of 6 likely owners: goroutine 8 [sleep]")
    assert lines[-1] == "  and 3 more"
    lines = report(make.waits([group]), most=None).lines()
    assert sum("one of 6 likely owners" in line for line in lines) == 6
    group = make.awaited(owners, kind="wait group")
    lines = report(make.waits([group])).lines()
    assert lines[4].startswith("  one of 6 likely owners: goroutine 8 [sleep]")


def test_waited(make):
    """From a minute on."""
    for seconds, end in ((59, ""), (60, ", at least 1 min")):
        found = make.awaited(waited_ns=seconds * 10**9)
        lines = report(make.waits([found])).lines()
        assert lines[2] == (
            f"2 goroutines wait for main.store.mu (mutex, locked) in "
            f"main.Store{end}"
        )
        document = report(make.waits([found])).document()
        assert document["waits"][0]["waited_ns"] == seconds * 10**9


def test_deadlock(make):
    mutexes = [make.awaited(), make.awaited(path=None, type=None)]
    found = make.waits((), [make.deadlock([5, 6], mutexes, behind=9)])
    assert report(found).lines() == [
        "1 likely deadlock of 2 goroutines; 9 more wait for what they hold",
        "",
        "deadlock 1: 2 goroutines (likely, not proven)",
        "  goroutine 5 waits for main.store.mu (mutex, locked) in main.Store, "
        "owned by goroutine 6",
        "  goroutine 6 waits for 0xc000012340 (mutex, locked), owned by "
        "goroutine 5",
        "  9 other goroutines wait for these",
    ]


def test_proven_and_likely(make):
    """Each kind is counted apart."""
    mutexes = [make.awaited()] * 2
    likely = make.deadlock([5, 6], mutexes)
    proven = make.deadlock([7, 8], mutexes, is_certain=True, behind=1)
    lines = report(make.waits((), [proven, likely])).lines()
    assert lines[0] == (
        "1 deadlock of 2 goroutines, 1 likely deadlock of 2 goroutines; "
        "1 more waits for what they hold"
    )
    assert lines[2] == "deadlock 1: 2 goroutines"


def test_members_and_what_they_await(make):
    """The senders of an errgroup wait for the channel, and Wait for them."""
    group = make.awaited(kind="wait group", path="main.g", type=None)
    channel = make.awaited(kind="chan send", path="main.c", type=None)
    deadlock = make.deadlock(
        [5, 6, 7], [group, channel], awaits=(0, 1, 1), owners=(0, 5, 5)
    )
    lines = report(make.waits((), [deadlock])).lines()
    assert [line.partition(" waits for ")[2] for line in lines[3:6]] == [
        "main.g (wait group, locked), owned by several of them",
        "main.c (chan send, locked), in reach of goroutine 5",
        "main.c (chan send, locked), in reach of goroutine 5",
    ]
    document = json.loads(report(make.waits((), [deadlock])).json())
    (found,) = document["deadlocks"]
    assert (found["awaits"], found["owners"]) == ([0, 1, 1], [None, 5, 5])


def test_large_deadlock(make):
    """The first ones say how it is; the document has all."""
    members = list(range(5, 5 + 3000))
    mutexes = [make.awaited()] * len(members)
    found = make.waits((), [make.deadlock(members, mutexes, behind=0)])
    lines = report(found).lines()
    assert len(lines) == 14
    assert lines[2].startswith("deadlock 1: 3,000 goroutines")
    assert lines[-2].startswith("  goroutine 14 waits for ")
    assert lines[-1] == "  and 2,990 more goroutines of the cycle"
    (deadlock,) = json.loads(report(found).json())["deadlocks"]
    assert deadlock["ids"] == members


def test_channels(make):
    """Nobody owns them."""
    channels = [make.awaited(kind="chan receive", state="unbuffered")] * 2
    lines = report(make.waits((), [make.deadlock([5, 6], channels)])).lines()
    assert lines[3:5] == [
        "  goroutine 5 waits for main.store.mu (chan receive, unbuffered) in "
        "main.Store, in reach of",
        "        goroutine 6",
    ]


def test_nothing(make):
    assert report(make.waits()).lines() == [
        "no goroutine waits for a lock or a channel"
    ]
    assert report(make.waits(), goroutine_id=7).lines() == [
        "goroutine 7 waits for no lock and no channel, and nobody waits for it"
    ]


def test_equal_names(make):
    """Addresses tell apart things with one name."""
    groups = [
        make.awaited(path="main.conn.done", addr=addr)
        for addr in (0xC000010000, 0xC000020000)
    ]
    other = make.awaited(path="main.jobs", addr=0xC000030000)
    text = report(make.waits([*groups, other])).text()
    assert "main.conn.done at 0xc000010000 (mutex" in text
    assert "main.conn.done at 0xc000020000 (mutex" in text
    assert "main.jobs (mutex" in text


def test_left_out(make):
    found = make.waits([make.awaited()], total=4)
    assert report(found).lines()[-1] == "and 3 more groups (--limit 0 shows all)"


def test_document(make):
    group = make.awaited([make.wait_owner(is_certain=True)])
    found = make.waits([group], [make.deadlock([5], [group])])
    document = json.loads(report(found).json())
    (wait,) = document["waits"]
    assert wait["primitive"] == "0xc000012340"
    assert (wait["kind"], wait["path"]) == ("mutex", "main.store.mu")
    assert wait["waiters"] == [17, 18]
    (owner,) = wait["owners"]
    assert (owner["id"], owner["certain"]) == (8, True)
    assert owner["evidence"].startswith("has deferred")
    (deadlock,) = document["deadlocks"]
    assert deadlock["ids"] == [5]
    assert deadlock["primitives"][0]["primitive"] == "0xc000012340"


def test_dot(make):
    group = make.awaited([make.wait_owner()], path='main.m["a"].mu')
    found = make.waits([group], [make.deadlock([17], [group])])
    assert (
        report(found).dot()
        == """\
digraph waits {
  g17 [label="goroutine 17", color=red];
  g18 [label="goroutine 18"];
  g8 [label="goroutine 8"];
  pc000012340_mutex [shape=box, label="main.m[\\"a\\"].mu\\nmutex"];
  g17 -> pc000012340_mutex;
  g18 -> pc000012340_mutex;
  pc000012340_mutex -> g8 [style=dashed];
}
"""
    )
