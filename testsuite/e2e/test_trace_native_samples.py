# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native of a library that samples by itself and has the USDT
probes otel_memory:alloc and otel_memory:free: library/sampler.c of
programs/allocs. There are no windows: each sample stands for its weight."""

import signal

import pytest

from allocs import Allocs
from code_bytes import probes
from native_traces import NativeTrace
from traces import skip_unless_traced

WORDS = ("--every", "0.5s", "--for", "10m")


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


@pytest.fixture
def program():
    with Allocs(sampler=True) as one:
        yield one


def of_sampler(document):
    return [
        stack
        for stack in document["stacks"]
        if any(f["function"] == "framed_sampled" for f in stack["frames"])
    ]


def test_samples(program):
    """Those that are outstanding, by address, and their weights. A weight may
    be less than the bytes of its block."""
    words = (*WORDS, "--blocks", "--look", "none")
    with NativeTrace(program, *words) as trace:
        trace.interval()
        program.say("sample", 3000, 1000, 7)
        truth = program.say("sample", 50, 10_000, 1)["samples"]
        trace.interval()
        document = trace.end(signal.SIGINT)
    stacks = of_sampler(document)
    found = {int(block["address"], 16) for s in stacks for block in s["list"]}
    assert found == {address for address, *_ in truth}
    assert len({weight for *_, weight in truth}) > 1
    total = sum(weight for *_, weight in truth)
    assert sum(s["bytes"] for s in stacks) == pytest.approx(total, abs=100)
    assert sum(s["seen_blocks"] for s in stacks) == len(truth)
    assert document["windows"] == []


def test_samples_of_what_is_in_use(program):
    """A block of one size for each that the program has: no more than the walk
    finds."""
    with NativeTrace(program, *WORDS) as trace:
        trace.interval()
        program.say("sample", 3000, 1000, 7)
        trace.interval()
        document = trace.end(signal.SIGINT)
    kept = -(-3000 // 7)
    stacks = of_sampler(document)
    assert sum(s["blocks"] for s in stacks) <= kept
    assert sum(s["bytes"] for s in stacks) == pytest.approx(
        1000 * kept, rel=0.02
    )


def test_freed_samples_are_gone(program):
    """The free of a sample is seen while a window would be closed."""
    with NativeTrace(program, *WORDS, "--blocks") as trace:
        trace.interval()
        for _ in range(4):
            truth = program.say("sample", 1000, 1000, 9)["samples"]
            trace.interval()
        document = trace.end(signal.SIGINT)
    stacks = of_sampler(document)
    found = {int(block["address"], 16) for s in stacks for block in s["list"]}
    assert found == {address for address, *_ in truth}


def test_they_cost_little(program):
    """malloc itself has no probe: only the two places of the library do."""
    with NativeTrace(program, *WORDS) as trace:
        trace.interval()
        assert len(probes(program.pid)) == 2
        trace.end(signal.SIGINT)
    assert not probes(program.pid)
    assert program.say("sample", 100, 1000, 2)["samples"]


def test_full_follows_the_allocator(program):
    """With --full it is the allocator's functions that count."""
    with NativeTrace(program, *WORDS, "--full") as trace:
        trace.interval()
        assert len(probes(program.pid)) > 2
        program.say("sample", 100, 1000, 1)
        trace.interval()
        document = trace.end(signal.SIGINT)
    assert sum(s["blocks"] for s in of_sampler(document)) == 100
    assert sum(s["bytes"] for s in of_sampler(document)) == 100 * 1000
