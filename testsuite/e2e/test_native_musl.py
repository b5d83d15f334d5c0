# SPDX-License-Identifier: Apache-2.0
"""C memory of musl's malloc: each block that a program holds is found, and none
that it has freed, in dynamic and static programs."""

import pytest

import allocators
import natives
import test_native_leaks
from test_native_leaks import PLACES

RELEASES = "go1.19", "go1.27"
EVERY = pytest.mark.parametrize("release", RELEASES)
KINDS = pytest.mark.parametrize("kind", ["core", "gcore", "live"])
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


# --------------------------------------------------------------------- leaks

# A static program loads no library.
ALL = (1 << 64) - 1
DYNAMIC = {"library"}


def check_held(leaks, absent):
    """No block that a variable, a stack, a thread or Go holds is a leak."""
    kept = leaks.truth["kept"]
    assert set(PLACES) - set(kept) == absent
    missing = {kind: len(leaks.missing(kind)) for kind in kept}
    assert {kind: n for kind, n in missing.items() if n} == {}


@EVERY
@BOTH
@KINDS
def test_leaks(farm, release, is_static, kind):
    """The planted leaks, and no others."""
    variant = allocators.musl(release, is_static)
    args = [str(natives.library())]
    target = farm.target("native_leaks", variant, kind, args)
    leaks = test_native_leaks.Leaks(target)
    check_held(leaks, DYNAMIC if is_static else set())
    test_native_leaks.check_leaks(leaks, slack=64)
    test_native_leaks.check_freed(leaks)


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
