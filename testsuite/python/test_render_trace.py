# SPDX-License-Identifier: Apache-2.0
"""goref trace: rows to text, JSON and a page."""

import json

import pytest

from goref.render.trace import (
    ClassGrowth,
    OutsideGrowth,
    TracedInterval,
    TraceReport,
    interval_document,
    interval_line,
)
from goref.render.trace_coverage import Coverage, Losses
from goref.render.traced_stack import TracedFrame, TracedStack, caller
from goref.report.traced.page import page
from test_report import Seen

MIB = 1 << 20
FRAMES = (
    TracedFrame("runtime.mallocgc", "/go/malloc.go", 900),
    TracedFrame("main.fill", "/src/main.go", 12),
    TracedFrame("main.main", "/src/main.go", 30),
)
C_FRAMES = (
    TracedFrame("malloc", "/lib/libc.so.6", 0),
    TracedFrame("runtime.asmcgocall", "/go/asm.s", 3),
    TracedFrame("main.main", "/src/main.go", 31),
)


def report(**more):
    fields = {
        "tool_version": "1.2.3",
        "partial": (),
        "mode": "rss",
        "pid": 4711,
        "exe": "/srv/leaky",
        "seconds": 60.0,
        "ended": "",
        "look": "",
        "rss_before_bytes": 10 * MIB,
        "rss_after_bytes": 14 * MIB,
        "classes": [
            ClassGrowth("go_heap", "Go heap: objects", 5 * MIB),
            ClassGrowth("c_heap", "C heap: other", -MIB),
            ClassGrowth("unknown", "unknown", 0),
        ],
        "stacks": [
            TracedStack(FRAMES, 4 * MIB, 1024, "go_heap",
                        "Go heap: objects", "main.T", None, "main.cache",
                        rss_class="go_heap_live"),
            TracedStack(C_FRAMES, MIB, 256, "c_heap", "C heap: other",
                        is_finished=False),
            TracedStack([], 4096, 1),
        ],
        "new_bytes": 5 * MIB + 4096,
        "gone_bytes": MIB,
        "unattributed_bytes": 4096,
        "unfinished_stacks": 1,
        "events": 1300,
        "events_without_stack": 0,
        "losses": (),
        "overhead_percent": 0.123456,
        "helper_percent": 1.5,
        "max_overhead_percent": 1.0,
        "coverage": Coverage(1300),
    }  # fmt: skip
    return TraceReport(**fields | more)


def interval(number, *growths, dropped=0):
    names = ("go_heap", "c_heap")
    rows = [ClassGrowth(n, f"text of {n}", g) for n, g in zip(names, growths)]
    return TracedInterval(number - 1.0, number, 100 * MIB, sum(growths), rows,
                          0, 7, dropped, 0.5)  # fmt: skip


def test_text():
    assert (
        report().text()
        == """\
process 4711 (leaky): 10.0 MiB resident, +4.0 MiB in 60.0 s

  +5.0 MiB  Go heap: objects
  -1.0 MiB  C heap: other

new pages that are still there, by the stack that touched them:
     4.0 MiB  79.9 %  Go heap: objects, main.T, held by main.cache
      main.fill at main.go:12
      main.main at main.go:30
     1.0 MiB  20.0 %  C heap: other
      malloc in libc.so.6
      runtime.asmcgocall at asm.s:3
      main.main at main.go:31
      (the rest of the stack could not be read)
     4.0 KiB   0.1 %
      no stack was seen

memory that was there before the start is not explained here
99.9 % of the new pages have a stack
1 stack could not be followed to the start
1,300 events, of which all were seen: 1,300 with a stack, 0 without
the probes took 0.12 % of a processor, and goref-trace 1.50 %
"""
    )


def untouched(size, name, text, **more):
    row = TracedStack(C_FRAMES, size, None, name, text)
    return report(untouched=[row], untouched_bytes=size, **more)


def test_untouched_memory():
    lines = untouched(MIB, "c_heap", "C heap: other").text().splitlines()
    at = next(i for i, text in enumerate(lines) if "not touched" in text)
    assert lines[at : at + 5] == [
        "mapped during the trace and not touched, by the stack that mapped it: "
        "1.0 MiB",
        "     1.0 MiB 100.0 %  C heap: other",
        "      malloc in libc.so.6",
        "      runtime.asmcgocall at asm.s:3",
        "      main.main at main.go:31",
    ]
    more = untouched(MIB, "c_heap", "C", untouched_left_out_bytes=5000)
    assert "  and 4.9 KiB more" in more.text().splitlines()
    seen = Seen(page(more, [interval(1, 5, -5)]))
    assert "Not touched" in seen.texts
    document = json.loads(json.dumps(more.document()))
    assert document["untouched_bytes"] == MIB
    assert document["untouched_left_out_bytes"] == 5000
    [row] = document["untouched"]
    assert (row["bytes"], row["class"]) == (MIB, "c_heap")
    assert len(row["frames"]) == 3 and row["finished"] is True


