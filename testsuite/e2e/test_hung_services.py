# SPDX-License-Identifier: Apache-2.0
"""goref hung: services that hang, each for a reason of its own. One screen
names the cause."""

import json
import re
import shlex

import pytest

from session import run_cli, run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
SCREEN = 45  # lines of 80 columns and more
CAUSES = {
    "inversion": r"1 deadlock of 2 goroutines; 220 more wait for what they hold",
    "forgotten": r"no deadlock found; 100 goroutines wait for main\.theUsers\.mu "
    r"\(mutex, locked\).*: no goroutine is seen to hold it",
    "fullqueue": r"no deadlock found; 100 goroutines wait for main\.theQueue\.items "
    r"\(chan send, full, 10 of 10\)",
    "miscount": r"no deadlock found; 20 goroutines wait for main\.theBatch\.group "
    r"\(wait group, counter 1\).*: no goroutine is seen to call Done later",
    # Under load, five may take one thing each, and then all wait.
    "pool": r"no deadlock found; (5\d|60) goroutines wait in main\.\(\*pool\)\.take "
    r"at crowds\.go:\d+ \[select\], for different things",
    "silent": r"no deadlock found; 40 goroutines wait for main\.theMailbox\.changed "
    r"\(condition\)",
    "rooms": r"no deadlock found; 150 goroutines wait in main\.\(\*room\)\.post at "
    r"crowds\.go:\d+ \[.*\]; 2 goroutines wait for main\.theRooms\[\d+\]\.mu "
    r"\(mutex, locked\) in main\.room: no goroutine is seen to hold it",
    "quiet": r"no deadlock found; 3 goroutines wait for main\.theUsers\.mu \(mutex, "
    r"locked\).*: no goroutine is seen to hold it",
    "backend": r"no deadlock found; 30 goroutines wait for goroutine \d+, the "
    r"owner of main\.theClient\.mu \(mutex, locked\) in main\.client, which is "
    r"\[IO wait\] in main\.\(\*client\)\.ask at crowds\.go:\d+",
    "promises": r"no deadlock found; 100 goroutines wait, one for another, for "
    r"goroutine \d+, which alone can reach \(\*main\.promise\)\(0x\w+\)\.done "
    r"\(chan receive, unbuffered\), and is \[IO wait\] in "
    r"main\.\(\*promise\)\.read at services\.go:\d+",
    "stages": r"nothing stands out: 4 of 13 goroutines wait for the network or "
    r"timers, 8 for channels or conditions",
}


def ask(target, *words, status=0):
    done = run_cli(["core", target.exe, target.core, "hung", *words])
    assert done.returncode == status, done.stderr
    return done


def document(target):
    return json.loads(ask(target, "--json").stdout)


@pytest.mark.parametrize("what", CAUSES)
@variants("default")
def test_cause(farm, variant, what):
    target = farm.target("deadlocks", variant, args=[what])
    lines = ask(target).stdout.splitlines()
    assert re.match(CAUSES[what], lines[0]), lines
    assert len(lines) <= SCREEN


def test_head_of_a_queue(farm):
    """Each waits for a channel of the one before: the first one is named."""
    target = farm.target("deadlocks", CENTRAL, args=["promises"])
    (head,) = target.truth["heads"]
    (owner,) = document(target)["owners"]
    assert (owner["id"], owner["behind"]) == (head, 100)
    assert owner["certain"] and not owner["in_deadlock"]


def test_owner_in_the_library(farm):
    """Where the program calls Go's library is shown, however deep the owner
    is, and whom it waits for."""
    target = farm.target("deadlocks", CENTRAL, args=["backend"])
    lines = ask(target).stdout.splitlines()
    at = next(i for i, t in enumerate(lines) if t.startswith("owner"))
    text = "\n".join(lines[at : at + 8])
    assert re.search(
        r"  It waits to read from 127\.0\.0\.1:\d+ \(tcp, .*, descriptor \d+\)\."
        r"\n      net\.\(\*netFD\)\.Read at .*\n      .*"
        r"\n      \d+ calls of Go's library"
        r"\n      main\.\(\*client\)\.ask at crowds\.go:\d+",
        text,
    ), text


