# SPDX-License-Identifier: Apache-2.0
"""goref waste: rows to text and JSON."""

import json

import pytest
import rows

from goref.commands import waste as command
from goref.render.waste import WasteReport, overview_line, share_of
from goref.verbs import VERBS
from goref.verbs.waste import CHECKS, OF_VALUES

CLIP = "Clip the slices with slices.Clip() when they are complete."
INTERN = "Intern the strings of this field, with unique.Make()."


def finding(check="slice-capacity", bytes=1 << 20, count=1000, **fields):
    ordinary = {
        "type": "main.T",
        "field": ".rows",
        "example": 0xC000012340,
        "advice": CLIP,
    }
    given = {"check": check, "bytes": bytes, "count": count}
    return rows.make("WasteRow", {**ordinary, **given, **fields})


def asked(check, why_not=None):
    return rows.make(
        "WasteAsked",
        {"check": check, "why_not": why_not, "needs_values": False},
    )


def waste(*findings, **fields):
    """A heap of 10 MiB. Without a total, the findings do not overlap."""
    ordinary = {
        "rows": findings,
        "total_bytes": sum(row.bytes for row in findings),
        "heap_bytes": 10 << 20,
        "heap_objects": 5000,
        "asked": tuple(map(asked, CHECKS)),
    }
    return rows.make("Waste", {**ordinary, **fields})


def report(found, partial=(), **options):
    return WasteReport(
        tool_version="1.2.3", partial=partial, found=found, **options
    )


def test_table():
    """The advice of a check is below its first finding."""
    found = waste(
        finding("duplicate-strings", 3 << 20, 40000, advice=INTERN),
        finding(),
        finding("duplicate-strings", 1 << 18, 7, advice=INTERN,
                type="main.names", field="[]"),
        total_bytes=4 << 20,
    )  # fmt: skip
    assert (
        report(found).text()
        == """\
      bytes   share   count  check              example       type and field
    3.0 MiB  30.0 %  40,000  duplicate-strings  0xc000012340  main.T.rows
      Intern the strings of this field, with unique.Make().
    1.0 MiB  10.0 %   1,000  slice-capacity     0xc000012340  main.T.rows
      Clip the slices with slices.Clip() when they are complete.
  256.0 KiB   2.5 %       7  duplicate-strings  0xc000012340  main.names[]

4.0 MiB could be saved, 40.0 % of the heap of 10.0 MiB; \
what several changes would save counts once
"""
    )


def test_advice_of_its_own():
    """A finding may have other advice than the first one of its check."""
    other = "Make the slice with its capacity."
    found = waste(finding(), finding(advice=other))
    text = report(found).text()
    assert text.count(CLIP) == 1 and text.count(other) == 1


def test_total_without_overlap():
    line = report(waste(finding())).lines()[-1]
    assert line == "1.0 MiB could be saved, 10.0 % of the heap of 10.0 MiB"


def test_stacks_are_no_part_of_the_heap():
    found = waste(
        finding("goroutine-stack", type="main.serve", field=None, example=None),
        stack_bytes=4 << 20,
    )
    head, row, _, _, total = report(found).lines()
    assert row.split() == ["1.0", "MiB", "10.0", "%", "1,000",
                           "goroutine-stack", "main.serve"]  # fmt: skip
    assert total == (
        "1.0 MiB could be saved, 7.1 % of the heap and all stacks of 14.0 MiB"
    )
    assert "stacks" not in report(waste(finding())).lines()[-1]
    assert "(7.1 % of the heap and all stacks)" in overview_line(found)


def test_advice_without_bytes():
    """It has no share, and no part in the total."""
    row = finding("gc-headroom", 0, 0, type=None, field=None, example=None)
    lines = report(waste(row)).lines()
    assert lines[1].split() == ["gc-headroom", "(the", "whole", "program)"]
    assert lines[-1].startswith(
        "apart from this advice, no check found anything that would save"
    )
    alone = waste(row, asked=(asked("gc-headroom"),))
    assert report(alone, checks=["gc-headroom"]).lines()[-1] == (
        "this advice saves no bytes by itself"
    )


def test_nothing():
    """A clean program: that is said of the checks, not of the program."""
    assert report(waste()).lines() == [
        "no check found anything that would save 1 % of the heap or more"
    ]
    assert report(waste(), min_share=0.0).lines() == [
        "no check found anything to save"
    ]
    assert report(waste(), partial=["a page is missing"]).lines() == [
        "PARTIAL: a page is missing: findings may be too large or too small",
        "in what could be read, no check found anything that would save 1 % "
        "of the heap or more",
    ]
    assert report(waste(heap_objects=0)).lines() == [
        "nothing is known: no object of the heap was reached"
    ]


