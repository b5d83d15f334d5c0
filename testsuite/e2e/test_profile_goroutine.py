# SPDX-License-Identifier: Apache-2.0
"""goref profile goroutine, by what the program's own profile says."""

import base64
import collections
import re
import subprocess

import pytest

from pprof import Profile
from session import run_goref
from toolchains import Variant, go_binary, variants

CENTRAL = Variant("go1.24", "default")


@pytest.fixture(scope="module")
def central(farm):
    return farm.target("profiled", CENTRAL)


def own(target, name):
    """The program's own profile; None if its release has none."""
    text = target.truth[name]
    return Profile(base64.b64decode(text)) if text else None


def written(target, tmp_path, kind="goroutine"):
    path = tmp_path / f"{kind}.pb.gz"
    run = run_goref(target, [f"goref profile {kind} -o {path} --json"])
    assert run.rc == 0, run.stderr
    return Profile.load(path), run.json(0)


def without_main(profile, max_depth=None):
    """Goroutines by their frames and labels, without the one that wrote the profile and
    has gone on since. The runtime cuts deep stacks at their outer end."""
    found = collections.Counter()
    for sample in profile.samples:
        if "main.main" in sample.path:
            continue
        frames = sample.frames
        if max_depth and len(frames) > max_depth:
            frames = frames[-max_depth:]
        labels = tuple(sorted(sample.labels.items()))
        found[frames, labels] += sample.values[0]
    return found


def deepest(profile):
    return max(len(s.frames) for s in profile.samples)


@variants("default", "noopt", "stripped")
def test_as_the_program_itself(farm, variant, tmp_path):
    target = farm.target("profiled", variant)
    wanted = own(target, "goroutine")
    found, document = written(target, tmp_path)
    limit = deepest(wanted)
    assert without_main(found, limit) == without_main(wanted, limit)
    labels = {labels for _, labels in without_main(wanted)}
    assert (("half", "1"), ("kind", "labelled")) in labels
    assert found.sample_types[0] == wanted.sample_types[0]
    assert found.default_sample_type == "goroutine"
    for profile in (found, wanted):
        total = sum(s.values[0] for s in profile.samples)
        assert total == document["goroutines"]
    # Stacks have sizes of powers of two, 2 kB or more.
    for sample in found.samples:
        assert sample.values[1] >= 2048 * sample.values[0]
        assert sample.values[1] % 2048 == 0


@variants("default")
def test_leaked(farm, variant, tmp_path):
    target = farm.target("profiled", variant)
    wanted = own(target, "goroutineleak")
    found, document = written(target, tmp_path, "goroutineleak")
    leaks = run_goref(target, ["goref leaks --json"]).json(0)
    count = sum(s.values[0] for s in found.samples)
    assert count == document["goroutines"] == leaks["leaked"] > 0
    assert document["note"] is None and document["complete"]
    if wanted:  # marked by the runtime itself
        assert without_main(found) == without_main(wanted)


def blocks(text):
    """Goroutines of a text of the runtime by number: status, calls and who
    created it, without arguments and offsets, and whether some are elided."""
    found = {}
    for block in text.strip().split("\n\n"):
        header, *lines = block.splitlines()
        number, status = re.fullmatch(
            r"goroutine (\d+) \[([^\]]*)\](?: \{.*\})?:", header
        ).groups()
        shown = [l for l in lines if "frames elided" not in l]
        is_elided = len(shown) < len(lines)
        calls, lines = [], shown
        for what, where in zip(lines[::2], lines[1::2]):
            if not what.startswith("created by "):
                what = re.sub(r"\([^()]*(\{[^()]*\}[^()]*)*\)$", "", what)
            calls.append((what, re.match(r"\t(.*:\d+)", where)[1]))
        found[int(number)] = (status, calls, is_elided)
    return found


@variants("default", "noopt", "stripped")
def test_text(farm, variant, tmp_path):
    target = farm.target("profiled", variant)
    path = tmp_path / "stacks.txt"
    run = run_goref(
        target,
        [f"goref profile goroutine --text -o {path}",
         "goref profile goroutine --text"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert run.parts[0] == "" and run.parts[1] == path.read_text()
    found, wanted = blocks(run.parts[1]), blocks(target.truth["stacks"])
    assert found.keys() == wanted.keys() and len(found) > 40
    for number, (status, calls, is_elided) in wanted.items():
        if number == 1:
            continue
        # Marked after the program has printed its stacks.
        assert found[number][0].replace(" (leaked)", "") == status
        assert not found[number][2]
        if is_elided or len(calls) > 90:
            assert found[number][1][:50] == calls[:50]
            assert len(found[number][1]) > len(calls)
        else:
            assert found[number][1] == calls, number


def test_go_reads_it(central, tmp_path):
    """With addresses, inlined calls and both kinds of values."""
    written(central, tmp_path)
    file = tmp_path / "goroutine.pb.gz"

    def pprof(*words):
        done = subprocess.run(
            [go_binary(CENTRAL.release), "tool", "pprof", *words, file],
            capture_output=True,
            text=True,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            check=True,
        )
        return done.stdout

    raw = pprof("-raw")
    assert "goroutine/count" in raw and "stack_space/bytes" in raw
    assert re.search(r"main\.receive .*\n\s+main\.twice ", raw)
    own_file = tmp_path / "own.pb.gz"
    own_file.write_bytes(base64.b64decode(central.truth["goroutine"]))
    diff = pprof(
        "-top", "-nodecount=0", "-diff_base", own_file, "-ignore=main.main"
    )
    assert re.search(r"flat%.*cum%\s*$", diff), diff
    top = pprof("-top", "-sample_index=stack_space")
    assert "Type: stack_space" in top and "runtime.gopark" in top


def test_same_bytes(central, tmp_path):
    """The same core gives the same file."""
    first, second = tmp_path / "a.pb.gz", tmp_path / "b.pb.gz"
    for path in (first, second):
        run = run_goref(central, [f"goref profile goroutine -o {path}"])
        assert run.rc == 0, run.stderr
    assert first.read_bytes() == second.read_bytes()
