# SPDX-License-Identifier: Apache-2.0
"""The options of goref trace PID native, one after the other."""

import signal
from pathlib import Path

import pytest

from allocs import ALLOCATOR, HEAP_SITES, Allocs, by_function
from code_bytes import probes
from native_traces import (
    FULL,
    WHOLE,
    NativeTrace,
    listed,
    order,
    site_of,
    stacks_of,
    sums,
)
from session import run_cli
from traces import FLAGS, library, skip_unless_traced

PAGE = 4096


@pytest.mark.parametrize(
    "words, said",
    [
        (["rss", "--full"], "--full has a meaning only in the mode native"),
        (["--each"], "--each has a meaning only in the mode native"),
        (["go", "--blocks"], "--blocks has a meaning only in the mode native"),
        (["kernel", "--older", "1s"], "--older has a meaning only"),
        (["--min-size", "1"], "--min-size has a meaning only"),
        (["--max-size", "1"], "--max-size has a meaning only"),
        (["--sample", "2"], "--sample has a meaning only"),
        (["--totals"], "--totals has a meaning only"),
        (["--allocator", "x"], "--allocator has a meaning only"),
        (["--prefix", "x"], "--prefix has a meaning only"),
        (["--mappings"], "--mappings has a meaning only"),
        (["--holders"], "--holders has a meaning only"),
        (["--sort", "age"], "--sort has a meaning only"),
        (["native", "--sort", "color"], "color"),
        (["native", "--min-size", "9", "--max-size", "8"],
         "--min-size is above --max-size"),
        (["native", "--older", "10m"], "--older is longer than the trace"),
        (["native", "--sample", "0"], "--sample"),
        (["native", "--full", "--max-overhead", "1"], "--max-overhead"),
        (["native", "--holders", "--look", "none"],
         "--holders needs the look at the end"),
        (["native", "--prefix", ""], "--prefix"),
        (["native", "--allocator", ""], "--allocator"),
    ],
)  # fmt: skip
def test_words_that_make_no_sense(words, said):
    """In one line, before anything is done."""
    done = run_cli(["trace", "1", *words])
    assert done.returncode == 2 and not done.stdout
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture
def program():
    skip_unless_traced()
    with Allocs() as one:
        yield one


def traced(program, *words, between=None):
    """A trace in which the program allocates by all sites."""
    with NativeTrace(program, *words) as trace:
        trace.interval()
        if between:
            between(trace)
        else:
            program.make_all()
        trace.interval()
        return trace.end(signal.SIGINT)


@pytest.mark.parametrize("words", [WHOLE, FULL], ids=["windows", "full"])
def test_sizes(program, words):
    """Both bounds are of the blocks that count."""
    document = traced(program, *words, "--min-size", "192", "--max-size", "384")
    truth = [b for b in program.truth() if 192 <= b.bytes <= 384]
    assert len({b.bytes for b in truth}) == 4
    assert sums(document) == by_function(truth)


def test_least_size(program):
    document = traced(program, *FULL, "--min-size", "420")
    truth = [b for b in program.truth() if b.bytes >= 420]
    assert sums(document) == by_function(truth)


def test_older(program):
    """Blocks that are younger at the end do not count."""

    def make(trace):
        program.make("leak_a", 7, 100)
        for _ in range(4):
            trace.interval()
        program.make("leak_b", 7, 100)

    document = traced(program, *WHOLE, "--older", "1.5s", between=make)
    assert sums(document) == {"framed_leak_a": (7, 700)}


def test_one_of_many(program):
    """The numbers are scaled; the interval has the truth."""

    def make(trace):
        program.make("leak_a", 20_000, 100)

    document = traced(program, *FULL, "--sample", "20", between=make)
    rows = stacks_of(document, "framed_leak_a")
    seen, low, size, high = (
        sum(row[key] for row in rows)
        for key in ("seen_blocks", "low", "bytes", "high")
    )
    assert 500 < seen < 1500
    assert low <= 2_000_000 <= high and low < size < high
    assert size == pytest.approx(2_000_000, rel=0.2)


def test_totals(program):
    """One row for each stack, whoever holds the blocks."""

    def make(trace):
        program.make("leak_a", 10, 100)
        program.make("leak_a", 10, 100, "c")
        program.make("leak_a", 10, 100, "go")

    apart = traced(program, *WHOLE, between=make)
    assert len(stacks_of(apart, "framed_leak_a")) >= 3
    together = traced(program, *WHOLE, "--totals", between=make)
    (row,) = stacks_of(together, "framed_leak_a")
    assert row["blocks"] == 30 and row["bytes"] == 3000
    assert row["held"] is None


def test_blocks_are_listed(program):
    document = traced(program, *WHOLE, "--blocks")
    truth = {b.address: (b.function, b.bytes) for b in program.truth()}
    assert listed(document) == truth
    without = traced(program, *WHOLE)
    assert all(stack["list"] is None for stack in without["stacks"])


