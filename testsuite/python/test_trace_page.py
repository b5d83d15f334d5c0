# SPDX-License-Identifier: Apache-2.0
"""The page of a trace: the area, and what it says in each mode."""

import re

import pytest

from goref.render.idle import IdleMapping, IdleMemory, LeftOut
from goref.render.kernel_memory import KernelKind, KernelMemory
from goref.render.trace import ClassGrowth, Losses, OutsideGrowth
from goref.render.traced_stack import TracedFrame, TracedStack
from goref.report.traced.area import area, bands, chart, times
from goref.report.traced.page import page
from goref.trace import merged
from test_render_trace import FRAMES, MIB, interval, report
from test_report import HOSTILE, Seen
from test_trace_idle import memory


def test_bands_are_above_the_lowest_level():
    found = bands([interval(1, 5, -3), interval(2, -2, -1), interval(3, 0, 9)])
    assert [(band.name, band.above) for band in found] == [
        ("go_heap", [0, 5, 3, 3]),
        ("c_heap", [4, 1, 0, 9]),
    ]
    assert not bands([interval(1, 0, 0)])


def test_area_is_stacked():
    """The top of a band is the bottom of the next one."""
    made = [interval(1, 4, 0), interval(2, 0, 8)]
    shapes = area(bands(made), times(made)).findall("polygon")
    lines = [
        [tuple(map(float, at.split(","))) for at in s.get("points").split()]
        for s in shapes
    ]
    tops = [points[:3] for points in lines]
    bottoms = [points[3:][::-1] for points in lines]
    assert bottoms[1] == tops[0]
    assert tops[1][-1][1] == 0  # all of the height at the largest time


def test_page_of_hostile_names():
    """They become text. A long list of calls is cut."""
    name = HOSTILE
    stack = TracedStack([TracedFrame(name, name, 1)] * 60, 1, 1, name, name,
                        name, None, name)  # fmt: skip
    made = report(stacks=[stack], losses=[Losses(name, 1)], partial=[name])
    plain = Seen(page(report(), [interval(1, 5, -5)]))
    seen = Seen(page(made, [interval(1, 5, -5)]))
    assert seen.tags.count("script") == plain.tags.count("script")
    assert any("and 20 more calls" in text for text in seen.texts)
    assert any("pwned()" in text for text in seen.texts)


def test_many_classes_are_few_bands():
    """The small ones are one band: no two have a color in common."""
    made = [interval(1, 5, -3)]
    rows = [made[0].classes[0]._replace(name=f"{n}", growth_bytes=n)
            for n in range(1, 30)]  # fmt: skip
    found = bands([made[0]._replace(classes=rows)])
    assert [band.name for band in found] == [*map(str, range(19, 30)), ""]
    assert found[-1].text == "18 other classes"
    assert found[-1].above == [0, sum(range(1, 19))]


@pytest.mark.parametrize(
    "seconds, marks",
    [(0.1, ["0.0 s", "0.1 s"]), (2, ["0.0 s", "1.0 s", "2.0 s"])],
)
def test_axis_of_time(seconds, marks):
    """A short trace has no two marks that read alike."""
    it = interval(1, 4 * MIB, 0)._replace(end_s=seconds)
    levels, _, found = chart(bands([it]), [it])
    assert [one.text for one in found] == marks
    assert [one.text for one in levels] == ["4.0 MiB", "3.0 MiB", "2.0 MiB",
                                            "1.0 MiB", "0 B"]  # fmt: skip


# ------------------------------------------------------------- what it says


def said(**more):
    """The text of a page, its lines joined, and the ids of its sections."""
    made = page(report(**more), [interval(1, 5, -3)])
    body = made.partition("<main")[2].partition("</main>")[0]
    words = " ".join(re.sub("<[^>]*>", "", body).split())
    return words, re.findall(r'<section id="(\w+)"', body)


def test_page_without_growth():
    text = page(report(stacks=[], classes=[]), [interval(1, 0, 0)])
    assert "No class has changed." in text
    assert "No class is larger or smaller than at the start." in text
    assert "No new page is still there." in text and "Largest" not in text


