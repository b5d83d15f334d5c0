# SPDX-License-Identifier: Apache-2.0
"""Colors of lines: they change nothing that can be read."""

import re

import pytest

from goref.render.command import next_lines
from goref.render.report import as_text, partial_lines
from goref.render.style import Line, Span, joined, painted, styled
from goref.render.table import table

SGR = re.compile(r"\x1b\[[\d;]*m")


def test_a_line_in_one_style():
    line = styled("1 deadlock", "bad")
    assert painted(line, False) == "1 deadlock"
    assert painted(line, True) == "\x1b[1;31m1 deadlock\x1b[0m"


def test_a_part_of_a_line():
    line = Line.of("see goref hung now", [Span(4, 14, "command")])
    assert painted(line, True) == "see \x1b[36mgoref hung\x1b[0m now"


def test_joined_parts_keep_their_styles():
    line = joined(["a ", styled("b", "bad"), " c ", styled("d", "good")])
    assert line == "a b c d"
    assert [line[s.start : s.end] for s in line.spans] == ["b", "d"]


@pytest.mark.parametrize("with_color", [False, True])
def test_a_name_cannot_move_the_cursor(with_color):
    """Whatever the target calls its things."""
    line = styled("main.\x1b[2J\n", "bad")
    assert SGR.sub("", painted(line, with_color)) == "main.\\x1b[2J\\n"


def test_cells_of_a_table():
    rows = [["size", "what"], [styled("+1 B", "grown"), "x"], ["10 B", "y"]]
    lines = table(rows, left=[1], has_head=True)
    assert lines == ["  size  what", "  +1 B  x", "  10 B  y"]
    assert painted(lines[0], True) == "\x1b[2m  size  what\x1b[0m"
    assert painted(lines[1], True) == "  \x1b[31m+1 B\x1b[0m  x"
    plain = [[str(cell) for cell in row] for row in rows]
    assert table(plain, left=[1]) == lines


def test_the_same_text_with_and_without():
    lines = [
        *partial_lines(["interrupted"]),
        *next_lines([("goref hung", "why"), ("goref " + "x" * 99, "what")]),
    ]
    text = as_text(lines, True)
    assert SGR.search(text)
    assert SGR.sub("", text) == as_text(lines)
