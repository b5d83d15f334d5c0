# SPDX-License-Identifier: Apache-2.0
"""HACKING.md: its table of rooms has every test, and no other. The test of a
verb that is named as the verb is found without."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from goref.verbs import VERBS

TOP = Path(__file__).resolve().parents[2]
HACKING = TOP / "HACKING.md"
if not HACKING.exists():
    pytest.skip("no HACKING.md in this tree", allow_module_level=True)
TESTS = {"U": "unit/test_*.c", "E": "e2e/test_*.py"}


def named(kind):
    """The tests of a kind in the last column; `image*' names several."""
    rows = re.findall(r"^\| .* \| (.*) \|$", HACKING.read_text(), re.M)
    cells = (cell for row in rows for cell in row.split("; "))
    marked = [cell for cell in cells if cell.startswith(f"{kind}: ")]
    return [name for cell in marked for name in cell.split()[1:]]


@pytest.mark.parametrize("kind", TESTS)
def test_every_test_has_a_room(kind):
    files = (TOP / "testsuite").glob(TESTS[kind])
    tests = {file.stem.removeprefix("test_") for file in files}
    names = named(kind)
    assert tests and names
    known = [*names, *VERBS]
    lost = {t for t in tests if not any(fnmatch(t, n) for n in known)}
    assert not lost, "HACKING.md, table of rooms: no word of these tests"
    gone = {n for n in names if not any(fnmatch(t, n) for t in tests)}
    assert not gone, "HACKING.md, table of rooms: there is no such test"


def test_it_stays_short():
    assert len(HACKING.read_text().splitlines()) <= 140, "two printed pages"
