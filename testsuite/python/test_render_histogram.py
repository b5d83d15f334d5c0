# SPDX-License-Identifier: Apache-2.0
"""goref histogram: rows to text and JSON."""

import json

from goref.args import matcher
from goref.render.histogram import HistogramReport

ROWS = [
    ("main.T", 1000, 64000, 1 << 20),
    ("[]uint8", 20, 1 << 19, 1 << 19),
    ("string", 7, 112, 112),
]


def report(found, **options):
    return HistogramReport(
        tool_version="1.2.3", partial=(), found=found, **options
    )


def test_rows(make):
    found = make.histogram(*ROWS)
    assert (
        report(found).text()
        == """\
1,027 objects, 574.6 KiB, reached; by type
largest: []uint8, 512.0 KiB (89.1 %)

       size   share  objects  type
   62.5 KiB  10.9 %    1,000  main.T
  512.0 KiB  89.1 %       20  []uint8
      112 B  <0.1 %        7  string
"""
    )
    lines = report(found, with_retained=True, top=1).lines()
    assert lines == [
        "1,027 objects, 574.6 KiB, reached; by type (1 of 3)",
        "largest: []uint8, 512.0 KiB (89.1 %)",
        "",
        "      size   share  objects  at least  type",
        "  62.5 KiB  10.9 %    1,000   1.0 MiB  main.T",
    ]
    lines = report(found, by="root", with_retained=True).lines()
    assert "  retained  root" in lines[3]


def test_words(make):
    found = make.histogram(*ROWS)
    asked = report(found, weight="pointers", with_retained=True, by="root")
    assert asked.lines()[:5] == [
        "1,027 objects, 588,400 words, reached; by root",
        "largest: []uint8, 524,288 words (89.1 %)",
        "",
        "    words   share  objects  retained words  root",
        "   64,000  10.9 %    1,000       1,048,576  main.T",
    ]
    document = asked.document()
    assert (document["weight"], document["unit"]) == ("pointers", "words")
    assert document["rows"][0]["bytes"] == 64000


def test_filter_and_garbage(make):
    found = make.histogram(*ROWS)
    is_wanted = matcher("^main")
    lines = report(found, is_garbage=True, is_wanted=is_wanted).lines()
    assert lines[0] == "1,027 objects, 574.6 KiB, not reached; by type (1 of 3)"
    assert [line.split()[-1] for line in lines[4:]] == ["main.T"]
    lines = report(found, is_wanted=matcher("nothing")).lines()
    assert lines[1:] == ["no such objects"]


def test_exact(make):
    found = make.histogram(*ROWS, exact_objects=3000, exact_bytes=3 << 20)
    asked = report(found, exact="main.T")
    assert asked.lines()[1] == (
        "without all objects of type main.T, 3,000 objects with 3.0 MiB would "
        "be freed"
    )
    assert asked.document()["exact"] == {
        "type": "main.T",
        "objects": 3000,
        "retained_bytes": 3 << 20,
        "retained_c_bytes": 0,
    }


def test_document(make):
    found = make.histogram(*ROWS)
    document = json.loads(report(found, with_retained=True).json())
    assert document["schema"] == 1
    assert document["rows"][0] == {
        "key": "main.T",
        "objects": 1000,
        "bytes": 64000,
        "c_bytes": 0,
        "retained_bytes": 1 << 20,
        "retained_c_bytes": 0,
    }
    assert not document["retained_is_exact"] and document["exact"] is None
    assert len(document["rows"]) == 3
    plain = report(found, by="root", top=2).document()
    assert [row["retained_bytes"] for row in plain["rows"]] == [None, None]
    assert plain["retained_is_exact"]


def test_parts_in_c(make):
    """Behind the key of a row that has both; and of all."""
    row = make.goref.HistogramRow
    found = make.histogram(
        row("main", 30, 3072, 10, 1024, 5120, 4096),
        row("C.struct_t", 5, 512, 5, 512, 512, 512),
        c_objects=15, c_bytes=1536, exact_objects=3, exact_bytes=5120,
        exact_c_bytes=4096,
    )  # fmt: skip
    lines = report(found, by="package").lines()
    assert lines[-2].endswith("  main (Go 2.0 KiB, C 1.0 KiB)")
    assert lines[-1].endswith("  C.struct_t")
    asked = report(found, with_retained=True, exact="main.T")
    assert asked.lines()[-2].endswith("  main (Go 1.0 KiB, C 4.0 KiB)")
    assert (
        "without all objects of type main.T, Go would free 1.0 KiB, and "
        "nothing would hold 4.0 KiB of C; 3 objects in all\n"
    ) in asked.text()
    document = asked.document()
    for sizes in document["rows"][0], document["exact"]:
        assert sizes["retained_bytes"] == 1024
        assert sizes["retained_c_bytes"] == 4096
