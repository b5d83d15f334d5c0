# SPDX-License-Identifier: Apache-2.0
"""The exported profile: its form, its limits, and other tools opening it."""

import gzip
import re
import subprocess

import pytest

from pprof import Profile, fields
from session import run_goref
from toolchains import Variant, go_environment, pprof_binary, variants

CENTRAL = Variant("go1.24", "default")

ROOT_KINDS = {
    "global", "local", "stack", "register", "defer", "finalizer", "cleanup",
    "timer", "tiny", "runtime",
}  # fmt: skip

rows = variants(newest=("default",))


@pytest.fixture
def scan(scanned, variant):
    return scanned("roots", variant)


@rows
def test_sample_types(scan):
    assert [tuple(t) for t in scan.profile.sample_types] == [
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ]
    assert scan.profile.default_sample_type == "inuse_space"


@rows
def test_labels(scan):
    for sample in scan.profile.samples:
        assert sample.labels["root_kind"] in ROOT_KINDS
        assert set(sample.labels) <= {
            "root_kind", "goroutine_state", "goroutine_id", "type",
        }  # fmt: skip
    states = scan.profile.labels_of("main.holdSelect.", "goroutine_state")
    assert len(states) == 1 and states.pop()
    globals_ = scan.profile.labels_of("main.rGlobal", "goroutine_state")
    assert globals_ == {None}


@rows
def test_file_of_stack_roots(scan):
    files = {
        f.filename
        for f in scan.profile.functions.values()
        if f.name.startswith("main.holdReceive.")
    }
    assert files and all(f.endswith("main.go") for f in files), files


@rows
def test_comments(scan):
    text = "\n".join(scan.profile.comments)
    assert scan.ledger["go_version"] in text
    assert scan.ledger["tool_version"] in text
    assert str(scan.ledger["reached"]["objects"]) in text


@rows
def test_nothing_that_differs_between_runs(scan):
    assert scan.profile.gzip_time == 0
    assert scan.profile.time_nanos == 0


@rows
def test_samples_are_merged(scan):
    seen = set()
    for sample in scan.profile.samples:
        key = (sample.path, tuple(sorted(sample.labels.items())))
        assert key not in seen, key
        seen.add(key)
        assert len(sample.values) == 2
        assert sample.values[0] > 0 and sample.values[1] > 0


@rows
def test_string_table_has_no_doubles(scan):
    data = gzip.decompress(open(scan.ledger["out"], "rb").read())
    strings = [v for number, v in fields(data) if number == 6]
    assert strings[0] == b""
    assert len(strings) == len(set(strings))


@rows
def test_json_roots_agree_with_profile(scan):
    roots = [r for r in scan.ledger["roots"] if r["kind"] == "global"]
    assert roots
    for root in roots:
        wanted = (root["objects"], root["bytes"])
        assert scan.profile.root(root["name"]) == wanted


