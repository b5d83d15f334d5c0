# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native, in windows: leaks come first, with the truth in the
interval; blocks in use are those of the program; and who holds them."""

import signal
import time

import pytest

from allocs import HEAP_SITES, Allocs, by_function
from code_bytes import probes
from native_traces import (
    WHOLE,
    NativeTrace,
    intervals,
    listed,
    order,
    stacks_of,
    sums,
)
from traces import FLAGS, skip_unless_traced
from waiting import comes

# A load whose windows are open for a part of the time, at the limit of 1 %:
# pairs a second, and the pairs for each leak.
RATE, EVERY_A, EVERY_B = 20_000, 100, 500
# The trace is repeated and longer until its windows have seen so many calls,
# among which are a dozen of each leak and more.
SECONDS, CALLS = (12, 36, 120), 2500
# A load whose sites a few short windows can rank, also on a busy machine: each
# window has dozens of blocks of each leak. What is held and replaced looks
# outstanding to a window whose end the program slept through: it is little.
OFTEN_A, OFTEN_B, FEW_SLOTS = 20, 100, 8
LEAKS = ("framed_leak_a", "framed_leak_b")
ROWS = [
    (allocator, threads)
    for allocator in ("glibc", "jemalloc")
    for threads in (1, 8)
]


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


class Leaked:
    """The leaks of a load during a trace. The rate is even, so a part of the
    time tells the whole."""

    def __init__(self, program, begin_ns, end_ns, seconds):
        part = 1e9 * seconds / (end_ns - begin_ns)
        within = [b for b in program.truth()
                  if begin_ns <= b.time_ns < end_ns]  # fmt: skip
        self.bytes = {
            name: size * part for name, (_, size) in by_function(within).items()
        }


def traced(program, seconds):
    """A trace of so many seconds, and the leaks in it."""
    with NativeTrace(
        program, "--every", "1s", "--for", f"{seconds}s"
    ) as trace:
        trace.interval()
        begin_ns = time.monotonic_ns()
        for _ in range(seconds - 2):
            trace.interval()
        end_ns = time.monotonic_ns()
        document = trace.end()
    program.stop()
    return document, Leaked(program, begin_ns, end_ns, document["seconds"])


@pytest.mark.parametrize("allocator, threads", ROWS)
def test_leaks_come_first(allocator, threads):
    # On a busy machine the windows of a short trace see too little.
    for seconds in SECONDS:
        with Allocs(allocator) as program:
            program.load(threads, RATE, OFTEN_A, OFTEN_B, FEW_SLOTS)
            document, truth = traced(program, seconds)
        if sum(window["calls"] for window in document["windows"]) >= CALLS:
            break
    opened = sum(window["seconds"] for window in document["windows"])
    assert 0 < opened < 0.9 * document["seconds"]
    assert document["overhead_percent"] <= 1
    assert {*LEAKS} <= {*order(document)}
    # Windows of some hundredths of a second rank the sites of eight threads
    # only if the threads have the processors for themselves. bench/native tests
    # eight threads.
    if threads == 1:
        assert order(document)[:2] == [*LEAKS]
    for name in LEAKS:
        low, high = intervals(document)[name]
        assert low < high
        assert low <= truth.bytes[name] <= high, document["windows"]
        # It says something. Threads in step leak at the same time, so the
        # numbers of few and short windows differ by much.
        if threads == 1:
            assert high - low < 4 * truth.bytes[name]
    # Others are behind them: a leak outside of the windows may get memory that
    # such a site had.
    assert sums(document).keys() <= {*LEAKS, "framed_held", "framed_churn"}


def test_windows():
    """They lie within the trace, one after the other, and count the calls."""
    with Allocs() as program:
        program.load(2, RATE, EVERY_A, EVERY_B)
        with NativeTrace(program, "--every", "1s", "--for", "6s") as trace:
            document = trace.end()
        program.stop()
    windows, end = document["windows"], 0
    assert len(windows) >= 3
    for window in windows:
        assert window["start"] >= end and window["seconds"] > 0
        end = window["start"] + window["seconds"]
    assert end <= document["seconds"] + 0.5
    opened = sum(w["seconds"] for w in windows)
    calls = sum(w["calls"] for w in windows)
    # The load makes up for time in which it did not run.
    assert RATE / 3 < calls / opened < 3 * RATE


def test_blocks_in_use():
    """The walk at the end tells which blocks are still in use: all that the
    program has, and none of those that it has freed."""
    with Allocs() as program:
        with NativeTrace(program, *WHOLE, "--blocks") as trace:
            trace.interval()
            program.make_all()
            for site in ("leak_b", "zeroed", "newed", "memaligned"):
                for prefix in FLAGS:
                    program.say("drop", prefix, site)
            program.make("leak_a", 50, 256)  # in the memory of these
            trace.interval()
            document = trace.end(signal.SIGINT)
        truth = program.truth()
    assert sums(document) == by_function(truth)
    assert listed(document) == {b.address: (b.function, b.bytes) for b in truth}
    for stack in document["stacks"]:
        if stack["low"]:
            assert stack["in_use"]


def test_who_holds_them():
    """Nobody, a variable of C, or what Go has; resident as far as touched."""
    with Allocs() as program:
        with NativeTrace(program, *WHOLE) as trace:
            trace.interval()
            program.make("leak_a", 40, 500)
            program.make("held", 30, 400, "c")
            program.make("array", 20, 300, "go")
            trace.interval()
            document = trace.end(signal.SIGINT)
    nobody, c, go = (
        stacks_of(document, f"framed_{site}")
        for site in ("leak_a", "held", "array")
    )
    # An old word on a stack may look like a pointer to a block.
    assert sum(s["blocks"] for s in nobody if s["held"] is False) >= 38
    assert all(s["nobody_bytes"] == s["bytes"] for s in nobody
               if s["held"] is False)  # fmt: skip
    assert all(s["held"] and s["nobody_bytes"] == 0 for s in (*c, *go))
    assert {s["holder"] for s in c} == {"held_by_c"}
    assert all("heldByGo" in s["holder"] for s in go)
    # The list begins with what nobody holds, although others are larger.
    assert order(document)[0] == "framed_leak_a"
    assert all(s["resident_bytes"] == s["bytes"] for s in (*nobody, *c, *go))


def test_ages():
    with Allocs() as program:
        with NativeTrace(program, *WHOLE) as trace:
            trace.interval()
            program.make("leak_a", 5, 100)
            for _ in range(3):
                trace.interval()
            program.make("leak_b", 5, 100)
            trace.interval()
            document = trace.end(signal.SIGINT)
    # Blocks whose labels are not known have a row of their own.
    old, new = (stacks_of(document, name) for name in LEAKS)
    youngest = min(row["youngest_s"] for row in old)
    oldest = max(row["oldest_s"] for row in old)
    newer = max(row["oldest_s"] for row in new)
    assert youngest > 1 > newer - 0.5
    assert oldest >= youngest > newer
    assert document["seconds"] >= oldest


def test_reallocation_is_one_block():
    """A block that grows is the last one, also where it moved."""
    with Allocs() as program:
        with NativeTrace(program, *WHOLE, "--blocks") as trace:
            trace.interval()
            for number in range(20):
                program.make("grown", 3, 100 + 1000 * number)
            trace.interval()
            document = trace.end(signal.SIGINT)
        truth = program.truth()
    assert listed(document) == {b.address: (b.function, b.bytes) for b in truth}


def test_no_probe_is_left():
    """Neither between windows nor at the end, and all code is as in its
    file."""
    with Allocs() as program:
        program.load(2, RATE, EVERY_A, EVERY_B)
        with NativeTrace(program, "--every", "0.5s", "--for", "10m") as trace:
            assert comes(lambda: probes(program.pid))
            assert comes(lambda: not probes(program.pid))
            trace.interval()
            trace.end(signal.SIGINT)
        assert not probes(program.pid)
        assert program.stop() > 0
        program.make_all(HEAP_SITES)
