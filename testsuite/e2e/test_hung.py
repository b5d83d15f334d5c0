# SPDX-License-Identifier: Apache-2.0
"""Services that hang: what many goroutines that wait for one thing cost."""

import json
import re
import subprocess

import pytest

from asking import SCANNER
from session import environment, run_cli
from toolchains import variants

FEW, MANY = 1_000, 8_000
FIXED_BYTES = 4 << 20  # what an estimate has for any target (scan/live.c)


def asked(target, *options):
    """The output of a scan, and its lines of numbers."""
    done = subprocess.run(
        [SCANNER, *options, target.exe, target.core],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    said = dict(
        line.split(": ") for line in done.stderr.splitlines() if ": " in line
    )
    return done, said


def measure(target):
    """The number of polls of a scan, which stands for its steps, and its
    answer."""
    done, said = asked(target, "--polls")
    return int(said["polls"]), json.loads(done.stdout)


@pytest.mark.parametrize("what", ["mutex", "send", "receive", "select"])
@variants(newest=("default",))
def test_growth(farm, variant, what):
    """Eight times as many goroutines take not much more than eight times as
    many steps; no moment belongs to two phases."""
    few = measure(farm.target("hung", variant, args=[what, str(FEW)]))
    target = farm.target("hung", variant, args=[what, str(MANY)])
    many = measure(target)
    done, said = asked(target, "--elapsed")
    farm.forget("hung")
    for count, scan in (FEW, few[1]), (MANY, many[1]):
        types = {t["type"]: t["objects"] for t in scan["types"]}
        assert types["main.Request"] == count
    assert many[0] < 10 * few[0], (few[0], many[0])
    phases = json.loads(done.stdout)["phases_ms"]
    elapsed_ms = float(said["elapsed"].removesuffix(" ms"))
    assert 0 < sum(phases.values()) <= elapsed_ms, phases


@pytest.mark.parametrize(
    "what", ["mutex", "rwmutex", "group", "cond", "send", "select", "own",
             "table", "slice", "lost"]
)  # fmt: skip
@variants(newest=["default"])
def test_growth_of_answers(farm, variant, what):
    """The same for all questions on goroutines: one lock of all, one channel of
    each, the locks of one object."""
    polls = []
    for count in FEW // 2, MANY // 2:
        target = farm.target("hung", variant, args=[what, str(count)])
        done, said = asked(target, "--polls", "--hung")
        polls.append(int(said["polls"]))
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert sum(row[0] == "wait" and row[2] > "0" for row in rows) >= count
    farm.forget("hung")
    assert polls[1] < 10 * polls[0], polls


@pytest.mark.parametrize("what", ["lost", "own"])
@variants("default", newest=["stripped"])
def test_every_channel_has_its_type(farm, variant, what):
    """And each one its way from a variable, if there is one."""
    count = 400
    target = farm.target("hung", variant, args=[what, str(count)])
    done = run_cli(["core", target.exe, target.core, "waits", "--json"])
    assert done.returncode == 0, done.stderr
    groups = [
        group
        for group in json.loads(done.stdout)["waits"]
        if group["kind"].startswith("chan")
    ]
    farm.forget("hung")
    assert len(groups) == count
    assert {group["type"] for group in groups} == {"chan *main.Request"}
    for group in groups:
        plain = f"(chan *main.Request)({group['primitive']})"
        named = re.search(r"\[\d+\]$", group["path"])
        assert named if what == "own" else group["path"] == plain, group
    assert len({group["path"] for group in groups}) == count


@variants("default", newest=["stripped"])
def test_every_lock_has_its_variable(farm, variant):
    """Locks outside the heap, more of them than are looked for one by one."""
    count = 400
    target = farm.target("hung", variant, args=["table", str(count)])
    done = run_cli(["core", target.exe, target.core, "waits", "--json"])
    assert done.returncode == 0, done.stderr
    paths = {
        group["path"]
        for group in json.loads(done.stdout)["waits"]
        if group["kind"] == "mutex"
    }
    farm.forget("hung")
    if variant.flavour == "default":
        assert paths == {f"main.table[{i}]" for i in range(count)}
    assert len(paths) == count


@variants("default")
def test_wait_reasons(farm, variant):
    """Also of goroutines that the runtime has found to be leaked, which have
    a state of their own (go1.27 has that profile without an experiment)."""
    target = farm.target("hung", variant, args=["lost", "100"])
    done = subprocess.run(
        [SCANNER, "--goroutines", target.exe, target.core],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    lost = [row for row in rows if row[2] == "chan receive"]
    assert len(lost) == 100, rows
    leaked = int(variant.release.split(".")[1]) >= 27
    assert {row[1] for row in lost} == {"leaked" if leaked else "waiting"}


@pytest.mark.parametrize("depth", [0, 10, 40])
@variants(newest=("default",))
def test_estimate(farm, variant, depth):
    """The memory that goroutines need is known before, with many frames, too."""
    args = ["mutex", "5000", str(depth)]
    target = farm.target("hung", variant, args=args)
    used = measure(target)[1]["peak_private_bytes"]
    done = subprocess.run(
        [SCANNER, "--estimate", target.exe, target.core],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    estimate = json.loads(done.stdout)
    least = used, 2 * used + FIXED_BYTES
    assert least[0] < estimate["table_bytes"] < least[1], (estimate, used)


@pytest.mark.parametrize("what", ["mutex", "send", "receive", "select"])
@variants("default")
def test_overview_counts_states(farm, variant, what):
    """The program says how many goroutines it has left waiting for what."""
    reasons = {
        "mutex": ("sync.Mutex.Lock", "semacquire"),
        "send": ("chan send",),
        "receive": ("chan receive",),
        "select": ("select",),
    }
    target = farm.target("hung", variant, args=[what, "1000"])
    done = run_cli(["core", target.exe, target.core, "overview", "--json"])
    goroutines = json.loads(done.stdout)["goroutines"]
    waiting = [
        row["count"]
        for row in goroutines["states"]
        if row["state"] == "waiting" and row["wait_reason"] in reasons[what]
    ]
    assert waiting == [1000]
    counted = sum(row["count"] for row in goroutines["states"])
    assert counted + goroutines["system"] == goroutines["total"]
