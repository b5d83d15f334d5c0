# SPDX-License-Identifier: Apache-2.0
"""The shell of a page, and the order of what the page of `goref report'
says."""

import re

from goref.report import findings, shell
from goref.report.markup import el
from goref.report.page import SCRIPTS, page
from goref.report.sections import first
from test_report import ASSETS, Seen, awaited, document, panic


def test_any_page_has_the_shell():
    """A page of other sections, with a document and a script of its own."""
    text = shell.shell(
        shell.Sheet(
            title="Two heaps",
            links=[("growth", "Growth")],
            main=el("section", {"id": "growth"}, "More."),
            data={"goref-document": {"a": "</script>"}},
            scripts=("dom.js", "names.js"),
        )
    )
    seen = Seen(text)
    assert seen.tags.count("style") == 1 and seen.tags.count("script") == 3
    assert ("href", "#growth") in seen.attributes and "More." in seen.texts
    assert re.search("<title>Two heaps</title>", text)
    assert text.count("sha256-") == 3  # the style sheet, two scripts


def test_each_asset_is_on_the_page():
    names = {path.name for path in ASSETS.iterdir() if path.is_file()}
    listed = {name for name in SCRIPTS if "/" not in name}
    assert names == listed | {*shell.STYLES}


def sections(**parts):
    return re.findall(r'<section id="(\w+)"', page(document(**parts)))


def suspects(count):
    row = {"name": "a/b.T", "kind": "holder", "objects": 1, "next": [],
           "retained_bytes": 3 << 20, "resident_bytes": None,
           "accumulation_point": "a/b.T.c", "accumulated": [], "path": [],
           "path_left_out": 0}  # fmt: skip
    return {"suspects": [row] * count, "reached_bytes": 3 << 20,
            "residency": "unknown", "min_bytes": 1}  # fmt: skip


def test_the_chart_is_first_if_nothing_is_broken():
    assert sections()[0] == "charts"
    assert sections(suspects=suspects(1))[:2] == ["charts", "suspects"]
    dead = {"ids": [1], "primitives": [awaited("a")], "certain": True,
            "behind": 0, "count": 1}  # fmt: skip
    waits = {"ndeadlocks": 1, "deadlocks": [dead], "waits": [], "owners": [],
             "stacks": {}, "groups": 1, "goroutines": 1,
             "left_out": 0}  # fmt: skip
    found = sections(waits=waits, suspects=suspects(2))
    assert found[:3] == ["waits", "charts", "suspects"]
    crash = panic("fatal error", fatal_error="x")
    assert sections(panic=crash)[:2] == ["stop", "charts"]


def test_the_verdict_is_the_largest_also_if_it_is_good():
    good = findings.Finding("good", "Nothing stands out", "no crash", "heap")
    bad = findings.Finding("bad", "Crash", "SIGSEGV in a/b.f", "stop")
    for finding, label, verdict in (
        (good, "Verdict", "Nothing stands out"),
        (bad, "Crash", "SIGSEGV in b.f"),
    ):
        element = first._finding(finding)
        assert element.findtext(".//strong") == label
        largest = element.find(".//span[@class='verdict']")
        assert "".join(largest.itertext()) == verdict


def test_the_verdict_says_since_when():
    """As far as collections have seen it; `waits' says it from a minute on."""
    dead = {"ids": [1], "primitives": [awaited("a")], "certain": True,
            "behind": 0, "count": 1}  # fmt: skip
    for nanoseconds, shown in ((None, 0), (59_000_000_000, 0),
                               (150_000_000_000, 2)):  # fmt: skip
        rows = [awaited("a", waited_ns=nanoseconds),
                awaited("b", waited_ns=600_000_000_000)]  # fmt: skip
        waits = {"ndeadlocks": 1, "deadlocks": [dead], "waits": rows,
                 "owners": [], "stacks": {}, "groups": 2, "goroutines": 2,
                 "left_out": 0}  # fmt: skip
        seen = Seen(page(document(waits=waits)).partition("</main>")[0])
        text = " ".join(seen.texts)
        assert text.count("at least 2 min") == shown
        assert text.count("at least 10 min") == 1  # in the table
        assert ("the longest wait: at least 2 min" in text) == bool(shown)


def test_suspects_are_rows_of_the_verdict():
    """Short names, and no more than three of them."""
    text = page(document(suspects=suspects(5)))
    first = text.partition("</ul>")[0]
    assert first.count('title="a/b.T"') == 3 and "2 more" in first


def test_an_idle_pool_is_an_aside():
    """A fact stands below what may be wrong, in small print."""
    hung = {"cause": "no deadlock found; 55 goroutines wait in a/b.(*P).run "
            "at pool.go:7 [select], for different things",
            "cause_kind": "crowd", "outside": []}  # fmt: skip
    text = page(document(hung=hung))
    verdicts, _, rest = text.partition("</ul>")
    assert "b.(*P).run" not in verdicts and 'class="aside"' in rest
    assert 'title="a/b.(*P).run"' in rest


def test_paths_of_packages_are_on_paper():
    """Each path once, of types, roots and calls."""
    types = {"bytes": 1, "nrows": 2,
             "rows": [{"key": key, "objects": 1, "bytes": 1,
                       "retained_bytes": 1}
                      for key in ("*a.b/c.T", "map[string]a.b/c.U", "main.T",
                                  "gopkg.in/d%2ev2.T")]}  # fmt: skip
    text = page(document(types=types))
    shown = re.search('<ul class="packages">(.*?)</ul>', text)[1]
    paths = re.sub("<wbr>", "", shown)
    assert re.findall("<code>(.*?)</code>", paths) == ["a.b/c", "gopkg.in/d.v2"]
    assert 'class="packages"' not in page(document())


def card(at, **fields):
    return {"at": at, "type": "a/b.T", "bytes": 48, "retained_bytes": 480,
            "resident_bytes": None, "fields": [], "nfields": 0, "path": [],
            "path_left_out": 0, "holders": [], "nholders": 0,
            **fields}  # fmt: skip


def test_suspects_name_their_largest_objects():
    objects = {"cards": [card("0xa0"), card("0xb0"), card("0xc0")],
               "by_type": {"a/b.T": [0, 1, 2]},
               "by_suspect": [[2, 0]]}  # fmt: skip
    text = page(document(suspects=suspects(2), objects=objects))
    assert re.findall('data-card="(\\w+)"', text) == ["0xc0", "0xa0"]
    assert "The 2 largest objects" in text
