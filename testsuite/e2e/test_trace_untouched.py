# SPDX-License-Identifier: Apache-2.0
"""goref trace: memory that was mapped meanwhile and not touched, by known
amounts."""

import signal
import subprocess

import pytest

from session import GOREF, environment
from toolchains import Variant
from traces import MIB, PAGE, Mapping, Trace, skip_unless_traced

# For each way: the bytes that are mapped, those that are used, those that are
# left, their class, and a function of the stack. Each leaves another amount.
WAYS = {
    "memory": (64 * MIB, 16 * MIB, 48 * MIB, None, "map_memory"),
    "reserved": (300 * MIB, 5 * MIB, 5 * MIB, None, "map_reserved"),
    "again": (9 * MIB, 2 * MIB, 7 * MIB, None, "map_again"),
    "block": (4 * MIB, 1 * MIB, 3 * MIB, "c_heap", "take_block"),
    "break": (8 * MIB, 2 * MIB, 6 * MIB, "c_heap", "grow_break"),
    "thread": (8 * MIB, 0, 8 * MIB, "thread_stacks", "start_thread"),
    "drop": (21 * MIB, 0, 0, None, "map_and_drop"),
    "back": (22 * MIB, 0, 0, None, "map_and_give_back"),
    "file": (23 * MIB, 0, 0, None, "map_file"),
}  # fmt: skip
SLICE, USED = 96 * MIB, 32 * MIB


def take_all(program):
    for way, (size, used, *_) in WAYS.items():
        program.take(way, size, used)
    program.take("slice", SLICE, USED)


@pytest.fixture(scope="module")
def document():
    """The end of a trace in which the program has mapped all."""
    skip_unless_traced()
    words = "--every", "0.5", "--for", "10m", "--max-overhead", "100"
    with (
        Mapping(Variant("go1.24", "cgo")) as program,
        Trace(program.pid, *words) as trace,
    ):
        trace.interval()
        take_all(program)
        trace.interval()
        trace.interval()
        yield trace.end(signal.SIGINT)


def rows_of(document, function):
    return [
        row
        for row in document["untouched"]
        if any(call["function"] == function for call in row["frames"])
    ]


@pytest.mark.parametrize("way", WAYS)
def test_each_amount(document, way):
    """The program touches a page here and there: of libc's own at the ends."""
    _, _, left, name, function = WAYS[way]
    rows = rows_of(document, function)
    size = sum(row["bytes"] for row in rows)
    assert abs(size - left) <= 40 * PAGE
    assert all(row["finished"] for row in rows)
    if name:
        assert sum(r["bytes"] for r in rows if r["class"] == name) >= (
            left - 40 * PAGE
        )


def test_rows_add_up(document):
    rows = document["untouched"]
    assert [row["bytes"] for row in rows] == sorted(
        (row["bytes"] for row in rows), reverse=True
    )
    total = sum(row["bytes"] for row in rows)
    assert total == document["untouched_bytes"]
    assert not document["partial"]


def test_slots_of_the_go_heap(document):
    """A large slice whose first part was used: what is not used of its span,
    and the same as the look sees it."""
    heap = sum(r["bytes"] for r in document["untouched"]
               if r["class"] == "go_heap")  # fmt: skip
    assert heap == pytest.approx(SLICE - USED, rel=0.05)
    assert document["go_untouched_bytes"] == pytest.approx(heap, rel=0.05)


def test_mappings_that_come_and_go():
    """A hundred thousand of them between two ticks leave nothing, and hide
    nothing: events that had no room are counted."""
    skip_unless_traced()
    with Mapping(Variant("go1.24", "cgo")) as program:
        words = ("--every", "0.5", "--for", "10m", "--look", "none",
                 "--max-overhead", "100")  # fmt: skip
        with Trace(program.pid, *words) as trace:
            trace.interval()
            program.take("memory", 64 * MIB, 16 * MIB)
            trace.interval()
            program.take("often", 100_000, 16 * PAGE)
            trace.interval()
            trace.interval()
            document = trace.end(signal.SIGINT)
    assert document["events"] + document["dropped"] >= 100_000
    assert not rows_of(document, "map_often")
    rows = rows_of(document, "map_memory")
    assert sum(row["bytes"] for row in rows) == 48 * MIB


def test_mode_kernel_sees_no_mappings():
    """It does not tell what it has not seen: None is not 0."""
    skip_unless_traced()
    with Mapping(Variant("go1.24", "cgo")) as program:
        words = "kernel", "--for", "10m", "--every", "0.5"
        with Trace(program.pid, *words) as trace:
            trace.interval()
            program.take("memory", 64 * MIB, 16 * MIB)
            trace.interval()
            document = trace.end(signal.SIGINT)
    assert document["mode"] == "kernel"
    assert document["untouched_bytes"] is None
    assert document["untouched"] == []


def test_as_text():
    """Large amounts are printed with their stacks, and what is taken in advance
    is not."""
    skip_unless_traced()
    with Mapping(Variant("go1.24", "cgo")) as program:
        with subprocess.Popen(
            ["env", "--default-signal=INT", GOREF, "trace", str(program.pid),
             "--every", "0.5", "--for", "10m", "--max-overhead", "100"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment(),
        ) as trace:  # fmt: skip
            for _ in range(2):
                assert trace.stdout.readline()
            take_all(program)
            for _ in range(2):
                assert trace.stdout.readline()
            trace.send_signal(signal.SIGINT)
            text = trace.communicate()[0]
    _, _, part = text.partition("mapped during the trace and not touched, by")
    part = part.partition("memory that was there before")[0]
    assert "map_memory" in part and "48.0 MiB" in part
    assert "take_block" in part or "more" in part
    assert "start_thread" not in part
    assert "of objects of the Go heap are in pages that" in part
