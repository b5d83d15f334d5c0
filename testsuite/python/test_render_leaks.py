# SPDX-License-Identifier: Apache-2.0
"""goref leaks: rows to text and JSON."""

import json

from goref.render.leaks import LeaksReport


def report(found, partial=(), **options):
    return LeaksReport(
        tool_version="1.2.3", partial=partial, found=found, **options
    )


def test_one_group(make):
    found = make.leaks(make.leak_group(ids=range(17, 37)))
    assert (
        report(found, how="goref core a b").text()
        == """\
20 leaked goroutines in 1 group retain 3.0 MiB, and 40.0 KiB of stacks

1. 20 goroutines [chan send] retain 3.0 MiB, and 40.0 KiB of stacks
   in      main.(*Pool).work at /src/pool.go:31
   on      20 channels of *main.Job
   created by main.(*Pool).Start at /src/pool.go:12
   ids     17, 18, 19, 20, 21 and 15 more
   closer  goref core a b goroutine 17

[30 of 40 goroutines wait for channels or package sync. One has
leaked if neither a root nor the stack of a goroutine that can still run leads
to what it waits for, as in Go's own goroutineleak profile]
"""
    )


def test_document(make):
    found = make.leaks(
        make.leak_group(ids=[3, 4]),
        make.leak_group(ids=[9], verdict="missing memory"),
    )
    document = json.loads(report(found).json())
    assert (document["leaked"], document["unproven"]) == (2, 1)
    (group,) = document["groups"]
    assert group == {
        "count": 2,
        "function": "main.(*Pool).work",
        "file": "/src/pool.go",
        "line": 31,
        "wait_reason": "chan send",
        "awaited": "channel",
        "element_type": "*main.Job",
        "awaited_count": 2,
        "created_by": "main.(*Pool).Start",
        "created_file": "/src/pool.go",
        "created_line": 12,
        "start_function": "main.(*Pool).work.func1",
        "retained_bytes": 3 << 20,
        "retained_c_bytes": 0,
        "retained_objects": 7,
        "stack_bytes": 4096,
        "ids": [3, 4],
    }
    (unproven,) = document["unproven_groups"]
    assert unproven["reason"] == "missing memory" and unproven["ids"] == [9]


def test_what_is_awaited(make):
    def line(**fields):
        found = make.leaks(make.leak_group(ids=[1], **fields))
        lines = report(found).lines()
        return next((x[11:] for x in lines if x.startswith("   on ")), None)

    assert line() == "one channel of *main.Job"
    assert line(element_type=None) == "one channel"
    assert line(awaited="Mutex", element_type=None, nawaited=2) == "2 Mutexes"
    assert line(awaited="Cond", element_type=None, nawaited=2) == "2 Conds"
    assert line(awaited=None, element_type=None) is None


def test_groups_that_are_left_out(make):
    groups = [make.leak_group(ids=[i, 100 + i]) for i in range(6)]
    lines = report(make.leaks(*groups)).lines()
    assert "4. 2 goroutines [chan send] retain " in "\n".join(lines)
    assert "and 2 more groups of 4 goroutines (--top 0 shows all)" in lines
    assert "more groups" not in report(make.leaks(*groups), top=0).text()
    assert len(report(make.leaks(*groups)).document()["groups"]) == 6


def test_no_leak(make):
    found = make.leaks()
    assert report(found).lines()[0] == "no goroutine has leaked"
    assert report(make.leaks(blocked=0)).lines() == ["no goroutine has leaked"]


def test_unproven(make):
    groups = [
        make.leak_group(ids=[5, 6], verdict="unknown wait"),
        make.leak_group(ids=[7], verdict="missing memory"),
    ]
    lines = report(make.leaks(*groups), partial=["torn"]).lines()
    unproven = "no goroutine is known to have leaked; 3 may have"
    assert lines[0] == f"in what could be read: {unproven}"
    assert report(make.leaks(*groups)).lines()[0] == unproven
    assert lines[1].startswith("PARTIAL: torn")
    assert "unproven: 3 goroutines may have leaked" in lines
    place = "main.(*Pool).work at /src/pool.go:31 [chan send]"
    assert f"   2 in {place}: what they wait for could not be found" in lines
    assert (
        f"   1 in {place}: a pointer to what they wait for may lie in the "
        "memory that is missing" in lines
    )


def test_parts_in_c(make):
    """The groups, and all together; null if C was not read."""
    group = make.leak_group(ids=[3], retained_c_bytes=1 << 20)
    found = make.leaks(group, retained_c_bytes=1 << 20)
    lines = report(found).lines()
    for line in lines[0], lines[2]:
        assert "retains 3.0 MiB (Go 2.0 MiB, C 1.0 MiB), and" in line
    document = report(found).document()
    for row in document, *document["groups"]:
        assert row["retained_bytes"] == 2 << 20
        assert row["retained_c_bytes"] == 1 << 20
    unknown = found._replace(knows_c=False, retained_c_bytes=0)
    document = report(unknown).document()
    assert document["retained_bytes"] == 3 << 20
    assert document["retained_c_bytes"] is None
    assert document["groups"][0]["retained_c_bytes"] is None
