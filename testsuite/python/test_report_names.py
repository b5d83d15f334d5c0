# SPDX-License-Identifier: Apache-2.0
"""Names on the page of `goref report': short, cut, and where they come from.
test_report_reader.py asks the scripts of the page the same."""

import pytest

from goref.report import markup, names, origins
from report_names import LONG, MODULES, ORIGINS, SHORT


@pytest.mark.parametrize("name, shown", SHORT)
def test_names_in_columns(name, shown):
    assert names.column(name) == shown


@pytest.mark.parametrize("length", (2, 3, 10, 11))
def test_cut_in_the_middle(length):
    """The first and the last characters stay, as many as there is room for."""
    cut = names.middle("0123456789ab", length)
    left, right = cut.split("\u2026")
    assert len(cut) == length and len(left) - len(right) in (0, 1)
    assert "0123456789ab".startswith(left) and "0123456789ab".endswith(right)


def test_a_name_of_many_quotes_takes_no_time():
    """Each character is looked at once: 2 M of them."""
    assert len(names.short('/"' * 1_000_000)) == 2_000_000


@pytest.mark.parametrize("name", ("a/b.T", LONG))
def test_the_whole_name_is_behind_the_short_one(name):
    element = markup.code(name)
    assert element.get("title") == name
    assert "".join(element.itertext()) == names.column(name)
    assert markup.code("main.T").get("title") is None


def test_a_command_is_whole():
    command = f"goref core /srv/a/b.c why {LONG}"
    element = markup.verbatim(command)
    assert "".join(element.itertext()) == command


def test_a_sentence_has_short_names():
    """Its punctuation and its numbers stay."""
    text = "55 goroutines wait in a/b.(*T).f, at f.go:7; 1.5 MiB of c/d.e."
    element = markup.el("p", None, markup.prose(text))
    shown = "55 goroutines wait in b.(*T).f, at f.go:7; 1.5 MiB of d.e."
    assert "".join(element.itertext()) == shown
    titles = [code.get("title") for code in element.iter("code")]
    assert titles == ["a/b.(*T).f", "c/d.e"]


@pytest.mark.parametrize("name, origin", ORIGINS)
def test_origins(name, origin):
    found = origins.Origins({"modules": MODULES})
    assert found.of(name) == origin
    mark = found.mark(name)
    assert mark.get("class") == f"mark of-{origin}"
    assert mark.get("aria-label") == origins.TITLES[origin]


def test_origins_without_modules():
    found = origins.Origins({})
    assert [found.of(n) for n in ("main.T", "a.b/c.T", "net.IP")] == [
        "main", "dependency", "std"
    ]  # fmt: skip