@pytest.mark.parametrize("name", ["libc.so.6", None, "libnothing.so"])
def test_allocator(name):
    """Only the functions of one object count, by its name or path."""
    skip_unless_traced()
    with Allocs("jemalloc") as program:
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps
                        if "jemalloc" in line)  # fmt: skip
        if name == "libnothing.so":
            words = ["trace", program.pid, "native", "--allocator", name]
            done = run_cli(words)
            assert done.returncode == 1
            assert "has no allocator in libnothing.so" in done.stderr
            assert "libjemalloc.so.2" in done.stderr
            return
        asked = name or path
        document = traced(program, *FULL, "--allocator", asked)
        truth = by_function(program.truth())
    if name:
        # The program's own calls go to jemalloc. Where that has no reallocarray,
        # the one of libc is called, which calls jemalloc.
        has_array = b"\0reallocarray\0" in Path(path).read_bytes()
        wanted = () if has_array else [f"{prefix}_array" for prefix in FLAGS]
        truth = {function: truth[function] for function in wanted}
    assert sums(document) == truth
    objects = [row["object"] for row in document["allocators"]]
    assert len(objects) == 1 and asked.rpartition("/")[2] in objects[0]


def test_prefix(program):
    """Functions whose names begin so, beside the others."""
    path = library("framed", ALLOCATOR)
    program.say("allocator", path, "framed", 1)

    def make(trace):
        program.say("allocator", path, "framed", 100)
        program.make("leak_a", 5, 60)

    found = traced(program, *FULL, "--prefix", "framed_", between=make)
    rows = [s for s in found["stacks"] if uses_allocator(s)]
    assert sum(s["blocks"] for s in rows) == 100
    assert sum(s["bytes"] for s in rows) == 100 * 100
    assert sums(found)["framed_leak_a"] == (5, 300)
    without = traced(program, *FULL, between=make)
    assert not any(map(uses_allocator, without["stacks"]))


def uses_allocator(stack):
    return any(f["function"] == "framed_use" for f in stack["frames"])


def test_mappings(program):
    """mmap counts if it is asked for, and munmap is seen."""

    def make(trace):
        program.make("mapped", 9, 3 * PAGE)
        program.say("drop", "framed", "mapped")
        program.make("mapped", 5, 2 * PAGE)

    document = traced(program, *FULL, "--mappings", between=make)
    assert sums(document) == {"framed_mapped": (5, 10 * PAGE)}
    program.say("drop", "framed", "mapped")
    document = traced(program, *FULL, between=make)
    assert not sums(document)


@pytest.mark.parametrize(
    "sort, first",
    [
        ("nobody", "framed_leak_a"),
        ("bytes", "framed_held"),
        ("blocks", "framed_leak_b"),
        ("age", "framed_grown"),
    ],
)
def test_order(program, sort, first):
    def make(trace):
        program.make("grown", 2, 50, "c")
        for _ in range(3):
            trace.interval()
        program.make("held", 20, 50_000, "c")
        program.make("leak_a", 30, 3000)
        program.make("leak_b", 400, 20, "c")

    document = traced(program, *WHOLE, "--sort", sort, between=make)
    assert order(document)[0] == first


def test_top(program):
    document = traced(program, *WHOLE, "--top", "2")
    assert len(document["stacks"]) == 2


def test_each_call(program):
    """Each call is a line as it happens, with what it returned or freed."""
    with NativeTrace(program, *FULL, "--each") as trace:
        while "end_s" not in trace.interval():
            pass  # calls of Go's own threads
        program.make("leak_a", 4, 123)
        program.make("zeroed", 3, 234)
        made = {b.address for b in program.truth()}
        program.say("drop", "framed", "zeroed")
        trace.end(signal.SIGINT)
    calls = [one for one in trace.intervals if "kind" in one]
    allocated = [c for c in calls if c["kind"] != "free"
                 and int(c["address"], 16) in made]  # fmt: skip
    assert sorted(c["bytes"] for c in allocated) == [123] * 4 + [234] * 3
    freed = [c for c in calls if c["kind"] == "free"]
    assert len({c["address"] for c in freed} & {*map(hex, made)}) == 3


def test_allocators_are_named(program):
    """Each object with its functions, each address once."""
    with NativeTrace(program, *FULL) as trace:
        trace.interval()
        places = probes(program.pid)
        document = trace.end(signal.SIGINT)
    (row,) = document["allocators"]
    assert "libc" in row["object"] and row["walked"]
    assert {"malloc", "calloc", "realloc", "free"} <= {*row["functions"]}
    assert len(row["functions"]) == len(places)


def test_all_sites_have_rows(program):
    document = traced(program, *FULL)
    assert {site_of(s) for s in document["stacks"]} - {None} == {
        f"{prefix}_{site}" for prefix in FLAGS for site in HEAP_SITES
    }


# ------------------------------------------------- goroutines that should free


@pytest.mark.parametrize(
    "way, function, reason",
    [
        ("receive", "main.freeAfterReceive", "chan receive"),
        ("lock", "main.freeAfterLock", "sync.Mutex.Lock"),
    ],
)
def test_holders(program, way, function, reason):
    """The goroutine whose stack holds the blocks waits: for what, for how
    long, and where."""
    ids = []

    def hang(trace):
        ids.append(program.say("hang", "framed", way, 12, 700)["goroutine"])
        trace.interval()

    document = traced(program, *WHOLE, "--holders", between=hang)
    rows = stacks_of(document, "framed_leak_a")
    assert sum(s["blocks"] for s in rows) == 12
    waits = [wait for s in rows for wait in s["waits"]]
    (wait,) = [w for w in waits if w["role"] == "holds"]
    assert wait["goroutine"] == ids[0]
    assert wait["reason"] == reason
    assert wait["function"] == function
    assert all(s["held"] for s in rows)
    program.say("free")
    assert not program.truth()


def test_no_holders_without_the_option(program):
    document = traced(program, *WHOLE)
    assert all(stack["waits"] is None for stack in document["stacks"])
