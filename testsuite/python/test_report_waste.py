# SPDX-License-Identifier: Apache-2.0
"""Memory that could be saved, on the page of `goref report'."""

from goref.report import findings, page
from goref.report.sections.waste import waste as section
from test_render_waste import finding, report, waste
from test_report import HOSTILE, Seen, document


def part(*rows, **fields):
    """The part of the document, as commands/report.py makes it."""
    made = report(waste(*rows, **fields))
    return made.document() | {
        "nrows": len(rows),
        "notes": made.notes(),
        "summary": made.summary(),
    }


def texts(found):
    return Seen(page(document(waste=found))).texts


def test_section():
    found = part(
        finding(),
        finding("gc-headroom", 0, 0, type=None, field=None, example=None),
        finding(bytes=1 << 17, type=HOSTILE),
        broken_views=3,
    )
    assert page(document(waste=found))
    shown = "".join(section(document(waste=found)).itertext())
    assert "1.1 MiB could be saved, 11.2 % of the heap of 10.0 MiB." in shown
    assert "main.T.rows" in shown and "(the whole program)" in shown
    assert "3 slices or strings have lengths that make no sense" in shown
    assert shown.count(found["checks"][0]["advice"]) == 2  # of two checks
    assert "goref core c waste" in shown


def test_advice_names_its_place():
    """Each pool has a sentence with its own numbers; a sentence that is about
    several findings stands once."""
    found = part(
        finding("pool", field=".a", advice="Of 3, 1 is large."),
        finding(field=".clipped"),
        finding("pool", field=".b", advice="Of 7, 2 are large."),
        finding(field=".too"),
        finding("pool", field=".c", advice="Of 7, 2 are large."),
        *(finding("pool", field=f".d{i}", advice="Many.") for i in range(7)),
    )
    shown = "".join(section(document(waste=found)).itertext())
    advice = shown[shown.index("What to do") :]
    assert "pool in main.T.a: Of 3, 1 is large." in advice
    assert "pool in main.T.b, main.T.c: Of 7, 2 are large." in advice
    assert ".d4 and 2 more: Many." in advice and ".d5" not in advice
    assert advice.count("slice-capacity: ") == 1
    assert ".clipped" not in advice and ".too" not in advice
    assert advice.index(".a") < advice.index("slice-capacity")


def test_nothing_to_save():
    shown = "".join(texts(part(small_rows=1, small_bytes=9)))
    assert "No check found anything that would save 1 % of the heap" in shown
    assert "1 finding below 1 % of the heap" in shown


def test_rows_beyond_the_limit_are_counted():
    found = part(finding()) | {"nrows": 7}
    made = section(document(waste=found))
    assert "6 smaller rows" in "".join(made.itertext())


def facts(found):
    return [
        one.text
        for one in findings.findings(document(waste=found))
        if one.link == "waste"
    ]


def test_much_waste_is_a_fact():
    """It is nothing wrong: the verdict stays as it is."""
    large = finding(bytes=1 << 20)
    assert facts(part(large, total_bytes=2 << 20)) == [
        "2.0 MiB, 20.0 % of the live heap; most in main.T.rows "
        "(slice-capacity)"
    ]
    assert not facts(part(finding(bytes=1 << 19)))
    assert not facts(part())
    assert "Could be saved" in "".join(texts(part(large)))
