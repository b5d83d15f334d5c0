# SPDX-License-Identifier: Apache-2.0
"""Cores that are torn or damaged: every answer says that it is partial."""

import json
import os
import re
import shutil

import pytest

import mutate
from asking import SCANNER
from plain import told as scripted
from session import run_cli
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")
# Where Go's heap begins on 64-bit Linux.
HEAP = 0xC000000000


@pytest.fixture(scope="module")
def core(farm):
    return farm.target("values", CENTRAL)


def test_torn_core_is_partial(core, tmp_path):
    torn = tmp_path / "torn"
    shutil.copy(core.core, torn)
    os.truncate(torn, torn.stat().st_size * 3 // 4)
    done = run_cli(["core", core.exe, torn])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(["core", core.exe, torn, "--json"])
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert not told["complete"] and "truncated" in told["partial"][0]


@pytest.fixture
def torn_core(core, tmp_path):
    torn = tmp_path / "torn"
    shutil.copy(core.core, torn)
    os.truncate(torn, torn.stat().st_size // 2)
    return torn


def test_why_of_a_torn_core(core, torn_core):
    place = next(iter(core.places.values()))
    done = run_cli(["core", core.exe, torn_core, "--why", place])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "not known" in done.stdout
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(["core", core.exe, torn_core, "--json", "--why", place])
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert not told["complete"] and "truncated" in told["partial"][0]


def skip_goroutine(core, points):
    """Its stack ends before it begins; of one that the runtime keeps."""
    high = points.layout["g.stack_hi"][0]
    core.put(points.gs[1] + high, 8)


def spoil_span(core, points):
    core.put(points.in_use[-1] + points.layout["mspan.npages"][0], 0)


def loop_threads(core, points):
    link = points.layout["m.alllink"][0]
    core.put(points.ms[-1] + link, points.ms[0])


def empty_spans(core, points):
    """No release keeps fewer than a few hundred."""
    spans = points.layout["mheap.allspans"][0]
    core.put(points.variable("mheap_") + spans + 8, 0)


@pytest.mark.parametrize(
    "damage, said",
    [
        (skip_goroutine, "1 goroutine could not be read"),
        (spoil_span, "1 span of the heap makes no sense"),
        (loop_threads, "lists and tables (runtime.allm) makes no sense"),
        (empty_spans, "lists and tables (mheap_.allspans) makes no sense"),
    ],
)
def test_why_of_a_core_with_gaps(core, tmp_path, damage, said):
    """Whatever a scan is partial for, an answer about one object is, too."""
    copy = tmp_path / "core"
    mutate.copy_sparse(core.core, copy)
    points = mutate.Points(SCANNER, core.exe, core.core)
    damaged = mutate.Core(copy)
    damage(damaged, points)
    damaged.close()
    place = next(iter(core.places.values()))
    line = ["core", core.exe, copy]
    scan = json.loads(run_cli([*line, "--json"]).stdout)
    assert len(scan["partial"]) == 1 and said in scan["partial"][0]
    done = run_cli([*line, "--why", place])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert f"PARTIAL: {scan['partial'][0]}: " in done.stdout
    done = run_cli([*line, "--json", "--why", place, "--why", "0x10"])
    assert done.returncode == 3
    for told in json.loads(done.stdout):
        assert not told["complete"] and told["partial"] == scan["partial"]


LOWER = "sizes are lower bounds"
UNCERTAIN = "retained sizes may be too small or too large"


@pytest.fixture
def spoilt_core(core, tmp_path):
    copy = tmp_path / "spoilt"
    mutate.copy_sparse(core.core, copy)
    points = mutate.Points(SCANNER, core.exe, core.core)
    damaged = mutate.Core(copy)
    spoil_span(damaged, points)
    damaged.close()
    return copy


@pytest.mark.parametrize(
    "question, consequence",
    [
        (["suspects"], UNCERTAIN),
        (["dominators"], UNCERTAIN),
        (["histogram"], LOWER),
        (["histogram", "--retained"], f"{LOWER}, {UNCERTAIN}"),
        (["scan"], LOWER),
        (["scan", "--retained"], f"{LOWER}, {UNCERTAIN}"),
        (["overview"], f"{LOWER}, {UNCERTAIN}"),
        (["objects"], "objects may be missing"),
        (["objects", "--addresses"], "objects may be missing"),
        (["objects", "--retained"], f"objects may be missing, {UNCERTAIN}"),
        (["why", "--type", "runtime.g"], LOWER),
    ],
    ids=" ".join,
)
def test_questions_to_the_graph(core, spoilt_core, question, consequence):
    """A gap is said, and what it means for the sizes that are shown."""
    reason = "1 span of the heap makes no sense"
    done = run_cli(["core", core.exe, spoilt_core, *question])
    assert done.returncode == 3, (done.stdout, done.stderr)
    said = f"PARTIAL: {reason}: {consequence}\n"
    assert said in done.stdout + done.stderr


@pytest.fixture
def heapless_core(core, tmp_path):
    """It ends where the heap begins."""
    copy = tmp_path / "heapless"
    mutate.copy_sparse(core.core, copy)
    whole = mutate.Core(copy)
    heap = whole.offset(HEAP)
    whole.close()
    os.truncate(copy, heap)
    return copy


@pytest.mark.parametrize("kind", ["torn_core", "spoilt_core", "heapless_core"])
def test_a_saved_file_has_the_same_gaps(core, kind, request, tmp_path):
    """save asks more than a scan, and counts what a scan counts."""
    file = tmp_path / "heap.goref"
    line = ["core", core.exe, request.getfixturevalue(kind)]
    expected = run_cli([*line, "scan", "--json"])
    done = run_cli([*line, "save", file, "--json"])
    assert done.returncode == expected.returncode == 3
    told = json.loads(expected.stdout)["partial"]
    assert json.loads(done.stdout)["partial"] == told
    opened = run_cli(["open", file, "scan", "--json"])
    assert json.loads(opened.stdout)["partial"] == told


def test_nothing_reached_is_no_answer(core, heapless_core):
    done = run_cli(["core", core.exe, heapless_core, "suspects"])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "no suspect" not in done.stdout
    assert done.stdout.startswith("suspects are not known: ")


def test_the_api_says_what_is_missing(core, spoilt_core):
    [text] = scripted(
        "import goref, json, sys; "
        "print(json.dumps(goref.core(*sys.argv[1:]).partial))",
        spoilt_core, core.exe,
    )  # fmt: skip
    assert "1 span of the heap makes no sense" in text


def test_verify_of_a_torn_core(core, torn_core):
    done = run_cli(["core", core.exe, torn_core, "--verify"])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1].startswith("not verified: ")
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(["core", core.exe, torn_core, "--verify", "--json"])
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert not told["complete"] and "truncated" in told["partial"][0]
    assert told["tool_version"]


def test_tables_in_the_missing_part(core, torn_core):
    said = run_cli(["core", core.exe, torn_core]).stdout
    assert "spans of the heap lay in that part" in said
    assert "make no sense" not in said
