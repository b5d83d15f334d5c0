# SPDX-License-Identifier: Apache-2.0
"""The program programs/allocs, by which `goref trace native` is tested, tells
the truth: its blocks are those that it was asked for, and lie apart."""

import os

import pytest

from allocs import (
    FIRST_SIZE,
    HEAP_SITES,
    NEXT_SIZE,
    PRELOADS,
    Allocs,
    by_function,
)
from waiting import comes


@pytest.fixture(params=list(PRELOADS))
def program(request):
    with Allocs(request.param) as one:
        yield one


def check_apart(blocks):
    rows = sorted((block.address, block.bytes) for block in blocks)
    for (address, size), (following, _) in zip(rows, rows[1:]):
        assert address + size <= following


def test_sites(program):
    program.make_all()
    program.make("mapped", 3, 4096)
    blocks = program.truth()
    check_apart(blocks)
    found = by_function(blocks)
    for prefix in ("framed", "plain"):
        for number, site in enumerate(HEAP_SITES):
            count = 10 + number
            size = FIRST_SIZE + NEXT_SIZE * number
            assert found.pop(f"{prefix}_{site}") == (count, count * size)
    assert found == {"framed_mapped": (3, 3 * 4096)}
    program.say("drop", "plain", "newed")
    assert "plain_newed" not in by_function(program.truth())


def test_load(program):
    """Leaks of both sites in their shares of the pairs, by each thread."""
    program.load(2, 20_000, 100, 500)
    assert comes(lambda: program.say("cpu")["pairs"] >= 10_000)
    pairs = program.stop()
    blocks = program.truth()
    check_apart(blocks)
    found = by_function(blocks)
    assert abs(found["framed_leak_a"][0] - pairs / 100) <= 2
    assert abs(found["framed_leak_b"][0] - pairs / 500) <= 2
    assert found["framed_held"][0] == 64
    by_thread = {b.goroutine for b in blocks if b.site == "leak_a"}
    assert by_thread == {*program.say("truth")["goroutines"]}
    assert len(by_thread) == 2


def test_goroutines_that_hang(program):
    ids = {program.say("hang", "framed", way, 5, 300)["goroutine"]
           for way in ("receive", "lock")}  # fmt: skip
    blocks = program.truth()
    assert {b.goroutine for b in blocks} == ids
    assert by_function(blocks) == {"framed_leak_a": (10, 3000)}
    assert program.say("free")["hung"] == 2
    assert not program.truth()


def test_samples():
    """A sample stands for the bytes since the one before."""
    with Allocs(sampler=True) as program:
        samples = program.say("sample", 1000, 1000, 1)["samples"]
        whole = sum(weight for *_, weight in samples)
        assert whole == 1000 * 1000 // 4096 * 4096
        assert {size for _, size, _ in samples} == {1000}
        after = program.say("sample", 1000, 1000, 10)["samples"]
    assert len(samples) < len(after) < 1.3 * len(samples)


def test_changes(program):
    child = program.say("fork")["child"]
    program.say("threads", "framed", 50, 3, 200)
    assert by_function(program.truth()) == {"framed_leak_a": (150, 30_000)}
    os.kill(child, 9)
    program.send("exec")
    assert program.process.read_line() == "{}"
    assert not program.truth()
    program.send("exit", 3)
    assert program.process.popen.wait() == 3
