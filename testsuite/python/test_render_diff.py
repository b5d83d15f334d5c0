# SPDX-License-Identifier: Apache-2.0
"""goref diff as text and JSON."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import difference, packages, survivors
from goref.render.diff import DiffReport

STEP = "next. (*main.T)"


def totals(size, **more):
    return {
        "exe": "/srv/app",
        "build_id": "b1",
        "go_version": "go1.24.4",
        "goroutines": size,
        "objects": size,
        "bytes": 8 * size,
        "folded_bytes": 0,
        "site_note": "every allocation is sampled",
        "partial": [],
        "suspects": [],
        "tables": {
            by: [{"key": f"the {by}", "objects": size, "bytes": 8 * size,
                  "retained_bytes": size}]
            for by in difference.KEYS if by != "path"
        },
    } | more  # fmt: skip


def report(old, new, **more):
    key = " -> ".join(["main.a", *[STEP] * 3, "b", "c", "d", "e", "f", "g"])
    paths = ({}, {key: difference.Amount(1, 8)})
    return DiffReport(
        tool_version="1",
        names=("core.1", "process 7"),
        totals=(old, new),
        found=difference.compare(old, new, paths),
        **{"is_one_process": False, "partial": [], **more},
    )


def test_text():
    lines = report(totals(100), totals(400)).lines()
    assert "(+2.3 KiB, +300.0 %); 100 -> 400 objects (+300)" in lines[0]
    at = lines.index("old  core.1 of /srv/app, go1.24.4")
    assert lines[at + 2].strip() == "one program"
    text = "\n".join(lines)
    assert "By site: 1 grew, 0 shrank (every allocation is sampled)" in text
    assert "main.a -> 3 x next. (*main.T) -> b -> ... -> e -> f -> g" in text


def with_waste(total, **checks):
    """A heap of so many bytes, with what checks of waste would save."""
    side = totals(1, bytes=total)
    side["tables"]["waste"] = [
        {"key": check, "objects": 1, "bytes": size}
        for check, size in checks.items()
    ]
    return side


def waste_of(made):
    lines = made.lines()
    at = next(
        i for i, line in enumerate(lines) if line.startswith("By check of")
    )
    return lines[at : lines.index("", at) if "" in lines[at:] else None]


@pytest.mark.parametrize("turned", [False, True])
def test_small_changes_of_waste(turned):
    """A screen has those from 1 % of the larger heap on, and their number."""
    sides = (
        with_waste(5000, tax=500, slices=100, boxes=100),
        with_waste(10000, tax=599, slices=200, boxes=100),
    )
    old, new = sides[::-1] if turned else sides
    title, head, *rows = waste_of(report(old, new))
    counts = "0 grew, 2 shrank" if turned else "2 grew, 0 shrank"
    assert title == (
        f"By check of waste: {counts}; 1 below 1 % of the heap left out"
    )
    assert head.endswith("check of waste")
    assert [row.split()[-1] for row in rows] == ["slices"]
    for asked in ({"by": "waste"}, {"top": 0}, {"top": 9}):
        title, _, *rows = waste_of(report(old, new, **asked))
        assert title == f"By check of waste: {counts}"
        assert {row.split()[-1] for row in rows} == {"slices", "tax"}
    document = report(old, new).document()["by"]["waste"]
    assert {row["key"] for row in document["rows"]} == {"slices", "tax"}


def test_only_small_changes_of_waste():
    made = report(with_waste(10000), with_waste(10000, tax=99))
    counts = "1 grew, 0 shrank; 1 below 1 % of the heap left out"
    assert waste_of(made) == [f"By check of waste: {counts}"]


def test_growth_from_nothing():
    """It has no share."""
    lines = report(totals(0), totals(400)).lines()
    assert "(+3.1 KiB); 0 -> 400 objects (+400)" in lines[0]


def test_partial_sides():
    """Each side has a line, which names it once."""
    reasons = ["OLD: cut", "NEW: cut, too", "NEW: torn"]
    lines = report(totals(1), totals(1), partial=reasons).lines()
    ends = ": growth may be too small or too large"
    assert lines[1:3] == [
        f"PARTIAL: OLD: cut{ends}",
        f"PARTIAL: NEW: cut, too, torn{ends}",
    ]


@pytest.mark.parametrize(
    "build_ids, words",
    [
        (("b1", "b2"), "two programs (the build ids differ)"),
        (("b1", None), "perhaps two programs (no build id)"),
        ((None, None), "perhaps two programs (no build id)"),
    ],
)
def test_programs(build_ids, words):
    old, new = (totals(1, build_id=build_id) for build_id in build_ids)
    made = report(old, new)
    assert words in made.text()
    assert made.document()["one_program"] is False


def test_suspects():
    def suspect(name, size):
        return {"kind": "holder", "name": name, "where": "x",
                "retained_bytes": size}  # fmt: skip

    old = totals(1, suspects=[suspect("a", 10), suspect("x", 20)])
    new = totals(1, suspects=[suspect("x", 25), suspect("c", 30)])
    made = report(old, new)
    assert [
        (s["name"], s["change"]) for s in made.document()["suspects"]
    ] == [("c", "new"), ("x", "remaining"), ("a", "vanished")]
    text = made.text()
    assert "New suspect: c (30 B), where: x" in text
    # The place is said where it is another one.
    assert "Remaining suspect: x (20 B -> 25 B, +5 B)" in text.splitlines()


def test_paths_that_were_cut():
    made = report(totals(1), totals(1, folded_bytes=2048))
    words = "up to 2.0 KiB are counted on the paths above"
    assert words in made.text()
    assert words in made.document()["by"]["path"]["note"]


def test_partial():
    made = report(totals(1), totals(2), partial=["NEW: cut short"])
    assert "PARTIAL: NEW: cut short: growth may be" in made.text()
    assert made.document()["complete"] is False


@pytest.mark.parametrize("is_exact", [True, False])
def test_survivors(is_exact):
    found = survivors.Survivors(
        is_exact, Counter(a=5, b=1), Counter(a=9), Counter(a=4)
    )
    made = report(
        totals(1), totals(2), survivors=found, survivors_wanted=True
    )
    text = made.text()
    assert ("at most 4 of 6 old objects" in text) != is_exact
    assert ("at least 5 of 9 are new" in text) != is_exact
    assert ("(no collection has run" in text) == is_exact
    document = json.loads(made.json())["survivors"]
    assert document["exact"] == is_exact and document["objects"] == 4
    assert "no survivors" in report(
        totals(1), totals(2), survivors_wanted=True
    ).text()


def test_what_has_grown_most():
    old, new = totals(100), totals(400)
    assert report(old, new).most_grown() == ("the heap", 2400)
    assert report(old, new, by="type").most_grown() == ("the type", 2400)
    assert report(new, old, by="type").most_grown() is None
    only = report(old, new, by="root").document()["by"]
    assert [*only] == ["root"]


def with_c(size, in_c):
    """Totals with as many bytes of C."""
    side = totals(
        size, c_objects=1, c_bytes=in_c, modules=packages.NONE
    )
    for by in "type", "root":
        [row] = side["tables"][by]
        row |= {"bytes": 8 * size + in_c, "c_bytes": in_c,
                "retained_bytes": size + in_c,
                "retained_c_bytes": in_c}  # fmt: skip
    side["tables"]["holder"] = [
        {"key": "main.T.block", "objects": 1, "bytes": in_c, "c_bytes": in_c}
    ]
    side["suspects"] = [
        {"kind": "holder", "name": "main.x", "where": "main.x",
         "retained_bytes": size + in_c, "retained_c_bytes": in_c,
         "next": []}
    ]  # fmt: skip
    return side


def test_parts_in_c():
    """The sum, and both parts: of all, of rows, and of suspects."""
    found = report(with_c(100, 1024), with_c(100, 4096))
    lines = found.lines()
    assert lines[0] == (
        "reached: 1.8 KiB -> 4.8 KiB (+3.0 KiB, +168.4 %; Go 0 B, C +3.0 KiB)"
        "; 101 -> 101 objects (0)"
    )
    assert lines[1] == (
        "Remaining suspect: main.x (1.1 KiB -> 4.1 KiB, +3.0 KiB; Go 0 B, "
        "C +3.0 KiB)"
    )
    at = lines.index("By root: 1 grew, 0 shrank")
    assert lines[at + 1].split()[:2] == ["growth", "in"]
    assert lines[at + 2].split() == (
        "+3.0 KiB +3.0 KiB 0 1.8 KiB 4.8 KiB +3.0 KiB +3.0 KiB the root"
    ).split()
    at = lines.index("By holder of C memory: 1 grew, 0 shrank")
    assert lines[at + 2].endswith("main.T.block")
    assert "By path: 1 grew, 0 shrank (Go alone)" in lines
    assert found.most_grown() == ("live memory", 3072)


def test_document_of_c():
    """Sizes of Go, and beside them those of C."""
    document = report(with_c(100, 1024), with_c(200, 4096)).document()
    assert document["growth_bytes"] == 800
    assert document["growth_c_bytes"] == 3072
    assert document["growth_c_objects"] == 0
    assert document["old"]["bytes"] == 800
    assert document["old"]["c_bytes"] == 1024
    [row] = document["by"]["root"]["rows"]
    assert row["growth_bytes"] == 800 and row["growth_c_bytes"] == 3072
    assert row["new"]["retained_bytes"] == 200
    assert row["new"]["retained_c_bytes"] == 4096
    [suspect] = document["suspects"]
    assert (suspect["old_bytes"], suspect["old_c_bytes"]) == (100, 1024)
    assert (suspect["new_bytes"], suspect["new_c_bytes"]) == (200, 4096)
    [holder] = document["by"]["holder"]["rows"]
    assert (holder["growth_bytes"], holder["growth_c_bytes"]) == (0, 3072)


def leaking(side, blocks, size, **more):
    """Totals with blocks of C that nothing holds."""
    key = "C blocks without a known holder"
    row = {"key": key, "objects": blocks, "bytes": size, "c_bytes": size}
    side["tables"]["holder"].append(row)
    found = {"leaked_c_objects": blocks, "leaked_c_bytes": size}
    return {**side, **found, **more}


def test_leaked_memory_of_c():
    """It is not reached: it has a line, keys and a part in --fail-above."""
    old = leaking(with_c(100, 1024), 1, 1024)
    new = leaking(with_c(90, 1024), 4, 4096)
    found = report(old, new)
    first, second, *_ = found.lines()
    assert first.startswith("reached: 1.8 KiB -> 1.7 KiB (-80 B, ")
    assert second == (
        "C blocks that nothing holds: 1.0 KiB -> 4.0 KiB (+3.0 KiB, "
        "+300.0 %); 1 -> 4 blocks (+3)"
    )
    document = found.document()
    assert document["growth_c_bytes"] == 0
    assert document["growth_leaked_c_bytes"] == 3072
    assert document["growth_leaked_c_objects"] == 3
    assert document["old"]["leaked_c_bytes"] == 1024
    assert document["new"]["leaked_c_objects"] == 4
    assert found.most_grown() == ("live and leaked memory", 3072 - 80)
    # The other way.
    back = report(new, old)
    assert "4.0 KiB -> 1.0 KiB (-3.0 KiB, -75.0 %)" in back.lines()[1]
    assert back.most_grown() == ("live and leaked memory", 80 - 3072)


def test_blocks_that_missing_memory_may_hold():
    sides = (leaking(with_c(9, 1024), n, 64 * n, missing_c_bytes=4096 * n)
             for n in (0, 1))  # fmt: skip
    assert report(*sides).lines()[1].startswith(
        "in what could be read, C blocks that nothing holds: 0 B -> 64 B (+64 B"
    )


def test_only_leaked_memory_of_c():
    """Then there is a table of holders, too."""
    sides = []
    for size in 0, 64:
        side = totals(100)
        side["tables"]["holder"] = []
        sides.append(leaking(side, size // 64, size))
    assert "By holder of C memory: 1 grew, 0 shrank" in report(*sides).lines()


def test_leaked_memory_that_is_not_known():
    unknown = {"leaked_c_objects": None, "leaked_c_bytes": None}
    found = report(totals(1, **unknown), leaking(with_c(1, 64), 1, 64))
    assert found.document()["growth_leaked_c_bytes"] is None
    assert "C blocks that nothing holds:" not in found.text()
    assert found.most_grown()[0] == "live memory"


def test_the_row_that_grew_most():
    assert "grew most: the type, by 2.3 KiB" in report(
        totals(100), totals(400)
    ).lines()


@pytest.mark.parametrize("is_known", [(False, True), (True, False)])
def test_sites_of_one_side_are_no_growth(is_known):
    sides = (
        totals(size, knows_sites=known, site_note="sampled" if known else "off")
        for size, known in zip((100, 400), is_known)
    )
    found = report(*sides)
    note = "sampled; off" if is_known[0] else "off; sampled"
    assert f"By site: not known ({note})" in found.lines()
    sites = found.document()["by"]["site"]
    assert (sites["known"], sites["rows"]) == (False, [])
    assert found.document()["by"]["type"]["known"] is True


def test_roots_of_two_processes():
    """The cell of what they retain together is empty: it is not known."""
    def side(size, first):
        found = with_c(100, 1024)
        found["tables"]["root"] += [
            {"key": f"C stack of thread {thread}", "objects": 1,
             "bytes": size, "c_bytes": size, "retained_bytes": size,
             "retained_c_bytes": size}
            for thread in (first, first + 1)
        ]  # fmt: skip
        return found

    lines = report(side(64, 10), side(96, 20)).lines()
    at = lines.index("By root: 1 grew, 0 shrank")
    assert lines[at + 2].split() == (
        "+64 B +64 B 0 128 B 192 B C stacks of threads"
    ).split()


def test_no_c():
    """A program without C memory: no column, no table, no word of it."""
    found = report(totals(100), totals(400))
    assert "holder" not in found.document()["by"]
    text = found.text()
    assert "in C" not in text and "C memory" not in text
    assert "Go alone" not in text
    assert found.most_grown()[0] == "the heap"


def by_check(unmade=(), **sizes):
    rows = [
        {"key": key.replace("_", "-"), "objects": 2, "bytes": size}
        for key, size in sizes.items()
    ]
    return totals(10) | {
        "tables": totals(10)["tables"] | {"waste": rows},
        "unmade": list(unmade),
    }


def test_waste_by_check():
    old = by_check(pool=100, size_class=100)
    new = by_check(pool=300, sparse_map=50)
    lines = report(old, new).lines()
    at = lines.index("By check of waste: 2 grew, 1 shrank")
    assert [line.split()[0] for line in lines[at + 2 : at + 5]] == [
        "+200", "+50", "-100"
    ]  # fmt: skip
    [name, size] = report(old, new, by="waste").most_grown()
    assert (name, size) == ("pool", 200)
    rows = report(old, new).document()["by"]["waste"]["rows"]
    assert [row["key"] for row in rows] == ["pool", "sparse-map", "size-class"]


def test_checks_that_only_one_side_has_made():
    """They have neither grown nor shrunk."""
    old = by_check(pool=100, duplicate_strings=1000)
    new = by_check(["duplicate-strings"], pool=100)
    for sides in ((old, new), (new, old)):
        found = report(*sides)
        assert found.document()["by"]["waste"]["rows"] == []
        note = "without duplicate-strings: no values"
        assert f"By check of waste: no difference ({note})" in found.lines()


def test_waste_that_is_not_known():
    """Whoever lacks it has neither more nor less of it."""
    lacking = by_check() | {"no_waste": "no size classes"}
    found = report(by_check(pool=100), lacking)
    assert "By check of waste: not known (no size classes)" in found.lines()
    assert found.document()["by"]["waste"]["known"] is False
