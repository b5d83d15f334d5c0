# SPDX-License-Identifier: Apache-2.0
"""goref native in programs whose malloc is mimalloc's: each block that is held
is found with its size, and none that was freed."""

import bisect

import pytest

import allocators
import natives
from natives import CENTRAL
from toolchains import variants

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
