# SPDX-License-Identifier: Apache-2.0
"""Recursion in the stacks of goref trace: one line, and one row."""

import re

from goref.render.recursion import merged, repeats
from goref.render.traced_stack import TracedFrame, TracedStack
from test_render_trace import FRAMES, report

MAKE = TracedFrame("main.mk", "/src/main.go", 9)
EVEN = TracedFrame("main.even", "/src/main.go", 20)
ODD = TracedFrame("main.odd", "/src/main.go", 24)


def calls_of(*frames):
    text = report(stacks=[TracedStack(frames, 1)]).text()
    _, _, text = text.partition("by the stack that touched them:\n")
    return [line.strip() for line in text.split("\n\n")[0].splitlines()[1:]]


def test_a_call_that_repeats():
    main = FRAMES[2]
    assert calls_of(*[MAKE] * 15, main) == [
        "main.mk at main.go:9 ×15",
        "main.main at main.go:30",
    ]
    assert calls_of(MAKE, main, MAKE, main._replace(line=31)) == [
        "main.mk at main.go:9",
        "main.main at main.go:30",
        "main.mk at main.go:9",
        "main.main at main.go:31",
    ]


def test_a_cycle_of_two_calls():
    assert calls_of(EVEN, ODD, EVEN, ODD, EVEN, FRAMES[2]) == [
        "main.even at main.go:20",
        "main.odd at main.go:24",
        "(these 2 calls ×2)",
        "main.even at main.go:20",
        "main.main at main.go:30",
    ]


def test_calls_beyond_the_shown_ones_are_all_counted():
    deep = [FRAMES[1]._replace(line=n) for n in range(6)]
    assert calls_of(*deep, *[MAKE] * 15, *[EVEN, ODD] * 3)[6:] == [
        "and 21 more calls"
    ]


def test_rows_that_differ_in_the_depth_of_recursion():
    """One row in the text, a row for each depth in JSON."""
    rows = [
        TracedStack([*[MAKE] * depth, FRAMES[2]], 100, 2, "c_heap", "C heap")
        for depth in (1, 3, 15)
    ]
    rows.append(rows[0]._replace(class_name="other", class_text="Other"))
    made = report(stacks=rows, top=0)
    text = made.text()
    assert text.count("main.mk at main.go:9 ×1 to 15\n") == 1
    assert "300 B  75.0 %  C heap\n" in text
    assert "100 B  25.0 %  Other\n" in text
    exact = [len(row["frames"]) for row in made.document()["stacks"]]
    assert exact == [2, 4, 16, 2]
    deep = [FRAMES[1]._replace(line=n) for n in range(6)]
    rows = [row._replace(frames=[*deep, *row.frames]) for row in rows[:3]]
    assert "and 2 to 16 more calls\n" in report(stacks=rows).text()


def test_rows_that_read_alike():
    """They differ in calls of the runtime, which are not printed."""
    malloc = FRAMES[0]
    inner = malloc._replace(function="runtime.nextFreeFast")
    rows = [
        TracedStack([malloc, *FRAMES[1:]], 100),
        TracedStack([inner, malloc, *[MAKE] * 2, *FRAMES[1:]], 50),
        TracedStack([inner, malloc, *FRAMES[1:]], 20),
        TracedStack([inner], 3),
        TracedStack([malloc], 2),
    ]
    made = report(stacks=rows)
    sizes = re.findall(r"^ +(\d+) B +[\d.]+ %", made.text(), re.M)
    assert sizes == ["120", "50", "3", "2"]
    assert len(made.document()["stacks"]) == 5


def test_merged_rows_keep_what_each_has():
    one = TracedStack([MAKE] * 2, 10, None, goroutines=[7], oldest_s=1.0)
    other = TracedStack([MAKE] * 3, 5, 4, goroutines=[8, 7], oldest_s=9.0)
    [row] = merged([one, other])
    assert (row.stack.bytes, row.stack.blocks) == (15, 4)
    assert list(row.stack.goroutines) == [7, 8] and row.stack.oldest_s == 9.0
    assert [call.times for call in row.calls] == ["×2 to 3"]
    apart = other._replace(is_finished=False)
    assert len(merged([one, apart])) == 2


def test_a_long_cycle_that_is_none():
    """Each stack is gone through once: 256 calls, 255 of them alike."""
    assert [call.most for call in repeats([MAKE] * 255 + [ODD])] == [255, 1]
    assert repeats([]) == ()
