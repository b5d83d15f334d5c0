# SPDX-License-Identifier: Apache-2.0
"""goref profile: rows to text and JSON."""

import json

import pytest

from goref.render.profile import (
    NO_LEAKS,
    BucketProfileReport,
    GoroutineProfileReport,
    leak_note,
    stacks_text,
)
from rows import make as make_row


@pytest.fixture
def rows(goref):
    def frame(function, line, off=16, inlined=False):
        return goref.StackFrame(function, "/src/a.go", line, off, inlined)

    def goroutine(number, **fields):
        return make_row(
            "Goroutine",
            fields,
            id=number,
            state="waiting",
            wait_reason="chan receive",
            stack_bytes=100,
            labels=(),
        )

    def profile(*stacks, unproven=0, cut=()):
        """(goroutine, frames)"""
        return goref.GoroutineProfile(
            tuple(
                goref.GoroutineStack(g, i, 2048, i in cut)
                for i, (g, _) in enumerate(stacks)
            ),
            tuple(goref.GoroutineSample(1, 2048, f) for _, f in stacks),
            unproven,
            None,
        )

    class Rows:
        pass

    Rows.frame, Rows.goroutine = staticmethod(frame), staticmethod(goroutine)
    Rows.profile = staticmethod(profile)
    Rows.location = goref.Location
    return Rows


def test_text(rows):
    go = rows.location(0x1000, "main.start", "/src/b.go", 9)
    found = rows.profile(
        (
            rows.goroutine(7, creator_id=1, go=go, locked_thread_id=99),
            (
                rows.frame("runtime.gopark", 1),
                rows.frame("runtime.chanrecv1", 2),
                rows.frame("main.Map[go.shape.int,go.shape.string].get", 3,
                           inlined=True),
                rows.frame("main.work", 4, off=0x2A),
            ),
        ),
        (
            rows.goroutine(8, state="leaked", wait_reason="select"),
            (
                rows.frame("main.last", 5),
                rows.frame("runtime.gopanic", 6),
                rows.frame("runtime.GC", 7),
                rows.frame("runtime.main", 8),
            ),
        ),
        (rows.goroutine(9, state="running", wait_reason=None), ()),
        cut={1},
    )  # fmt: skip
    assert (
        stacks_text(found)
        == """\
goroutine 7 [chan receive, locked to thread]:
main.Map[...].get(...)
\t/src/a.go:3
main.work(...)
\t/src/a.go:4 +0x2a
created by main.start in goroutine 1
\t/src/b.go:9

goroutine 8 [select (leaked)]:
main.last(...)
\t/src/a.go:5 +0x10
panic(...)
\t/src/a.go:6 +0x10
runtime.GC(...)
\t/src/a.go:7 +0x10
...additional frames elided...

goroutine 9 [running]:
"""
    )


def test_no_goroutine(rows):
    assert stacks_text(rows.profile()) == ""


def test_notes(rows):
    none, some = rows.profile(), rows.profile((rows.goroutine(1), ()))
    assert leak_note("goroutine", none) is None
    assert leak_note("goroutineleak", some) is None
    assert leak_note("goroutineleak", none) == NO_LEAKS
    unknown = rows.profile(unproven=1200)
    assert leak_note("goroutineleak", unknown).startswith("1,200 more may")


def test_report(rows):
    found = rows.profile((rows.goroutine(1), ()), (rows.goroutine(2), ()))
    report = GoroutineProfileReport(
        tool_version="1.2.3",
        partial=["a reason"],
        kind="goroutine",
        found=found,
        out="g.pb.gz",
    )
    assert report.text().splitlines() == [
        "g.pb.gz: 2 goroutines, 2 different stacks, 4.0 KiB of stack space",
        "PARTIAL: a reason: goroutines may be missing",
    ]
    assert json.loads(report.json()) == {
        "schema": 1,
        "tool_version": "1.2.3",
        "complete": False,
        "partial": ["a reason"],
        "profile": "goroutine",
        "out": "g.pb.gz",
        "goroutines": 2,
        "samples": 2,
        "stack_space_bytes": 4096,
        "note": None,
    }


def buckets(kind, totals, **fields):
    return BucketProfileReport(
        tool_version="1.2.3",
        partial=(),
        kind=kind,
        found=make_row(
            "BucketProfile", fields, samples=3, totals=totals, period=524288
        ),
        out="p.gz",
    )


def test_heap():
    report = buckets("heap", (10, 4096, 2, 1024))
    assert report.text() == (
        "p.gz: 1.0 KiB in use in 2 objects, 4.0 KiB allocated in 10, 3 samples\n"
    )
    document = json.loads(report.json())
    assert document["inuse_bytes"] == 1024
    assert document["alloc_objects"] == 10
    assert document["notes"] == []


@pytest.mark.parametrize(
    "kind, text",
    [
        ("allocs", "one allocation in 512.0 KiB; objects and sizes are"),
        ("mutex", "contentions and delays are"),
    ],
)
def test_estimated(kind, text):
    report = buckets(kind, (1, 2, 0, 0), is_estimated=True)
    (line,) = report.lines()[1:]
    assert f"{text} estimated" in line
    document = json.loads(report.json())
    assert document["estimated"] and document["notes"] == []
    none = buckets(kind, (0,) * 4, is_estimated=True, samples=0)
    assert len(none.lines()) == 1


@pytest.mark.parametrize(
    "kind, fields, text",
    [
        ("heap", {"is_disabled": True, "is_off": True}, "not linked"),
        ("heap", {"is_off": True}, "MemProfileRate is 0"),
        ("heap", {"is_before_gc": True}, "no collection has ended"),
        ("block", {"is_off": True}, "SetBlockProfileRate"),
        ("mutex", {"is_off": True}, "SetMutexProfileFraction"),
        ("mutex", {"is_in_ticks": True}, "in ticks"),
    ],
)
def test_notes_of_buckets(kind, fields, text):
    report = buckets(kind, (1, 2, 0, 0), **fields)
    (note,) = json.loads(report.json())["notes"]
    assert text in note and report.lines()[1] == note


def test_delay():
    report = buckets("mutex", (7, 2_500_000_000, 0, 0))
    assert report.lines() == [
        "p.gz: 7 contentions, 2.500 s of delay, 3 samples"
    ]
    report = buckets("mutex", (7, 2500, 0, 0), is_in_ticks=True)
    assert "2,500 ticks of delay" in report.lines()[0]