def test_page_of_rss():
    text, sections = said()
    assert sections == ["time", "classes", "stacks", "about"]
    assert "Resident memory grew" in text and "Kernel memory" not in text
    largest = "4.0 MiB, 79.9 % of all: main.fill at main.go:12"
    assert f"Largest stack{largest}" in text
    assert "by the stack that touched them and by what the memory holds" in text
    assert "99.9 % of the new pages have a stack." in text
    assert "labels" not in text


@pytest.mark.parametrize("mode", ["rss", "go"])
def test_page_without_a_look(mode):
    """It is not known what is still there, and what it holds."""
    text, _ = said(mode=mode, look="--look none", sample_rate_bytes=1 << 19)
    assert "what the memory holds" not in text
    assert "There was no look at the end (--look none)" in text
    assert ("still there" in text) == (mode == "rss")


def test_page_of_go():
    stack = TracedStack(FRAMES, MIB, 9, "go_heap_live", "Go heap", "main.T",
                        "main.site", "main.x", goroutines=[*range(7, 14)],
                        labels=[("step", "rows")])  # fmt: skip
    more = {"mode": "go", "stacks": [stack], "sample_rate_bytes": 512 << 10}
    text, sections = said(**more)
    assert sections == ["stacks", "time", "classes", "about"]
    assert "about 1.0 MiB allocated during the trace and still there" in text
    assert "step=rows; goroutines 7, 8, 9, 10, 11, …" in text
    assert "main.T, allocated by main.site, held by main.x" in text
    assert "but for the labels" in text and "new page" not in text
    text, _ = said(**{**more, "sample_rate_bytes": 1})
    assert "about 1.0 MiB" not in text and "estimated" not in text
    text, _ = said(**{**more, "sample_rate_bytes": None})
    assert "1.0 MiB in the samples alone and still there" in text
    assert "estimated" not in text


@pytest.mark.parametrize(
    "more, words",
    [
        ({"mode": "go"}, "No sampled allocation is still there."),
        ({"mode": "go", "look": "x"}, "No sampled allocation was seen."),
        (
            {"mode": "kernel", "kernel": KernelMemory([], 0, 0, 0)},
            "No memory that the kernel allocated during the trace is still there.",
        ),
    ],
    ids=["go", "go-without-a-look", "kernel"],
)
def test_page_of_nothing(more, words):
    text, _ = said(stacks=[], **more)
    assert words in text and "new page" not in text


def test_page_of_kernel():
    """Its own memory comes first, and resident memory may be unchanged."""
    frames = [TracedFrame("__kmalloc", "", 0), TracedFrame("do_x", "", 0)]
    stack = TracedStack(frames, MIB, 9, "kmalloc", "kmalloc", oldest_s=5.0)
    kinds = [KernelKind("kmalloc", "kmalloc", MIB, 9),
             KernelKind("slab", "slab objects", 0, 0)]  # fmt: skip
    text, sections = said(
        mode="kernel", stacks=[stack], rss_after_bytes=10 * MIB,
        kernel=KernelMemory(kinds, MIB, 70, 0.1),
    )  # fmt: skip
    assert sections == ["kernel", "stacks", "time", "classes", "about"]
    first = "Kernel memory1.0 MiB allocated during the trace and still there"
    assert first in text and "Resident memory is unchanged" in text
    assert text.index(first) < text.index("Resident memory is unchanged")
    assert "do_x, kmalloc, 9 blocks, the oldest 5.0 s old" in text
    assert "slab objects" not in text
    assert "70 runs of the probes for other memory" in text
    assert "have a stack" not in text


def test_page_of_a_trace_that_ended_early():
    text, _ = said(
        ended="process 5 has ended", partial=["its growth is not known"],
        losses=[Losses("ring_full", 4)], rss_after_bytes=9 * MIB,
    )  # fmt: skip
    assert "mode rss; ended early: process 5 has ended" in text
    assert "its growth is not known: the answer has gaps" in text
    assert "4 events not seen: the buffer between the kernel" in text
    assert "Resident memory shrank" in text


def test_page_of_memory_beside_the_pages():
    rows = [OutsideGrowth("slab", "slab", "cgroup", 9 * MIB, 3 * MIB),
            OutsideGrowth("sockets", "sockets", "process", 2, 1),
            OutsideGrowth("same", "unchanged", "process", 2, 0)]  # fmt: skip
    text, sections = said(outside=rows, cgroup="/app", cgroup_processes=2)
    assert "outside" in sections and "unchanged" not in text
    assert "+1 B2 Bprocesssockets+3.0 MiB9.0 MiBgroupslab" in text
    assert "The group is /app, with 2 processes." in text


