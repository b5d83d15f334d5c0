# SPDX-License-Identifier: Apache-2.0
"""C memory of musl's malloc: each block that a program holds is found, and none
that it has freed, in dynamic and static programs."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

import allocators
import natives
from targets import attach_reason, skip_if
from test_native_leaks import PLACES
from test_native_others import NOT_IN_MUSL, check, target_of

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
