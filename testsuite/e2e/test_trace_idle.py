# SPDX-License-Identifier: Apache-2.0
"""goref trace --idle: memory of known sizes that was accessed meanwhile, and
memory that was not."""

import signal
from pathlib import Path

import pytest

from toolchains import Variant
from traces import MIB, PAGE, Mapping, Trace, skip_unless_traced

CENTRAL = Variant("go1.24", "cgo")
SIZE = 64 * MIB
WORDS = "--idle", "--every", "0.5", "--for", "10m", "--max-overhead", "100"


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


def traced(way, used, step, *words):
    """{class: (idle, resident)} of a program that has used SIZE bytes before,
    in C and in Go, and uses some of those of C meanwhile."""
    with Mapping(CENTRAL) as program:
        program.take("slice", SIZE, SIZE)
        program.take(way, SIZE, SIZE)
        if way == "huge" and huge_bytes(program.pid) < SIZE:
            pytest.skip("the kernel has no huge pages left")
        with Trace(program.pid, *WORDS, *words) as trace:
            trace.interval()
            program.take("use", used, step)
            trace.interval()
            document = trace.end(signal.SIGINT)
    assert not document["partial"]
    rows = document["idle"]
    assert [row["idle_bytes"] for row in rows] == sorted(
        (row["idle_bytes"] for row in rows), reverse=True
    )
    check_mappings(document)
    total = sum(row["rss_bytes"] for row in rows)
    assert total == pytest.approx(document["rss_after_bytes"], rel=0.02)
    return {
        row["name"]: (row["idle_bytes"], row["rss_bytes"]) for row in rows
    }


def check_mappings(document):
    """They have the idle memory of the classes, the most of it first."""
    mappings = document["idle_mappings"]
    sizes = [row["idle_bytes"] for row in mappings]
    assert sizes == sorted(sizes, reverse=True)
    for of_class in document["idle"]:
        name, whole = of_class["name"], of_class["idle_bytes"]
        there = [r["idle_bytes"] for r in mappings if r["class"] == name]
        assert sum(there) == whole
    assert document["idle_left_out_mappings"] == 0
    for row in mappings:
        start, end = int(row["start"], 16), int(row["end"], 16)
        assert 0 < row["idle_bytes"] <= row["rss_bytes"] <= end - start


@pytest.mark.parametrize("how", ["snapshot", "attach", "none"])
def test_half_of_it(how):
    """The first half is used. The look at the end reads all of the Go heap, and
    that is no use."""
    found = traced("memory", SIZE // 2, PAGE, "--look", how)
    idle, resident = found["anonymous_mappings"]
    assert resident >= SIZE
    assert idle == pytest.approx(SIZE // 2, rel=0.03)
    idle, resident = found["go_heap"]
    assert resident >= SIZE <= idle + 4 * MIB <= resident + 4 * MIB


def test_every_second_page():
    idle, _ = traced("memory", SIZE, 2 * PAGE)["anonymous_mappings"]
    assert idle == pytest.approx(SIZE // 2, rel=0.03)


def huge_bytes(pid):
    """The memory of a process in huge pages."""
    with open(f"/proc/{pid}/smaps") as file:
        return sum(
            int(line.split()[1]) * 1024
            for line in file
            if line.startswith("AnonHugePages:")
        )


def has_huge_pages():
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return path.exists() and "[never]" not in path.read_text()


def test_huge_pages():
    """One page in the first half of the huge pages: each of them is used as a
    whole."""
    if not has_huge_pages():
        pytest.skip("the machine has no huge pages")
    idle, _ = traced("huge", SIZE // 2, 2 * MIB)["anonymous_mappings"]
    assert idle == pytest.approx(SIZE // 2, rel=0.05)


def test_memory_that_is_mapped_meanwhile():
    """It is used when it is touched."""
    with Mapping(CENTRAL) as program:
        with Trace(program.pid, *WORDS) as trace:
            trace.interval()
            program.take("memory", SIZE, SIZE)
            trace.interval()
            document = trace.end(signal.SIGINT)
    [row] = [r for r in document["idle"] if r["name"] == "anonymous_mappings"]
    assert row["rss_bytes"] >= SIZE
    assert row["idle_bytes"] <= MIB


def heap_of(pid):
    """The range and permissions of the main arena of malloc, by maps."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[heap]"):
            span, permissions, *_ = line.split()
            return *(int(word, 16) for word in span.split("-")), permissions
    return None


def test_which_mapping():
    """The break is a mapping with a name, whose range maps tells."""
    with Mapping(CENTRAL) as program:
        program.take("break", SIZE, SIZE)
        with Trace(program.pid, *WORDS) as trace:
            trace.interval()
            wanted = heap_of(program.pid)
            document = trace.end(signal.SIGINT)
    [row] = [r for r in document["idle_mappings"] if r["name"] == "[heap]"]
    span = int(row["start"], 16), int(row["end"], 16)
    assert (*span, row["permissions"]) == wanted
    assert row["mappings"] == 1 and row["class"] == "c_heap"
    assert SIZE * 0.97 <= row["idle_bytes"] <= SIZE * 1.03


def test_the_rest_of_a_list():
    """--top cuts the list, which says what it left out."""
    with Mapping(CENTRAL) as program:
        program.take("slice", SIZE, SIZE)
        with Trace(program.pid, *WORDS, "--top", "1") as trace:
            trace.interval()
            document = trace.end(signal.SIGINT)
    [row] = document["idle_mappings"]
    assert row["class"] == "go_heap"
    assert row["idle_bytes"] >= SIZE * 0.97
    left = sum(r["idle_bytes"] for r in document["idle"]) - row["idle_bytes"]
    assert document["idle_left_out_bytes"] == left > 0
    assert document["idle_left_out_mappings"] > 1


def test_a_process_that_ends():
    """Its smaps is gone, and so is the answer."""
    with Mapping(CENTRAL) as program:
        with Trace(program.pid, *WORDS) as trace:
            trace.interval()
            program.process.popen.stdin.close()
            document = trace.end()
    assert document["idle"] is document["idle_mappings"] is None
    said = "it is not known which memory was not accessed"
    assert said in document["partial"]


def test_not_asked_for():
    with Mapping(CENTRAL) as program:
        with Trace(program.pid, "--for", "0.2", "--look", "none") as trace:
            document = trace.end()
    assert document["idle"] is None and document["partial"] == []
