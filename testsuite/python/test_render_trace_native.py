# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native: rows to text, JSON and a page."""

import json
import re

import pytest

from goref.render.native_memory import (
    NativeMemory,
    TracedAllocator,
    TracedWindow,
)
from goref.render.outstanding import ListedBlock, Outstanding, OwnerWait
from goref.render.traced_stack import TracedFrame, TracedStack
from goref.render.trace_coverage import Coverage, Losses
from goref.report.traced.page import page
from test_render_trace import interval, report

GLIBC = TracedAllocator("/lib/libc.so.6", True, ("malloc",))
JEMALLOC = TracedAllocator("/opt/libjemalloc.so.2", False, ("free", "malloc"))
LEAK = Outstanding(5900, 6800, 90, 107, 9, 576, 6272, False, True, 6272, 64, 64,
                   3.1)  # fmt: skip
HELD = Outstanding(100, 100, 1, 1, 1, 100, 0, True, True, 0, 100, 100, 7.0)
UNKNOWN = HELD._replace(held=None, in_use=None, resident_bytes=None)
FRAMES = (TracedFrame("leak_a", "/lib/libapp.so", 0),
          TracedFrame("main.main", "/src/main.go", 31))  # fmt: skip


def stack(native=LEAK, bytes=6272, blocks=98, oldest_s=59.8, **more):
    row = TracedStack(FRAMES, bytes, blocks, "c_heap", "C heap",
                      oldest_s=oldest_s, native=native)  # fmt: skip
    return row._replace(**more)


HOLDING = stack(HELD, 100, 1, 7.0, holder="main.cache",
                frames=(TracedFrame("keep", "/lib/libapp.so", 0),))  # fmt: skip


def memory(**more):
    fields = {
        "windows": [TracedWindow(10.0 * n, 0.32, 1000, 0) for n in range(6)],
        "open_s": 1.92,
        "whole_s": 60.0,
        "periods": 6,
        "without_window": 0,
        "is_whole": False,
        "is_full": False,
        "is_sampled": False,
        "followed_frees": False,
        "allocators": [GLIBC],
        "is_used": True,
    }
    return NativeMemory(**fields | more)


def native(stacks=(stack(), HOLDING), look="", coverage=Coverage(), **more):
    return report(
        mode="native", stacks=list(stacks), native=memory(**more), look=look,
        unattributed_bytes=None, unfinished_stacks=0, coverage=coverage,
        samples_without_labels=0,
    )  # fmt: skip


def text(**more):
    """The text, its lines joined: where they break does not matter."""
    return " ".join(native(**more).text().split())


def test_text():
    lines = native().text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("C memory"))
    joined = " ".join(" ".join(lines[at:]).split())
    assert joined == (
        "C memory that was allocated during the trace and is still in use "
        "(estimated from 6 windows, 1.9 s of 60.0 s), by stack: "
        "6.1 KiB 98.4 % C heap, 5.8 KiB to 6.6 KiB, 98 blocks (90 to 107) of "
        "64 B, held by nobody, resident, 3.1 to 59.8 s old "
        "leak_a in libapp.so main.main at main.go:31 "
        "100 B 1.6 % C heap, 1 block of 100 B, held by main.cache, not "
        "resident, 7.0 s old keep in libapp.so "
        "memory that was there before the start is not explained here "
        "6,000 allocations in 6 windows, 1.9 s of 60.0 s: all were recorded "
        "numbers are scaled from the windows to the whole time; each range of "
        "bytes and blocks has three standard deviations on each side a block "
        "counts only if it has survived the last quarter of its window the "
        "walk of the heap at the end tells what was freed; if a block was "
        "freed and its address was allocated again outside of the windows, "
        "the later block counts for the first stack the probes took 0.12 % "
        "of a processor, and goref-trace 1.50 %"
    )


def test_short_windows_are_in_milliseconds():
    assert "6 windows, 38 ms of 60.0 s" in text(open_s=0.0384)


def test_text_of_full_tracing():
    """Nothing is estimated, and there is no limit."""
    row = stack(LEAK._replace(low=6272, high=6272, low_blocks=98, high_blocks=98))
    made = native([row], is_whole=True, is_full=True, followed_frees=True)
    made.max_overhead_percent, made.overhead_percent = None, 15.0
    said = " ".join(made.text().split())
    assert "is still in use, by stack" in said and "estimated" not in said
    assert "scaled" not in said and "outside" not in said
    assert "C heap, 98 blocks of 64 B, held by nobody" in said
    assert "took 15.00 %" in said and "more than" not in said
    assert made.document()["max_overhead_percent"] is None
    assert "Limitnone" in re.sub(r"\s*<[^>]*>\s*", "", page(made, []))


def test_text_of_samples():
    said = text(is_sampled=True, windows=(), allocators=[
        TracedAllocator("/x/libsam.so", False, ("otel_memory:alloc",))])  # fmt: skip
    assert "(estimated from samples), by stack" in said
    assert "the samples are those of a library of the process" in said
    assert "windows" not in said and "never on" not in said


