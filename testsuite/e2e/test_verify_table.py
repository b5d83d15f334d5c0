# SPDX-License-Identifier: Apache-2.0
"""The table in doc/verified.md is whole, says nothing bad, and comes out again."""

import pytest

import verify_table
from toolchains import variants


def test_the_table_is_whole():
    table = verify_table.kept()
    for build in verify_table.BUILDS:
        for release in verify_table.ALL:
            cell = table.get((release, build), "is missing")
            if not verify_table.exists(release, build):
                assert cell == "–", (release, build)
                continue
            assert verify_table.wrong(cell) is None, (release, build, cell)
            stripped = "-w" in build or build == "`strip`"
            assert stripped or cell.typed >= 99, (release, build, cell)


@variants("default")
@pytest.mark.parametrize("build", ["default", "`strip`"])
def test_a_cell_comes_out_again(variant, build):
    key = variant.release, build
    cells = {key: verify_table.make(*key)}
    assert verify_table.complaints(cells, verify_table.kept()) == []


def test_what_is_wrong_is_said():
    """The comparison can fail."""
    good = verify_table.Cell(0, 100, 100.0, "")
    key = "go1.24", "default"
    for bad in (
        good._replace(missing=3),
        good._replace(missing=1, problem="no explanation"),
        good._replace(typed=90.0),
        "not built: no such flag",
    ):
        assert verify_table.complaints({key: bad}, {key: good}), bad
    assert verify_table.complaints({key: good}, {})
    assert verify_table.complaints({key: good}, {key: good}) == []
