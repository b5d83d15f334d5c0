# SPDX-License-Identifier: Apache-2.0
"""goref dominators: rows to text and JSON."""

import json

from goref.render.dominators import DominatorsReport, kept_lines


def report(make, goref, found, asked=(), partial=()):
    return DominatorsReport(
        tool_version="1.2.3",
        partial=partial,
        info=make.info(),
        found=found,
        phases=goref.GraphPhases(1000, 2000, 3000, 0, 4000),
        asked=asked,
    )


def below(text):
    """The lines behind the headline."""
    return text.splitlines()[3:]


def test_tree(make, goref):
    rows = [
        make.dominator("the program", 1000, kind="top", cut=7, cut_bytes=100),
        make.dominator("main.cache", 600, 1, kind="global", type="main.Cache"),
        make.dominator(
            "main.T", 500, 2, vertices=10, objects=10, bytes=400, cut=1,
            cut_bytes=20,
        ),
        make.dominator("string", 80, 3, vertices=2, objects=2, bytes=80),
        make.dominator("main.Both", 200, 1, objects=1, addr=0xC000010000),
        make.dominator("goroutines (main.f)", 100, 1, kind="goroutine",
                       vertices=3, cut=1, cut_bytes=100),
    ]  # fmt: skip
    text = report(make, goref, make.dominators(1000, rows)).text()
    assert below(text) == [
        "1000 B are reached. Retained: what this one alone keeps alive.",
        "  retained   share  count",
        "     600 B  60.0 %         main.cache  (main.Cache)",
        "     500 B  50.0 %     10    main.T",
        "      80 B   8.0 %      2      string",
        "      20 B   2.0 %             (1 more)",
        "     200 B  20.0 %      1  main.Both  0xc000010000"
        "  (held by several roots)",
        "     100 B  10.0 %      3  goroutines (main.f)",
        "     100 B  10.0 %         (7 more)",
        "",
        "the graph took 10 ms",
    ]


def test_blocks_of_c_are_not_freed(make, goref):
    """The words hold for Go and C."""
    rows = [make.dominator("the program", 1000, kind="top"),
            make.dominator("main.cache", 600, 1, kind="global")]  # fmt: skip
    for in_c in 0, 400:
        found = make.dominators(1000, rows)._replace(reached_c_bytes=in_c)
        text = report(make, goref, found).text()
        assert "Retained: what this one alone keeps alive." in text
        head = kept_lines(found)[1]
        assert head == "What keeps most alive (retained: by this one alone)"


def test_address_is_printed_once(make, goref):
    row = make.dominator("main.T", 60, objects=1, addr=0xC000010000)
    texts = ["0xc000010000", "824633786368", "0xC000010008", "main.a.b"]
    found = make.dominators(1000, [], [row] * 4, together=(1, 60))
    lines = below(report(make, goref, found, texts).text())[2:6]
    assert [line.split("  1  ")[1] for line in lines] == [
        "main.T  0xc000010000",
        "main.T  0xc000010000",
        "0xC000010008, in main.T  0xc000010000",
        "main.a.b  0xc000010000",
    ]


def test_asked(make, goref):
    asked = [
        make.dominator("main.a", 100, kind="global", type="[]int"),
        make.dominator("main.T", 60, objects=1, addr=0xC000010000),
    ]
    rows = [
        make.dominator("main.a", 160, vertices=2, cut=1, cut_bytes=40),
        make.dominator("[]int", 120, 1, vertices=2, objects=2),
    ]
    found = make.dominators(1000, rows, asked, together=(5, 200))
    text = report(make, goref, found, ["main.a", "0xc000010000"]).text()
    assert below(text) == [
        "Of 1000 B that are reached, kept alive by",
        "  retained   share  count",
        "     100 B  10.0 %         main.a  ([]int)",
        "      60 B   6.0 %      1  main.T  0xc000010000",
        "     200 B  20.0 %         all of these (40 B only together)",
        "Below:",
        "  retained   share  count",
        "     120 B  12.0 %      2  []int",
        "      40 B   4.0 %         (1 more)",
        "",
        "the graph took 10 ms",
    ]