@variants("cgo")
def test_call_of_c(farm, variant):
    """All wait for a goroutine that C does not let go."""
    target = farm.target("deadlocks", variant, args=["incall"])
    (lock,) = target.truth["locks"]
    run = run_goref(target, ["goref hung", "goref hung --json"])
    text = run.parts[0]
    assert re.match(
        rf"no deadlock found; 30 goroutines wait for goroutine {lock['owner']}, the "
        r"owner of main\.theCodec\.mu \(mutex, locked\) in main\.codec, "
        r"which is in C: C\.wait_forever\n",
        text,
    ), text
    assert re.search(
        r"1 goroutine waits for C to return \(cgo\) on thread \d+: "
        r"C\.wait_forever, called in\s+main\.\(\*codec\)\.decode",
        text,
    )
    (owner,) = run.json(1)["owners"]
    assert (owner["id"], owner["behind"]) == (lock["owner"], 30)


def test_large_deadlock(farm):
    """A thousand goroutines, each of which could wake another one."""
    target = farm.target("hung", CENTRAL, args=["slice", "1000"])
    lines = ask(target).stdout.splitlines()
    assert lines[0] == "1 deadlock of 1,000 goroutines"
    assert len(lines) <= SCREEN
    assert " waits for (*sync.WaitGroup)(0x" in lines[3]
    (deadlock,) = document(target)["deadlocks"]
    assert len(deadlock["ids"]) == len(deadlock["primitives"]) == 1000


def test_bundled_service(farm):
    """The service of the tour takes its two locks in two orders."""
    target = farm.target("leaky", CENTRAL, args=["1000", "refunds"])
    found = document(target)
    assert found["cause"] == (
        "1 deadlock of 2 goroutines; 38 more wait for what they hold"
    )
    paths = {p["path"] for d in found["deadlocks"] for p in d["primitives"]}
    assert paths == {"main.shop.stock.mu", "main.shop.ledger.mu"}
    assert found["leaked"] == target.truth["goroutines"]
    done = run_cli(["core", target.exe, target.core, "overview", "--json"])
    overview = json.loads(done.stdout)
    assert overview["deadlocks"] == [d["ids"] for d in found["deadlocks"]]
    assert overview["leaked"] == found["leaked"]
    assert any(text.endswith(" hung") for text in overview["next"])


def test_document(farm):
    """The keys are stable, and equal what the program says."""
    target = farm.target("deadlocks", CENTRAL, args=["inversion"])
    found = document(target)
    (deadlock,) = found["deadlocks"]
    assert [sorted(deadlock["ids"])] == [
        sorted(ids) for ids in target.truth["deadlocks"]
    ]
    owners = {lock["owner"] for lock in target.truth["locks"]}
    assert {owner["id"] for owner in found["owners"]} == owners
    blocked = len(target.truth["blocked"]) + len(owners)
    assert {owner["behind"] for owner in found["owners"]} == {blocked - 1}
    assert sum(row["count"] for row in found["states"]) >= blocked
    assert sum(row["count"] for row in found["groups"]) == sum(
        row["count"] for row in found["states"]
    )
    assert found["leaked"] == 0


def test_chain(farm):
    """Those that wait for a waiter wait for whom that one waits for."""
    target = farm.target("deadlocks", CENTRAL, args=["chain"])
    found = document(target)
    assert found["deadlocks"] == []
    (owner,) = found["owners"]
    assert (owner["wait_reason"], owner["behind"]) == ("sleep", 3)
    assert f"3 goroutines wait, one for another, for goroutine {owner['id']}" in found["cause"]


def test_owner_beside_a_deadlock(farm):
    """An owner in no cycle is shown with its calls, although more wait for
    those of the deadlock."""
    target = farm.target("deadlocks", CENTRAL, args=["inversion", "chain"])
    lines = ask(target).stdout.splitlines()
    (at,) = [i for i, x in enumerate(lines) if x.startswith("owner")]
    assert "[sleep]" in lines[at]
    end = lines.index("", at)
    assert any(x.startswith("      main.") for x in lines[at:end]), lines


def test_next(farm):
    """Commands run as they are printed."""
    target = farm.target("deadlocks", CENTRAL, args=["inversion"])
    printed = document(target)["next"]
    assert printed
    for text in printed:
        words = shlex.split(text)
        assert words[0] == "goref"
        assert run_cli(words[1:]).returncode == 0, text


def test_conditions(farm):
    target = farm.target("deadlocks", CENTRAL, args=["inversion"])
    said = ask(target, "--fail-on-deadlock", status=4)
    assert "goref: hung: goroutines are deadlocked" in said.stderr
    ask(target, "--fail-on-leaks")
    leaking = farm.target(
        "hung", Variant("go1.24", "default"), args=["lost", "9"]
    )
    said = ask(leaking, "--fail-on-leaks", status=4)
    assert "9 goroutines have leaked" in said.stderr
    assert document(leaking)["leaked"] == 9