# SPDX-License-Identifier: Apache-2.0
"""goref histogram --by site: rows to text and JSON."""

import json

from goref.args import matcher
from goref.render.sites import SitesReport

BUILD = ("main.build", "/src/app/main.go", 12)
MAIN = ("main.main", "/src/app/main.go", 40)
LOOP = [("main.deep", "/src/app/deep.go", 3)] * 3
ROWS = [
    ((BUILD, MAIN), "main.cache", (2, 2048), (1000, 1 << 20)),
    ((*LOOP, MAIN), "main.queue", (1, 64), (8192, 1 << 19)),
    ((), "main.queue", (1, 16), (1, 16)),
]


def report(found, **options):
    return SitesReport(
        tool_version="1.2.3", partial=(), found=found, **options
    )


def test_estimated(make):
    found = make.site_table(*ROWS, heap=(9000, 2 << 20), rate=512 * 1024)
    assert report(found).lines() == [
        "9,000 objects, 2.0 MiB, reached; 4 of them sampled, 2.1 KiB; by site",
        "sampled: about one allocation in 512.0 KiB; objects and sizes are "
        "estimated",
        "",
        "  about size   share  about objects  sampled  site",
        "     1.0 MiB  66.7 %          1,000        2  main.build main.go:12 "
        "< main.main main.go:40",
        "   512.0 KiB  33.3 %          8,192        1  main.deep deep.go:3 < "
        "main.deep deep.go:3 < main.deep deep.go:3 < ...",
        "        16 B  <0.1 %              1        1  (stack not known)",
    ]


def test_exact_with_roots(make):
    found = make.site_table(*ROWS, heap=(4, 4096), rate=1)
    lines = report(found, by="site,root", top=1).lines()
    assert lines[0].endswith("by site,root (1 of 3)")
    assert lines[1] == "every allocation is sampled"
    assert lines[3].split() == [
        "size", "share", "objects", "sampled", "root", "site"
    ]  # fmt: skip
    assert lines[4].split()[6:8] == ["main.cache", "main.build"]
    document = json.loads(report(found, by="site,root").json())
    assert not document["estimated"] and document["by"] == "site,root"
    assert document["rows"][0] == {
        "key": "main.build /src/app/main.go:12",
        "stack": [
            {"function": f, "file": file, "line": line}
            for f, file, line in (BUILD, MAIN)
        ],
        "root": "main.cache",
        "root_kind": "global",
        "objects": 1000,
        "bytes": 1 << 20,
        "sampled_objects": 2,
        "sampled_bytes": 2048,
        "retained_bytes": None,
        "retained_c_bytes": None,
    }


def test_filter(make):
    """Any call counts, and the root."""
    found = make.site_table(*ROWS)
    for text, rows in (("^main.main", 2), ("queue", 2), ("deep.go:3$", 1)):
        wanted = report(found, by="site,root", is_wanted=matcher(text))
        assert len(wanted.rows) == rows
    assert report(found, is_wanted=matcher("nothing")).lines()[-1] == (
        "no such objects"
    )


def test_no_samples(make):
    off = report(make.site_table(heap=(9, 99), rate=0))
    assert off.notes() == [
        "memory profiling is off: runtime.MemProfileRate is 0"
    ]
    disabled = report(make.site_table(rate=512, is_disabled=True))
    assert "not linked" in disabled.notes()[0]
    assert disabled.lines()[-1] == "no such objects"