def test_document(make, goref):
    rows = [
        make.dominator("the program", 1000, kind="top", cut=2, cut_bytes=400),
        make.dominator("main.a", 600, 1, kind="global", addr=0x55AA00),
        make.dominator("main.T", 600, 2, vertices=3, objects=3, bytes=600),
    ]
    document = report(make, goref, make.dominators(1000, rows)).document()
    assert json.loads(json.dumps(document)) == document
    assert document["reached_bytes"] == 1000
    assert document["cut"] == {"children": 2, "retained_bytes": 400,
                               "retained_c_bytes": 0}  # fmt: skip
    [child] = document["children"]
    assert child["name"] == "main.a"
    assert child["address"] == "0x55aa00"
    assert child["cut"] == {"children": 0, "retained_bytes": 0,
                            "retained_c_bytes": 0}  # fmt: skip
    assert child["children"] == [
        {
            "name": "main.T",
            "kind": "object",
            "type": None,
            "address": None,
            "goroutine_id": None,
            "count": 3,
            "objects": 3,
            "bytes": 600,
            "retained_bytes": 600,
            "retained_c_bytes": 0,
        }
    ]
    assert document["together"] is None
    assert document["phases_ms"] == {
        "masks": 1.0,
        "edges": 2.0,
        "nearest": 3.0,
        "reverse": 0.0,
        "dominators": 4.0,
    }


def test_nothing_is_kept(make, goref):
    asked = [make.dominator("main.a", 0, kind="global")]
    found = make.dominators(1000, (), asked)
    answer = report(make, goref, found, ["main.a"])
    assert below(answer.text())[:3] == [
        "Of 1000 B that are reached, kept alive by",
        "  retained  share  count",
        "       0 B  0.0 %         main.a",
    ]
    assert answer.document()["children"] == []


def test_missing_memory_may_hold_more(make, goref):
    found = make.dominators(1000)
    text = report(make, goref, found, partial=["a page is missing"]).text()
    assert text.splitlines()[2] == (
        "PARTIAL: a page is missing: retained sizes may be too small or too "
        "large"
    )


def test_parts_in_c(make, goref):
    """All that is reached, rows, all together and those left out."""
    rows = [
        make.dominator("the program", 4096, kind="top", cut=2, cut_bytes=2048,
                       cut_c_bytes=1024, retained_c_bytes=2048),
        make.dominator("main.a", 2048, 1, kind="global",
                       retained_c_bytes=1024),
    ]  # fmt: skip
    found = make.dominators(4096, rows)._replace(reached_c_bytes=2048)
    lines = below(report(make, goref, found).text())
    assert lines[0].startswith("4.0 KiB (Go 2.0 KiB, C 2.0 KiB) are reached.")
    assert lines[2].endswith("main.a (Go 1.0 KiB, C 1.0 KiB)")
    assert lines[3].endswith("(2 more) (Go 1.0 KiB, C 1.0 KiB)")
    asked = make.dominators(4096, rows, rows[1:] * 2, together=(5, 3072))
    asked = asked._replace(reached_c_bytes=2048, together_c_bytes=1024)
    answer = report(make, goref, asked, ["main.a", "main.b"])
    lines = below(answer.text())
    assert lines[0].startswith("Of 4.0 KiB (Go 2.0 KiB, C 2.0 KiB) that are")
    assert "all of these" in lines[4] and "(Go 2.0 KiB, C 1.0 KiB)" in lines[4]
    document = answer.document()
    assert document["cut"]["retained_bytes"] == 1024
    assert document["cut"]["retained_c_bytes"] == 1024
    assert document["reached_bytes"] == document["reached_c_bytes"] == 2048
    assert document["together"]["bytes"] == 2048
