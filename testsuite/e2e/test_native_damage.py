# SPDX-License-Identifier: Apache-2.0
"""Damage of what `goref native` reads: an answer in little time and memory, and
no block is called leaked that is not. GOREF_MUTATIONS is the number of damaged
cores, such as 2000."""

import os

import pytest

import mutate
import mutate_native
import natives
from asking import run_goref
from natives import CENTRAL

MUTANTS = int(os.environ.get("GOREF_MUTATIONS", "200"))
PARTS = 4


@pytest.fixture(scope="module")
def target(farm):
    return farm.target("native_leaks", CENTRAL, args=[str(natives.library())])


@pytest.fixture(scope="module")
def points(target):
    found = mutate_native.Points(target.exe, target.core)
    assert len(found.arenas) > 2 and len(found.chunks) > 1000
    assert found.par and found.bases
    return found


@pytest.fixture(scope="module")
def whole(target):
    return natives.leaks(target)


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants(target, points, whole, tmp_path, part):
    """There is an answer or one line of error, and never many more leaks than
    there are: a fast bin that is cut off tells nobody."""
    way = mutate.Way(points, mutate_native.damage, mutate_native.questions)
    count = MUTANTS // PARTS
    unchecked = answers = 0
    for answer in mutate.run(way, target, tmp_path, part * count, count):
        assert not mutate.is_bad(answer), answer
        leaked = answer.document.get("leaked_blocks")
        if leaked is None:
            continue
        answers += 1
        unchecked += leaked < whole["leaked_blocks"]
        is_cut = answer.kind in ("fast", "fast bins", "links", "entries")
        most = whole["leaked_blocks"] + (400 if is_cut else 2)
        assert leaked <= most, (answer.seed, answer.kind, leaked)
    assert answers > count / 2 and unchecked > count / 20


def test_interrupted(target, points, tmp_path):
    path = tmp_path / "core"
    for seed in range(20):
        mutate.restore(target.core, path)
        mutate_native.damage(path, points, seed)
        done = run_goref(
            "core", target.exe, path, "native", "leaks",
            max_seconds=mutate.MAX_SECONDS, interrupt_at=1 + seed,
        )  # fmt: skip
        assert done.returncode in (0, 1, 3, 130), done
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ("native", "native leaks", "histogram"))
def test_memory_limit(target, verb):
    """The answer needs more than that, and says so."""
    done = run_goref(
        "core", target.exe, target.core, "--memory-limit", "100k",
        *verb.split(), max_seconds=mutate.MAX_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1 and not done.stdout, done
    (line,) = done.stderr.splitlines()
    assert "(--memory-limit, or " in line
