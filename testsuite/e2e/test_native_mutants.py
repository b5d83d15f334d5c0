# SPDX-License-Identifier: Apache-2.0
"""Damage of what the allocators beside glibc keep: an answer in little time and
memory, and no block is called leaked that is not. GOREF_MUTATIONS is the number
of damaged cores of each, such as 500."""

import os

import pytest

import allocators
import mutate
import mutate_allocators
import natives
from asking import run_goref
from natives import CENTRAL
from test_native_others import target_of

MUTANTS = int(os.environ.get("GOREF_MUTATIONS", "60"))
PARTS = 2
ALLOCATORS = ["jemalloc", "tcmalloc", "mimalloc", "musl", "je"]
# A chunk of glibc beside, or a block of a thread that a word leads to.
MORE_LEAKS = 8
MORE_HELD = 400


@pytest.fixture(scope="module", params=ALLOCATORS)
def whole(request, farm):
    """The target, the places, and the leaks without damage."""
    how = "both" if request.param == "je" else "other"
    target = target_of(farm, request.param, CENTRAL.release, how=how)
    path = target.exe
    if request.param in allocators.INSTALLED:
        path = allocators.library(request.param)
    elif request.param == "musl":
        path = allocators.loader_of_musl()
    blocks = natives.reached(target)
    points = mutate_allocators.Points(target.core, path, blocks)
    assert len(points.places) > 2 and len(points.everywhere) > 1000
    return target, points, natives.leaks(target)["leaked_blocks"]


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants(whole, tmp_path, part):
    target, points, leaked = whole
    way = mutate_allocators.way_of(points)
    count = MUTANTS // PARTS
    answers = unchecked = 0
    for answer in mutate.run(way, target, tmp_path, part * count, count):
        assert not mutate.is_bad(answer), answer
        found = answer.document.get("leaked_blocks")
        if found is None:
            continue
        answers += 1
        unchecked += found < leaked
        # The program's own data and stacks also hold blocks.
        is_own = points.path == target.exe or answer.kind > "depth 1"
        most = leaked + (MORE_HELD if is_own else MORE_LEAKS)
        assert found <= most, (answer.seed, answer.kind, found)
    assert answers > count / 2
    assert unchecked > count / 50 or MUTANTS < 150


def test_interrupted(whole, tmp_path):
    target, points, _ = whole
    path = tmp_path / "core"
    for seed in range(20):
        mutate.restore(target.core, path)
        mutate_allocators.damage(path, points, seed)
        done = run_goref(
            "core", target.exe, path, "native", "leaks",
            max_seconds=mutate.MAX_SECONDS, interrupt_at=1 + seed,
        )  # fmt: skip
        assert done.returncode in (0, 1, 3, 130), done
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ("native", "native leaks"))
def test_memory_limit(whole, verb):
    target = whole[0]
    done = run_goref(
        "core", target.exe, target.core, "--memory-limit", "100k",
        *verb.split(), max_seconds=mutate.MAX_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1 and not done.stdout, done
    (line,) = done.stderr.splitlines()
    assert "(--memory-limit, or " in line
