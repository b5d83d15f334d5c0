# SPDX-License-Identifier: Apache-2.0
"""The shell of a page, and the order of what the page of `goref report'
says."""

import re

import pytest

from goref.report import findings, limits, shell
from goref.report.markup import el
from goref.report.page import SCRIPTS, page
from goref.report.sections import first
from goref.report.sections import waits as wait_section
from test_report import (
    ASSETS,
    Seen,
    awaited,
    document,
    owner,
    panic,
    waits,
)


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


# --------------------------------------------------------------- how long

HUNG = {"cause": "1 deadlock of 2 goroutines", "cause_kind": "deadlock",
        "outside": []}  # fmt: skip


@pytest.mark.parametrize(
    "nanoseconds, shown",
    (
        (26_181_465, "26 ms"),
        (999_999_999, "999 ms"),
        (59_999_999_999, "59 s"),
        (137_492_920_471, "2 min 17 s"),
        (120 * 10**9, "2 min"),
        (3_725 * 10**9, "1 h 2 min"),
        (90_000 * 10**9, "1 d 1 h"),
        (12_345, "12 µs"),
        (7, "7 ns"),
        (0, "0 s"),
    ),
)
def test_times_are_rounded_down(nanoseconds, shown):
    assert findings.duration(nanoseconds) == shown


def deadlocked(rows):
    dead = {"ids": [1, 2], "primitives": [awaited("a"), awaited("b")],
            "certain": True, "behind": 0, "count": 2}  # fmt: skip
    return {"ndeadlocks": 1, "deadlocks": [dead], "waits": rows, "owners": []}


@pytest.mark.parametrize(
    "times, count, shown",
    (
        ((26_000_000, 7), 1, "waiting for at least 26 ms"),
        ((None, 26_000_000), 4, "waiting for at least 26 ms, the longest of "
         "the 5 who wait for what it is about"),
        ((None, None), 1, "how long is not known: no collection is known to "
         "have run since"),
    ),
)  # fmt: skip
def test_since_when_there_is_a_deadlock(times, count, shown):
    """The waits for other things do not count."""
    rows = [awaited("a", waited_ns=times[0]),
            awaited("b", count, waited_ns=times[1]),
            awaited("c", 7, waited_ns=10**12)]  # fmt: skip
    [dead, *rest] = findings.findings(
        document(hung=HUNG, waits=deadlocked(rows))
    )
    assert dead.title == "Deadlock" and [*dead.rows] == [("", shown)]
    assert "Hang" not in [found.title for found in rest]


@pytest.mark.parametrize(
    "nanoseconds, shown",
    (
        (137_492_920_471, "longest wait at least 2 min 17 s (main.f)"),
        (None, "how long the waits last is not known"),
    ),
)
def test_without_a_deadlock(nanoseconds, shown):
    rows = [awaited("a", function="main.g", waited_ns=5),
            awaited("b", waited_ns=nanoseconds)]  # fmt: skip
    if not nanoseconds:
        rows = rows[1:]
    found = document(
        hung={**HUNG, "cause": "x", "cause_kind": "idle"},
        waits={"ndeadlocks": 0, "waits": rows, "owners": []},
    )
    [hang] = [f for f in findings.findings(found) if f.title == "Hang"]
    assert (hang.grade, hang.text) == ("fact", f"no deadlock found; {shown}")


def heads_and_cells(rows):
    found = {**waits(rows), "left_out": 0}
    made = wait_section._table(found)
    heads = ["".join(th.itertext()) for th in made.iter("th")]
    cells = [
        [(td.get("data-value"), " ".join(td.itertext())) for td in tr]
        for tr in made.find(".//tbody")
    ]
    return heads, cells


def test_since_is_a_column():
    rows = [awaited("a", waited_ns=61 * 10**9, verdict="no owner"),
            awaited("b", owners=[owner(7)])]  # fmt: skip
    heads, cells = heads_and_cells(rows)
    assert heads == ["Waiting", "For", "State", "Since", "Where", "Owner"]
    assert [row[3] for row in cells] == [
        (str(61 * 10**9), "1 min 1 s"),
        ("-1", "not known"),
    ]
    assert cells[0][2][1] == "mutex, locked"


def test_no_owner_is_no_column():
    heads, cells = heads_and_cells([awaited("a", owners=[owner(7, False)])])
    assert heads[-1] == "Where" and len(cells[0]) == len(heads)


def test_merged_waits_have_the_longest():
    rows = [awaited(str(i), path=f"(chan int)(0x{i})", waited_ns=time)
            for i, time in enumerate((None, 5, 70, 6))]  # fmt: skip
    [merged] = limits._merged(rows)
    assert (merged["things"], merged["waited_ns"]) == (4, 70)
    [merged] = limits._merged(rows[:1] * 2)
    assert merged["waited_ns"] is None


# ---------------------------------------------------------- the live heap


def with_heap(reached, unreached, partial=()):
    found = document()
    found["partial"] = [*partial]
    heap = found["heap"]
    heap["heap"] |= {"allocated_objects": 9,
                     "allocated_bytes": reached + unreached}  # fmt: skip
    heap["reached"] |= {"objects": 7, "bytes": reached}
    heap["unreached"] = {"objects": 2, "bytes": unreached}
    return found


@pytest.mark.parametrize(
    "reached, unreached, more",
    (
        (99 << 20, 1 << 20, "7 objects"),
        (98 << 20, 2 << 20,
         "+ 2.0 MiB not reached: garbage or not yet swept"),
    ),
)  # fmt: skip
def test_the_live_heap_comes_first(reached, unreached, more):
    found = with_heap(reached, unreached)
    shown = f"{reached >> 20}.0 MiB"
    assert first._live(found) == ("Live heap", shown, more)


def test_much_garbage_is_a_fact():
    """But not if a part of the memory is missing."""
    def is_said(*words):
        all_ = findings.findings(with_heap(*words))
        return "Not reached" in [f.title for f in all_]

    assert is_said(70, 30) and not is_said(75, 25)
    assert not is_said(70, 30, ["a mapping is missing"])
    text = "".join(Seen(page(with_heap(70 << 20, 30 << 20))).texts)
    assert "Not reached: 30.0 MiB, 30.0 % of all allocated" in text


def test_scripts_of_every_page():
    """A page without a document has none that reads it."""
    common = set(shell.scripts())
    assert common < set(SCRIPTS) and shell.scripts()[-1] == "start.js"
    for name in common - {"dom.js"}:
        text = (ASSETS / name).read_text()
        assert not re.search(r"\bdata\(", text), name
