# SPDX-License-Identifier: Apache-2.0
"""C memory of musl's malloc: each block that a program holds is found, and none
that it has freed, in dynamic and static programs."""

import allocators
import pytest

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