def test_small_findings():
    found = waste(small_rows=3, small_bytes=2048)
    assert report(found).lines() == [
        "3 findings below 1 % of the heap (2.0 KiB in all) are left out "
        "(--min-share 0% shows all)",
        "no check found anything that would save 1 % of the heap or more",
    ]
    one = report(waste(small_rows=1, small_bytes=9), min_share=0.5).lines()
    assert one[0].startswith("1 finding below 0.5 % of the heap (9 B in all) i")


def test_top():
    found = waste(*(finding(bytes=(50 - i) << 10) for i in range(40)))
    lines = report(found).lines()
    assert "and 25 more (--top 0 shows all)" in lines
    assert len(report(found, top=0).lines()) == 1 + 40 + 1 + 2
    assert "and 38 more (--top 0 shows all)" in report(found, top=2).lines()
    assert len(report(found).document()["checks"]) == 40
    assert len(report(found, top=2).document()["checks"]) == 2


def test_checks_without_an_answer():
    why = "the file has no values"
    found = waste(
        asked=(
            asked("duplicate-strings", why),
            asked("pool"),
            asked("constant-field", why),
        )
    )
    names = ["duplicate-strings", "pool", "constant-field"]
    assert report(found, checks=names).lines() == [
        f"not checked: duplicate-strings, constant-field: {why}",
        "--checks asks only for duplicate-strings, pool, constant-field",
        "pool found nothing that would save 1 % of the heap or more",
    ]
    few = report(waste(asked=(*map(asked, names),)), checks=names).lines()
    assert few[-1].startswith("none of 3 checks found anything that would")
    none = waste(asked=(asked("duplicate-strings", why),))
    assert report(none).lines()[-1] == "no check was made"


def test_doubts():
    found = waste(broken_views=1, crowded_arrays=2)
    assert report(found).lines()[:2] == [
        "1 slice or string has a length that makes no sense: what they refer "
        "to counts as fully used",
        "2 objects have too many separate views, and count as fully used",
    ]
    found = waste(broken_views=1234, crowded_arrays=1)
    assert report(found).lines()[:2] == [
        "1,234 slices or strings have lengths that make no sense: what they "
        "refer to counts as fully used",
        "1 object has too many separate views, and counts as fully used",
    ]


def test_document():
    found = waste(
        finding(),
        finding("gc-headroom", 0, 0, type=None, field=None, example=None),
        stack_bytes=7,
        small_rows=2,
        small_bytes=99,
        broken_views=3,
        crowded_arrays=4,
        asked=(asked("slice-capacity"), asked("pool", "because")),
    )
    document = json.loads(report(found, min_share=0.25).json())
    assert document == {
        "schema": 1,
        "tool_version": "1.2.3",
        "complete": True,
        "partial": [],
        "checks": [
            {
                "check": "slice-capacity",
                "bytes": 1 << 20,
                "count": 1000,
                "type": "main.T",
                "field": ".rows",
                "example": "0xc000012340",
                "advice": CLIP,
            },
            {
                "check": "gc-headroom",
                "bytes": 0,
                "count": 0,
                "type": None,
                "field": None,
                "example": None,
                "advice": CLIP,
            },
        ],
        "total_bytes": 1 << 20,
        "heap_bytes": 10 << 20,
        "heap_objects": 5000,
        "stack_bytes": 7,
        "min_share": 0.25,
        "small_rows": 2,
        "small_bytes": 99,
        "asked": [
            {
                "check": "slice-capacity",
                "answered": True,
                "why_not": None,
                "needs_values": False,
            },
            {
                "check": "pool",
                "answered": False,
                "why_not": "because",
                "needs_values": False,
            },
        ],
        "broken_views": 3,
        "crowded_arrays": 4,
    }


@pytest.mark.parametrize(
    "share, millionths",
    [(0.0, 0), (0.0001, 1), (1.0, 10_000), (0.57, 5700), (100.0, 1_000_000)],
)
def test_share(share, millionths):
    assert share_of(share) == millionths


def options(**given):
    from goref import args

    return args.defaults(VERBS["waste"].options, **given)


def test_extent():
    """A process is copied with values only for checks that read them."""
    assert command.extent(options()) == "values"
    for check in CHECKS:
        wanted = "values" if check in OF_VALUES else "native"
        assert command.extent(options(checks=(check,))) == wanted
    assert command.extent(options(checks=CHECKS[1:4])) == "native"


def test_help_describes_each_check():
    details = VERBS["waste"].details
    for check in CHECKS:
        assert f"\n\n{check}: " in details
