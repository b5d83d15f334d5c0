# SPDX-License-Identifier: Apache-2.0
"""Numbers, names and tables as a person reads them."""

import pytest

from goref import live
from goref.render.table import of_how_many, table
from goref.render.units import (
    counted,
    human_bytes,
    percent,
    printable,
    seconds,
)

TB = 1 << 40


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        # Rounded to one digit it would be 1024.0: the next unit's 1.0.
        (1024 * 1024 - 1, "1.0 MiB"),
        (1024 * 1024 - 60, "1023.9 KiB"),
        (5 << 30, "5.0 GiB"),
        (3 * TB // 2, "1.5 TiB"),
        (5000 * TB, "5000.0 TiB"),
        ((1 << 64) - 1, "16777216.0 TiB"),
    ],
)
def test_human_bytes(count, text):
    assert human_bytes(count) == text


@pytest.mark.parametrize(
    "part, whole, text",
    [
        (0, 0, "-"),
        (5, 0, "-"),
        (0, 5, "0.0 %"),
        (1, 3, "33.3 %"),
        (1, 2000, "0.1 %"),
        (1, 2001, "<0.1 %"),
        (1, 1 << 64, "<0.1 %"),
        (7, 7, "100.0 %"),
        # A target whose books are wrong.
        (3, 2, "150.0 %"),
    ],
)
def test_percent(part, whole, text):
    assert percent(part, whole) == text


@pytest.mark.parametrize(
    "us, text",
    [
        (0, "0 ms"),
        (499, "0 ms"),
        (1500, "2 ms"),
        (999_499, "999 ms"),
        (1_000_000, "1.00 s"),
        (93_000_000, "93.00 s"),
    ],
)
def test_seconds(us, text):
    assert seconds(us) == text


@pytest.mark.parametrize(
    "number, text", [(0, "0 paths"), (1, "1 path"), (1234, "1,234 paths")]
)
def test_counted(number, text):
    assert counted(number, "path") == text


@pytest.mark.parametrize(
    "text, shown",
    [
        ("", ""),
        ("main.cache[\"é\"]. (*main.T)", "main.cache[\"é\"]. (*main.T)"),
        ("a\nb", "a\\nb"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("tab\there\x7f", "tab\\there\\x7f"),
        ("\u2028\u202e", "\\u2028\\u202e"),
        # A byte of a file's name that is not UTF-8.
        ("core\udcff", "core\\udcff"),
        ("back\\slash", "back\\slash"),
    ],
)  # fmt: skip
def test_printable(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


def test_table_aligns():
    rows = [["size", "what"], ["1 B", "a"], ["1,024 KiB", "longer name"]]
    assert table(rows, left=[1]) == [
        "       size  what",
        "        1 B  a",
        "  1,024 KiB  longer name",
    ]


def test_table_of_nothing():
    assert table([]) == []
    assert table([["size", ""]], left=[1]) == ["  size"]


def test_table_goes_by_what_is_printed():
    lines = table([["a\nb", "1"], ["abcd", "2"]], left=[0])
    assert lines == ["  a\\nb  1", "  abcd  2"]


def test_of_how_many():
    assert of_how_many(10, 12345) == " (of 12,345)"
    assert of_how_many(10, 10) == ""


@pytest.mark.parametrize(
    "seconds, text",
    [(0.0004, "0.4 ms"), (0.0652, "65 ms"), (0.9, "900 ms"), (4.706, "4.71 s")],
)
def test_duration_of_a_stop(seconds, text):
    """4706.0 ms is hard to read."""
    assert live.duration(seconds) == text
