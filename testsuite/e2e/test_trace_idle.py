# SPDX-License-Identifier: Apache-2.0
"""goref trace --idle: memory of known sizes that was used meanwhile, and memory
that was not."""

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
    total = sum(row["rss_bytes"] for row in rows)
    assert total == pytest.approx(document["rss_after_bytes"], rel=0.02)
    return {
        row["name"]: (row["idle_bytes"], row["rss_bytes"]) for row in rows
    }


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


def test_not_asked_for():
    with Mapping(CENTRAL) as program:
        with Trace(program.pid, "--for", "0.2", "--look", "none") as trace:
            assert trace.end()["idle"] is None