@pytest.mark.parametrize(
    "is_used, look, there",
    [
        (True, "", "and is still in use (est"),
        (None, "", "and is still in use, or was not seen freed (est"),
        (False, "", "and was not seen freed (est"),
        (True, "refused", "and was not seen freed (est"),
    ],
)
def test_heading(is_used, look, there):
    assert there in text(is_used=is_used, look=look)


def test_blocks_that_may_be_free():
    said = text(stacks=[stack(UNKNOWN, 100, 1, 7.0)],
                allocators=[GLIBC, JEMALLOC], is_used=False)  # fmt: skip
    assert "1 block of 100 B, not known whether in use, 7.0 s old" in said
    assert (
        "frees of libjemalloc.so.2 were only seen in the windows: blocks that "
        "are not known to be in use may have been freed outside of them" in said
    )
    assert "libjemalloc" not in text()
    whole = text(allocators=[GLIBC, JEMALLOC], is_whole=True)
    assert (
        "the blocks of libjemalloc.so.2 are those that were not seen freed"
        in whole
    )
    assert "outside of the windows" not in whole
    many = [JEMALLOC._replace(object=f"/l/{n}.so") for n in range(6)]
    assert "0.so, 1.so, 2.so, 3.so and 2 more were" in text(allocators=many)


def test_owners():
    for it, words in (
        (HELD._replace(held=None), "not known who holds it"),
        (HELD, "of 100 B, held, not"),
        (LEAK._replace(is_total=True, held=None, nobody_bytes=2048),
         "2.0 KiB of it held by nobody"),
        (LEAK._replace(is_total=True, held=None, nobody_bytes=0),
         "of 64 B, resident"),
        (LEAK._replace(resident_bytes=1024), "by nobody, 1.0 KiB resident,"),
        (LEAK._replace(largest_bytes=4096), "of 64 B to 4.0 KiB,"),
    ):  # fmt: skip
        assert words in text(stacks=[stack(it)])


def test_without_a_look():
    said = text(look="--look none")
    assert "there was no look at the end (--look none): it is not known which" in said
    assert "frees of libc.so.6 were not seen: blocks that were freed count" in said
    both = text(look="x", allocators=[GLIBC, JEMALLOC])
    assert "may have been freed outside of them" in both
    assert "were not seen: blocks" not in text(look="x", is_full=True)
    assert "read the heap" not in said


def test_gaps():
    windows = [TracedWindow(0, 1, 1000, 250)]
    said = text(windows=windows, without_window=2, older_s=5.0,
                min_bytes=1024, max_bytes=2048)  # fmt: skip
    for words in (
        "1,000 allocations in 1 window, 1.9 s of 60.0 s: 750 were recorded",
        "no window was open in 2 of 6 periods",
        "only blocks from 1.0 KiB to 2.0 KiB count",
        "only blocks that are at least 5 s old count",
    ):
        assert words in said, words
    assert "only blocks from 0 B to 9 B count" in text(max_bytes=9)
    assert "only blocks from 9 B on count" in text(min_bytes=9)
    sampled = text(windows=windows, sample=8)
    assert "one in 8 was chosen at random, and 250 of these were lost" in sampled
    assert "were recorded" not in sampled
    never = text(windows=(), stacks=())
    assert "the probes were never on" in never and "estimated" not in never
    assert "and --full needs none" in never
    rest = native(coverage=Coverage(without_stack=[Losses("unreadable", 3)]))
    assert "3 events had no stack: the stack could not be read" in rest.text()


def test_labels_that_are_not_known():
    made = native([stack(labels=None)])
    made.samples_without_labels = 9
    said = " ".join(made.text().split())
    assert "the labels of 9 blocks are not known" in said
    assert "labels not known" in said


def test_no_rows():
    said = text(stacks=())
    assert "by stack: none" in said and "scaled" not in said


WAITS = [
    OwnerWait(7, "holds", True, "chan receive", 12.34, "main.f",
              "main.f at f.go:3", None, "to receive from main.gate", True),
    OwnerWait(8, "allocated", None, "syscall", None, "main.g", None, "C.g"),
    OwnerWait(9, "allocated", False, "running"),
    *(OwnerWait(n, "allocated", True, "select") for n in (10, 11)),
]  # fmt: skip


def test_goroutines_that_wait():
    row = stack(LEAK._replace(waits=WAITS))
    said = text(stacks=[row])
    assert (
        "goroutine 7, which holds it, waits (chan receive) for at least 12.3 s "
        "in main.f at f.go:3: to receive from main.gate; it is about to run "
        "goroutine 8, which allocated it, may wait (syscall) in C.g, called by "
        "main.g "
        "goroutine 9, which allocated it, does not wait (running) "
        "and 2 more goroutines "
    ) in said
    found = native([row]).document()["stacks"][0]["waits"]
    assert found[0] == {
        "goroutine": 7, "role": "holds", "waiting": True,
        "reason": "chan receive", "seconds": 12.34,
        "function": "main.f", "place": "main.f at f.go:3", "c_function": None,
        "awaits": "to receive from main.gate", "woken": True,
    }  # fmt: skip
    assert native().document()["stacks"][0]["waits"] is None


