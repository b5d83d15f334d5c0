# SPDX-License-Identifier: Apache-2.0
"""The page of `goref diff --html`: the sums of its trees, its bounds, and names
that are input."""

import json
import random
import re

import pytest

from goref import difference, trees
from goref.render.diff import DiffReport
from goref.report import growth, limits
from goref.report.growth import first
from goref.report.growth.document import document
from goref.report.growth.page import SCRIPTS
from goref.report.growth.trees import grown_and_shrunk
from test_render_diff import totals, with_c
from test_report import HOSTILE, Seen

MODULES = {"main": None, "path": None, "dependencies": []}


def rows(keys, size):
    return [{"key": key, "objects": 1, "bytes": size, "retained_bytes": size}
            for key in keys]  # fmt: skip


def side(size, keys=(), suspects=(), **more):
    tables = {by: rows(keys, size) for by in difference.KEYS if by != "path"}
    found = [{"kind": "holder", "name": name, "where": name, "objects": 1,
              "retained_bytes": size, "next": [f"goref why {name}"]}
             for name in suspects]  # fmt: skip
    return totals(size, tables=tables, suspects=found, modules=MODULES,
                  **more)  # fmt: skip


def made(old, new, paths=({}, {}), changes=(), **more):
    """The document of a page."""
    report = DiffReport(
        tool_version="1",
        names=("core.1", "core.2"),
        totals=(old, new),
        found=difference.compare(old, new, paths),
        **{"is_one_process": False, "partial": [], **more},
    )
    return document(report, changes, [("goref diff a b", "More:")])


def text_of(page):
    """The text that a reader sees."""
    main = page.partition("<main ")[2].partition("</main>")[0]
    return "".join(Seen(f"<main {main}").texts)


# ---------------------------------------------------------------- the trees


def changes(random_, count):
    """Paths below each other, with a change of any sign."""
    return [
        trees.Change(random_.randrange(-1, i), f"n{i}",
                     random_.randrange(-3, 4), random_.randrange(-50, 51))
        for i in range(count)
    ]  # fmt: skip


def below(rows, i):
    """The numbers of a path and of all that continue it."""
    return [i] + [n for j, row in enumerate(rows) if row.above == i
                  for n in below(rows, j)]  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_sums(seed):
    """A node has what all paths below it grew by, and shrank by."""
    found = changes(random.Random(seed), 30)
    for name, way in (("grown", 1), ("shrunk", -1)):
        tree = grown_and_shrunk(found)[name]
        nodes = {node["n"]: node for node in tree["nodes"]}
        for i, row in enumerate(found):
            some = [found[j] for j in below(found, i)
                    if way * found[j].bytes > 0]  # fmt: skip
            size = sum(way * one.bytes for one in some)
            assert (row.name in nodes) == (size > 0)
            if size:
                node = nodes[row.name]
                assert node["b"] == size
                assert node["o"] == max(0, way * row.bytes)
                assert node["c"] == sum(way * one.objects for one in some)
        whole = sum(max(0, way * row.bytes) for row in found)
        assert tree["reached_bytes"] == tree["nodes"][0]["b"] == whole


def test_no_tree_of_nothing():
    found = [trees.Change(-1, "a", 1, 5), trees.Change(0, "b", 0, 0)]
    assert [*grown_and_shrunk(found)] == ["grown"]
    assert grown_and_shrunk([]) == {}


