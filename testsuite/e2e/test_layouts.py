# SPDX-License-Identifier: Apache-2.0
"""The layout table of each Go release is as its golden column has it."""

import subprocess
import sys

import pytest

import layouts
from session import TOP
from toolchains import RELEASES, go_binary, go_environment, release_of

sys.path.insert(0, str(TOP / "python"))

from goref.render import stack


def go_of(release):
    """Fetched for the releases that every test uses; else as far as there."""
    if release in RELEASES:
        return go_binary(release)
    go = layouts.cached_go(release)
    if not go:
        number = release.removeprefix("go")
        pytest.skip(f"{release} not unpacked: testsuite/fetch-go {number}")
    return go


def text_of(release):
    try:
        return layouts.layout_text(go_of(release))
    except layouts.NotPossible as reason:
        return pytest.skip(str(reason))


@pytest.mark.parametrize("release", layouts.golden_releases())
def test_layout(release):
    text = text_of(release)
    diff = layouts.difference(release, text)
    if diff:
        go = go_of(release)
        pytest.fail(
            f"the layout of {release} has changed. If rows of layout.h or a "
            "minor release of Go did that, look at each line and run\n"
            f"  /usr/bin/python3 testsuite/e2e/layouts.py --update {go}\n{diff}",
            pytrace=False,
        )


@pytest.mark.parametrize("release", RELEASES)
def test_release_has_a_golden_column(release):
    assert release in layouts.golden_releases()


@pytest.mark.parametrize("release", RELEASES)
def test_packages_of_the_library(release):
    """Calls of no other packages are the program's own."""
    done = subprocess.run(
        [go_binary(release), "list", "std", "cmd"],
        env=go_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    packages = {line.partition("/")[0] for line in done.stdout.splitlines()}
    assert packages and packages <= stack._LIBRARY


def test_every_row_once():
    """The table has a line a row, and required rows are not empty."""
    lines = layouts.TABLE.read_text().splitlines()
    keys = [line.partition("|")[0] for line in lines if line[0] not in "#|"]
    assert len(keys) == len(set(keys))
    for column, rows in layouts.load().items():
        assert list(rows) == keys
        for name in ("mheap", "mspan", "g", "m", "p", "moduledata", "type"):
            assert rows[name] != "-", (column, name)


def copied_table(tmp_path, monkeypatch):
    """Tests write a copy of the table; its text."""
    text = layouts.TABLE.read_text()
    monkeypatch.setattr(layouts, "TABLE", tmp_path / "layouts.txt")
    layouts.TABLE.write_text(text)
    return text


def test_table_reads_back(tmp_path, monkeypatch):
    """A column that is written as it was leaves the table as it was."""
    before = copied_table(tmp_path, monkeypatch)
    for column in layouts.load():
        layouts.save({column: layouts.rows_of(layouts.golden_text(column))})
        assert layouts.TABLE.read_text() == before


def test_new_row_needs_every_column(tmp_path, monkeypatch):
    """No column says "absent" of a row that nobody has looked for there."""
    before = copied_table(tmp_path, monkeypatch)
    columns = {
        column: {**rows, "g.new": "8 8"}
        for column, rows in layouts.load().items()
    }
    oldest, *newer = columns
    needs = f"g.new is .* {oldest} would"
    with pytest.raises(layouts.NotPossible, match=needs):
        layouts.save({column: columns[column] for column in newer})
    assert layouts.TABLE.read_text() == before
    layouts.save(columns)
    assert layouts.load() == columns


def test_difference_names_the_row():
    release = layouts.golden_releases()[-1]
    text = layouts.golden_text(release)
    line = next(x for x in text.splitlines() if x.startswith("g.goid "))
    diff = layouts.difference("go9.99", text.replace(line, "g.goid -"))
    assert f"-{line}\n+g.goid -\n" in diff
    assert f"{release} in testsuite/layouts.txt" in diff


def test_release_of_every_golden_column():
    """A toolchain's own name leads to its golden column."""
    for release in layouts.golden_releases():
        go = layouts.cached_go(release)
        if go:
            assert release_of(go) == release
