# SPDX-License-Identifier: Apache-2.0
"""Samples of objects in profiles, and of single objects."""

import collections
import json

import pytest

from pprof import Profile
from session import run_cli, run_goref
from targets import attach_reason, skip_if
from test_sites import (
    CENTRAL,
    DEFAULT_RATE,
    SLOT_BYTES,
    TIMES,
    cells,
    makes_items,
    own_in_use,
    table,
)
from toolchains import variants


MAX_EARLY_BYTES = 64 << 10


def in_use(profile):
    """In-use objects and bytes by stack, the innermost call first."""
    found = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        stack = tuple(reversed(sample.frames))
        found[stack]["objects"] += sample.values[2]
        found[stack]["bytes"] += sample.values[3]
    return found


def late_objects(found):
    """Those that were allocated after the last collection."""
    return sum(
        values["objects"]
        for stack, values in found.items()
        if stack[0][0] == "main.lateOne"
    )


def now(target, tmp_path):
    path = tmp_path / "now.pb.gz"
    run = run_goref(
        target,
        [f"goref profile heap --now -o {path} --json", "goref verify --json"],
    )
    assert run.rc == 0, run.stderr
    document = run.json(0)
    assert document["complete"] and document["now"]
    return Profile.load(path), document, run.json(1)


@variants(newest=("default",))
def test_now(farm, variant, tmp_path):
    """The objects that exist: those of the last profile, and those since then,
    dead or alive. What is missing of the heap was there before the program
    began to sample all."""
    target = farm.target("sites", variant, args=["1"])
    profile, document, verdict = now(target, tmp_path)
    assert [t.type for t in profile.sample_types] == [
        "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"
    ]  # fmt: skip
    found, truth = in_use(profile), target.truth
    for stack, values in own_in_use(target).items():
        if makes_items(stack):
            assert found[stack] == values
    assert late_objects(found) == truth["late_kept"] + truth["late_dropped"]
    missing = verdict["allocated_objects"] - document["inuse_objects"]
    assert 0 <= missing <= truth["before_objects"]
    missing = verdict["allocated_bytes"] - document["inuse_bytes"]
    assert 0 <= missing <= truth["before_bytes"]
    # As sites count them, reached or not.
    words = ("--by site", "--by site --garbage")
    both = [table(target, text) for text in words]
    for key in ("objects", "bytes"):
        assert document[f"inuse_{key}"] == sum(d[key] for d in both)


@pytest.mark.parametrize("rate", ["65536", str(DEFAULT_RATE)])
def test_now_is_scaled(farm, rate, tmp_path):
    target = farm.target("sites", CENTRAL, args=[rate, TIMES])
    profile, _, _ = now(target, tmp_path)
    found = in_use(profile)
    wanted = {s: v for s, v in own_in_use(target).items() if makes_items(s)}
    assert any(values["objects"] for values in wanted.values())
    for stack, values in wanted.items():
        for key, value in values.items():
            assert found[stack][key] == value


def told(process, command):
    process.popen.stdin.write(f"{command}\n".encode())
    process.popen.stdin.flush()
    return process.read_line()


