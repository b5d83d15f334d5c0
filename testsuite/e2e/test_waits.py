# SPDX-License-Identifier: Apache-2.0
"""The waits of goroutines are those that the program says."""

import subprocess

import mutate
from asking import GOREF_SCAN, SCANNER
from session import environment, run_cli, run_goref
from targets import attach_reason, skip_if
from test_goroutines import said
from toolchains import variants


def scanned(target):
    """The lines of `goref-scan --waits'."""
    named = [target.exe, target.core] if target.core else [target.process.pid]
    done = subprocess.run(
        [GOREF_SCAN, "--waits", *map(str, named)],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def dumped(target):
    """{goroutine: [(kind, address, [count, capacity])]}"""
    waits = {}
    for number, kind, address, _key, _sudog, *fill in scanned(target):
        row = (kind, int(address, 16), [int(n) for n in fill[:2]])
        waits.setdefault(int(number), []).append(row)
    return waits


def wanted(case):
    def fill(wait):
        if not wait["kind"].startswith(("channel", "select")):
            return []
        return [wait["count"], wait["capacity"]]

    return [
        (wait["kind"], int(wait["address"], 16), fill(wait))
        for wait in case["waits"]
    ]


def check(target):
    waits = dumped(target)
    cases = target.truth["cases"]
    assert len(cases) >= 28
    for case in cases:
        assert sorted(waits[case["id"]]) == sorted(wanted(case)), case["name"]


@variants("default", "noopt", "stripped")
def test_waits(farm, variant):
    check(farm.target("waits", variant))


@variants(newest=["default"])
def test_live(farm, variant):
    skip_if(attach_reason())
    check(farm.target("waits", variant, "live"))


CHANNELS = ("channel", "select")
LOCKS = ("Mutex", "RWMutex", "WaitGroup")


@variants("default", newest=["noopt"])
def test_proof(farm, variant):
    """The proof of a wait is in the core: a sudog of that very goroutine, that
    names the channel or the semaphore, or lies in the list of the Cond."""
    target = farm.target("waits", variant)
    points = mutate.Points(SCANNER, target.exe, target.core)
    core, layout = mutate.Core(target.core), points.layout

    def words(record, *names):
        fields = [layout[n][0] for n in names if n in layout]
        return {core.u64(record + offset) for offset in fields}

    ids = {g: words(g, "g.goid").pop() for g in points.gs}
    proven = 0
    for number, kind, _address, key, sudog, *_ in scanned(target):
        key, sudog = int(key, 16), int(sudog, 16)
        if not kind.startswith((*CHANNELS, *LOCKS, "Cond")) or not key:
            continue
        (owner,) = words(sudog, "sudog.g")
        assert ids[owner] == int(number), kind
        if kind.startswith(CHANNELS):
            assert key in words(sudog, "sudog.chan", "sudog.chan_truth")
        elif kind.startswith(LOCKS):
            assert key in words(sudog, "sudog.elem", "sudog.elem_truth")
        else:
            (at,) = words(key, "notify_list.head")
            while at not in (0, sudog):
                (at,) = words(at, "sudog.next")
            assert at == sudog
        proven += 1
    core.close()
    wanted = sum(
        wait["kind"].startswith((*CHANNELS, *LOCKS, "Cond"))
        for case in target.truth["cases"]
        for wait in case["waits"]
    )
    assert proven >= wanted >= 20


# ------------------------------------------------------------ goroutine ID wait


def asked(target):
    """{name of the case: its document}, in one session."""
    cases = target.truth["cases"]
    run = run_goref(
        target, [f"goref goroutine {case['id']} wait --json" for case in cases]
    )
    assert run.rc == 0, run.stderr
    return {case["name"]: run.json(i) for i, case in enumerate(cases)}


def waiters_of(cases, want):
    """How many goroutines wait for the same thing; 0: that is no thing."""
    is_channel = want["kind"].startswith(CHANNELS)
    return sum(
        any(
            wait["address"] == want["address"] != "0x0"
            and (is_channel or wait["kind"] == want["kind"])
            for wait in case["waits"]
        )
        for case in cases
    )


def check_wait(wait, want, facts):
    assert wait["kind"] == want["kind"]
    assert int(wait["primitive"] or "0", 16) == int(want["address"], 16)
    if want.get("path"):
        assert wait["path"] == want["path"]
    if want["kind"].startswith(("channel", "select")):
        assert (wait["count"], wait["capacity"]) == (
            want["count"],
            want["capacity"],
        )
        assert wait["closed"] is False
        assert wait["type"].startswith("chan ")
    if "left" in facts:
        assert wait["holders"] == facts["left"]
    if "value" in facts:
        assert wait["value"] == facts["value"]
    if "number" in facts:
        assert wait["syscall"] == {"number": facts["number"], "name": "read"}


def check_answers(target):
    found, cases = asked(target), target.truth["cases"]
    reasons = {n: row[0] for n, row in said(target.truth["stacks"]).items()}
    assert len(cases) >= 26
    for case in cases:
        answer = found[case["name"]]
        reason = answer["wait_reason"] or answer["state"]
        assert reason == reasons[case["id"]], case["name"]
        assert answer["id"] == case["id"] and not answer["in_bubble"]
        order = sorted(answer["waits"], key=lambda w: w["primitive"] or "")
        wants = sorted(case["waits"], key=lambda w: w["address"])
        assert len(order) == len(wants), case["name"]
        for wait, want in zip(order, wants):
            check_wait(wait, want, case.get("facts", {}))
            assert (wait["waiters"] or 0) == waiters_of(cases, want), case
    (once,) = found["Once"]["waits"]
    assert once["part_of"] == "sync.Once"
    assert once["holder_type"] == "main.Store"
    assert once["field"] == ".once.m"
    (sleep,) = found["sleep"]["waits"]
    assert 0 <= sleep["due_ns"] - 2 * 3600 * 10**9 < 60 * 10**9
    assert found["Mutex"]["waits"][0]["waiters"] == 2
    assert found["Cond"]["waits"][0]["waiters"] == 2
    writer = found["RWMutex, writer behind readers"]["waits"][0]
    assert writer["holders"] == 1


@variants("default", "noopt")
def test_answers(farm, variant):
    check_answers(farm.target("waits", variant))


@variants(newest=["default"])
def test_answers_live(farm, variant):
    skip_if(attach_reason())
    target = farm.target("waits", variant, "live")
    check_answers(target)
    case = target.truth["cases"][0]
    done = run_cli(
        ["attach", target.process.pid, "goroutine", str(case["id"]), "wait"]
    )
    assert done.returncode == 0, done.stderr
    assert "It waits to receive from main.requests" in done.stdout


@variants("stripped")
def test_answers_stripped(farm, variant):
    """Without names of variables: kinds, addresses and fill."""
    target = farm.target("waits", variant)
    found = asked(target)
    for case in target.truth["cases"]:
        kinds = sorted(w["kind"] for w in found[case["name"]]["waits"])
        assert kinds == sorted(w["kind"] for w in case["waits"])
