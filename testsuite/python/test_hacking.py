# SPDX-License-Identifier: Apache-2.0
"""HACKING.md: its table of rooms has every test whose name is not that of a
verb or a source file, and no other; and it is two pages."""

import functools
import re
import textwrap
from fnmatch import fnmatch
from pathlib import Path

import pytest

from goref.verbs import VERBS

TOP = Path(__file__).resolve().parents[2]
HACKING = TOP / "HACKING.md"
if not HACKING.exists():
    pytest.skip("no HACKING.md in this tree", allow_module_level=True)
TESTS = {"U": "unit/test_*.c", "E": "e2e/test_*.py"}
SOURCES = ("scanner/**/*.c", "gdbext/*.c", "proto/*.c", "helpers/**/*.c",
           "python/goref/**/*.py")  # fmt: skip
LINES = 2 * 72  # of 80 characters


def named(kind):
    """The tests of a kind in the last column; `image*' names several."""
    rows = re.findall(r"^\| .* \| (.*) \|$", HACKING.read_text(), re.M)
    cells = (cell for row in rows for cell in row.split("; "))
    marked = [cell for cell in cells if cell.startswith(f"{kind}: ")]
    return [name for cell in marked for name in cell.split()[1:]]


@functools.cache
def files_and_verbs():
    return {path.stem for glob in SOURCES for path in TOP.glob(glob)} | {*VERBS}


def is_of_file_or_verb(test):
    words = test.split("_")
    starts = {"_".join(words[:i]) for i in range(1, len(words) + 1)}
    return bool(starts & files_and_verbs())


@pytest.mark.parametrize("kind", TESTS)
def test_every_test_has_a_room(kind):
    files = (TOP / "testsuite").glob(TESTS[kind])
    tests = {file.stem.removeprefix("test_") for file in files}
    names = named(kind)
    assert tests and names
    obvious = {t for t in tests if is_of_file_or_verb(t)}
    lost = {
        t for t in tests - obvious if not any(fnmatch(t, n) for n in names)
    }
    assert not lost, "HACKING.md, table of rooms: no word of these tests"
    gone = {n for n in names if not any(fnmatch(t, n) for t in tests)}
    assert not gone, "HACKING.md, table of rooms: there is no such test"


def test_it_stays_short():
    lines = HACKING.read_text().splitlines()
    printed = sum(len(textwrap.wrap(line, 80)) or 1 for line in lines)
    assert printed <= LINES, "two printed pages"