def heap_of(process, tmp_path):
    """Bytes of the objects that exist by their samples, and by the program's
    own MemStats of the same stop."""
    process.rest()
    done = run_cli(
        ["attach", process.pid, "profile", "heap", "--now", "-o",
         tmp_path / "now", "--json"]
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["complete"] and document["sample_rate_bytes"] == 1
    return document["inuse_bytes"], json.loads(told(process, "stats"))["heap_alloc"]


@variants(newest=("default",))
def test_now_equals_the_heap(farm, variant, tmp_path):
    """At a rate of 1, all that is allocated is sampled, a block of tiny objects
    once. Only what the runtime makes before it reads its settings, and for a
    new thread, is not: that stays the same, unless a collection frees it."""
    skip_if(attach_reason())
    env = {"GODEBUG": "memprofilerate=1", "GOMAXPROCS": "1"}
    process = farm.process("exact", variant, env=env)
    sampled, allocated = [], []
    for command in ("gc", "work", "work", "gc", "work"):
        told(process, command)
        one, other = heap_of(process, tmp_path)
        sampled.append(one)
        allocated.append(other)
    unsampled = [b - a for a, b in zip(sampled, allocated)]
    found = (sampled, allocated)
    assert unsampled[0] == unsampled[1] == unsampled[2], found
    assert unsampled[3] == unsampled[4], found
    assert 0 <= unsampled[3] <= unsampled[0] <= MAX_EARLY_BYTES, found
    assert allocated[2] > allocated[1] + (1 << 19)
    assert allocated[1] > allocated[0] + (1 << 19)
    assert allocated[3] < allocated[2]


@variants(newest=("default",))
def test_object_and_why(farm, variant):
    """Both print where the object was allocated."""
    target = farm.target("sites", variant, args=["1"])
    made = target.truth["cells"]
    run = run_goref(
        target,
        [f"goref {verb} {cell['address']} --json"
         for cell in made for verb in ("object", "why")],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    for i, cell in enumerate(made):
        for document in run.json(2 * i), run.json(2 * i + 1):
            calls = [call["function"] for call in document["allocated_by"]]
            assert calls[calls.index("main.build") - 1] == cell["site"]
            assert calls[-1] == "runtime.main"


def test_object_text(farm):
    target = farm.target("sites", CENTRAL, args=["1"])
    none = farm.target("sites", CENTRAL, args=["0"])
    [address, *_] = [cell["address"] for cell in target.truth["cells"]]
    run = run_goref(target, [f"goref object {address}", f"goref why {address}"])
    for text in run.parts:
        lines = text.splitlines()
        at = lines.index("allocated by:")
        assert lines[at + 1].split()[0] == "main.fresh"
        assert lines[at + 1].endswith("main.go:44")
    [address, *_] = [cell["address"] for cell in none.truth["cells"]]
    run = run_goref(
        none, [f"goref object {address}", f"goref object {address} --json"]
    )
    assert "allocated by" not in run.parts[0]
    assert run.json(1)["allocated_by"] is None


def paths_of(profile):
    """Objects and bytes by root and site."""
    found = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        path = list(sample.path)
        if "main.build" not in path:
            continue
        key = path[path.index("main.build") + 1], path[0]
        found[key]["objects"] += sample.values[0]
        found[key]["bytes"] += sample.values[1]
    return found


@pytest.mark.parametrize("rate", ["1", str(DEFAULT_RATE)])
@variants(newest=("default",))
def test_scan_sites(farm, variant, rate, tmp_path):
    """A path leads from the holder to the object, and on through the calls
    that allocated it; its sums are those of the histogram."""
    target = farm.target(
        "sites", variant, args=[rate] if rate == "1" else [rate, TIMES]
    )
    path = tmp_path / "sites.pb.gz"
    run = run_goref(target, [f"goref scan --sites -o {path}"])
    assert run.rc == 0, run.stderr
    profile = Profile.load(path)
    found, wanted = paths_of(profile), cells(table(target, "--by site,root"))
    for cell in target.truth["cells"]:
        key = cell["site"], cell["root"]
        if rate == "1":
            assert found[key]["bytes"] == cell["objects"] * SLOT_BYTES
        # Rounded down once for each path of names.
        lost = wanted[key]["objects"] - found[key]["objects"]
        assert 0 <= lost <= (rate != "1") * wanted[key]["sampled_objects"]
    lines = {
        (name, line) for s in profile.samples for name, _, line in s.frames
    }
    assert ("main.fresh", 44) in lines
    estimated = any("estimated" in comment for comment in profile.comments)
    assert estimated == (rate != "1")


@pytest.mark.parametrize(
    "program, rate, note",
    [
        ("sites", "0", "memory profiling is off"),
        ("sites", "1", "every allocation is sampled"),
        ("sites", str(DEFAULT_RATE), "objects and sizes are estimated"),
        ("stacks", "", "memory profiling is not linked"),
    ],
)
def test_scan_sites_says_what_it_has(farm, program, rate, note, tmp_path):
    """The answer and the profile tell what the samples stand for, or why
    there are none."""
    target = farm.target(program, CENTRAL, args=[rate])
    command = f"goref scan --sites -o {tmp_path / 'sites'}"
    run = run_goref(target, [command, f"{command} --json"])
    assert run.rc == 0, run.stderr
    document = run.json(1)["sites"]
    assert note in run.parts[0] and note in document["notes"][0]
    found = table(target, "--by site")
    keys = ("sampled_objects", "sample_rate_bytes", "estimated")
    assert all(document[key] == found[key] for key in keys)
    profile = Profile.load(tmp_path / "sites")
    assert document["bytes"] == sum(s.values[1] for s in profile.samples)
    comments = str(profile.comments)
    assert bool(profile.samples) == (program == "sites")
    assert ("memory profiling is" in comments) == (rate in ("0", ""))
    assert ("estimated" in comments) == (rate == str(DEFAULT_RATE))


@pytest.mark.parametrize("words", ["heap", "allocs", "heap --now"])
@pytest.mark.parametrize("rate", ["1", str(DEFAULT_RATE)])
def test_estimates_are_named(farm, words, rate, tmp_path):
    target = farm.target("sites", CENTRAL, args=[rate])
    command = f"goref profile {words} -o {tmp_path / 'out'}"
    run = run_goref(target, [command, f"{command} --json"])
    assert run.rc == 0, run.stderr
    is_estimated = rate != "1"
    assert run.json(1)["estimated"] == is_estimated
    assert ("objects and sizes are estimated" in run.parts[0]) == is_estimated


def test_scan_sites_as_text(farm, tmp_path):
    """The other formats have the same paths."""
    target = farm.target("sites", CENTRAL, args=["1"])
    run = run_goref(
        target,
        [f"goref scan --sites -o {tmp_path / f} --format {f}"
         for f in ("folded", "jsonl", "dot")],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    lines = (tmp_path / "folded").read_text().splitlines()
    kept = [line for line in lines if line.startswith("main.late")]
    made = [line.rpartition(" ") for line in kept if "main.lateOne" in line]
    for stack, _, _ in made:
        assert stack.endswith("main.main;main.buildLate;main.lateOne")
    sizes = sum(int(size) for _, _, size in made)
    assert sizes == target.truth["late_kept"] * SLOT_BYTES
    nodes = [json.loads(x) for x in (tmp_path / "jsonl").open()]
    assert any("main.lateOne" in str(node) for node in nodes)
    assert "main.lateOne" in (tmp_path / "dot").read_text()