def listed(n, **more):
    row = ListedBlock(0x1000 + n, 64, 9.5 + n, True, 64, False, None)
    return row._replace(**more)


def test_listed_blocks():
    blocks = [
        listed(0),
        listed(1, is_held=True, holder="main.x", resident_bytes=0),
        listed(2, in_use=None, is_held=None, resident_bytes=32),
    ]
    row = stack(LEAK._replace(blocks=blocks))
    said = text(stacks=[row])
    assert (
        "0x1000, 64 B, 9.5 s old, in use, resident, held by nobody "
        "0x1001, 64 B, 10.5 s old, in use, not resident, held by main.x "
        "0x1002, 64 B, 11.5 s old, not known whether in use, 32 B resident "
        "and 6 more blocks (--json)"
    ) in said
    found = native([row]).document()["stacks"][0]["list"]
    assert found[1] == {
        "address": "0x1001", "bytes": 64, "age_s": 10.5, "in_use": True,
        "resident_bytes": 0, "held": True, "holder": "main.x",
    }  # fmt: skip
    assert native().document()["stacks"][0]["list"] is None
    many = stack(LEAK._replace(blocks=[listed(n) for n in range(500)]))
    assert native([many]).text().count("held by nobody\n") <= 101


def test_json():
    found = json.loads(native().json())
    assert found["mode"] == "native"
    assert found["windows"][1] == {
        "start": 10.0, "seconds": 0.32, "calls": 1000, "lost": 0,
    }  # fmt: skip
    assert found["followed_frees"] is False
    assert found["allocators"] == [
        {"object": "/lib/libc.so.6", "walked": True, "functions": ["malloc"]}
    ]
    first = found["stacks"][0]
    assert (first["bytes"], first["low"], first["high"]) == (6272, 5900, 6800)
    assert (first["blocks"], first["low_blocks"], first["high_blocks"]) == (
        98, 90, 107,
    )  # fmt: skip
    assert first["held"] is False and first["in_use"] is True
    assert (first["youngest_s"], first["oldest_s"]) == (3.1, 59.8)
    assert first["nobody_bytes"] == 6272 and first["seen_blocks"] == 9
    assert (first["smallest_bytes"], first["largest_bytes"]) == (64, 64)
    other = report().document()
    assert other["windows"] is None and other["allocators"] is None
    assert "low" not in other["stacks"][0]


def test_rows_that_differ_in_what_is_not_printed():
    """They are one row, whose interval has both."""
    once = (FRAMES[0], FRAMES[1])
    deep = (FRAMES[0], FRAMES[0], FRAMES[1])
    rows = [stack(frames=once), stack(frames=deep, oldest_s=60.0,
            native=LEAK._replace(youngest_s=1.0, waits=WAITS[:1]))]  # fmt: skip
    said = text(stacks=rows)
    assert "12.2 KiB 100.0 % C heap, 11.5 KiB to 13.3 KiB, 196 blocks (180 to 214)" in said
    assert "1.0 to 60.0 s old leak_a in libapp.so ×1 to 2" in said
    assert "goroutine 7" in said
    apart = [rows[0], rows[1]._replace(native=HELD)]
    assert text(stacks=apart).count("leak_a") == 2


def test_order_of_the_text():
    """Merged rows keep the order of --sort."""
    small = stack(LEAK._replace(nobody_bytes=10), 10, 1)
    large = HOLDING._replace(bytes=9000)
    said = text(stacks=[small, large])
    assert said.index("leak_a") < said.index("keep in")
    said = text(stacks=[small, large], sort="bytes")
    assert said.index("keep in") < said.index("leak_a")


# ------------------------------------------------------------------------ page


def body(made):
    whole = page(made, [interval(1, 5, -3)])
    main = whole.partition("<main")[2].partition("</main>")[0]
    words = " ".join(re.sub("<[^>]*>", "", main).split())
    return words, re.findall(r'<section id="(\w+)"', main)


def test_page():
    row = stack(LEAK._replace(waits=WAITS), labels=(("step", "x"),), goroutines=[7])
    said, sections = body(native([row, HOLDING]))
    assert sections == ["stacks", "time", "classes", "windows", "about"]
    assert (
        "C allocationsabout 6.2 KiB allocated during the trace and still in "
        "use, 6.1 KiB of which nobody holds" in said
    )
    assert "First stack6.1 KiB, 98.4 % of all: leak_a in libapp.so" in said
    assert "is still in use (estimated from 6 windows" in said
    assert "98 blocks (90 to 107) of 64 B, held by nobody, resident" in said
    assert "held by main.cache, not resident" in said
    assert "step=x; goroutine 7; goroutine 7, which holds it, waits" in said
    assert "10.0 s0.320 s1,0000" in said
    assert "new page" not in said and "but for the labels" in said


def test_page_of_nothing():
    said, sections = body(native((), windows=()))
    assert "No outstanding block of C was seen." in said
    assert "windows" not in sections


def test_page_of_many_windows():
    said, _ = body(native(windows=[TracedWindow(n, 1, 7, 0) for n in range(600)]))
    assert "100 more windows: not on this page." in said