def test_trees_are_bounded():
    """The largest nodes, whose parents come before them."""
    found = [trees.Change(i // 2 - 1 if i > 1 else -1, "x" * 5000, 1, i + 1)
             for i in range(3 * limits.NODES)]  # fmt: skip
    tree = grown_and_shrunk(found)["grown"]
    assert len(tree["nodes"]) == limits.NODES
    assert tree["cut"] == len(found) + 1 - limits.NODES
    for i, node in enumerate(tree["nodes"][1:], 1):
        assert node["p"] < i and node["b"] <= tree["nodes"][node["p"]]["b"]
        assert len(node["n"]) == limits.NAME


def test_changes_of_two_trees():
    """By paths: equal roots are one, and a path on one side only has its whole
    amount."""
    def node(parent, name, size):
        return trees.Node(parent, (name, None, 0), 1, size)

    old = [node(-1, "a", 10), node(0, "b", 20), node(-1, "gone", 7)]
    new = [node(-1, "a", 10), node(0, "b", 25), node(-1, "a", 1),
           node(2, "c", 3)]  # fmt: skip
    found = trees.changes(old, new)
    names = [found[row.above].name if row.above >= 0 else None
             for row in found]  # fmt: skip
    got = {(above, row.name): (row.objects, row.bytes)
           for above, row in zip(names, found)}  # fmt: skip
    assert got == {(None, "a"): (1, 1), ("a", "b"): (0, 5),
                   (None, "gone"): (-1, -7), ("a", "c"): (1, 3)}  # fmt: skip


# ----------------------------------------------------------------- the page


@pytest.mark.parametrize(
    "old, new, verdict",
    (
        (1 << 20, 3 << 20, "+16.0 MiB, +200.0 %: 8.0 MiB → 24.0 MiB"),
        (4 << 20, 1 << 20, "-24.0 MiB, -75.0 %: 32.0 MiB → 8.0 MiB"),
        (0, 1 << 20, "+8.0 MiB: 0 B → 8.0 MiB"),
        (7, 7, "as large as before: 56 B"),
    ),
)
def test_verdict(old, new, verdict):
    """It is the first finding, and its color says whether it is good."""
    found = made(side(old, "a"), side(new, "a"))
    assert first.verdict(found) == verdict
    page = growth.page(found)
    grade = "warn" if new > old else "good"
    assert re.findall(r'class="finding (\w+)"', page) == [grade]
    assert verdict in text_of(page)


def test_suspects_as_they_changed():
    old = side(3 << 20, suspects=("main.kept", "main.gone"))
    new = side(5 << 20, suspects=("main.kept", "main.made"))
    found = made(old, new)
    changed = {row["name"]: row["change"] for row in found["suspects"]}
    assert changed == {"main.kept": "remaining", "main.gone": "vanished",
                       "main.made": "new"}  # fmt: skip
    text = text_of(growth.page(found))
    assert "1 new, 1 remaining, 1 vanished" in text
    assert "remaining: main.kept 3.0 MiB → 5.0 MiB, +2.0 MiB" in text
    # NEW has no answer about one that is gone.
    assert "why main.made" in json.dumps(found)
    assert "why main.gone" not in json.dumps(found)


@pytest.mark.parametrize(
    "builds, one_process, words",
    (
        (("b1", "b1"), True, "one process"),
        (("b1", "b1"), False, "one program"),
        (("b1", "b2"), False, "two programs"),
        (("b1", None), False, "perhaps two programs"),
    ),
)
def test_whose_heaps_they_are(builds, one_process, words):
    old, new = (side(1, build_id=build) for build in builds)
    found = made(old, new, is_one_process=one_process)
    assert first.programs(found) == words
    assert words in Seen(growth.page(found)).texts


def test_partial_comes_first():
    found = made(side(1), side(2), partial=["OLD: cut", "NEW: torn"])
    text = text_of(growth.page(found))
    assert text.index("OLD: cut; NEW: torn. Growth may be") < text.index(
        "The heap grew"
    )
    assert "has seen all of both heaps" not in text
    whole = made(side(1), side(2))
    assert 'id="partial"' not in growth.page(whole)


def test_tables_are_bounded():
    """Rows that grew and rows that shrank, those with the greatest change; a
    line says how many are left out."""
    old, new = side(0), side(0)
    for table in (old["tables"], new["tables"]):
        table["type"] = []
    for i in range(limits.ROWS):
        old["tables"]["type"] += rows([f"a.Less{i}"], i + 1)
        new["tables"]["type"] += rows([f"a.More{i}"], i + 1)
    found = made(old, new)
    shown = found["by"]["type"]["rows"]
    assert len(shown) == limits.ROWS
    assert found["by"]["type"]["nrows"] == 2 * limits.ROWS
    growths = [row["growth_bytes"] for row in shown]
    assert growths == sorted(growths, reverse=True)
    assert min(map(abs, growths)) == limits.ROWS // 2 + 1
    text = text_of(growth.page(found))
    assert f"{limits.ROWS:,} smaller rows are not in this report" in text


def test_a_page_fits():
    """Names of any length on both sides."""
    keys = [f"main.{i}{'x' * 9000}" for i in range(600)]
    paths = {" -> ".join([key] * 3): difference.Amount(1, 8) for key in keys}
    found = made(side(1), side(2, keys), ({}, paths))
    assert len(limits.fitting(found, growth.page)) < limits.PAGE


def test_paths_that_are_alike():
    """One row, with their number; all steps of the largest are below it."""
    head, tail = ["main.a", "b", "c"], ["x", "y", "z"]
    keys = [" -> ".join([*head, *middle, *tail])
            for middle in (["m"], ["n", "n"])]  # fmt: skip
    sizes = (difference.Amount(1, 8), difference.Amount(2, 30))
    found = made(side(1), side(2), ({}, dict(zip(keys, sizes))))
    [row] = found["by"]["path"]["rows"]
    assert (row["paths"], row["growth_bytes"]) == (2, 38)
    steps = [(step["n"], step["count"]) for step in row["steps"]]
    assert steps == [(n, 1) for n in head] + [("n", 2)] + [
        (n, 1) for n in tail
    ]
    assert "n 2 times" in text_of(growth.page(found))


def test_bars_say_which_way():
    """Growth is on the right of the middle, and loss on the left."""
    page = growth.page(
        made(side(0), side(0), ({"main.a": difference.Amount(1, 100)},
                                {"main.b": difference.Amount(1, 50)}))
    )  # fmt: skip
    bars = {name: (float(x), float(width)) for name, x, width in re.findall(
        r'<rect class="(\w+)" x="([\d.]+)" width="([\d.]+)"', page)}  # fmt: skip
    assert bars["grown"] == (50, 25) and bars["shrunk"] == (0, 50)
    text = text_of(page)
    assert "+50 B" in text and "-100 B" in text


@pytest.mark.parametrize("old, new", ((1, 9), (9, 1)))
def test_the_way_of_the_heap_comes_first(old, new):
    """The first tab and the first row change as the heap did."""
    a, b = side(old), side(new)
    for table, key in ((a["tables"], "a.Less"), (b["tables"], "a.More")):
        table["type"] = rows([key], 8)
    found = made(a, b, changes=[trees.Change(-1, "x", 1, 8),
                                trees.Change(-1, "y", -1, -8)])  # fmt: skip
    page = growth.page(found)
    tabs = re.findall(r'data-tree="(\w+)" aria-selected="(\w+)"', page)
    table = page.partition('id="types-table"')[2]
    order = re.search('aria-sort="(\\w+)"', table)[1]
    is_grown = new > old
    assert dict(tabs) == {"grown": str(is_grown).lower(),
                          "shrunk": str(not is_grown).lower()}  # fmt: skip
    assert order == ("descending" if is_grown else "ascending")
    assert (table.index("a.<wbr>More") < table.index("a.<wbr>Less")) == is_grown


def test_an_answer_of_nothing():
    page = growth.page(made(side(0), side(0)))
    text = text_of(page)
    assert "No path has more or fewer bytes" in text
    # There is no C memory on either side.
    assert text.count("No difference") == len(difference.KEYS) - 1
    assert "C memory" not in text and "C: blocks" not in text


def test_names_are_input():
    keys = [HOSTILE, f'main.m["{HOSTILE}"]']
    paths = {f"{HOSTILE} -> b": difference.Amount(1, 8)}
    found = made(
        side(1, suspects=[HOSTILE]), side(2, keys, [HOSTILE]), ({}, paths),
        [trees.Change(-1, HOSTILE, 1, 8)], partial=[HOSTILE],
    )  # fmt: skip
    found["old"]["source"] = found["new"]["exe"] = HOSTILE
    found["closer"][0]["command"] = HOSTILE
    page = growth.page(found)
    seen = Seen(page)
    assert seen.tags.count("script") == len(SCRIPTS) + 1
    names = {name for name, _ in seen.attributes}
    assert not any(name.startswith("on") for name in names)
    assert "pwned()</script>" not in page
    for char in "\u202e\x01\udcff":
        assert char not in page


def test_keys_of_maps_are_left_out():
    """As on a page of goref report; there is no --values."""
    key = 'main.users["annabel"]'
    paths = {f'{key} -> ["benno"]. (string)': difference.Amount(1, 8)}
    found = made(
        side(1, suspects=[key]), side(2, [key], [key]), ({}, paths),
        [trees.Change(-1, key, 1, 8)],
    )  # fmt: skip
    page = growth.page(found)
    assert "annabel" not in page and "benno" not in page
    assert "main.users[...]" in page


def test_survivors():
    """A section if they were asked for, also if they are not known."""
    assert 'id="survivors"' not in growth.page(made(side(1), side(2)))
    page = growth.page(made(side(1), side(2), survivors_wanted=True))
    assert "it is not certain that both are of one process" in page


def test_leaked_c_memory_comes_first():
    """It grew while the live memory shrank: the page is about growth."""
    sides = [
        {**with_c(size, 1024), "leaked_c_objects": n,
         "leaked_c_bytes": n << 20}
        for size, n in ((100, 1), (90, 3))
    ]  # fmt: skip
    found = made(*sides)
    assert found["growth_leaked_c_bytes"] == 2 << 20
    page = growth.page(found)
    text = text_of(page)
    line = "Leaked C memory grew+2.0 MiB, +200.0 %: 1.0 MiB → 3.0 MiB"
    assert text.index(line) < text.index("Live memory shrank")
    assert 'href="#c-memory"' in page and 'id="c-memory"' in page
    # Rows and tabs are in the order of all growth.
    assert re.findall('aria-sort="(\\w+)"', page)[0] == "descending"
    back = text_of(growth.page(made(*sides[::-1])))
    shrank = "Leaked C memory shrank-2.0 MiB, -66.7 %: 3.0 MiB → 1.0 MiB"
    assert back.index("Live memory grew") < back.index(shrank)


def test_sites_that_are_not_known():
    found = made(*(side(1, ["a"], knows_sites=False, site_note="it is off")
                   for _ in range(2)))  # fmt: skip
    text = text_of(growth.page(found))
    assert "Not known; it is off." in text
    assert "No difference; it is off." not in text


def test_c_memory():
    """The chart, the legend and the tables show C, and the sums of both."""
    found = made(with_c(100, 1024), with_c(100, 4096))
    assert found["grown"]["reached_bytes"] == 3072
    boxes = [node for node in found["grown"]["nodes"] if node.get("is_c")]
    assert [(node["n"], node["b"]) for node in boxes] == [
        ("C memory", 3072), ("main.T.block", 3072)
    ]  # fmt: skip
    page = growth.page(found)
    text = text_of(page)
    assert "Live memory grew" in text
    assert "+3.0 KiB, +168.4 % (Go 0 B, C +3.0 KiB): 1.8 KiB → 4.8 KiB" in text
    assert text.count("C: blocks and roots") >= 2  # the chart, and About
    assert 'id="c-memory"' in page and "In C" in text
    assert first.verdict(made(side(1), side(2))).find("Go") < 0
