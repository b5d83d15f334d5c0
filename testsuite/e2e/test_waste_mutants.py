# SPDX-License-Identifier: Apache-2.0
"""Cores whose strings, slices and maps make no sense: `goref waste' answers, in
little time and memory, and says in one line what it could not use.
GOREF_MUTATIONS=1000 for the long run."""

import json
import os
import random

import pytest

import mutate
import mutate_waste
import saved_file
from session import run_cli, run_goref
from toolchains import RELEASES, variants

NCORES = 42  # of all releases
CHECKS = 15
# Their rows are what would be unreachable.
HOLDERS = (
    "stuck-finalizer",
    "context-children",
    "far-timers",
    "library-tax",
)
KINDS = [kind.__name__ for kind in mutate_waste.KINDS]


@pytest.fixture(scope="module")
def mixed(farm):
    """mixed(variant): the core, and how it is damaged."""
    made = {}

    def make(variant):
        if variant not in made:
            args = mutate_waste.MIX
            target = farm.target("wastes", variant, args=args)
            made[variant] = target, mutate_waste.way_of(target)
        return made[variant]

    return make


def whole(document):
    """The answer adds up."""
    rows = document["checks"]
    total = document["total_bytes"]
    room = document["heap_bytes"] + document["stack_bytes"]
    assert total <= room
    saved = [row["bytes"] for row in rows if row["check"] != "gc-headroom"]
    held = [row for row in rows if row["check"] in HOLDERS]
    # Memory that only several of them hold is in the total, and in no row.
    if len(held) < 2:
        assert total <= sum(saved)
    # The most that a row saves of an object is in the total.
    if not held:
        assert total >= max(saved, default=0)
    for row in rows:
        assert 0 <= row["bytes"] <= room, row
        assert row["count"] > 0 or not row["bytes"], row
    assert [row["bytes"] for row in rows] == sorted(
        (row["bytes"] for row in rows), reverse=True
    )


@variants("default")
def test_damaged_cores(mixed, variant, tmp_path):
    target, way = mixed(variant)
    count = int(os.environ.get("GOREF_MUTATIONS", NCORES)) // len(RELEASES)
    first = RELEASES.index(variant.release) * count
    broken = crowded = 0
    for answer in mutate.run(way, target, tmp_path, first, count):
        assert not mutate.is_bad(answer), answer
        may_end = any(word in answer.question.text for word in mutate.ENDS)
        assert not answer.error or may_end, answer
        if answer.document and not answer.error:
            whole(answer.document)
            broken += answer.document["broken_views"]
            crowded += answer.document["crowded_arrays"]
            if answer.kind == "strings":
                assert answer.document["broken_views"], answer
    assert broken
    assert crowded or count < len(KINDS)


@pytest.mark.parametrize("kind", ["strings", "lengths"])
@variants(newest=("default",))
def test_one_line(mixed, variant, kind, tmp_path):
    """Views that make no sense are one line of the answer, however many."""
    target, way = mixed(variant)
    damaged = tmp_path / "damaged"
    mutate.copy_sparse(target.core, damaged)
    core = mutate.Core(damaged)
    fields = getattr(mutate_waste, "STRINGS" if kind == "strings" else "SLICES")
    for field in fields:
        for at in way.points.headers[field]:
            core.put(at + mutate_waste.WORD, 1 << 40)
    core.close()
    whole_text = run_goref(target, ["goref waste"]).parts[0]
    damaged_target = target.__class__(
        target.kind, target.exe, target.truth, core=damaged
    )
    run = run_goref(damaged_target, ["goref waste", "goref waste --json"])
    assert run.rc in (0, 3), run.stderr
    told = [line for line in run.parts[0].splitlines() if "no sense" in line]
    assert len(told) <= 1, run.parts[0]
    assert run.json(1)["broken_views"] >= 100
    before = len(whole_text.splitlines())
    assert len(run.parts[0].splitlines()) < before + 40


WASTE = ("waste", "--json", "--min-share", "0%")


def words_of(target):
    """The words of all objects that are not the runtime's own, without which a
    file cannot be opened."""
    run = run_goref(target, ["goref objects --json"])
    assert run.rc == 0, run.stderr
    found = set()
    for each in run.json()["objects"]:
        if "runtime." not in (each["type"] or ""):
            start = int(each["address"], 16)
            found.update(range(start, start + each["bytes"], 8))
    return found


@pytest.mark.parametrize("mode", ["pool", "mix-shared 1 20000"])
@variants(newest=("default",))
def test_files_that_lack_words(farm, variant, mode, tmp_path):
    """A damaged saved file may lack words of the heap: checks leave out what
    they need them for, and none of them ends the answer."""
    target = farm.target("wastes", variant, args=mode.split())
    complete, damaged = tmp_path / "complete", tmp_path / "damaged"
    run = run_goref(target, [f"goref save {complete}"])
    assert run.rc == 0, run.stderr
    head, frames = saved_file.read(complete.read_bytes())
    words = words_of(target)
    for seed, share in enumerate((0.1, 1)):
        rng = random.Random(seed)
        lost = {word for word in sorted(words) if rng.random() < share}
        left = saved_file.without(frames, lost.__contains__)
        damaged.write_bytes(saved_file.write(head, left))
        done = run_cli(["open", damaged, *WASTE])
        assert done.returncode in (0, 3), (share, done.stderr)
        whole(json.loads(done.stdout))
