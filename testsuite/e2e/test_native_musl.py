# SPDX-License-Identifier: Apache-2.0
"""C memory of musl's malloc: each block that a program holds is found, and none
that it has freed, in dynamic and static programs."""

import random
import re
import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest

import allocators
import mutate
import mutate_native
import natives
from targets import attach_reason, skip_if
from test_native_leaks import PLACES
from test_native_others import NOT_IN_MUSL, check, target_of

STOPS = 8  # of a process whose threads allocate
DAMAGED = 12  # cores of each kind of structure
RELEASES = "go1.19", "go1.27"
EVERY = pytest.mark.parametrize("release", RELEASES)
BOTH = pytest.mark.parametrize("is_static", [False, True])


def is_slot(usable, found):
    """malloc_usable_size() tells what was asked for; the slot has 4 bytes more
    at least, and is no larger than the program pays for."""
    return usable + 4 <= found


def heap(farm, release, is_static=False, kind="core", args=allocators.FEW):
    variant = allocators.musl(release, is_static)
    return farm.target("native_heap", variant, kind, args)


@EVERY
@BOTH
def test_million_operations(farm, release, is_static):
    target = heap(farm, release, is_static, args=allocators.MANY)
    truth = allocators.check(target, "musl", is_right=is_slot)
    assert len(truth.blocks) > 100_000 and len(truth.freed) > 50_000


@EVERY
@BOTH
@pytest.mark.parametrize("kind", ["gcore", "live", natives.SNAPSHOT])
def test_ways(farm, release, is_static, kind):
    is_live = kind != "gcore"
    if is_live:
        skip_if(attach_reason())
    target = heap(farm, release, is_static, "live" if is_live else kind)
    if kind == natives.SNAPSHOT:
        target = natives.snapshot_of(target)
    allocators.check(target, "musl", is_right=is_slot)


@EVERY
@BOTH
def test_version(farm, release, is_static):
    """A static program lacks its text."""
    allocator = allocators.the_one(heap(farm, release, is_static), "musl")
    found = re.fullmatch(r"1\.2\.[1-9].*", allocator["version"] or "")
    assert bool(found) != is_static


@BOTH
@pytest.mark.parametrize("kind", ["core", "live"])
def test_saved(farm, tmp_path, is_static, kind):
    if kind == "live":
        skip_if(attach_reason())
    target = heap(farm, "go1.27", is_static, kind)
    allocators.check_saved(target, tmp_path)


@BOTH
def test_child(farm, is_static):
    """fork() copies the heap; the child has one thread."""
    skip_if(attach_reason())
    args = [*allocators.FEW, "fork"]
    parent = heap(farm, "go1.27", is_static, "live", args)
    child = SimpleNamespace(
        pid=parent.truth["child"], folder=parent.process.folder
    )
    allocators.check(replace(parent, process=child), "musl", is_right=is_slot)


# -------------------------------------------------------------------- places

ALL = (1 << 64) - 1


@BOTH
def test_leaks_in_a_core_of_gdb(farm, is_static):
    """The planted leaks, and no others."""
    allocator = "musl-static" if is_static else "musl"
    target = target_of(farm, allocator, "go1.27", "gcore")
    check(target, set(PLACES) - NOT_IN_MUSL - {"library"}, is_exact=False)


@pytest.mark.parametrize("kind", ["core", "live"])
@EVERY
@BOTH
def test_places(farm, release, is_static, kind):
    """The variables of the first thread, which have a block of their own in a
    dynamic program; a block in the rest of a page of data; and a thread that
    has ended: its result counts, and its stack does not."""
    variant = allocators.musl(release, is_static)
    target = farm.target("native_musl", variant, kind)
    held = natives.reached(target).keys()
    for name, address in target.truth["kept"].items():
        assert address ^ ALL in held, name
    assert target.truth["left"] ^ ALL not in held
    # The loader of a dynamic program gives such memory to malloc.
    pairs = [[a ^ ALL, b ^ ALL] for a, b in target.truth["lost"]]
    assert bool(pairs) != is_static
    leaked = [pair for pair in pairs if pair[0] not in held]
    assert bool(leaked) != is_static
    assert not {held_by for _, held_by in leaked} & held
    document = natives.leaks(target)
    assert document["leaked_blocks"] == 1 + 2 * len(leaked)


# -------------------------------------------------------------------- damage

AREA, NMETAS, META = 4096, 101, 40
HEAD = 56  # of malloc_context: the first meta area
CONTEXT = 928  # its bytes


