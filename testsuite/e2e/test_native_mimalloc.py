# SPDX-License-Identifier: Apache-2.0
"""goref native in programs whose malloc is mimalloc's: each block that is held
is found with its size, and none that was freed."""

import bisect
import json
import os
import random
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import allocators
import mutate
import natives
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variants

VERSION = "2.0.9"  # Debian 12's
# mimalloc reads these. Some of them change where segments lie, and when their
# memory is given back.
SETTINGS = {
    "given back at once": {"MIMALLOC_DECOMMIT_DELAY": "0"},
    "committed when needed": {"MIMALLOC_EAGER_COMMIT": "0"},
    "pages reset": {"MIMALLOC_PAGE_RESET": "1"},
    "reserved before": {"MIMALLOC_RESERVE_OS_MEMORY": "1GiB"},
    "large pages": {"MIMALLOC_LARGE_OS_PAGES": "1"},
    "no cache": {"MIMALLOC_SEGMENT_CACHE": "0"},
    "never abandoned": {"MIMALLOC_ABANDONED_PAGE_DECOMMIT": "1"},
}
# Fields of a segment and of a page of 2.0.9.
SEGMENT, SLICE = 32 << 20, 64 << 10
COOKIE, ENTRIES, SLICES, PAGE = 216, 248, 264, 80
HEAP_WORDS = 3056 // 8
THREAD_FREE, DELAYED_FREE = 40, 2840
MUTANTS = 30
FEWER = ["4", "20000", allocators.OTHER]


def mimalloc(farm, variant, args=allocators.FEW, **how):
    env = allocators.preloaded("mimalloc", **how.pop("env", {}))
    return farm.target("native_heap", variant, args=args, env=env, **how)


def to_slots(truth, found):
    """Take the blocks of the truth for the slots that they lie in. An aligned
    block may begin inside of one: its usable bytes end with the slot."""
    starts = sorted(found)
    slots = {}
    for address, bytes_ in truth.blocks.items():
        start = starts[bisect.bisect(starts, address) - 1]
        assert address == start or address % 32 == 0, hex(address)
        assert start <= address < start + found[start], hex(address)
        slots[start] = address + bytes_ - start
    assert len(slots) == len(truth.blocks)
    inside = slots.keys() - truth.blocks.keys()
    assert len(inside) < len(slots) // 10
    truth.freed -= slots.keys()
    truth.blocks = slots


def check(target, version=VERSION):
    truth = allocators.Truth(target)
    found = natives.reached(target)
    to_slots(truth, found)
    allocators.check_blocks(truth, found)
    allocator = allocators.the_one(target, "mimalloc")
    assert allocator["version"] == version
    others = allocator["in_use_blocks"] - truth.told["blocks"]
    assert 0 <= others <= allocators.OTHER_BLOCKS
    allocators.check_sums(allocator)
    # Each block that is wrongly in use would be one that nothing holds.
    document = natives.leaks(target)
    assert document["leaked_blocks"] <= allocators.OTHER_BLOCKS // 8
    assert document["unchecked_arenas"] == 0
    allocators.check_verified(target, "mimalloc")
    kinds = {arena["kind"] for arena in allocator["arena_list"]}
    assert {"main", "thread"} <= kinds <= {"main", "thread", "abandoned"}
    return truth


@variants("cgo")
def test_few(farm, variant):
    check(mimalloc(farm, variant))


def test_million_operations(farm):
    truth = check(mimalloc(farm, CENTRAL, args=allocators.MANY))
    assert len(truth.blocks) > 100_000 and len(truth.freed) > 50_000


@pytest.mark.parametrize("env", SETTINGS.values(), ids=SETTINGS)
def test_settings(farm, env):
    check(mimalloc(farm, CENTRAL, env=env))


def test_core_of_gdb(farm):
    check(mimalloc(farm, CENTRAL, kind="gcore"))


@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]])
def test_process(farm, release):
    """It is left as it was, and looked at again; and a fork of it."""
    skip_if(attach_reason())
    target = mimalloc(farm, Variant(release, "cgo"), kind="live")
    check(target)
    check(target)
    check(natives.snapshot_of(target))
    assert target.process.popen.poll() is None