def test_page_of_untouched_objects():
    text, sections = said(go_untouched_bytes=3 * MIB)
    assert "untouched" in sections
    assert "At least 3.0 MiB of objects of the Go heap are in pages" in text


def test_page_of_idle_memory():
    """By class and by mapping, as the text has it."""
    text, sections = said(idle=memory(LeftOut(7, 4096)))
    assert sections[-2:] == ["idle", "about"]
    assert "32.0 MiB50.0 %64.0 MiBGo heap1.0 MiB25.0 %4.0 MiBC heap" in text
    assert (
        "32.0 MiB50.0 %64.0 MiBanonymous, 12 mappingsGo heap"
        "c000000000-c004000000 rw-p"
    ) in text
    assert "1020.0 KiB49.8 %2.0 MiB[heap]C heap1000-9000 rw-p" in text
    assert "7 more mappings with 4.0 KiB idle: not on this page." in text
    assert "idle" not in said()[1]


def test_page_of_many_idle_mappings():
    row = IdleMapping(0, 9, "rw-p", "", "a", "A", 2, 8192, 4096)
    made = memory()._replace(mappings=[row] * 700)
    text, _ = said(idle=IdleMemory(made.classes, made.mappings))
    assert text.count("0-9 rw-p") == 500
    assert "400 more mappings with 800.0 KiB idle" in text


def test_page_of_many_stacks():
    text, _ = said(stacks=[TracedStack(FRAMES, MIB)] * 10_000)
    assert text.count("main.fill at main.go:12") <= 2 * 500 + 1
    assert "9,500 smaller rows are not in this report." in text


def test_long_names_are_short():
    """In a row of the table; the tooltip and the list of calls have them."""
    long = f"std::map<{'a' * 300}>::at"
    frame = TracedFrame(long, "/lib/x.so", 0)
    made = page(
        report(stacks=[TracedStack([frame], 1, type=long, holder=long)]),
        [interval(1, 5, -3)],
    )
    shown = re.findall(r"<code[^>]*>([^<]*(?:<wbr>[^<]*)*)</code>", made)
    assert sum("a" * 300 in name for name in shown) == 1
    titles = re.findall(r'<code title="([^"]*)"', made)
    assert len(titles) == 6 and all("a" * 300 in name for name in titles)


def test_intervals_of_a_long_trace():
    """There are never more than the most; merged ones add up, and say their
    span."""
    count = 3 * merged.MOST
    found, growth = [], 0
    for number in range(1, count + 1):
        found.append(interval(number, number % 7, -1, dropped=1))
        found = merged.shortened(found)
        growth += number % 7 - 1
        assert len(found) <= merged.MOST
    assert found[0].begin_s == 0 and found[-1].end_s == count
    assert all(a.end_s == b.begin_s for a, b in zip(found, found[1:]))
    assert found[0].end_s > found[-1].end_s - found[-1].begin_s == 1
    assert sum(row.growth_bytes for row in found) == growth
    by_class = [sum(row.classes[i].growth_bytes for row in found) for i in (0, 1)]
    assert by_class == [growth + count, -count]
    assert sum(row.dropped for row in found) == count
    assert sum(row.events for row in found) == 7 * count
    assert {row.overhead_percent for row in found} == {0.5}
    assert bands(found)[1].above[0] == count


def test_merged_intervals_of_other_classes_and_costs():
    one, other = interval(1, 5, 1), interval(2, 3)
    other = other._replace(overhead_percent=1.5, unattributed_bytes=None)
    other = other._replace(classes=[ClassGrowth("new", "n", 3)], end_s=4.0)
    rows = [one, other] * merged.MOST
    found = merged.shortened(rows)[0]
    assert (found.begin_s, found.end_s) == (0.0, 4.0)
    assert {c.name: c.growth_bytes for c in found.classes} == {
        "go_heap": 5, "c_heap": 1, "new": 3}  # fmt: skip
    assert found.overhead_percent == (0.5 * 1 + 1.5 * 3) / 4
    assert found.unattributed_bytes is None
    one = one._replace(overhead_percent=None)
    assert merged.shortened([one] * len(rows))[0].overhead_percent is None
    assert merged.shortened(rows[:9]) == rows[:9]
