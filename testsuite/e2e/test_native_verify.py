# SPDX-License-Identifier: Apache-2.0
"""goref verify of C memory: what was found against malloc's own counters and
what the program says; a counter that is wrong, and threads in malloc."""

import json
import os
import re
import shutil
from collections import Counter

import pytest

import glibcs
import mutate
import mutate_native
import natives
import test_native
import test_native_leaks
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import variants

STOPS = int(os.environ.get("GOREF_STOPS", "3"))
FREED = 100  # of native_leaks, in memory that is still malloc's
# Words of libc that lead to its own structures in the heap.
OTHER_WORDS = 8
COUNTS, MMAPPED = 56, 80  # of malloc_par since 2.35: of n_mmaps, mmapped_mem


def verified(target, status=0):
    return natives.asked(target, "verify", status=status)


def rows(document):
    """The arenas of the allocator, and the row of what is mapped."""
    [allocator] = document["allocators"]
    assert allocator["name"] == "glibc"
    mapped = [row for row in allocator["arenas"] if row["kind"] == "mmap"]
    arenas = [row for row in allocator["arenas"] if row["kind"] != "mmap"]
    return arenas, mapped[0] if mapped else None


def counter(row, name):
    """The count of malloc, and the same as goref found it."""
    [found] = [c for c in row["counters"] if c["counter"] == name]
    return found["read"], found["rebuilt"]


def check_counters(target):
    """malloc_info() and mallinfo() say the same."""
    truth, document = test_native.Truth(target), verified(target)
    text = (target.folder / "malloc_info").read_text()
    told = re.findall('<system type="current" size="([0-9]+)"/>', text)
    arenas, mapped = rows(document)
    read = [counter(row, "system_mem")[0] for row in arenas]
    # The last one is the sum.
    new = Counter(read) - Counter(map(int, told[:-1]))
    new_bytes = truth.new_bytes(len(read))
    assert sum(size * count for size, count in new.items()) == new_bytes
    assert set(new) <= {test_native.NEW_ARENA}
    for row in arenas:
        read_, rebuilt = counter(row, "system_mem")
        assert read_ == rebuilt
    info = truth.told["mallinfo"]
    assert sum(read) == info["arena"] + new_bytes
    if mapped:
        assert counter(mapped, "n_mmaps") == (info["hblks"],) * 2
        assert counter(mapped, "mmapped_mem") == (info["hblkhd"],) * 2
    assert mapped or not info["hblks"]
    check_blocks(truth, [*arenas, *([mapped] if mapped else [])])
    assert document["unexplained"] == 0


def check_blocks(truth, arenas):
    """All that the program holds is in use, and reached."""
    assert all(row["checked"] and not row["reason"] for row in arenas)
    for key in "in_use_blocks", "reached_blocks":
        more = sum(row[key] for row in arenas) - truth.told["blocks"]
        assert 0 <= more <= natives.OTHER_BLOCKS
    for key in "in_use_bytes", "reached_bytes":
        more = sum(row[key] for row in arenas) - truth.told["bytes"]
        assert 0 <= more <= natives.OTHER_BYTES


@variants("cgo")
def test_counters(farm, variant):
    check_counters(farm.target("native_heap", variant))


@pytest.mark.parametrize("glibc", glibcs.GLIBCS)
def test_counters_of_other_glibc(farm, glibc):
    variant = glibcs.variant(CENTRAL.release, glibc)
    args = test_native.FEW
    check_counters(farm.target("native_heap", variant, args=args))


def test_counters_of_a_core_of_gdb(farm):
    args = test_native.FEW
    check_counters(farm.target("native_heap", CENTRAL, "gcore", args=args))


@pytest.mark.parametrize("is_snapshot", [False, True])
def test_counters_of_a_process(farm, is_snapshot):
    skip_if(attach_reason())
    args = test_native.FEW
    target = farm.target("native_heap", CENTRAL, "live", args=args)
    check_counters(natives.snapshot_of(target) if is_snapshot else target)


@pytest.mark.parametrize("how", ["no mappings", "foreign break"])
def test_settings(farm, how):
    if how == "no mappings":
        env, args = test_native.SETTINGS[how], test_native.FEW
    else:
        env, args = {"MALLOC_ARENA_MAX": "1"}, ["4", "200000", "brk"]
    check_counters(farm.target("native_heap", CENTRAL, args=args, env=env))


# -------------------------------------------------------------- what is held


@pytest.fixture(scope="module")
def target(farm):
    return test_native_leaks.planted(farm, CENTRAL)


def test_leaks_are_no_error(target):
    """They are counted; the addresses of freed blocks, too."""
    document, leaked = verified(target), natives.leaks(target)
    arenas, mapped = rows(document)
    blocks = sum(row["in_use_blocks"] for row in [*arenas, mapped])
    reached = sum(row["reached_blocks"] for row in [*arenas, mapped])
    assert blocks - reached == leaked["leaked_blocks"] > 1750
    whole = sum(row["in_use_bytes"] for row in [*arenas, mapped])
    held = sum(row["reached_bytes"] for row in [*arenas, mapped])
    assert whole - held == leaked["leaked_bytes"]
    assert FREED <= document["free_c_words"] <= FREED + OTHER_WORDS
    assert document["free_c_pointers"] == 0