def test_child_of_fork(farm, tmp_path):
    """It has one thread, and the segments of all others."""
    skip_if(attach_reason())
    args = [*allocators.FEW, "fork"]
    parent = mimalloc(farm, CENTRAL, args=args, kind="live", fresh=True)
    process = SimpleNamespace(
        pid=parent.truth["child"], folder=parent.folder
    )
    child = replace(parent, process=process)
    check(child)
    allocators.check_saved(child, tmp_path)


def test_saved(farm, tmp_path):
    allocators.check_saved(mimalloc(farm, CENTRAL), tmp_path)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_torn_core(farm, tmp_path, part):
    """An arena that is not whole is not checked, and has no leaks."""
    whole = mimalloc(farm, CENTRAL)
    torn = tmp_path / "torn"
    shutil.copy(whole.core, torn)
    os.truncate(torn, int(torn.stat().st_size * part))
    done = run_cli(["core", whole.exe, torn, "native", "leaks", "--json"])
    assert done.returncode in (1, 3), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 3:
        leaked = json.loads(done.stdout)["leaked_blocks"]
        assert (leaked or 0) <= allocators.OTHER_BLOCKS


# ------------------------------------------------------------------- versions


def version_code(version):
    """The code of mi_version()."""
    return b"\xb8" + struct.pack("<I", version) + b"\xc3"


@pytest.mark.parametrize(
    "version, name", [(187, "1.8.7"), (207, "2.0.7"), (20402, "2.4.2")]
)
def test_refused(farm, tmp_path, version, name):
    """A version that nobody has tested has one line, and no blocks."""
    data = Path(allocators.library("mimalloc")).read_bytes()
    assert data.count(version_code(209)) == 1
    copy = tmp_path / "libmimalloc.so.2"
    copy.write_bytes(data.replace(version_code(209), version_code(version)))
    env = {"LD_PRELOAD": str(copy)}
    target = farm.target("native_heap", CENTRAL, args=FEWER, env=env)
    check_refused(target, name, tmp_path)


def check_refused(target, name, folder):
    refusal = "is not supported (goref reads 2.0.9 to 2.4.1)"
    [allocator] = [
        row
        for row in natives.native(target, status=3)["allocators"]
        if row["name"] == "mimalloc"
    ]
    assert (allocator["version"], allocator["refusal"]) == (name, refusal)
    assert allocator["arenas"] == allocator["in_use_blocks"] == 0
    done = run_cli([*natives.where(target), "native"])
    assert f"mimalloc {name} {refusal}" in done.stdout
    assert natives.leaks(target, status=3)["leaked_blocks"] == 0
    # A saved file says the same.
    file = folder / "saved.goref"
    done = run_cli([*natives.where(target), "save", file])
    assert done.returncode in (0, 3), done.stderr
    before = natives.native(target, status=3)["allocators"]
    done = run_cli(["open", file, "native", "--json"])
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["allocators"] == before


def test_third_major_version(farm, tmp_path):
    """Debian 13 has mimalloc 3, whose segments are no such segments."""
    env = {"LD_PRELOAD": allocators.library("mimalloc-3")}
    target = farm.target("native_heap", CENTRAL, args=FEWER, env=env)
    check_refused(target, "3.0.1", tmp_path)