def find_context(core):
    """Its first word is in the first meta area, too."""
    for flags, address, offset, size in mutate_native.segments(core):
        if not flags & 2:
            continue
        words = struct.unpack_from(f"<{size // 8}Q", core.data, offset)
        for i in range(7, len(words)):
            area, secret = words[i], words[i - 7]
            if not area or area % AREA or words[i - 6] & 0xFFFFFFFF != 1:
                continue
            if core.offset(area) is None or core.u64(area) != secret:
                continue
            if core.u64(area + 16) & 0xFFFFFFFF == NMETAS:
                return address + 8 * i - HEAD
    raise AssertionError("the core has no malloc_context")


class Structures:
    """Addresses of the words that musl keeps, by what they are."""

    def __init__(self, target):
        core = mutate.Core(target.core)
        context = find_context(core)
        areas, metas, groups = [], [], []
        area = core.u64(context + HEAD)
        while area:
            areas += [area, area + 8, area + 16]
            for at in range(area + 24, area + 24 + NMETAS * META, META):
                if core.u64(at + 16):
                    metas += range(at, at + META, 8)
                    groups.append(core.u64(at + 16))
            area = core.u64(area + 8)
        core.close()
        blocks = allocators.Truth(target).blocks
        self.words = {
            # Behind its counters, it has heuristics and the break.
            "context": [context + 8 * i for i in (0, 1, 2, 3, 4, 7, 8)]
            + list(range(context + 80, context + 848, 8)),
            "areas": areas,
            "metas": metas,
            "groups": groups,
            "headers": [block - 8 for block in blocks],
        }


def changed(rng, core, address):
    old = core.u64(address)
    return rng.choice(
        (
            0, 1, (1 << 64) - 1, address, rng.getrandbits(64),
            old ^ 1 << rng.randrange(64), old ^ 1 << rng.randrange(64),
            old ^ 1 << rng.randrange(32, 64), old + 16, old - 16, old + 40,
        )
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["context", "areas", "metas", "groups",
                                  "headers"])  # fmt: skip
def test_damage(farm, tmp_path, kind):
    """One changed word: nothing is found, or the arena is not checked, or its
    blocks are the true ones."""
    target = heap(farm, "go1.27")
    truth = allocators.Truth(target)
    words = Structures(target).words[kind]
    path = tmp_path / "core"
    unchecked = 0
    for seed in range(DAMAGED):
        rng = random.Random(f"{kind} {seed}")
        mutate.restore(target.core, path)
        core = mutate.Core(path)
        address = rng.choice(words)
        core.put(address, changed(rng, core, address))
        core.close()
        damaged = replace(target, core=path)
        found = natives.native(damaged)["allocators"]
        if not found or not found[0]["checked"]:
            unchecked += 1
            continue
        reached = natives.reached(damaged)
        allocators.check_blocks(truth, reached, is_slot)
    assert unchecked > DAMAGED // 4


# -------------------------------------------------------------------- motion

USAGE = 464  # of malloc_context: counters by class


@BOTH
def test_wrong_counter(farm, tmp_path, is_static):
    """Code of Go that runs explains nothing, also where it is in one file with
    the allocator."""
    variant = allocators.musl("go1.27", is_static)
    target = farm.target("native_musl", variant, args=["busy"])
    path = tmp_path / "core"
    mutate.copy_sparse(target.core, path)
    core = mutate.Core(path)
    place = find_context(core) + USAGE
    core.put(place, core.u64(place) + 1)
    core.close()
    document = natives.asked(
        replace(target, core=path), "verify", status=1
    )
    [allocator] = document["allocators"]
    [row] = allocator["arenas"]
    assert not row["checked"] and row["explanation"] is None
    assert row["reason"] == "its count of slots differs from what was found"
    [counter] = row["counters"]
    assert counter["counter"] == "usage_by_class"
    assert counter["read"] == counter["rebuilt"] + 1


@EVERY
@BOTH
def test_threads_in_malloc(farm, release, is_static):
    """At any moment, nothing is called wrong, and no block leaked."""
    skip_if(attach_reason())
    variant = allocators.musl(release, is_static)
    target = farm.target("native_musl", variant, "live", ["malloc"])
    for _ in range(STOPS):
        document = natives.asked(target, "verify")
        assert document["unexplained"] == 0
        [allocator] = document["allocators"]
        for row in allocator["arenas"]:
            assert row["checked"] or row["explanation"]
            assert row["reached_blocks"] in (None, row["in_use_blocks"])