def test_saved(target, tmp_path):
    saved = tmp_path / "saved"
    words = natives.where(target)
    done = run_cli([*words, "save", saved])
    assert done.returncode == 0, done.stderr
    done = run_cli(["open", saved, "verify", "--json"])
    assert done.returncode == 0, done.stderr
    found, plain = json.loads(done.stdout), verified(target)
    for key in "allocators", "free_c_pointers", "free_c_words", "unexplained":
        assert found[key] == plain[key]


def test_text(target):
    done = run_cli([*natives.where(target), "verify"])
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"C memory: [0-9,]+ blocks in use, of which [0-9,]+ are not reached "
        r"\(`native leaks'\)",
        line,
    )


def test_pointers_to_free_memory(farm):
    """Go keeps the addresses of blocks that it has freed."""
    target = farm.target("native_bulk", CENTRAL)
    document = verified(target)
    assert document["free_c_pointers"] == target.truth["stale"] == 5
    assert document["unexplained"] == 0


@variants("default", releases=("go1.24",))
def test_no_c_memory(farm, variant):
    target = farm.target("rest", variant)
    assert verified(target)["allocators"] == []
    done = run_cli([*natives.where(target), "verify"])
    assert "C memory" not in done.stdout


# -------------------------------------------------------- wrong, or in motion


def low(word, more):
    """The word with another lower half."""
    return word & ~0xFFFFFFFF | (word + more) & 0xFFFFFFFF


def wrong(points, core, what):
    """The kind of the arena, the place of its counter, and a wrong value."""
    if what == "n_mmaps":
        place = points.par + COUNTS + 4
        return "mmap", place, low(core.u64(place), -1)
    if what == "mmapped_mem":
        place = points.par + MMAPPED
        return "mmap", place, core.u64(place) - 4096
    place = points.arenas[what == "thread"] + mutate_native.SYSTEM
    return what, place, core.u64(place) + 4096


@pytest.fixture(scope="module")
def points(target):
    if target.truth["glibc"] < "2.35":
        pytest.skip("malloc_par has other places")
    return mutate_native.Points(target.exe, target.core)


def mutated(target, tmp_path, change):
    """The target with another core, which change() has made."""
    path = tmp_path / "core"
    shutil.copy(target.core, path)
    core = mutate.Core(path)
    told = change(core)
    core.close()
    return type(target)("core", target.exe, target.truth, core=path), told


@pytest.mark.parametrize("what", ["main", "thread", "n_mmaps", "mmapped_mem"])
def test_wrong_counter(target, points, tmp_path, what):
    """The arena is named, and the status says so."""

    def change(core):
        kind, place, value = wrong(points, core, what)
        core.put(place, value)
        return kind

    changed, kind = mutated(target, tmp_path, change)
    document = verified(changed, status=1)
    [allocator] = document["allocators"]
    assert not allocator["checked"] and document["unexplained"] == 1
    [row] = [row for row in allocator["arenas"] if not row["checked"]]
    assert row["kind"] == kind and row["reason"]
    assert row["explanation"] is None and row["reached_blocks"] is None
    read, rebuilt = counter(row, what if kind == "mmap" else "system_mem")
    assert read != rebuilt
    if kind != "mmap":
        assert int(row["address"], 16) == points.arenas[what == "thread"]
    done = run_cli([*natives.where(changed), "verify"])
    assert done.returncode == 1
    assert "NO EXPLANATION" in done.stdout and "NOT verified" in done.stdout


def test_lock_explains(target, points, tmp_path):
    """A thread may have been about to count."""
    arena = points.arenas[1]

    def change(core):
        _, place, value = wrong(points, core, "thread")
        core.put(place, value)
        core.put(arena, low(core.u64(arena), 1))

    changed, _ = mutated(target, tmp_path, change)
    document = verified(changed)
    [row] = [row for row in rows(document)[0] if not row["checked"]]
    assert int(row["address"], 16) == arena
    assert row["explanation"] == "a thread has its lock"
    assert document["unexplained"] == 0


def test_threads_in_malloc(farm):
    """At any moment, nothing is called wrong, and no block leaked."""
    skip_if(attach_reason())
    args = ["1000", "1000", "0", "2"]
    target = farm.target("native_bulk", CENTRAL, "live", args, fresh=True)
    for _ in range(max(4, STOPS)):
        document = verified(target)
        assert document["unexplained"] == 0
        for row in rows(document)[0]:
            assert row["checked"] or row["explanation"]
            assert row["reached_blocks"] in (None, row["in_use_blocks"])
