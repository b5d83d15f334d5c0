# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native of processes that change: they fork, begin another
program, load and unload an allocator, have many threads, or end. No probe is
left afterwards, neither in the process nor in its child, and no program of BPF
in the kernel."""

import os
import signal
from contextlib import contextmanager

import pytest

from allocs import ALLOCATOR, Allocs, by_function
from code_bytes import loaded, probes
from native_traces import FULL, WHOLE, NativeTrace, listed, stacks_of, sums
from tracers import programs_of
from traces import library, skip_unless_traced
from waiting import comes

WINDOWS = ("--every", "0.5s", "--for", "10m")
WAYS = pytest.mark.parametrize(
    "words", [WHOLE, FULL, WINDOWS], ids=["whole", "full", "windows"]
)


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


@pytest.fixture
def program():
    with Allocs() as one:
        yield one


def helper_of(trace):
    """The number of goref-trace."""
    children = f"/proc/{trace.popen.pid}/task/{trace.popen.pid}/children"
    with open(children, encoding="ascii") as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                if name.read().startswith("goref-trace"):
                    return int(pid)
    raise AssertionError("there is no goref-trace")


@contextmanager
def tracing(program, *words):
    """A trace whose programs are gone from the kernel when it has ended."""
    with NativeTrace(program, *words) as trace:
        trace.interval()
        ours = {("program", n) for n in programs_of(helper_of(trace))}
        yield trace
    assert ours
    assert comes(lambda: not ours & loaded())


def check_whole(program):
    """No probe is left, and the process goes on."""
    assert not probes(program.pid)
    program.make_all()
    assert program.truth()


@WAYS
def test_a_child(program, words):
    """The child has its own memory: what it allocates does not count, and it
    has no probe afterwards."""
    with tracing(program, *words) as trace:
        program.make("leak_b", 5, 100)
        child = program.say("fork")["child"]
        for _ in range(3):
            trace.interval()
        document = trace.end(signal.SIGINT)
    if words != WINDOWS:
        assert sums(document) == {"framed_leak_b": (5, 500)}
    assert comes(lambda: not probes(child))
    os.kill(child, 0)
    check_whole(program)
    os.kill(child, signal.SIGKILL)


@WAYS
def test_a_child_that_comes_first(program, words):
    """A child from before the trace is not touched by it."""
    child = program.say("fork")["child"]
    with tracing(program, *words) as trace:
        if "--full" in words:
            assert probes(program.pid)
            assert comes(lambda: allocates(child))
        trace.end(signal.SIGINT)
    assert not probes(child)
    check_whole(program)
    os.kill(child, signal.SIGKILL)


def allocates(pid):
    """Does a process go on? It sleeps and wakes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return any(
            line.startswith("voluntary_ctxt") and int(line.split()[1]) > 3
            for line in file
        )


@WAYS
def test_another_program(program, words):
    """The trace ends there; the new program has no probe."""
    with tracing(program, *words) as trace:
        program.make("leak_a", 5, 100)
        program.send("exec")
        assert program.process.read_line() == "{}"
        document = trace.end()
    assert document["ended"] == "the process began another program"
    assert not document["complete"] and trace.popen.returncode == 3
    check_whole(program)


@WAYS
def test_the_process_ends(program, words):
    with tracing(program, *words) as trace:
        program.make("leak_a", 5, 100)
        program.send("exit", 3)
        document = trace.end()
    assert document["ended"] == "the process has ended"
    assert trace.popen.returncode == 3
    assert program.process.popen.wait() == 3
    if "--full" in words:
        assert sums(document)["framed_leak_a"] == (5, 500)


@WAYS
def test_a_killed_process(program, words):
    """It gets no chance to do anything."""
    program.load(2, 20_000, 100, 500)
    with tracing(program, *words) as trace:
        program.process.popen.kill()
        document = trace.end()
    assert document["ended"] == "the process has ended"


def test_five_hundred_threads(program):
    """All of their blocks are seen, and none twice."""
    with tracing(program, *FULL, "--blocks") as trace:
        program.say("threads", "framed", 500, 20, 200)
        trace.interval()
        document = trace.end(signal.SIGINT)
    truth = program.truth()
    assert sums(document) == by_function(truth)
    assert sums(document)["framed_leak_a"] == (10_000, 2_000_000)
    assert listed(document) == {b.address: (b.function, b.bytes) for b in truth}
    assert document["dropped"] == 0
    check_whole(program)


def test_five_hundred_threads_in_use(program):
    """The same by the walk, where they have several arenas."""
    with tracing(program, *WHOLE) as trace:
        program.say("threads", "framed", 500, 20, 200)
        trace.interval()
        document = trace.end(signal.SIGINT)
    assert sums(document) == {"framed_leak_a": (10_000, 2_000_000)}
    assert all(s["in_use"] for s in stacks_of(document, "framed_leak_a"))
    check_whole(program)


def test_an_allocator_that_goes(program):
    """It is unloaded while it has probes; another library takes its place, and
    is not hurt. It is loaded again."""
    path = library("framed", ALLOCATOR)
    program.say("allocator", path, "framed", 50)
    words = (*FULL, "--prefix", "framed_")
    with tracing(program, *words) as trace:
        before = len(probes(program.pid))
        program.say("unload")
        assert len(probes(program.pid)) == before - 4  # its functions
        program.say("allocator", library("plain", ALLOCATOR), "plain", 50)
        program.say("unload")
        program.say("allocator", path, "framed", 50)
        program.make("leak_a", 5, 100)
        trace.interval()
        document = trace.end(signal.SIGINT)
    assert sums(document)["framed_leak_a"] == (5, 500)
    check_whole(program)
    program.say("unload")
