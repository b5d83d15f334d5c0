# SPDX-License-Identifier: Apache-2.0
"""The line of progress: its step, its share, and the time that is left."""

import os

import pytest

from goref import front, progress


class Screen(front.Front):
    """A terminal without lines that can be drawn over."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def has_line(self):
        return False

    def note(self, text):
        self.notes.append(text.rstrip("\n"))


@pytest.fixture
def shown(monkeypatch):
    """Lines after calls at given seconds: (second, step, done, total)."""

    def run(*calls):
        screen = Screen()
        monkeypatch.setattr(front, "current", screen)
        now = [0.0]
        monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
        monkeypatch.setattr(progress, "_PLAIN_STEP_S", 0.0)
        line = progress.Progress("on")
        for now[0], *call in calls:
            line(*call)
        return screen.notes

    return run


def test_nothing_is_shown_at_first(shown):
    assert shown((0.1,), (0.4, "walking the heap", 1, 2)) == []


def test_steps(shown):
    assert shown(
        (0.6,),
        (0.7, "walking the heap", 10, 4000),
        (0.8, "walking the heap", 1000, 4000),
        (0.9, "collecting references", 0, 0),
        (1.0, "computing dominators", 3, 4),
    ) == [
        "goref: 0.6 s, reading the program",
        "goref: 0.7 s, walking the heap, 0 % of 4.0 k objects",
        "goref: 0.8 s, walking the heap, 25 % of 4.0 k objects",
        "goref: 0.9 s, collecting references",
        "goref: 1.0 s, computing dominators, 75 %",
    ]


def test_an_estimate_needs_time_and_a_part(shown):
    """It never rests on the first moments: the rate of a walk that starts
    slowly would make 33 minutes of 40 seconds."""
    lines = shown(
        (1.0, "walking the heap", 1, 1000),
        (1.9, "walking the heap", 500, 1000),
        (3.0, "walking the heap", 501, 1000),
        (4.0, "computing dominators", 1, 1000),
        (9.0, "computing dominators", 50, 1000),
        (14.0, "computing dominators", 251, 1000),
    )
    assert [line.partition(", about ")[2] for line in lines] == [
        "",
        "",
        "2 s left in this step",
        "",
        "",
        "30 s left in this step",
    ]


def test_the_estimate_is_true_of_a_steady_step(shown):
    """Whatever was done before the step was heard of."""
    times = range(5, 100, 5)
    step = "finding shortest paths"
    lines = shown(*((at, step, 10 * at, 1000) for at in times))
    for at, line in zip(times, lines, strict=True):
        left = 100 - at
        if at < 15:
            assert "about" not in line
        elif left < 10:
            assert f"about {left} s left" in line
        else:
            assert f"about {10 * -(-left // 10)} s left" in line


def test_a_total_may_be_too_small(shown):
    """The units of some steps are estimates: there is no 103 %."""
    assert shown(
        (1.0, "computing dominators", 500, 1000),
        (3.0, "computing dominators", 1030, 1000),
    )[1] == (
        "goref: 3.0 s, computing dominators, 99 %, about 1 s left in this step"
    )


@pytest.fixture
def drawn(monkeypatch):
    """The bytes for a terminal of some size while lines are known."""

    class Lines(Screen):
        def has_line(self):
            return True

        def flush(self):
            pass

    def run(known, columns=80, rows=24):
        written = []
        monkeypatch.setattr(front, "current", Lines())
        now = [0.0]
        monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
        monkeypatch.setattr(
            progress.os, "write", lambda fd, data: written.append(data)
        )
        monkeypatch.setattr(
            progress.os,
            "get_terminal_size",
            lambda fd: os.terminal_size((columns, rows)),
        )
        line = progress.Progress("on")
        now[0] = 1.0
        line()
        line.announce(known)
        for now[0] in 2.0, 3.0:
            line("walking the heap", 1, 2)
        line.end()
        return b"".join(written).decode()

    return run


def test_known_lines_stand_above(drawn):
    """They are drawn once, and go when the answer comes."""
    text = drawn(["1 deadlock", "goroutines: 7"])
    assert text.count("1 deadlock") == text.count("goroutines: 7") == 1
    assert text.index("1 deadlock") < text.index("walking the heap")
    assert text.endswith("\r\x1b[2A\x1b[J")


def test_known_lines_fit(drawn):
    """A line that wraps, or scrolls, could not be taken back."""
    text = drawn(["x" * 200, "\x1b[2J"], columns=50)
    assert "x" * 49 in text and "x" * 50 not in text
    assert "\x1b[2J" not in text
    assert "known" not in drawn(["known"] * 9, rows=10)


@pytest.mark.parametrize("columns", [20, 40, 80, 120])
def test_the_line_of_progress_does_not_wrap(drawn, columns):
    """Each would be drawn below the one before it."""
    text = drawn([], columns=columns)
    drawings = [part for part in text.split("\r") if "goref" in part]
    assert drawings
    for part in drawings:
        assert len(part.removesuffix("\x1b[K")) < columns
    assert ("(Ctrl-C stops)" in text) == (columns > 60)
