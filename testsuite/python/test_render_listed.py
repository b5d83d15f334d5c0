# SPDX-License-Identifier: Apache-2.0
"""Long lists in answers: each entry is made as it is written."""

import json

import pytest

from goref.render.report import Listed, Report


class Numbers(Report):
    schema = 1

    def __init__(self, rows):
        super().__init__(tool_version="1", partial=[])
        self.rows = rows
        self.made = 0

    def entry(self, row):
        self.made += 1
        return {"text": f"{row}\n\"'é", "inner": [{"row": row}, None, True]}

    def body(self):
        return {
            "before": {"a": [1, {"b": "x\ny"}]},
            "rows": Listed(self.entry, self.rows),
            "after": [],
        }

    def lines(self):
        return [f"row\t{row}" for row in self.rows]


@pytest.mark.parametrize("count", [0, 1, 2, 70_000])
def test_pieces_are_the_document(count):
    report = Numbers(range(count))
    want = [report.entry(row) for row in range(count)]
    assert json.loads(report.json()) == report.document()
    assert report.document()["rows"] == want
    assert list(report.document()) == [
        "schema", "tool_version", "complete", "partial", "before", "rows",
        "after",
    ]  # fmt: skip


def test_an_entry_has_a_line_and_the_rest_is_indented():
    text = Numbers(range(2)).json()
    assert text.endswith('\n ],\n "after": []\n}\n')
    assert '\n "before": {\n  "a": [\n   1,\n' in text
    entries = [x for x in text.splitlines() if x.startswith("  {")]
    assert [json.loads(x.rstrip(","))["inner"][0]["row"] for x in entries] == [
        0,
        1,
    ]


def test_entries_are_made_as_they_are_written():
    """After each piece, no more are there than it has."""
    report = Numbers(range(50_000))
    written = 0
    pieces = 0
    for piece in report.json_pieces():
        pieces += 1
        written += piece.count('"inner"')
        assert written <= report.made <= written + 1
        assert len(piece) < 1 << 20
    assert written == 50_000 and pieces > 5


def test_text_is_written_in_pieces():
    report = Numbers(range(50_000))
    pieces = list(report.text_pieces())
    assert len(pieces) > 1
    assert "".join(pieces) == report.text()
    assert "\t" not in pieces[0]


class Counted(Report):
    """A report that declares its fields."""

    count: int
    how: str = "goref"

    def __post_init__(self):
        self.twice = 2 * self.count


@pytest.mark.parametrize(
    "fields, wrong",
    [({}, "count"), ({"count": 1, "top": 2}, "top")],
    ids=["missing", "unknown"],
)
def test_fields_are_those_that_are_declared(fields, wrong):
    common = {"tool_version": "1", "partial": ()}
    report = Counted(**common, count=3)
    assert (report.twice, report.how, report.schema) == (6, "goref", 1)
    with pytest.raises(TypeError, match=f"Counted: {wrong}"):
        Counted(**common, **fields)