HOLDER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
void *held_by_copy[COUNT];
__attribute__((constructor)) static void begin(void)
{
	int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
	void *copy = dlopen(getenv("COPY"), flags);
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(copy, "mi_malloc");

	for (size_t i = 0; i < COUNT; i++)
		held_by_copy[i] = allocate(8 * (i + 1));
}
"""
COUNT = 1000


def test_two_copies(farm, tmp_path):
    """Each has a main heap of its own, and the segments with its cookie."""
    copy = tmp_path / "copy-of-mimalloc.so"
    copy.write_bytes(Path(allocators.library("mimalloc")).read_bytes())
    holder = natives.compiled("copy", f"#define COUNT {COUNT}\n{HOLDER}")
    env = allocators.preloaded("mimalloc", COPY=str(copy))
    env["LD_PRELOAD"] += f":{holder}"
    target = farm.target("native_heap", CENTRAL, args=FEWER, env=env)
    truth = allocators.Truth(target)
    rows = [
        row
        for row in natives.native(target)["allocators"]
        if row["name"] == "mimalloc"
    ]
    assert [row["version"] for row in rows] == [VERSION] * 2
    assert all(row["checked"] for row in rows)
    few, many = sorted(row["in_use_blocks"] for row in rows)
    assert few == COUNT
    assert 0 <= many - truth.told["blocks"] <= allocators.OTHER_BLOCKS
    [bytes_] = {row["in_use_bytes"] for row in rows
                if row["in_use_blocks"] == few}  # fmt: skip
    assert bytes_ >= sum(8 * (i + 1) for i in range(COUNT))
    assert natives.leaks(target)["leaked_blocks"] <= allocators.OTHER_BLOCKS


# --------------------------------------------------------------------- damage


class Points:
    """Words of the structures in a core: {name: addresses}."""

    def __init__(self, core, heaps):
        self.segments = list(self._segments(core))
        pages = [page for at in self.segments for page in spans(core, at)]
        used = [page for page in pages if core.u64(page + 24) >> 33]
        links = [core.u64(page + 16) for page in used]
        self.places = {
            "headers": [at + 8 * i for at in self.segments
                        for i in range(23, SLICES // 8)],
            "pages": [page + 8 * i for page in used for i in range(10)],
            "spans": pages,
            "heaps": [heap + 8 * i for heap in heaps
                      for i in range(HEAP_WORDS)],
            "links": [link for link in links if link],
        }  # fmt: skip
        # No counter has these lists: a shorter one is no contradiction.
        self.uncounted = {page + THREAD_FREE for page in used}
        self.uncounted |= {heap + DELAYED_FREE for heap in heaps}
        self.everywhere = [w for words in self.places.values() for w in words]

    @staticmethod
    def _segments(core):
        """By the cookie that most of the places have where one may be."""
        places = [
            at
            for start, _, size in core.segments
            for at in range(-start % SEGMENT + start, start + size, SEGMENT)
        ]
        cookies = [core.u64(at + COOKIE) ^ at for at in places]
        cookie = max(set(cookies), key=cookies.count)
        return [at for at, word in zip(places, cookies) if word == cookie]

    def damage(self, core, seed):
        rng = random.Random(seed)
        kind = sorted(self.places)[seed % len(self.places)]
        at = rng.choice(self.places[kind])
        old = core.u64(at)
        new = rng.choice(
            (
                0, 1, 1 << 63, old + 1, old - 1, old + 8, old ^ 1 << 32,
                old ^ 1 << rng.randrange(64), rng.getrandbits(64),
                old + SLICE, old + SEGMENT, old << 1,
                rng.choice(self.everywhere), rng.choice(self.segments),
                core.u64(rng.choice(self.places[kind])),
            )
        )  # fmt: skip
        core.put(at, new)
        is_counted = at not in self.uncounted
        return f"{kind}: {old:#x} at {at:#x} is {new:#x}", is_counted


def spans(core, segment):
    """The pages and the free spans of a segment."""
    i = 1
    while i < core.u64(segment + ENTRIES):
        yield segment + SLICES + PAGE * i
        i += core.u64(segment + SLICES + PAGE * i) & 0xFFFFFFFF


def arenas(document):
    return {
        (arena["kind"], arena["address"]): arena
        for allocator in document["allocators"]
        if allocator["name"] == "mimalloc"
        for arena in allocator["arena_list"]
        if arena["checked"]
    }


def test_damage(farm, tmp_path):
    """Where a word of the structures is another one, the arena has the same
    blocks, or it is not checked."""
    target = mimalloc(farm, CENTRAL, args=FEWER)
    whole = arenas(natives.native(target))
    path = tmp_path / "core"
    mutate.restore(target.core, path)
    core = mutate.Core(path)
    points = Points(core, [int(address, 16) for _, address in whole])
    core.close()
    assert len(points.segments) >= 4 and len(points.places["pages"]) > 1000
    noticed = 0
    for seed in range(MUTANTS):
        mutate.restore(target.core, path)
        core = mutate.Core(path)
        what, is_counted = points.damage(core, seed)
        core.close()
        done = run_cli(["core", target.exe, path, "native", "--json"])
        assert done.returncode in (0, 3), (what, done.stderr)
        found = arenas(json.loads(done.stdout))
        noticed += len(found) < len(whole)
        for key, arena in found.items():
            if key not in whole:
                assert not arena["in_use_blocks"], (what, key)
                continue
            for name in "in_use_blocks", "in_use_bytes":
                now, before = arena[name], whole[key][name]
                assert now >= before, (what, key)
                assert now == before or not is_counted, (what, key)
    assert noticed > MUTANTS / 3