def test_untouched_memory_that_is_not_worth_a_line():
    """Less than 1 % of 14 MiB, or taken in advance."""
    for made in (
        untouched(MIB // 8, "c_heap", "C"),
        untouched(9 * MIB, "go_heap_scavenged", "Go heap"),
        untouched(9 * MIB, "go_runtime_arenas", "Go runtime"),
        untouched(9 * MIB, "thread_stacks", "thread stacks"),
        report(go_untouched_bytes=MIB // 8),
    ):
        assert made.text() == report().text()
    assert page(made, []) == page(report(), [])


def test_untouched_objects_of_go():
    text = report(go_untouched_bytes=3 * MIB).text()
    assert "at least 3.0 MiB of objects of the Go heap are in pages" in text


def test_samples_of_a_stripped_program():
    """It does not tell how much a sample stands for."""
    text = " ".join(report(mode="go", events=0).text().split())
    assert "(samples only)" in text and "estimated" not in text
    assert "does not tell how much a sample stands for" in text
    assert "no sample was seen" in text
    text = report(mode="go", events=5).text()
    assert "no sample was seen" not in text
    assert "estimated" not in page(report(mode="go"), [])
    known = report(mode="go", sample_rate_bytes=512 << 10)
    assert "(estimated)" in known.text() and "512.0 KiB" in known.text()
    assert "estimated" in page(known, [])


def test_pages_of_a_process_that_has_ended():
    """Nothing of it is still there."""
    assert "that are still there, by" in report(ended="Ctrl-C").text()
    text = report(ended="the process has ended").text()
    assert "new pages that were there when they were last read, by" in text
    assert "still there" not in text


def test_what_is_said_of_losses():
    lines = report(
        partial=("7 events not seen",),
        events_without_stack=5,
        losses=[Losses("ring_full", 4), Losses("other", 3)],
        coverage=Coverage(1288, 0, [Losses("unreadable", 5)]),
        ended="Ctrl-C",
        look="refused",
        outside=[OutsideGrowth("sockets", "sockets", "process", 9 * MIB, MIB),
                 OutsideGrowth("slab", "slab", "cgroup", MIB, 0)],
        cgroup="/app",
        cgroup_processes=2,
        out="f.pb",
        html="p.html",
    ).lines()
    text = "\n".join(lines)
    for said in (
        "ended early: Ctrl-C",
        "PARTIAL: 7 events not seen",
        "4 events not seen: the buffer between the kernel and goref was full",
        "3 events not seen: other",
        "1,300 events, of which 1,293 were seen: 1,288 with a stack, 5 without",
        "5 events had no stack: the stack could not be read",
        "there was no look at the end (refused)",
        "+1.0 MiB  9.0 MiB  process  sockets",
        "the group is /app, with 2 processes",
        "profile: f.pb",
        "page: p.html",
    ):
        assert said in text, said


def coverage_text(*fields, **more):
    """The last lines, joined: where they break does not matter."""
    text = report(coverage=Coverage(*fields), **more).text()
    _, _, text = text.partition("not explained here")
    return " ".join(text.split())


def test_each_cause_of_a_missing_stack():
    rows = [Losses("over_budget", 1), Losses("ring_filling", 2),
            Losses("unreadable", 60)]  # fmt: skip
    text = coverage_text(1237, 0, rows, events_without_stack=63)
    assert "all were seen: 1,237 with a stack, 63 without " in text
    assert (
        "1 event had no stack: the budget of --max-overhead was overdrawn 2 events "
        "had no stack: the buffer between the kernel and goref was filling"
        in text
    )
    assert "60 events had no stack: the stack could not be read" in text


@pytest.mark.parametrize(
    "losses, said",
    [
        ([("over_budget", 300)], "1,300 events, of which 1,000 were seen: "),
        # These may be of other processes: they are not in the number.
        ([("missed", 7)], "1,300 events, of which all were seen: "),
        # A table that cannot be read is no event.
        ([("unread", 2)], "1,300 events, of which all were seen: "),
    ],
    ids=["over budget", "missed", "unread"],
)
def test_events_that_were_seen(losses, said):
    text = coverage_text(9, losses=[Losses(*row) for row in losses])
    assert said in text
    assert ("2 reads of the kernel's table failed" in text) == (
        losses[0][0] == "unread"
    )


def test_events_of_memory_that_was_given_back():
    """They need no stack."""
    text = coverage_text(1280, 20)
    assert "1,280 with a stack, 0 without, and 20 for memory given back" in text
    assert report(coverage=Coverage(1, 20)).document()["events_given_back"] == 20


def test_events_without_a_count_of_stacks():
    text = coverage_text(None, events_without_stack=4)
    assert "1,300 events, of which all were seen, 4 of these without a" in text
    assert "there were no events" in coverage_text(0, events=0)


def test_probes_that_were_off():
    made = {"seconds": 60.0, "partial": ("the probes were off for 12.3 s",)}
    text = coverage_text(9, 0, (), 12.34, **made)
    assert (
        "the probes were off for 12.3 s of 60.0 s, to stay below "
        "--max-overhead: events in that time are not counted" in text
    )
    assert "were off" not in coverage_text(9)
    found = report(coverage=Coverage(off_s=12.34)).document()
    assert found["off_seconds"] == 12.34
    row = interval(1, 5, 5)._replace(off_s=0.25)
    assert interval_document(row)["off_seconds"] == 0.25


@pytest.mark.parametrize(
    "took, limit, said",
    [
        (0.18, 0.01, "0.18 %, more than --max-overhead 0.01 %"),
        (1.004, 1.0, "1.0040 %, more than --max-overhead 1 %"),
        (0.0051, 0.006, None),  # 0.01 in two digits
        (1.00001, 1.0, None),
        (0.5, 1.0, None),
        (None, 1.0, None),
    ],
)
def test_more_than_the_limit(took, limit, said):
    text = coverage_text(overhead_percent=took, max_overhead_percent=limit)
    assert ("more than" in text) == bool(said)
    assert (said or "") in text


def test_the_pause_of_the_look():
    text = coverage_text(9, 0, (), 0.0, 0.0039, 1.5)
    assert (
        "for the look at the end, the process stood still for 3.9 ms, and was "
        "slowed down for another 1.50 s" in text
    )
    text = coverage_text(9, 0, (), 0.0, 0.125, None)
    assert "stood still for 125 ms" in text and "slowed" not in text
    assert "stood still" not in coverage_text(9)
    found = report(coverage=Coverage(pause_s=0.0039, slowed_s=1.5)).document()
    assert (found["pause_s"], found["slowed_s"]) == (0.0039, 1.5)
    found = report().document()
    assert found["pause_s"] is None and found["slowed_s"] is None


def test_pages_of_which_no_stack_is_known():
    """The modes go and kernel see no page faults."""
    made = report(mode="go", unattributed_bytes=None)
    assert made.document()["unattributed_bytes"] is None
    assert "of the new pages have a stack" not in made.text()
    row = interval(1, 5, 5)._replace(unattributed_bytes=None)
    assert interval_document(row)["unattributed_bytes"] is None


def test_pages_that_went_before_the_look():
    """They are no pages with a stack."""
    rows = [TracedStack(FRAMES, 8192, 2), TracedStack([], 24576, 6)]
    made = report(stacks=rows, unattributed_bytes=24576, new_bytes=128 * MIB,
                  gone_before_look_bytes=128 * MIB - 32768)  # fmt: skip
    text = made.text()
    assert "25.0 % of the new pages that were left have a stack" in text
    assert "128.0 MiB of the new pages went between the last interval" in text
    document = made.document()
    left = document["new_bytes"] - document["gone_before_look_bytes"]
    assert left == sum(row["bytes"] for row in document["stacks"])
    made = report(stacks=[], unattributed_bytes=0, new_bytes=8192,
                  gone_before_look_bytes=8192)  # fmt: skip
    assert "have a stack" not in made.text()


def test_rows_that_are_left_out():
    made = report(new_bytes=6 * MIB, stacks_left_out_bytes=MIB - 4096)
    assert "at least 83.3 % of the new pages have a stack" in made.text()
    assert made.document()["stacks_left_out_bytes"] == MIB - 4096


def test_no_growth():
    lines = report(classes=[], stacks=[], new_bytes=0, rss_after_bytes=0).lines()
    assert "no class of resident memory has changed" in lines
    assert lines[0].endswith("-10.0 MiB in 60.0 s")
    assert any(line.endswith("touched them: none") for line in lines)


def test_mode_go():
    stack = TracedStack(FRAMES, MIB, 9, type="main.T", goroutines=[7],
                        labels=[("step", "rows")])  # fmt: skip
    made = report(mode="go", stacks=[stack], sample_rate_bytes=512 << 10)
    text = made.text()
    assert "labels step=rows" in text
    assert "one for about 512.0 KiB" in text
    assert "have a stack" not in text
    found = made.document()["stacks"][0]
    assert found["labels"] == {"step": "rows"} and found["goroutines"] == [7]


def test_labels_that_are_not_known():
    """No labels, and labels that are not known, are not the same."""
    of = [TracedStack(FRAMES, MIB, 9, labels=set) for set in ((), None)]
    made = report(mode="go", stacks=of, samples_without_labels=3)
    text = made.text()
    assert "the labels of 3 samples are not known" in text
    assert text.count("labels not known") == 1
    found = made.document()
    assert [row["labels"] for row in found["stacks"]] == [{}, None]
    assert found["samples_without_labels"] == 3
    known = report(mode="go", stacks=of[:1], samples_without_labels=0)
    assert "not known" not in known.text()
    assert report().document()["samples_without_labels"] is None


@pytest.mark.parametrize(
    "rate, said",
    [(None, "does not tell how much a sample stands for"), (1, "bytes are exact")],
    ids=["unknown", "each"],
)
def test_bytes_that_are_not_estimated(rate, said):
    text = report(mode="go", sample_rate_bytes=rate).text()
    assert said in text and "estimated" not in text


def test_variables_are_no_holders():
    """A page of data lies in a variable; nobody has to hold it."""
    rows = [
        TracedStack(C_FRAMES, MIB, 256, name, f"text of {name}", holder="x")
        for name in ("modules", "anonymous_mappings")
    ]
    text = report(stacks=rows).text()
    assert "text of modules, in x\n" in text
    assert "text of anonymous_mappings, held by x\n" in text


def test_json():
    """The keys that scripts rely on; `top` cuts the list of stacks."""
    found = json.loads(report(top=2).json())
    assert found["rss_after_bytes"] - found["rss_before_bytes"] == 4 * MIB
    assert sum(row["growth_bytes"] for row in found["classes"]) == 4 * MIB
    first, second = found["stacks"]
    assert [call["function"] for call in first["frames"]] == [
        call.function for call in FRAMES
    ]
    assert first["class"] in {row["name"] for row in found["classes"]}
    assert first["rss_class"] == "go_heap_live"
    assert second["class"] == "c_heap" and second["rss_class"] is None
    assert first["holder"] == "main.cache"
    assert first["blocks"] == 1024 and second["finished"] is False
    assert found["dropped"] == 0 and found["overhead_percent"] == 0.1235
    assert found["partial"] == [] and found["complete"]


def test_top():
    assert "and 2 more rows with 1.0 MiB (--top)" in report(top=1).text()


def test_interval():
    row = interval(2, 3 * MIB, -MIB, dropped=2)
    assert interval_line(row).split() == (
        "2.0 s 100.0 MiB +2.0 MiB text of go_heap +3.0 MiB, "
        "text of c_heap -1.0 MiB"
    ).split()
    found = interval_document(row)
    assert found["growth_bytes"] == 2 * MIB and found["dropped"] == 2
    assert found["classes"] == [
        {"name": "go_heap", "growth_bytes": 3 * MIB},
        {"name": "c_heap", "growth_bytes": -MIB},
    ]


def test_calls_far_out():
    """The program's own call is there, however deep the stack is."""
    inner = [TracedFrame(f"f{n}", "/lib/x.so", 0) for n in range(20)]
    rest = [*C_FRAMES[1:], FRAMES[2]]
    text = report(stacks=[TracedStack([*inner, *rest], 1)]).text()
    assert text.count(" in x.so") == 6
    assert "15 calls of C and cgo\n      main.main at main.go:31\n" in text
    assert "and 1 more call" in text


def test_caller():
    """The call that a person looks for first."""
    assert caller(FRAMES) == FRAMES[1]
    assert caller(C_FRAMES) == C_FRAMES[2]
    assert caller(C_FRAMES[:1]) == C_FRAMES[0]
    assert caller([]) is None


@pytest.mark.parametrize(
    "first", ["kmem_cache_alloc_noprof", "__alloc_pages", "__kmalloc"]
)
def test_caller_of_the_kernel(first):
    """Allocators of the kernel are not what a reader looks for."""
    frames = [TracedFrame(first, "", 0), TracedFrame("do_eventfd", "", 0)]
    assert caller(frames) == frames[1]
    own = TracedFrame(first, "/lib/own.so", 0)
    assert caller([own, *frames]) == own
    assert caller(frames[:1]) == frames[0]
