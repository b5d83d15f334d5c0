# SPDX-License-Identifier: Apache-2.0
"""Lines that are not wider than a screen."""

from goref.render.command import next_lines
from goref.render.table import WIDTH, wrapped


def test_a_short_line_stays():
    assert wrapped("  goroutine 1 waits") == ["  goroutine 1 waits"]


def test_a_long_line_is_broken_between_words():
    line = "  " + " ".join(["word"] * 50)
    pieces = wrapped(line)
    assert len(pieces) > 1 and max(map(len, pieces)) <= WIDTH
    assert pieces[0].startswith("  word")
    assert all(piece.startswith("        word") for piece in pieces[1:])
    assert " ".join(" ".join(pieces).split()) == line.strip()


def test_a_long_word_stays_whole():
    """It can be copied."""
    name = "main." + "x" * 200 + "-y"
    assert name in " ".join(wrapped(f"waits for {name} (mutex)")).split()


def test_notes_are_aligned_where_there_is_room():
    assert next_lines([("goref scan", "a"), ("goref hung", "b")]) == [
        "",
        "Next",
        "  goref scan  a",
        "  goref hung  b",
    ]


def test_the_note_of_a_long_command_is_below():
    short, long = "goref scan", "goref core /" + "x" * 90 + " scan"
    assert next_lines([(short, "a note"), (long, "another")]) == [
        "",
        "Next",
        f"  {short}",
        "      a note",
        f"  {long}",
        "      another",
    ]
