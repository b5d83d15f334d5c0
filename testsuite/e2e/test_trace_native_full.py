# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native --full against the program's own list, and against the
logic of memleak in bpftrace (memleak.py) beside the same program."""

import os
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

import memleak
from allocs import DEPTH, HEAP_SITES, PRELOADS, Allocs, by_function
from code_bytes import probes
from native_traces import (
    FULL,
    NativeTrace,
    listed,
    site_of,
    stacks_of,
    sums,
)
from traces import FLAGS, skip_unless_traced
from waiting import comes

# Names of the allocator's own.
OF_ALLOCATOR = ("operator new", "_Znwm")
# operator new of libstdc++ has no frame pointer, so its callers may be lost.
NEW = ("newed", "new_array", "new_nothrow", "new_aligned")


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


def own_libc(folder):
    """The settings with which a program has a libc of its own: the probes of
    bpftrace 0.17 are in all processes that have the file."""
    shutil.copy(libc_of("self"), folder)
    return {"LD_LIBRARY_PATH": str(folder)}


def libc_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "/libc.so.6" in line}
    return Path(*paths)


class Beside:
    """memleak's logic beside a program, whose probes are all there. The program
    has no others yet: two tools may have one at the same instruction."""

    def __init__(self, program):
        if memleak.reason():
            pytest.skip(memleak.reason())
        library = libc_of(program.pid)
        wanted = len(memleak.functions(library)) + 1  # and free
        assert not probes(program.pid)
        self.script = memleak.Memleak(program.pid, library)
        is_there = comes(
            lambda: len(probes(program.pid)) == wanted
            or self.script.popen.poll() is not None
        )
        if not is_there:
            self.script.__exit__()
        assert is_there
        if self.script.popen.poll() is not None:
            pytest.skip(f"bpftrace: {self.script.popen.communicate()[1]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.script.__exit__()

    def end(self):
        return {row.address: row for row in self.script.end()}


def churn(program):
    """Blocks that are freed, before those that are not."""
    program.make_all()
    for prefix in FLAGS:
        for site in HEAP_SITES:
            if site != "held":
                program.say("drop", prefix, site)
    program.make_all()


def test_memleak(tmp_path):
    """The script knows all that is outstanding, with the stacks that frame
    pointers lead to."""
    with Allocs(settings=own_libc(tmp_path)) as program:
        with Beside(program) as beside:
            churn(program)
            found = beside.end()
        truth = program.truth()
        assert not probes(program.pid)
    for block in truth:
        row = found.pop(block.address)
        assert row.bytes == block.bytes
        names = [n for n in row.stack if not n.startswith(OF_ALLOCATOR)]
        if block.library == "plain":
            assert "plain_deep" not in names
        elif block.site not in NEW:
            assert names[0] == block.function
            chain = ["framed_deep"] * DEPTH + ["framed_make"]
            assert names[1 : DEPTH + 2] == chain
            assert names[-1].startswith("runtime.goexit")
    assert not any(set(row.stack) & set(by_function(truth))
                   for row in found.values())  # fmt: skip


@pytest.mark.parametrize("allocator", [*PRELOADS])
def test_all_that_is_outstanding(allocator):
    """By its address and size, as the program knows it."""
    with Allocs(allocator) as program:
        with NativeTrace(program, *FULL, "--blocks") as trace:
            trace.interval()
            churn(program)
            trace.interval()
            document = trace.end(signal.SIGINT)
        truth = program.truth()
    assert sums(document) == by_function(truth)
    assert listed(document) == {b.address: (b.function, b.bytes) for b in truth}
    for stack in document["stacks"]:
        if site_of(stack):
            assert stack["low"] == stack["bytes"] == stack["high"]
            assert stack["finished"]


def test_stacks_and_goroutines():
    """Each chain of calls is complete, with the goroutine and its label."""
    with Allocs() as program:
        with NativeTrace(program, *FULL) as trace:
            trace.interval()
            ids = {f"{prefix}_{site}": program.make(site, 5, 300, prefix=prefix)
                   for prefix in FLAGS for site in HEAP_SITES}  # fmt: skip
            trace.interval()
            trace.interval()  # the labels of all were read
            document = trace.end(signal.SIGINT)
    rows = [
        (name, goroutine, stack)
        for name, goroutine in ids.items()
        for stack in stacks_of(document, name)
    ]
    assert {name for name, *_ in rows} == ids.keys()
    # Labels that were read too late are not known.
    assert any(stack["labels"] for *_, stack in rows)
    for name, goroutine, stack in rows:
        prefix, _, site = name.partition("_")
        names = [call["function"] for call in stack["frames"]]
        after = names[names.index(name) + 1 :]
        assert after[:DEPTH] == [f"{prefix}_deep"] * DEPTH
        assert after[DEPTH] == f"{prefix}_make"
        assert "main.makeBlocks" in after and after[-1] == "runtime.goexit"
        assert stack["finished"] and stack["goroutines"] == [goroutine]
        if stack["labels"] is not None:
            assert dict(stack["labels"]) == {"site": site}


def names_of(stack):
    """The names of a stack of goref that bpftrace may know: inlined calls have
    no symbol."""
    return [call["function"] for call in stack["frames"]]


def plain_name(name):
    """Assembly has a suffix as a symbol."""
    return name.partition(".abi")[0]


def is_part(names, whole):
    """Are the names in the whole, in this order?"""
    rest = iter(whole)
    return all(name in rest for name in names)


def test_stacks_of_memleak(tmp_path):
    """Where there are frame pointers, the same calls in the same order; where
    not, ours are complete."""
    settings = own_libc(tmp_path)
    with ExitStack() as stack:
        program = stack.enter_context(Allocs(settings=settings))
        beside = stack.enter_context(Beside(program))
        trace = stack.enter_context(NativeTrace(program, *FULL, "--blocks"))
        trace.interval()
        program.make_all()
        found = beside.end()
        trace.interval()
        document = trace.end(signal.SIGINT)
        truth = program.truth()
    ours = {address: stack for stack in document["stacks"]
            for address in addresses(stack)}  # fmt: skip
    for block in truth:
        theirs, mine = found[block.address], names_of(ours[block.address])
        calls = [plain_name(n) for n in theirs.stack
                 if not n.startswith(OF_ALLOCATOR)]  # fmt: skip
        assert theirs.bytes == block.bytes
        at = mine.index(block.function)
        chain = [f"{block.library}_deep"] * DEPTH + [f"{block.library}_make"]
        assert mine[at + 1 : at + 2 + DEPTH] == chain
        assert mine[-1] == "runtime.goexit"
        # Without frame pointers, theirs may have words that are no calls.
        if block.library == "framed" and block.site not in NEW:
            assert is_part(calls, mine), (calls, mine)
            assert of_library(calls) == of_library(mine)


def of_library(names):
    return [name for name in names if name.startswith("framed_")]


def addresses(stack):
    return [int(block["address"], 16) for block in stack["list"]]


def test_no_probe_is_left():
    """When it has ended, the code is that of the files."""
    with Allocs() as program:
        with NativeTrace(program, *FULL) as trace:
            trace.interval()
            assert probes(program.pid)
            trace.end(signal.SIGINT)
        assert not probes(program.pid)
        os.kill(program.pid, 0)
        program.make_all()
