# SPDX-License-Identifier: Apache-2.0
"""The page of `goref trace --html` in a real browser."""

import pytest

from browser import NARROW, WIDE, Page
from toolchains import Variant
from traces import MIB, Growing, Trace, skip_unless_traced

READABLE = 4.5  # contrast of text (WCAG AA)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The page of a program that grows while it is traced."""
    skip_unless_traced()
    out = tmp_path_factory.mktemp("page") / "trace.html"
    words = "--idle", "--every", "0.2", "--count", "5", "--html", out
    with Growing(Variant("go1.24", "cgo")) as program:
        with Trace(program.pid, *words) as trace:
            trace.interval()
            program.grow("rows", 4 * MIB)
            program.grow("plain", 4 * MIB)
            document = trace.end()
    assert document["html"] == str(out), trace.said
    return out


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_can_be_read(driver, path, size, theme):
    page = Page(driver, path, size, theme)
    assert page.complaints() == []
    assert page.overflow() <= 0
    assert page.axe() == []
    assert len(page.all(".area polygon")) >= 2
    assert page.one("#idle-mappings tbody tr").is_displayed()
    faint = [row for row in page.contrasts() if row[0] < READABLE]
    assert not faint
    assert page.requests() == [path.resolve().as_uri()]


def test_tables_can_be_sorted_and_searched(driver, path):
    page = Page(driver, path)
    page.click("#intervals th:nth-child(2) button")
    ends = page.texts("#intervals tbody td:nth-child(2)")
    assert ends == sorted(ends, reverse=True) and len(ends) == 5
    page.search("no such text")
    page.wait("return document.querySelector('#intervals .rows-found')"
              ".textContent.startsWith('0 of 5')")  # fmt: skip