@rows
def test_go_tool_pprof_opens_it(scan, variant):
    done = subprocess.run(
        [pprof_binary(variant.release), "-top",
         "-sample_index=inuse_objects", scan.ledger["out"]],
        capture_output=True,
        text=True,
        env=go_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "main.holdRecursion" in done.stdout


def boxes(release, out):
    """The nodes and the labels of nodes that pprof draws."""
    done = subprocess.run(
        [pprof_binary(release), "-dot", "-nodecount=0", out],
        capture_output=True,
        text=True,
        env=go_environment(),
    )
    assert done.returncode == 0, done.stderr
    nodes = re.findall(r"^N\d+ \[", done.stdout, re.M)
    labels = re.findall(r'^N\d+_\d+ \[label = "(.*?)"', done.stdout, re.M)
    return len(nodes), labels


@variants("default")
def test_pprof_draws_no_labels(farm, variant, tmp_path):
    """It draws a box for each text of a label, and none for an id."""
    out = tmp_path / "refs.pb"
    drawn = {}
    for options in ("", "--per-goroutine", "--root-labels"):
        run = run_goref(
            farm.target("roots", variant), [f"goref scan {options} -o {out}"]
        )
        assert run.rc == 0, run.stderr
        drawn[options] = boxes(variant.release, out)
    nodes, labels = drawn[""]
    assert nodes > 20 and not labels
    assert not drawn["--per-goroutine"][1]
    tags = "\n".join(drawn["--root-labels"][1])
    assert "root_kind:global" in tags and "goroutine_state:waiting" in tags


def test_go_tool_pprof_subtracts_it(scanned):
    out = scanned("roots", CENTRAL).ledger["out"]
    done = subprocess.run(
        [pprof_binary(CENTRAL.release), "-top", f"-diff_base={out}", out],
        capture_output=True,
        text=True,
        env=go_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "Showing nodes accounting for 0" in done.stdout


def limited(farm, tmp_path, option):
    """The same core with and without a limit, in one session."""
    outs = tmp_path / "all.pb", tmp_path / "limited.pb"
    run = run_goref(
        farm.target("rest", CENTRAL),
        [f"goref scan --out {outs[0]}", f"goref scan {option} --out {outs[1]}"],
    )
    assert run.rc == 0, run.stderr
    return Profile.load(outs[0]), Profile.load(outs[1])


def by_root(profile):
    totals = {}
    for sample in profile.samples:
        count, size = totals.get(sample.path[0], (0, 0))
        totals[sample.path[0]] = (
            count + sample.values[0],
            size + sample.values[1],
        )
    return totals


def test_max_samples(farm, tmp_path):
    """The smallest leaves fold into their parents; totals stay."""
    full, small = limited(farm, tmp_path, "--max-samples 50")
    assert len(full.samples) > 50 >= len(small.samples)
    assert small.total() == full.total()
    assert len(small.comments) > len(full.comments)


def test_max_depth(farm, tmp_path):
    full, flat = limited(farm, tmp_path, "--max-depth 3")
    assert max(len(s.path) for s in full.samples) > 4
    assert max(len(s.path) for s in flat.samples) <= 4
    assert by_root(flat) == by_root(full)


def by_path(profile):
    """{(root's labels, names down to the node): objects counted there}."""
    found = {}
    for sample in profile.samples:
        root = tuple(
            sample.labels.get(k) for k in ("root_kind", "goroutine_state")
        )
        key = (root, *sample.path)
        found[key] = found.get(key, 0) + sample.values[0]
    return found


@pytest.mark.parametrize("limit", [40, 200, 500])
def test_max_nodes(farm, tmp_path, limit):
    """An object without a node is counted on the nearest one above that has
    one, not on that one's child of the same name; the amount is said."""
    out = tmp_path / "all.pb", tmp_path / "few.pb"
    run = run_goref(
        farm.target("rest", CENTRAL),
        [f"goref scan --json --root-labels --out {out[0]}",
         f"goref scan --json --root-labels --out {out[1]} --max-nodes {limit}",
         f"goref scan --max-nodes {limit}"],
    )  # fmt: skip
    full, few = Profile.load(out[0]), Profile.load(out[1])
    assert len(few.samples) < len(full.samples)
    assert few.total() == full.total()
    kept = {
        path[: i + 2] for path in by_path(few) for i in range(len(path) - 1)
    }
    expected, folded = {}, 0
    for path, objects in by_path(full).items():
        above = path
        while above not in kept:
            above = above[:-1]
        expected[above] = expected.get(above, 0) + objects
        folded += objects if above != path else 0
    assert by_path(few) == {p: n for p, n in expected.items() if n}
    assert run.json(0)["folded"] == {"objects": 0, "bytes": 0}
    assert run.json(1)["folded"]["objects"] == folded > 0
    assert run.json(1)["folded"]["bytes"] >= 8 * folded
    assert f"{folded:,} objects" in run.parts[2]


def test_decoder_on_a_profile_of_go_itself(tmp_path):
    """The decoder of these tests against the profile writer of Go."""
    from toolchains import build

    exe = build("counter", CENTRAL.release)
    out = tmp_path / "heap.pb"
    done = subprocess.run(
        [exe, "2000", "profile", out], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    profile = Profile.load(out)
    assert ("inuse_space", "bytes") in map(tuple, profile.sample_types)
    assert any("runtime" in s.path[0] for s in profile.samples)
    assert any("main.main" in s.path for s in profile.samples)
